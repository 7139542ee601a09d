//! How a place inside a document is written: `agents.researcher.tools[1]`.

/// The path of the key `name` in the map at `base`.
pub(crate) fn key(base: &str, name: &str) -> String {
    let simple = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'*' | b'<'));
    match (base.is_empty(), simple) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{base}.{name}"),
        // A dot, a blank or nothing at all would read as something else.
        (_, false) => format!("{base}[{name:?}]"),
    }
}

/// The path of the item `index` of the list at `base`.
pub(crate) fn item(base: &str, index: usize) -> String {
    format!("{base}[{index}]")
}

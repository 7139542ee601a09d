//! How a place inside a document is written: `agents.researcher.tools[1]`.

/// How many characters of one key a path shows.
const LONGEST_NAME: usize = 80;

/// How many bytes of what stands around a key a path shows, so that thousands of findings deep in
/// long keys stay small.
const LONGEST_BASE: usize = 400;

/// The path of the key `name` in the map at `base`.
pub(crate) fn key(base: &str, name: &str) -> String {
    let base = shortened(base);
    let simple = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'*' | b'<'));
    match (base.is_empty(), simple) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{base}.{name}"),
        // A dot, a blank or nothing at all would read as something else.
        (_, false) => {
            let mut shown: String = name.chars().take(LONGEST_NAME).collect();
            if shown.len() < name.len() {
                shown.push('…');
            }
            format!("{base}[{shown:?}]")
        }
    }
}

/// The path of the item `index` of the list at `base`.
pub(crate) fn item(base: &str, index: usize) -> String {
    format!("{}[{index}]", shortened(base))
}

/// `base`, or its end when it is long.
fn shortened(base: &str) -> std::borrow::Cow<'_, str> {
    if base.len() <= LONGEST_BASE {
        return base.into();
    }
    let mut from = base.len() - LONGEST_BASE / 2;
    while !base.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", &base[from..]).into()
}

#[cfg(test)]
mod tests {
    use super::{item, key};

    #[test]
    fn a_path_is_read_at_a_glance_and_stays_short() {
        assert_eq!(key("", "tools"), "tools");
        assert_eq!(key("tools", "web_search"), "tools.web_search");
        assert_eq!(key("tools", "find orders"), "tools[\"find orders\"]");
        assert_eq!(key("tools", ""), "tools[\"\"]");
        assert_eq!(item("agents.a.tools", 1), "agents.a.tools[1]");
        assert_eq!(key("", &"x".repeat(1000)).chars().count(), 85);
        let mut deep = String::new();
        for _ in 0..64 {
            deep = item(&key(&deep, &"é ".repeat(500)), 7);
            assert!(deep.len() < 900, "{}", deep.len());
        }
    }
}

//! Texts made fit for a line of the terminal.

/// The first characters of `text` that take at most `columns` columns, with `…` where something was cut off.
pub(in crate::commands::run) fn shorten(text: &str, columns: usize) -> String {
    let mut used = 0;
    // Where to cut when the text turns out too long: there has to be room for the `…`.
    let mut cut = 0;
    for (at, character) in text.char_indices() {
        if used < columns {
            cut = at;
        }
        used += width(character);
        if used > columns {
            return format!("{}…", &text[..cut]);
        }
    }
    text.to_owned()
}

/// The columns that a character takes. From Hangul on most scripts and symbols are wide; counting one too
/// many leaves a line short, counting one too few breaks it.
fn width(character: char) -> usize {
    if character >= '\u{1100}' && !('\u{2000}'..'\u{2e80}').contains(&character) {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_in_an_ellipsis_within_the_columns() {
        assert_eq!(shorten("lookup", 6), "lookup");
        assert_eq!(shorten("lookup_order", 6), "looku…");
        assert_eq!(shorten("", 0), "");
        assert_eq!(shorten("long", 1), "…");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(shorten("蜂蜜蜂蜜", 8), "蜂蜜蜂蜜");
        assert_eq!(shorten("蜂蜜蜂蜜", 7), "蜂蜜蜂…");
        assert_eq!(shorten("蜂蜜蜂蜜", 6), "蜂蜜…");
        assert_eq!(shorten("🐝🐝", 3), "🐝…");
        assert_eq!(shorten("→ ok … ✓", 8), "→ ok … ✓");
    }
}

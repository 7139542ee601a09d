//! Tests of the tree: places, bounds, repairs, and hostile texts.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
use std::time::{Duration, Instant};

use super::parse;
use crate::yaml::{Document, Entry, Mark, Node, Problem, Value};

fn problem(text: &str) -> Problem {
    match parse(text) {
        Ok(_) => panic!("parsed: {text:?}"),
        Err(problem) => problem,
    }
}

fn root(text: &str) -> std::rc::Rc<Node> {
    parse(text)
        .unwrap_or_else(|problem| panic!("{text:?}: {problem:?}"))
        .root
        .unwrap()
}

fn at(line: usize, column: usize) -> Mark {
    Mark { line, column }
}

/// The source text of the value at `path`.
fn source<'t>(text: &'t str, path: &[&str]) -> &'t str {
    let root = root(text);
    let mut node: &Node = &root;
    for name in path {
        node = node.get(name).unwrap_or_else(|| panic!("no {name} in {text:?}")).value;
    }
    &text[node.range.clone()]
}

#[test]
fn a_value_is_found_byte_for_byte_however_it_is_written() {
    for (text, expected) in [
        ("a: b c  # d\n", "b c"),
        ("a: 'it''s'   # d\n", "'it''s'"),
        ("a: \"x \\\" y\" # d\n", "\"x \\\" y\""),
        ("a: &n !!str b\n", "b"),
        ("a: !<tag:yaml.org,2002:str> b\n", "b"),
        ("a: &n # c\n  b\n", "b"),
        ("x: &n b\na: *n  # d\n", "*n"),
        ("a: { b: c, }  # d\n", "{ b: c, }"),
        ("a: [b, c]  # d\n", "[b, c]"),
        ("a: [b, c,\n  ]\n", "[b, c,\n  ]"),
        ("é: ü # ö\na: \"ä\" # ö\n", "\"ä\""),
        ("a:\n  b: c\n  d:\n    - e\n# f\n", "b: c\n  d:\n    - e"),
        ("? a\n: b\n", "b"),
        ("{x: 1, a: b}", "b"),
        ("%YAML é\n", ""),
    ] {
        if !expected.is_empty() {
            assert_eq!(source(text, &["a"]), expected, "{text:?}");
        }
    }
}

#[test]
fn a_missing_value_is_a_place_behind_its_colon() {
    for (text, before) in [
        ("a:   # c\nb: 1\n", "a:"),
        ("a:", "a:"),
        ("a: &n\nb: 1\n", "a: &n"),
        ("{a: , b: 1}", "{a:"),
        ("{a, b: 1}", "{a"),
        ("? a\n# c\n? b\n", "? a"),
        ("? a\n: # c\n", "? a\n:"),
    ] {
        let root = root(text);
        let value = root.get("a").unwrap().value;
        assert!(value.is_absent(), "{text:?}");
        assert_eq!(
            (value.range.clone(), &text[..value.range.start]),
            (before.len()..before.len(), before),
            "{text:?}"
        );
    }
}

#[test]
fn places_count_characters_and_lines_of_any_kind() {
    for text in ["é: 1\nü: ö\n", "é: 1\r\nü: ö\r\n", "é: 1\rü: ö\r", "%FOO é\n---\nü: ö"] {
        let root = root(text);
        let pair = root.get("ü").unwrap();
        let line = if text.starts_with('%') { 3 } else { 2 };
        assert_eq!((pair.key.mark, pair.value.mark), (at(line, 1), at(line, 4)), "{text:?}");
        assert_eq!(&text[pair.value.range.clone()], "ö", "{text:?}");
    }
}

#[test]
fn yaml_03_every_duplicate_is_told_with_both_lines() {
    let text = "tools:\n  notes: a\n  \"notes\": b\ntools:\n  other: c\nx: {a: 1, ? b : 2, 'a': 3}\n";
    let faults: Vec<_> = parse(text)
        .unwrap()
        .faults
        .into_iter()
        .map(|f| (f.path, f.mark, f.message))
        .collect();
    let expected = [
        (
            "tools.notes",
            at(3, 3),
            "`notes` stands here on line 3 and already on line 2: keep one of the two",
        ),
        (
            "tools",
            at(4, 1),
            "`tools` stands here on line 4 and already on line 1: keep one of the two",
        ),
        ("x.a", at(6, 20), "`a` stands twice on line 6: keep one of the two"),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(p, m, t)| (p.to_owned(), m, t.to_owned()))
        .collect();
    assert_eq!(faults, expected);
}

#[test]
fn yaml_03_a_merged_key_that_is_overridden_is_no_duplicate() {
    let text = "a: &a {k: 1, l: 2}\nb: &b {l: 3, m: 4}\nc:\n  z: 0\n  <<: [*a, *b]\n  k: 5\n";
    let document = parse(text).unwrap();
    assert_eq!(document.faults, []);
    let root = document.root.unwrap();
    let pairs = root.get("c").unwrap().value.pairs().unwrap();
    let merged: Vec<_> = pairs
        .iter()
        .map(|pair| (pair.name, pair.value.text().unwrap()))
        .collect();
    assert_eq!(merged, [("z", "0"), ("l", "2"), ("m", "4"), ("k", "5")]);
}

#[test]
fn a_merge_of_something_else_is_a_fault_and_a_quoted_merge_key_is_a_key() {
    let text = "a: &a 1\nb:\n  <<: *a\nc: {\"<<\": 1}\n";
    let document = parse(text).unwrap();
    let paths: Vec<_> = document.faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["b.<<"]);
    assert_eq!(
        document
            .root
            .unwrap()
            .get("c")
            .unwrap()
            .value
            .get("<<")
            .unwrap()
            .value
            .text(),
        Some("1")
    );
}

#[test]
fn yaml_07_a_key_is_the_text_that_is_written() {
    let root = root("on: 1\nno: 1\nnull: 1\n123: 1\n1e3: 1\ny: 1\n~: 1\n'q': 1\n");
    let names: Vec<_> = root.pairs().unwrap().iter().map(|pair| pair.name).collect();
    assert_eq!(names, ["on", "no", "null", "123", "1e3", "y", "~", "q"]);
}

#[test]
fn brackets_that_close_at_the_column_of_their_key_are_read() {
    let text = "a:\n  b: [\n    é, # ] }\n    y\n  ]\n  c: {\n    d: 1\n  }\ne: [[\n  z\n]]\nf: 2\n";
    let root = root(text);
    let b = root.get("a").unwrap().value.get("b").unwrap().value;
    assert_eq!(&text[b.range.clone()], "[\n    é, # ] }\n    y\n  ]");
    let c = root.get("a").unwrap().value.get("c").unwrap();
    assert_eq!(
        (&text[c.value.range.clone()], c.key.mark),
        ("{\n    d: 1\n  }", at(6, 3))
    );
    assert_eq!(source(text, &["e"]), "[[\n  z\n]]");
    assert_eq!(root.get("f").unwrap().key.mark, at(12, 1));
}

#[test]
fn yaml_04_a_tab_is_called_a_tab_where_it_stands() {
    for (text, mark) in [
        ("tools:\n\tnotes: x\n", at(2, 1)),
        ("tools:\n  a: b\n\tc: d\n", at(3, 1)),
        ("tools:\n  a: b\n  \tc: d\n", at(3, 3)),
        ("\ttools: x\n", at(1, 1)),
        ("tools: {\n\ta: b\n}\n", at(2, 1)),
        ("tools: [a,\n\tb]\n", at(2, 1)),
        ("a:\tb\n", at(1, 3)),
        ("a:\n  - b\n\t- c\n", at(3, 1)),
        ("a: |\n\tb\n", at(2, 1)),
        ("a: \"x\n\ty\"\n", at(2, 1)),
    ] {
        let Problem { message, mark: found } = problem(text);
        assert!(message.starts_with("a tab:"), "{text:?}: {message}");
        assert_eq!(found, mark, "{text:?}");
    }
    // Tabs that separate nothing are text.
    assert!(parse("a: b # x\ty\nc: \"d\te\"\nf: |\n  g\th\n").is_ok());
}

#[test]
fn what_the_parser_says_is_put_into_words_with_a_place() {
    for (text, mark, words) in [
        ("tools: {a: b", at(1, 8), "the `{` opened here is never closed"),
        ("tools: [a, b\n", at(1, 8), "the `[` opened here is never closed"),
        ("a: 'b\nc: d\n", at(1, 4), "the quote that opens here is never closed"),
        ("a: b: c\n", at(1, 5), "a second `: ` in one line"),
        ("a: b\n c: d\n", at(2, 3), "a `:` is not expected here"),
        ("a: b\nc\n# d\n", at(2, 1), "this line has no `:`"),
        ("a: *b\n", at(1, 4), "no `&` anchor of this name"),
        ("a: [*]\n", at(1, 5), "goes in quotes"),
        ("a: @b\n", at(1, 4), "goes in quotes"),
        ("a:\n    b: c\n  d: e\n", at(3, 3), "the indentation fits no line above"),
        ("a: b\n---\nc: d\n", at(2, 1), "a second document begins here"),
        ("a: &a [*a]\n", at(1, 8), "a text cannot contain itself"),
        ("%YAML 1.2\na: b\n", at(2, 1), "the document begins with a line `---`"),
        ("a: \u{7}b\n", at(1, 4), "U+0007"),
        ("a: b}\n}\n", at(2, 1), "a closing bracket with no opening one"),
        ("a: \"x\" y\n", at(1, 8), "text after a closing quote"),
        ("a: \"\\q\"\n", at(1, 4), "an unknown escape"),
        ("a: - b\n", at(1, 4), "a list item cannot begin here"),
    ] {
        let Problem { message, mark: found } = problem(text);
        assert!(message.contains(words), "{text:?}: {message}");
        assert_eq!(found, mark, "{text:?}: {message}");
    }
}

#[test]
fn an_empty_text_has_no_root() {
    for text in ["", "\n\n", "# c", "---", "---\n# c\n...\n", "~", "--- null\n"] {
        assert!(parse(text).unwrap().root.is_none(), "{text:?}");
    }
}

/// Parses and fails when it takes longer than any honest file could.
fn quick(name: &str, text: &str) -> Result<Document, Problem> {
    let start = Instant::now();
    let result = parse(text);
    // Debug builds on a busy machine: the point is that nothing grows with the square of the size.
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{name} took {:?}",
        start.elapsed()
    );
    result
}

#[test]
fn an_alias_bomb_is_refused() {
    use std::fmt::Write;
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    let problem = quick("aliases", &text).unwrap_err();
    assert!(
        problem.message.contains("aliases of this file stand for more than"),
        "{}",
        problem.message
    );
    let mut merges = "a0: &a0 {x: 1}\n".to_owned();
    for level in 1..100_000 {
        writeln!(merges, "a{level}: &a{level} {{<<: *a{}, k{level}: 1}}", level - 1).unwrap();
        if merges.len() > 1_000_000 {
            break;
        }
    }
    assert!(quick("merges", &merges).is_err());
}

#[test]
fn nesting_is_read_to_64_levels_and_no_deeper() {
    let nested = |levels: usize| format!("{}x{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(64)).is_ok());
    assert!(problem(&nested(65)).message.contains("nested more than 64 levels deep"));
    assert!(
        problem(&format!("a: &a {}\nb: [*a]\n", nested(63)))
            .message
            .contains("64 levels")
    );
    assert!(parse(&format!("a: &a {}\nb: *a\n", nested(63))).is_ok());
    for unit in ["[", "{a: ", "- ", "? ", "- - ["] {
        let text = unit.repeat(1_000_000 / unit.len());
        assert!(quick(unit, &text).is_err(), "{unit:?}");
    }
}

#[test]
fn a_large_file_of_anything_costs_no_more_than_its_size() {
    let fill = |unit: &str| unit.repeat(300_000 / unit.len());
    let many: String = (0..20_000).map(|n| format!("k{n}: v\n")).collect();
    let anchors: String = (0..20_000).map(|n| format!("- &a{n} v\n")).collect();
    for (name, text) in [
        ("entries", many.clone()),
        ("anchors", anchors),
        ("flow on one line", format!("[{}é]", fill("a, "))),
        ("flow maps", format!("[{}é]", fill("{a: b}, "))),
        (
            "empty flow values",
            format!("{{{}}}", (0..30_000).map(|n| format!("a{n}, ")).collect::<String>()),
        ),
        ("one word", fill("a")),
        ("words", fill("a ")),
        ("lines of words", fill("a\n")),
        ("quoted", format!("\"{}\"", fill("a\\n"))),
        ("open quote", format!("\"{}", fill("a "))),
        ("comments", fill("# a\n")),
        ("blank lines", fill("\n")),
        ("blanks", fill(" ")),
        ("tabs", fill("\t")),
        ("question marks", fill("? a\n")),
        ("duplicates", fill("a: b\n")),
        ("tags", format!("[{}]", fill("!!str a, "))),
        ("documents", fill("---\n")),
        ("block text", format!("a: |\n{}", fill("  b\n"))),
        ("brackets at their key", fill("- [\n]\n")),
        ("colons", fill(":")),
        ("unclosed", fill("a: [b\n")),
        ("merge keys", format!("a: &a {{k: v}}\nb:\n{}", fill("  <<: *a\n"))),
        ("commas", fill("[,")),
        ("quotes", fill("'")),
        ("anchor names", fill("&a ")),
        ("directives", fill("%TAG !a! b\n")),
    ] {
        let _ = quick(name, &text);
    }
}

/// A small generator of numbers that gives the same ones on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

#[test]
fn no_mutation_of_a_manifest_panics_or_breaks_a_place() {
    const SEEDS: [&str; 6] = [
        "tools:\n  web_search: beeuni:web_search\nagents:\n  a: { tools: [x, y], secrets: all }\n",
        "beeuni_version: 2\ntools: {\n  web_search: beeuni:web_search,\n}\n# c\n",
        "x: &a\n  k: |\n    text\n    more\n  f: >-\n    folded\ny:\n  <<: *a\n? q\n: z\n",
        "%YAML 1.2\r\n---\r\ntools:\r\n  web_search: 'be''e'\r\n  \"show\": \"b\\n\\u00e9\"\r\n...",
        "- [a, {b: c}, \"d\"]\n- - e\n  - f: g\n    h: !!str i\n- !<tag:x> j\n- &k l\n- *k\n",
        "é: ü # ö\n\n\n  # d\ne:\n  - ä: [\n  é\n]\n",
    ];
    const PIECES: [&str; 36] = [
        " ", "  ", "\n", "\r\n", "\r", "\t", ":", ": ", "- ", "? ", "[", "]", "{", "}", ",", "#", " # ", "&a ", "*a",
        "!!str ", "|", ">", "|+\n", "'", "\"", "\\", "%", "@", "---\n", "...\n", "<<: ", "\u{feff}", "é", "\u{2028}",
        "🦀", "~",
    ];
    let mut numbers = Numbers(0x5eed);
    for _ in 0..4000 {
        let mut text = SEEDS[numbers.below(SEEDS.len())].to_owned();
        for _ in 0..=numbers.below(5) {
            let mut from = numbers.below(text.len() + 1);
            let mut to = (from + numbers.below(6)).min(text.len());
            while !text.is_char_boundary(from) {
                from -= 1;
            }
            while !text.is_char_boundary(to) {
                to += 1;
            }
            let piece = PIECES[numbers.below(PIECES.len())];
            match numbers.below(3) {
                0 => text.insert_str(from, piece),
                1 => text.replace_range(from..to, ""),
                _ => text.replace_range(from..to, piece),
            }
        }
        match parse(&text) {
            Ok(Document { root: Some(root), .. }) => check(&text, &root),
            Ok(_) => {}
            Err(problem) => assert!(problem.mark.line <= text.lines().count().max(1) + text.matches('\r').count()),
        }
    }
}

/// Every node's range is a piece of the text, inside that of the node around it.
fn check(text: &str, node: &Node) {
    let piece = text.get(node.range.clone());
    assert!(piece.is_some(), "{:?} of {text:?}", node.range);
    let inside = |child: &Node| {
        let within = child.range.start >= node.range.start && child.range.end <= node.range.end;
        assert!(within, "{:?} in {:?} of {text:?}", child.range, node.range);
        check(text, child);
    };
    match &node.value {
        Value::List { items } => items.iter().for_each(|item| inside(item)),
        Value::Map { entries, .. } => {
            for Entry { key, value } in entries {
                inside(key);
                inside(value);
            }
        }
        Value::Scalar { .. } | Value::Alias(_) => {}
    }
}

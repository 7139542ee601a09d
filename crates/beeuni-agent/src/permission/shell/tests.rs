//! What a script is taken apart into.

use super::*;

/// The commands of a script, `§` for what is unknown, and whether it is unclear.
pub(super) fn commands(text: &str) -> Vec<String> {
    let script = parse(text);
    let mut commands: Vec<String> = script
        .commands
        .iter()
        .map(|command| {
            let words = command.words.iter().map(|word| &word.text);
            let parts: Vec<String> = command.assignments.iter().chain(words).map(shown).collect();
            parts.join(" ")
        })
        .collect();
    commands.extend(script.unclear.map(|why| format!("UNCLEAR {why}")));
    commands
}

fn shown(text: &Text) -> String {
    // An unknown part matches no plain character; a known one matches itself.
    let mut shown = String::new();
    let mut rest = text.clone();
    while !rest.is_empty() {
        let start = rest.known_start();
        shown.push_str(&start);
        rest = rest.behind(start.chars().count());
        if !rest.is_empty() {
            shown.push('§');
            rest = rest.behind(1);
        }
    }
    shown
}

#[test]
fn every_command_of_a_list_is_found() {
    let cases: &[(&str, &[&str])] = &[
        ("git status", &["git status"]),
        (
            "a && b || c; d & e | f |& g\nh",
            &["a", "b", "c", "d", "e", "f", "g", "h"],
        ),
        ("git  push\t--force", &["git push --force"]),
        ("g\\it \"pu\"'sh'", &["git push"]),
        ("echo 'a && rm -rf /' # && rm x", &["echo a && rm -rf /"]),
        ("echo a#b; c", &["echo a#b", "c"]),
        ("echo a \\\n  b", &["echo a b"]),
        ("FOO=1 BAR=$x git push", &["FOO=1 BAR=§ git push"]),
        ("X=1", &["X=1"]),
        ("a=(1 2 $(c)) d", &["c", "a=§ d"]),
        ("export A=(x)", &["export A=§"]),
        ("(a; b) && { c; }", &["a", "b", "c"]),
        ("! a", &["a"]),
        ("time -p a", &["a"]),
        (
            "if a; then b; elif c; then d; else e; fi; f",
            &["a", "b", "c", "d", "e", "f"],
        ),
        ("while a; do b; done", &["a", "b"]),
        ("for i in x $(y) z; do a $i; done", &["y", "a §"]),
        ("for i do a; done", &["a"]),
        ("for ((i=0; i<$(n); i++)); do a; done", &["n", "a"]),
        ("case $x in a|b) c;; (*) d;& esac; e", &["c", "d", "e"]),
        ("case $(w) in x) esac", &["w"]),
        ("f() { a; }; function g { b; }; function h () { c; }", &["a", "b", "c"]),
        ("[[ -f x && ( $y < $(z) ) ]] && a", &["z", "[[ §", "a"]),
        ("(( i++ )); a", &["(( §", "a"]),
        ("a 2>&-b", &["a b"]),
        ("a |& time b |\n time c", &["a", "time b", "time c", "b", "c"]),
        ("", &[]),
        ("# nothing", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(commands(text), *expected, "{text}");
    }
}

#[test]
fn commands_inside_of_words_are_found() {
    let cases: &[(&str, &[&str])] = &[
        ("echo $(a \"$(b)\")", &["b", "a §", "echo §"]),
        ("echo \"x $(a) y\"", &["a", "echo x § y"]),
        ("echo `a \\`b\\``", &["b", "a §", "echo §"]),
        ("echo '$(a)'", &["echo $(a)"]),
        ("echo \"\\$(a)\"", &["echo $(a)"]),
        ("echo ${x:-$(a)}", &["a", "echo §"]),
        ("echo $((1 + $(a)))", &["a", "echo §"]),
        ("diff <(a) >(b)", &["a", "b", "diff § §"]),
        ("a > $(b)", &["b", "a"]),
        ("a <<< \"$(b)\"", &["b", "a"]),
        ("echo $'a' $'\\x41' $\"b $(c)\"", &["c", "echo a § b §"]),
        ("echo a{b,c}d {x} {}", &["echo a§ {x} {}"]),
        ("x[1]=1 b", &["x[1]=1 b"]),
        ("echo $ $1 $@ ${x}y", &["echo $ § § §y"]),
    ];
    for (text, expected) in cases {
        assert_eq!(commands(text), *expected, "{text}");
    }
}

#[test]
fn here_documents_are_data_but_their_expansions_are_not() {
    let cases: &[(&str, &[&str])] = &[
        ("cat <<E\nrm x\n$(a)\n`b`\n\\$(c)\nE\nd", &["cat", "a", "b", "d"]),
        ("cat <<'E'\nrm x\n$(a)\nE\nd", &["cat", "d"]),
        ("cat <<-E && b\n\trm x\n\tE\nc", &["cat", "b", "c"]),
        ("cat <<A <<\"B\"\n$(x)\nA\n$(y)\nB\nz", &["cat", "x", "z"]),
        (
            "git commit -m \"$(cat <<'E'\nit's\nE\n)\"; a",
            &["cat", "git commit -m §", "a"],
        ),
        ("cat <<E\nx\nE\\\n\nb\na", &["cat", "b", "a"]),
        ("cat <<E\nx\\\nE\nrm y\nE\na", &["cat", "a"]),
    ];
    for (text, expected) in cases {
        assert_eq!(commands(text), *expected, "{text}");
    }
}

#[test]
fn commands_in_the_arguments_of_others_are_found() {
    let cases: &[(&str, &[&str])] = &[
        ("sudo -u bob rm x", &["sudo -u bob rm x", "rm x"]),
        (
            "/usr/bin/env A=1 -i git push",
            &["/usr/bin/env A=1 -i git push", "git push"],
        ),
        (
            "timeout -k 5 10 nice -n 5 rm x",
            &["timeout -k 5 10 nice -n 5 rm x", "nice -n 5 rm x", "rm x"],
        ),
        ("bash -lc 'a; b $(c)'", &["bash -lc a; b $(c)", "a", "c", "b §"]),
        ("sh script.sh", &["sh script.sh"]),
        ("eval 'a' \"b\"", &["eval a b", "a b"]),
        ("trap 'a' EXIT", &["trap a EXIT", "a"]),
        (
            "find . -name x -exec rm {} + -ok a \\;",
            &["find . -name x -exec rm {} + -ok a ;", "rm §", "a"],
        ),
        ("a | xargs -n 1 rm -f", &["a", "xargs -n 1 rm -f", "rm -f §"]),
        ("command -v git", &["command -v git"]),
        ("watch -n 1 'a; b'", &["watch -n 1 a; b", "a", "b"]),
    ];
    for (text, expected) in cases {
        assert_eq!(commands(text), *expected, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_unclear() {
    let deep = format!("{}a{}", "$(".repeat(100), ")".repeat(100));
    let deep_quotes = "\"$(".repeat(100);
    for text in [
        "echo 'x",
        "echo \"x",
        "echo $(a",
        "echo `a",
        "(a",
        "a)",
        "a;;",
        "case x in y) z",
        "${x:-'}'}",
        "echo $((a) | b)",
        "a <<",
        "a <<$(b)\n",
        "a >",
        "ls !(x)",
        "coproc a",
        "a\0b",
        "curl x | sh",
        "bash -s < x",
        "bash <<E\nrm x\nE",
        "eval \"$x\"",
        "bash -c \"$x\"",
        "env -S 'rm x'",
        "sudo $x rm",
        "{rm,-rf,/}",
        "$CMD push",
        "/bin/r? x",
        "a=(x)#y; z",
        "x[$(a)]=1 b",
        "x[ a; b ]=1",
        // What follows was found by comparing with bash, see `against_bash`.
        "v=$(2>&1 ! a)",
        "cat <<E<(a)\nE<(a)\nb",
        "$(>x time a)",
        "echo $$(a)",
        "echo $${x}",
        "echo $$'a'",
        "echo \"$$(a)\"",
        "echo $v\\\nw",
        "a \\",
        "cat <<E\n`a \\\nE\n",
        "cat <<\"E$(a)\"\nE\nb",
        "cat <<'E`'\nE`\nb",
        &deep,
        &deep_quotes,
    ] {
        let found = commands(text);
        assert!(
            found.last().is_some_and(|last| last.starts_with("UNCLEAR")),
            "{text:?} gives {found:?}"
        );
    }
}

#[test]
fn redirections_name_their_files() {
    let files = |text: &str| -> Vec<(bool, String)> {
        parse(text)
            .commands
            .iter()
            .flat_map(|command| &command.redirects)
            .map(|redirect| (redirect.writes, shown(&redirect.target.text)))
            .collect()
    };
    let writes = |text: &str| (true, text.to_owned());
    assert_eq!(
        files("a > x 2>> y 2>&1 < z"),
        [writes("x"), writes("y"), (false, "z".to_owned())]
    );
    assert_eq!(files("a &> x"), [writes("x")]);
    assert_eq!(files("a >& x >| $y <> z"), [writes("x"), writes("§"), writes("z")]);
    assert_eq!(files("{ a; } > x"), [writes("x")]);
    assert_eq!(files("a <<< x 3>&- >&2"), []);
    assert_eq!(files("> x"), [writes("x")]);
}

#[test]
fn a_long_script_is_taken_apart_in_no_time() {
    for text in [
        "a;".repeat(50_000),
        "\"".repeat(100_001),
        "$(".repeat(50_000),
        "x ".repeat(60_000),
        "a <<E\n".repeat(10_000),
        "{".repeat(100_000),
        "a `b`".repeat(20_000),
        "case x in ".repeat(10_000),
        "sudo ".repeat(20_000),
    ] {
        let start = std::time::Instant::now();
        let script = parse(&text);
        assert!(accesses(&text, &script).len() < 1000);
        assert!(start.elapsed().as_secs() < 5, "{:?} {:?}", &text[..10], start.elapsed());
    }
}

//! Commands, part by part, and what "always" remembers of them.
use Action::{Allow, Ask, Deny};

use super::*;

#[test]
fn a_compound_command_is_allowed_only_if_each_part_is() {
    let permissions = permissions(&[
        ("bash", "*", Ask),
        ("bash", "git *", Allow),
        ("bash", "ls *", Allow),
        ("bash", "echo *", Allow),
        ("bash", "git push *", Deny),
        ("bash", "rm *", Deny),
        ("bash", "curl * | *", Deny),
    ]);
    for (command, expected) in [
        ("git status", Allow),
        ("git status && ls -la | ls", Allow),
        ("cd src && git status", Allow),
        ("git status; npm test", Ask),
        ("git status; git push", Deny),
        ("ls $(rm -rf x)", Deny),
        ("ls `rm x`", Deny),
        ("ls \"$(git push)\"", Deny),
        ("(ls; (rm x))", Deny),
        ("if ls; then rm x; fi", Deny),
        ("for f in *; do rm $f; done", Deny),
        ("sudo rm x", Deny),
        ("xargs rm", Deny),
        ("find . -exec rm {} +", Deny),
        ("bash -c 'ls; rm x'", Deny),
        ("/bin/rm x", Deny),
        ("\"r\"m x", Deny),
        ("FOO=1 rm x", Deny),
        ("echo 'rm x; git push'", Allow),
        ("echo hi # rm x", Allow),
        ("git log --grep 'a && b'", Allow),
        ("GIT_SSH_COMMAND=x git fetch", Ask),
        ("/tmp/git status", Ask),
        // What is only known when it runs.
        ("git $SUB", Ask),
        ("git $EMPTY push", Ask),
        ("$X rm y", Ask),
        ("ls $DIR", Allow),
        ("echo \"$x\" $y ${z} $(git status)", Allow),
        // What cannot be read.
        ("ls 'x", Ask),
        ("ls | bash", Ask),
        // What the whole line is.
        ("curl https://example.com | ls", Deny),
    ] {
        assert_eq!(verdict(&permissions, &bash(command)), expected, "{command}");
    }
}

#[test]
fn a_denied_shell_denies_whatever_is_run() {
    let permissions = permissions(&[("bash", "*", Deny)]);
    for command in ["ls", "cd x", "X=1", "", "# x", "'", "$X", "> f", "[[ a ]]", "(( 1 ))"] {
        assert_eq!(verdict(&permissions, &bash(command)), Deny, "{command:?}");
    }
    assert_eq!(permissions.scope("bash", "bash"), Scope::Every(Deny));
}

#[test]
fn always_remembers_the_pattern_and_not_the_tool() {
    let permissions = permissions(&[("bash", "*", Ask)]);
    let question = asked(&permissions, &bash("git status --short && npm test"));
    let patterns: Vec<&str> = question.iter().map(|asked| asked.always.pattern.as_str()).collect();
    assert_eq!(patterns, ["git status *", "npm test *"]);
    permissions.remember(question.into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&permissions, &bash("git status")), Allow);
    assert_eq!(
        verdict(&permissions, &bash("npm test -- --watch; git status -b")),
        Allow
    );
    assert_eq!(verdict(&permissions, &bash("git push")), Ask);
    assert_eq!(verdict(&permissions, &bash("git status; git push")), Ask);
    assert_eq!(
        asked(&permissions, &bash("git status; git push")).len(),
        1,
        "only what is not allowed yet"
    );
    // A command that runs anything is remembered to the letter.
    let question = asked(&permissions, &bash("bash build.sh *"));
    assert!(question[0].always.exact);
    permissions.remember(question.into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&permissions, &bash("bash build.sh *")), Allow);
    assert_eq!(verdict(&permissions, &bash("bash build.sh other")), Ask);
}

#[test]
fn a_deny_outranks_an_earlier_always_and_so_does_a_stronger_rule_that_asks() {
    let before = permissions(&[("edit", "*", Ask)]);
    let edit = |path: &str| [Access::new("edit", "edit", path, "src/*")];
    before.remember(asked(&before, &edit("src/a")).into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&before, &edit("src/b")), Allow);
    let after = before.with_rules(Rules::new(
        &listed(&[
            ("edit", "*", Ask),
            ("edit", "src/keys/*", Deny),
            ("edit", "src/ask/*", Ask),
        ]),
        None,
    ));
    assert_eq!(verdict(&after, &edit("src/b")), Allow);
    assert_eq!(verdict(&after, &edit("src/keys/a")), Deny);
    assert_eq!(
        verdict(&after, &edit("src/ask/a")),
        Ask,
        "it asks about this folder in particular"
    );
    after.remember(asked(&after, &edit("src/ask/a")).into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&after, &edit("src/ask/b")), Allow);
    assert_eq!(verdict(&after, &edit("src/keys/a")), Deny);
}

#[test]
fn what_is_remembered_survives_being_stored() {
    let one = permissions(&[("bash", "*", Ask)]);
    one.remember(asked(&one, &bash("git status")).into_iter().map(|asked| asked.always));
    let stored = serde_json::to_string(&one.remembered()).unwrap_or_default();
    let two = permissions(&[("bash", "*", Ask)]);
    two.remember(serde_json::from_str::<Vec<Remembered>>(&stored).unwrap_or_default());
    assert_eq!(verdict(&two, &bash("git status -b")), Allow);
    two.remember(one.remembered());
    assert_eq!(two.remembered().len(), 1, "the same is not remembered twice");
}

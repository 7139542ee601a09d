//! The command line as a whole: help, wrong usage, colour, completions, closed pipes.
mod support;

use support::{MANIFEST, Shell};

#[test]
fn the_program_alone_prints_help_and_exits_2() {
    let ran = Shell::new().run(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.is_empty());
    for command in [
        "init",
        "validate",
        "schema",
        "tools",
        "setup",
        "doctor",
        "daemon",
        "completions",
    ] {
        assert!(
            ran.stderr.contains(&format!("\n  {command}")),
            "{command} is missing in:\n{ran}"
        );
    }
}

#[test]
fn the_version_is_on_stdout() {
    let ran = Shell::new().run(&["--version"]);
    insta::assert_snapshot!(ran.to_string().replace(env!("CARGO_PKG_VERSION"), "[VERSION]"), @"
    exit 0
    ----- stdout
    beeuni [VERSION]
    ");
}

#[test]
fn a_mistyped_command_is_wrong_usage_with_a_suggestion() {
    insta::assert_snapshot!(Shell::new().run(&["validat"]), @"
    exit 2
    ----- stderr
    error: unrecognized subcommand 'validat'

      tip: a similar subcommand exists: 'validate'

    Usage: beeuni [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(Shell::new().run(&["tools", "list"]), @"
    exit 2
    ----- stderr
    error: unrecognized subcommand 'list'

      tip: a similar subcommand exists: 'ls'

    Usage: beeuni tools [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn every_command_has_help_with_examples() {
    let shell = Shell::new();
    let commands: [&[&str]; 12] = [
        &["init"],
        &["validate"],
        &["schema"],
        &["tools", "ls"],
        &["tools", "eject"],
        &["tools", "new"],
        &["tools", "call"],
        &["tools", "check"],
        &["setup"],
        &["doctor"],
        &["daemon"],
        &["completions"],
    ];
    for command in commands {
        let ran = shell.run(&[command, &["--help"]].concat());
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stdout.contains("Examples:\n  "), "no examples in:\n{ran}");
        assert!(ran.stderr.is_empty());
    }
}

#[test]
fn no_line_of_help_is_wider_than_the_terminal() {
    let ran = Shell::new().run(&["tools", "call", "--help"]);
    let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}");
}

#[test]
fn completions_name_the_commands() {
    let shell = Shell::new();
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = shell.run(&["completions", name]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("eject"), "{name}");
    }
    assert_eq!(shell.run(&["completions", "tcsh"]).code, 2);
}

/// The script has to be one that bash takes, and that completes.
#[test]
fn the_bash_completion_completes() {
    let ran = Shell::new().sh(
        "beeuni completions bash > c.bash && bash -c '. ./c.bash; COMP_WORDS=(beeuni tools e); COMP_CWORD=2; _beeuni beeuni e tools; echo \"${COMPREPLY[@]}\"'",
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "eject\n"), "{ran}");
}

#[test]
fn a_reader_that_closes_its_end_is_no_error() {
    let shell = Shell::with_manifest(MANIFEST);
    for line in [
        "{ beeuni tools ls; echo \"exit $?\" >&2; } | true",
        "{ beeuni schema; echo \"exit $?\" >&2; } | head -c 1",
        "{ beeuni completions zsh; echo \"exit $?\" >&2; } | head -1",
        "{ beeuni --help; echo \"exit $?\" >&2; } | true",
    ] {
        let ran = shell.sh(line);
        assert_eq!(ran.stderr, "exit 0\n", "{line}");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let ran = Shell::with_manifest(MANIFEST).sh("beeuni tools ls > /dev/full");
    insta::assert_snapshot!(ran, @"
    exit 1
    ----- stderr
    error: cannot write the output
      caused by: No space left on device (os error 28)
    ");
}

#[test]
fn colour_is_only_where_it_belongs() {
    let shell = Shell::with_manifest(MANIFEST);
    let colored = |args: &[&str]| shell.run(args).stdout.contains('\u{1b}');
    assert!(!colored(&["tools", "ls"]), "stdout is no terminal");
    assert!(colored(&["tools", "ls", "--color", "always"]));
    assert!(!colored(&["tools", "ls", "--color", "never"]));
    let mut command = shell.command(["tools", "ls", "--color=always"]);
    let ran = shell.ran(command.env("NO_COLOR", "1"));
    assert!(ran.stdout.contains('\u{1b}'), "a flag is stronger than NO_COLOR");
    assert!(!shell.run(&["--color", "never", "--help"]).stdout.contains('\u{1b}'));
    assert!(shell.run(&["--color", "always", "--help"]).stdout.contains('\u{1b}'));
}

/// On a terminal there is colour, unless NO_COLOR says otherwise (L3).
#[test]
fn a_terminal_has_colour_unless_no_color_is_set() {
    let shell = Shell::with_manifest(MANIFEST);
    let on_terminal = |variables: &str| {
        let line = format!("TERM=xterm {variables} script -qec 'beeuni tools ls' /dev/null");
        shell.sh(&line).stdout.contains("\u{1b}[1m")
    };
    assert!(on_terminal(""));
    assert!(!on_terminal("NO_COLOR=1"));
    assert!(on_terminal("NO_COLOR="), "an empty NO_COLOR counts as absent");
}

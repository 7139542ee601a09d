//! Outputs: values of every kind, long ones and their files, and what tools print.
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;

use crate::support::Project;

/// The file that the last line of a cut output names.
pub(crate) fn file_named_in(output: &str) -> PathBuf {
    let last = output.lines().last().unwrap();
    let start = last.find('/').unwrap_or_else(|| panic!("no path in {last:?}"));
    let path = last[start..].trim_end_matches(']');
    PathBuf::from(path)
}

#[test]
fn out_01_every_kind_of_value_is_a_text() {
    let cases = [
        ("12", "12"),
        ("0", "0"),
        ("false", "false"),
        ("null", "null"),
        ("'a\\nb'", "a\nb"),
        ("''", ""),
        ("undefined", ""),
        ("{ a: 1 }", "{\n  \"a\": 1\n}"),
        ("[1, 2]", "[\n  1,\n  2\n]"),
        ("'a\\ud800b'", "a\u{fffd}b"),
        ("'{\"id\": 7301444403212345679}'", "{\"id\": 7301444403212345679}"),
        ("'\\\"\\\\ \\u2028 \\u007f'", "\"\\ \u{2028} "),
    ];
    let body = cases
        .iter()
        .enumerate()
        .map(|(i, (value, _))| format!("if (args.n === {i}) return ({value});"))
        .collect::<String>();
    let project = Project::new(&[("value", &body)]);
    let daemon = project.daemon(&[]);
    for (i, (value, expected)) in cases.iter().enumerate() {
        assert_eq!(daemon.output("value", json!({ "n": i })), *expected, "{value}");
    }
}

#[test]
fn out_08_whatever_is_thrown_is_a_text() {
    let cases = [
        ("'plain'", "plain"),
        ("{ code: 'E_QUOTA' }", "E_QUOTA"),
        ("new AggregateError([new Error('a1'), new Error('b2')], 'both')", "a1"),
        (
            "Object.assign(new Error('outer'), { cause: new Error('inner') })",
            "inner",
        ),
        ("null", ""),
        ("new Error('')", ""),
    ];
    let body = cases
        .iter()
        .enumerate()
        .map(|(i, (value, _))| format!("if (args.n === {i}) throw {value};"))
        .collect::<String>();
    let project = Project::new(&[("thrower", &body)]);
    let daemon = project.daemon(&[]);
    for (i, (value, part)) in cases.iter().enumerate() {
        let (status, text) = daemon.call("thrower", &json!({ "args": { "n": i } })).error();
        assert!(
            status == 422 && text.contains(part) && !text.trim().is_empty(),
            "{value}: {status} {text:?}"
        );
        assert!(!text.contains("[object Object]"), "{value}: {text}");
    }
}

#[test]
fn m5_a_long_output_is_cut_and_its_file_is_private_and_whole() {
    let project = Project::new(&[("long", "return 'line of text\\n'.repeat(args.lines)")]);
    let daemon = project.daemon(&["--session", "s-long"]);
    let whole = "line of text\n".repeat(2000);
    assert_eq!(
        daemon.output("long", json!({ "lines": 2000 })),
        whole,
        "exactly the bound is not cut"
    );
    let output = daemon.output("long", json!({ "lines": 2001 }));
    assert!(
        output.lines().count() <= 2000 && output.starts_with("line of text\nline of text\n"),
        "{output}"
    );
    let file = file_named_in(&output);
    assert!(
        file.starts_with(project.temp()),
        "{} is not in the temp folder",
        file.display()
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "line of text\n".repeat(2001));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));

    // A session with a name may come back; one without goes with its files.
    daemon.stop();
    assert!(file.is_file());
    std::fs::remove_dir_all(project.state()).unwrap();
    let daemon = project.daemon(&[]);
    let file = file_named_in(&daemon.output("long", json!({ "lines": 3000 })));
    assert!(file.is_file());
    daemon.stop();
    assert!(!file.parent().unwrap().exists());
}

#[test]
fn proto_01_what_a_tool_prints_is_its_log_and_nothing_else() {
    let project = Project::new(&[(
        "noisy",
        "console.log('{\"id\":1,\"ok\":true}'); console.error('a warning'); process.stdout.write('\\u001b[2Jcleared\\n'); return 'fine'",
    )]);
    let daemon = project.daemon(&[]);
    assert_eq!(daemon.output("noisy", json!({})), "fine");
    daemon.wait_for_log(&["[tool noisy] {\"id\":1,\"ok\":true}"]);
    daemon.wait_for_log(&["[tool noisy] a warning"]);
    daemon.wait_for_log(&["[tool noisy]", "cleared"]);
    assert!(!daemon.log().contains('\u{1b}'), "an escape code reached the terminal");
    assert_eq!(
        daemon.stdout().lines().count(),
        1,
        "stdout is for the ready line: {}",
        daemon.stdout()
    );
}

#[test]
fn out_04_a_value_that_json_cannot_hold_ends_its_call_only() {
    let project = Project::new(&[(
        "odd",
        "if (args.n === 0) return { n: 10n }; if (args.n === 1) { const a = {}; a.self = a; return a }
         if (args.n === 2) return { ok: 1, get boom() { throw new Error('x') } }; if (args.n === 3) return { toJSON() { throw new Error('y') } };
         return 'still here'",
    )]);
    let daemon = project.daemon(&[]);
    for n in 0..4 {
        let reply = daemon.call("odd", &json!({ "args": { "n": n } }));
        assert!(
            [200, 422].contains(&reply.status) && reply.body.len() > 12,
            "{n}: {} {}",
            reply.status,
            reply.body
        );
    }
    assert_eq!(daemon.output("odd", json!({ "n": 9 })), "still here");
}

#[test]
fn proto_03_a_tool_that_never_stops_printing_costs_the_daemon_no_memory() {
    let project = Project::new(&[("flood", "for (;;) require('fs').writeSync(1, 'y'.repeat(1 << 20))")]);
    let daemon = project.daemon(&[]);
    let (status, text) = daemon.call("flood", &json!({})).error();
    assert!(status == 422 && text.contains("printed more than"), "{status} {text}");
    daemon.output("echo", json!({}));
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 64 * 1024, "the daemon took {kib} KiB");
}

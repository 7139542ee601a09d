//! `beeuni tools call`: what a tool gets, what a user sees, how a call ends.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;
use support::{PATIENCE, Ran, Shell, with_bun};

/// A project with one tool, `probe`, whose execute has this body.
fn project(body: &str) -> Shell {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  probe: tools/probe.ts\n  memory: beeuni:memory\n");
    shell.write(
        "tools/probe.ts",
        format!(
            "export default {{\n  description: 'A probe.',\n  parameters: {{ type: 'object', properties: {{}} }},\n  async execute(args: any, context: any) {{\n    {body}\n  }},\n}}\n"
        ),
    );
    shell
}

fn call(shell: &Shell, args: &[&str]) -> Ran {
    let mut command = shell.command([&["tools", "call"], args].concat());
    shell.ran(with_bun(&mut command)).timeless()
}

#[test]
fn the_output_alone_is_on_stdout() {
    let shell = project("console.log('looking'); console.error('careful'); return { hello: args.name }");
    let ran = call(&shell, &["probe", "--args", r#"{"name":"bee"}"#]);
    insta::assert_snapshot!(ran, @r#"
    exit 0
    ----- stdout
    {
      "hello": "bee"
    }
    ----- stderr
    looking
    careful
    probe took [TIME]
    "#);
}

#[test]
fn a_string_is_the_output_and_gets_one_line_end() {
    for (value, output) in [
        ("'text'", "text\n"),
        ("'line\\n'", "line\n"),
        ("undefined", ""),
        ("7", "7\n"),
    ] {
        assert_eq!(
            call(&project(&format!("return {value}")), &["probe"]).stdout,
            output,
            "{value}"
        );
    }
}

#[test]
fn a_thrown_error_is_exit_1_with_its_message() {
    insta::assert_snapshot!(call(&project("throw new Error('no such order: A-1')"), &["probe"]), @"
    exit 1
    ----- stderr
    Error: no such order: A-1
        at execute ([DIR]/project/tools/probe.ts:5:15)
    probe failed after [TIME]
    error: no such order: A-1
    ");
}

#[test]
fn json_holds_the_outcome_and_the_log() {
    let shell = project("console.log('looking'); if (args.fail) throw new Error('broken'); return 'fine'");
    let ran = call(&shell, &["probe", "--json"]);
    let mut json = ran.json();
    assert!(json["duration_ms"].is_u64());
    json["duration_ms"] = json!(0);
    let logs = json!([{ "stream": "stdout", "text": "looking" }]);
    assert_eq!(
        json,
        json!({ "tool": "probe", "agent": "beeuni", "ok": true, "output": "fine", "duration_ms": 0, "logs": logs })
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let ran = call(&shell, &["probe", "--json", "--args", r#"{"fail":true}"#]);
    let json = ran.json();
    assert_eq!(
        (ran.code, &json["ok"], &json["error"], json.get("output")),
        (1, &json!(false), &json!("broken"), None)
    );
}

#[test]
fn context_is_the_one_of_a_session() {
    let body = "return { session: context.sessionId, agent: context.agent, directory: context.directory, signal: context.signal.aborted }";
    let shell = project(body);
    let json: serde_json::Value = serde_json::from_str(&call(&shell, &["probe"]).stdout).unwrap();
    assert_eq!(
        json,
        json!({ "session": "local", "agent": "beeuni", "directory": "[DIR]/project", "signal": false })
    );
}

#[test]
fn arguments_come_from_the_line_a_file_or_standard_input() {
    let shell = project("return args");
    shell.write("args.json", "\u{feff}{\"from\": \"file\"}\n");
    let output = |ran: Ran| ran.stdout.split_whitespace().collect::<String>();
    assert_eq!(output(call(&shell, &["probe"])), "{}");
    assert_eq!(
        output(call(&shell, &["probe", "--args", "@args.json"])),
        r#"{"from":"file"}"#
    );
    let mut command = shell.command(["tools", "call", "probe", "--args", "-"]);
    let ran = shell.ran_with_input(with_bun(&mut command), r#"{"from":"stdin"}"#);
    assert_eq!(output(ran), r#"{"from":"stdin"}"#);
}

#[test]
fn arguments_that_are_no_object_are_wrong_usage() {
    let shell = project("return args");
    insta::assert_snapshot!(call(&shell, &["probe", "--args", "{\"a\": 1,\n \"b\" 2}"]), @"
    exit 2
    ----- stderr
    error: the arguments in --args are not JSON: expected `:` at line 2 column 6
    ");
    insta::assert_snapshot!(call(&shell, &["probe", "--args", "[1]"]), @r#"
    exit 2
    ----- stderr
    error: the arguments in --args must be a JSON object, found an array
      hint: e.g. --args '{"query":"bees"}'
    "#);
    insta::assert_snapshot!(call(&shell, &["probe", "--args", "@nowhere.json"]), @"
    exit 2
    ----- stderr
    error: cannot read the arguments from nowhere.json
      caused by: No such file or directory (os error 2)
    ");
    assert_eq!(call(&shell, &["probe", "--args", ""]).code, 2);
    assert_eq!(call(&shell, &["probe", "--args", "{} {}"]).code, 2);
}

#[test]
fn secrets_are_in_context_env_and_nowhere_else() {
    let manifest = "\
beeuni_version: 2
tools: { probe: tools/probe.ts, memory: 'beeuni:memory' }
agents:
  beeuni: { secrets: [PROBE_KEY, FROM_ENV] }
";
    let shell = project(
        "return [context.env.PROBE_KEY, context.env.FROM_ENV, process.env.PROBE_KEY ?? 'unset', context.env.OTHER ?? 'unset'].map(v => v === 'unset' ? v : [...v].reverse().join('')).join(' ')",
    );
    shell.write("beeuni.yaml", manifest);
    shell.write("agents/beeuni.md", "---\ndescription: An agent.\n---\nYou help.\n");
    let mut command = shell.command([
        "tools",
        "call",
        "probe",
        "--env",
        "PROBE_KEY=value-one",
        "--env",
        "FROM_ENV",
    ]);
    let ran = shell.ran(
        with_bun(&mut command)
            .env("FROM_ENV", "value-two")
            .env("OTHER", "hidden"),
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "eno-eulav owt-eulav unset unset\n"),
        "{ran}"
    );
}

#[test]
fn a_secret_that_a_session_would_not_give_is_told() {
    let ran = call(&project("return 'ok'"), &["probe", "--env", "PROBE_KEY=abcdefgh"]);
    assert!(
        ran.stderr
            .contains("a session would not give PROBE_KEY to the agent beeuni"),
        "{ran}"
    );
    assert_eq!(ran.code, 0);
}

#[test]
fn a_secret_needs_a_name_and_a_value() {
    let shell = project("return 'ok'");
    insta::assert_snapshot!(call(&shell, &["probe", "--env", "NOT_SET_ANYWHERE"]), @"
    exit 2
    ----- stderr
    error: NOT_SET_ANYWHERE is not set in your environment
      hint: export NOT_SET_ANYWHERE, or give the value: --env NOT_SET_ANYWHERE=…
    ");
    let ran = call(&shell, &["probe", "--env", "sk-looks-like-a-value"]);
    assert_eq!(ran.code, 2);
    assert!(
        !ran.stderr.contains("looks-like"),
        "the value must not be repeated: {ran}"
    );
    assert_eq!(call(&shell, &["probe", "--env", "BEEUNI_OTHER=x"]).code, 2);
}

/// The token goes into context.env only together with the address, and never into the worker's own.
#[test]
fn the_control_plane_is_passed_on() {
    let shell = project(
        "return { url: context.env.BEEUNI_API_URL, token: context.env.BEEUNI_TOKEN?.length, own: process.env.BEEUNI_TOKEN }",
    );
    let mut command = shell.command(["tools", "call", "probe"]);
    with_bun(&mut command)
        .env("BEEUNI_API_URL", "http://127.0.0.1:9")
        .env("BEEUNI_TOKEN", "0123456789");
    let json: serde_json::Value = serde_json::from_str(&shell.ran(&mut command).stdout).unwrap();
    assert_eq!(json, json!({ "url": "http://127.0.0.1:9", "token": 10 }));
    // Without one, this process has a router of its own: a session does not lack it either. The token that is set
    // is for another one.
    let json: serde_json::Value =
        serde_json::from_str(&shell.ran(command.env_remove("BEEUNI_API_URL")).stdout).unwrap();
    assert!(json["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{json}");
    assert!(
        json["token"].as_u64().unwrap() >= 32 && json.get("own").is_none(),
        "{json}"
    );
}

/// A2: a tool that the agent's list does not have is denied.
#[test]
fn a2_an_agent_may_call_only_what_its_list_allows() {
    let shell = project("return 'ok'");
    shell.write(
        "beeuni.yaml",
        "\
beeuni_version: 2
default_agent: all
tools: { probe: tools/probe.ts, memory: 'beeuni:memory' }
agents:
  all: { tools: all }
  reader: { tools: [read, memory] }
  most: { tools: { exclude: [probe] } }
  nobody: { tools: none }
  off: { enabled: false }
",
    );
    for agent in ["all", "reader", "most", "nobody", "off"] {
        shell.write(
            &format!("agents/{agent}.md"),
            "---\ndescription: An agent.\n---\nYou help.\n",
        );
    }
    assert_eq!(call(&shell, &["probe"]).code, 0);
    insta::assert_snapshot!(call(&shell, &["probe", "--agent", "reader"]), @"
    exit 1
    ----- stderr
    error: the agent reader may not use probe: agents.reader.tools is [read, memory]
      hint: change agents.reader.tools (beeuni.yaml:6), or choose another agent with --agent
    ");
    insta::assert_snapshot!(call(&shell, &["probe", "--agent", "most"]).stderr, @"
    error: the agent most may not use probe: agents.most.tools is { exclude: [probe] }
      hint: change agents.most.tools (beeuni.yaml:7), or choose another agent with --agent
    ");
    insta::assert_snapshot!(call(&shell, &["probe", "--agent", "nobody"]).stderr, @"
    error: the agent nobody may not use probe: agents.nobody.tools is none
      hint: change agents.nobody.tools (beeuni.yaml:8), or choose another agent with --agent
    ");
    insta::assert_snapshot!(call(&shell, &["probe", "--agent", "off"]), @"
    exit 1
    ----- stderr
    error: the agent off is disabled
      hint: set agents.off.enabled to true in beeuni.yaml, or choose another agent with --agent
    ");
    insta::assert_snapshot!(call(&shell, &["probe", "--agent", "redaer"]), @"
    exit 2
    ----- stderr
    error: no agent named redaer
      hint: did you mean `reader`?
      hint: the agents of this project are all, reader, most, nobody
    ");
}

#[test]
fn a_tool_that_is_not_there_is_exit_2() {
    let shell = project("return 'ok'");
    insta::assert_snapshot!(call(&shell, &["prob"]), @"
    exit 2
    ----- stderr
    error: no tool named prob
      hint: did you mean `probe`?
      hint: `beeuni tools ls` shows the tools of this project
    ");
    insta::assert_snapshot!(call(&shell, &["show"]), @"
    exit 2
    ----- stderr
    error: this project removed the Beeuni tool show
      hint: add `show: beeuni:show` under `tools:` to get it back
    ");
}

#[test]
fn a_tool_that_does_not_load_is_exit_1_with_the_reason() {
    let shell = project("return 'ok'");
    shell.write(
        "tools/probe.ts",
        "import { z } from 'zod'\nexport default { description: 'x', parameters: z, execute() {} }\n",
    );
    let ran = call(&shell, &["probe"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran}");
    assert!(
        ran.stderr.contains("error: probe did not load: ") && ran.stderr.contains("Cannot find package 'zod'"),
        "{ran}"
    );
    std::fs::remove_file(shell.path("tools/probe.ts")).unwrap();
    let ran = call(&shell, &["probe"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("tools/probe.ts does not exist"), "{ran}");
}

/// An error elsewhere in the manifest does not stop a tool that can be used.
#[test]
fn errors_elsewhere_are_told_and_do_not_stop_the_call() {
    let shell = project("return 'ok'");
    let manifest = shell.read("beeuni.yaml");
    shell.write("beeuni.yaml", format!("{manifest}  gone: tools/gone.ts\n"));
    let ran = call(&shell, &["probe"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok\n"), "{ran}");
    assert!(ran.stderr.starts_with("warning: beeuni.yaml has 1 error:"), "{ran}");
}

#[test]
fn a_call_that_runs_out_of_time_is_exit_124() {
    let ran = call(
        &project("await new Promise(() => setTimeout(() => {}, 1e9))"),
        &["probe", "--timeout", "0.3"],
    );
    assert_eq!(ran.code, 124, "{ran}");
    assert!(ran.stderr.contains("error: timed out after "), "{ran}");
    let json = call(&project("while (true) {}"), &["probe", "--timeout", "0.3", "--json"]);
    assert_eq!((json.code, &json.json()["ok"]), (124, &json!(false)), "{json}");
}

#[test]
fn wrong_times_are_wrong_usage() {
    let shell = project("return 'ok'");
    for time in ["0", "-1", "soon", "1e9"] {
        assert_eq!(call(&shell, &["probe", &format!("--timeout={time}")]).code, 2, "{time}");
    }
}

/// RUN-02: Ctrl-C fires the signal, the tool ends as it likes, and the exit code tells of it.
#[test]
fn an_interrupt_stops_the_tool_and_exits_130() {
    let shell = project(
        "console.log('started'); await new Promise<void>((ok) => context.signal.addEventListener('abort', () => { require('fs').writeFileSync(context.directory + '/stopped', 'yes'); ok() })); return 'late'",
    );
    let mut command = shell.command(["tools", "call", "probe"]);
    let mut child = with_bun(&mut command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "started");
    let begun = Instant::now();
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!(lines.next().unwrap().unwrap(), "probe was stopped");
    let mut stdout = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut stdout).unwrap();
    assert_eq!(stdout, "");
    assert_eq!(shell.read("stopped"), "yes");
}

/// M5: a long output is cut for the model, and the file with all of it outlives the call.
#[test]
fn m5_a_long_output_is_kept_whole_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let shell = project("return Array.from({ length: 5000 }, (_, i) => 'line ' + i).join('\\n')");
    let ran = call(&shell, &["probe"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.len() <= 51_201 && ran.stdout.lines().count() <= 2_000);
    let note = ran.stdout.lines().last().unwrap();
    let name = note
        .split("[DIR]")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| "]) '\"".contains(c)).next())
        .unwrap();
    let file = shell.root().join(name.trim_matches(['/', '.']));
    assert!(file.starts_with(shell.root().join("tmp")), "{note}");
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(whole.lines().count() == 5_000 && whole.ends_with("line 4999"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        std::fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn a_beeuni_tool_runs_as_it_is() {
    let shell = project("return 'ok'");
    let create = r#"{"command":"create","path":"/memories/bees.md","file_text":"Bees dance.\n"}"#;
    let ran = call(&shell, &["memory", "--args", create]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(shell.read("memory/bees.md"), "Bees dance.\n");
}

#[test]
fn without_bun_the_command_that_mends_it_is_named() {
    let shell = project("return 'ok'");
    let mut command = shell.command(["tools", "call", "probe"]);
    let ran = shell.ran(command.env("PATH", shell.root()));
    insta::assert_snapshot!(ran, @"
    exit 1
    ----- stderr
    error: Bun was not found (not in [DIR]/home/.local/share/beeuni/runtime, not on PATH): run `beeuni setup`, or name it with BEEUNI_BUN
      hint: `beeuni doctor` shows what else is missing
    ");
    let mut command = shell.command(["tools", "call", "probe"]);
    let ran = shell.ran(command.env("BEEUNI_BUN", "/nowhere/bun"));
    insta::assert_snapshot!(ran, @"
    exit 1
    ----- stderr
    error: Bun was not found (BEEUNI_BUN=/nowhere/bun is no executable file): run `beeuni setup`, or name it with BEEUNI_BUN
      hint: `beeuni doctor` shows what else is missing
    ");
}

/// What a tool prints must not change the terminal.
#[test]
fn control_characters_in_a_tools_log_are_not_passed_on() {
    let ran = call(
        &project("console.log('\\u001b]0;owned\\u0007 text'); return 'ok'"),
        &["probe"],
    );
    assert!(!ran.stderr.contains('\u{1b}') && ran.stderr.contains("text"), "{ran}");
}

//! One scripted conversation on both harnesses: the model is offered the same hosted tools and reads the same outputs,
//! byte for byte, and the transcripts tell the same (T1).
use beeuni_gateway::testing::Answer;
use serde_json::{Value, json};

use crate::support::{Project, Talk};

/// A schema with everything that a bridge could lose.
const LOOKUP: &str = r##"export default {
  description: 'Look up an order — "by id".\nReturns its status: ✓ or ✗.',
  parameters: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { id: { type: 'string', pattern: '^[A-Z]-\\d{4}$', examples: ['A-1042'] } },
    properties: {
      id: { $ref: '#/$defs/id' },
      limit: { type: ['integer', 'null'], default: 10, exclusiveMinimum: 0 },
      mode: { enum: ['fast', 'slow', 3, null] },
      filter: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] },
      any: true,
      nested: { type: 'object', properties: { deep: { type: 'boolean' } }, required: ['deep'], additionalProperties: false },
    },
    required: ['id'],
    additionalProperties: false,
  },
  async execute(args, context) {
    return { order: args.id, args, agent: context.agent, session: context.sessionId, directory: context.directory }
  },
}
"##;

/// Tools whose outputs are hard to carry; the bodies of `execute`.
const TOOLS: &[(&str, &str)] = &[
    (
        "text",
        "return 'plain text, ünïcode ✓ \\u{1f41d}\\n\\n  with blank lines\\n'",
    ),
    ("nothing", "return undefined"),
    ("zero", "return 0"),
    ("things", "return [1, 'two', { three: 3 }, null]"),
    ("colours", "return '\\u001b[31mred\\u001b[0m and \\u0000 nul'"),
    ("exact", "return 'x'.repeat(51200)"),
    (
        "lines",
        "return Array.from({ length: 2000 }, (_, i) => 'line ' + i).join('\\n')",
    ),
    (
        "closed_lines",
        "return Array.from({ length: 1999 }, (_, i) => 'line ' + i).join('\\n') + '\\n'",
    ),
    (
        "long",
        "return Array.from({ length: 3000 }, (_, i) => 'row ' + i + ' of a long output').join('\\n')",
    ),
    ("one_line", "return 'y'.repeat(80000)"),
    (
        "multi",
        "throw new Error('first line\\nsecond line', { cause: new Error('the cause') })",
    ),
    ("thrown_text", "throw 'only a text'"),
    (
        "numbers",
        "return JSON.stringify(args, (_, value) => (typeof value === 'bigint' ? value + 'n' : value))",
    ),
    ("both", "await Bun.sleep(args.ms); return 'slept ' + args.ms"),
];

/// Arguments in which JavaScript's numbers and its way to write JSON would leave traces.
const NUMBERS: &str = r#"{ "big":9007199254740993, "neg":-9223372036854775808,"float":1.0,"exp":1e3,"small":1 }"#;

fn project() -> Project {
    let project = Project::new(TOOLS);
    let manifest = project.read("beeuni.yaml").unwrap();
    project.write(
        "beeuni.yaml",
        &manifest.replace("tools:\n", "tools:\n  lookup: tools/lookup.ts\n"),
    );
    project.write("tools/lookup.ts", LOOKUP);
    project
}

/// The calls of the conversation, one list for each step of the model.
fn steps() -> Vec<Vec<(&'static str, &'static str, Value)>> {
    let one = |id, tool, arguments| vec![(id, tool, arguments)];
    vec![
        one(
            "c1",
            "lookup",
            json!({ "id": "A-1042", "filter": [1, 2.5], "any": { "a": [true] } }),
        ),
        one("c2", "text", json!({})),
        one("c3", "nothing", json!({})),
        one("c4", "zero", json!({})),
        vec![
            ("c5", "both", json!({ "ms": 120 })),
            ("c6", "both", json!({ "ms": 0 })),
            ("c7", "things", json!({})),
        ],
        one("c8", "colours", json!({})),
        one("c9", "fail", json!({ "id": "A-7" })),
        one("c10", "multi", json!({})),
        one("c11", "thrown_text", json!({})),
        one("c12", "exact", json!({})),
        one("c13", "lines", json!({})),
        one("c14", "closed_lines", json!({})),
        one("c15", "long", json!({})),
        one("c16", "one_line", json!({})),
        one(
            "c17",
            "memory",
            json!({ "command": "create", "path": "/memories/note.md", "file_text": "kept" }),
        ),
        one(
            "c18",
            "memory",
            json!({ "command": "view", "path": "/memories/note.md" }),
        ),
    ]
}

/// What one harness made of the conversation.
struct Outcome {
    /// The hosted tools of the first request.
    offered: Vec<Value>,
    /// Whether every request offered the same.
    steady: bool,
    /// What the model read: `(call, text)`.
    read: Vec<(String, String)>,
    /// The transcript without ids, times and titles.
    transcript: Vec<Value>,
}

/// Runs the conversation.
fn run(harness: &str) -> Outcome {
    let talk = Talk::on_harness(project(), harness);
    for step in steps() {
        talk.model.calls(&step);
    }
    talk.model
        .server
        .push(Answer::tool_calls(&[("c19", "numbers", NUMBERS)]));
    talk.model.says("All done.");
    let messages = talk.say("Go through the tools.");
    let asked: Vec<Value> = talk.model.asked().iter().map(|request| request.json()).collect();
    assert_eq!(asked.len(), steps().len() + 2, "{harness}: requests to the model");
    let hosted = |request: &Value| -> Vec<Value> {
        let tools = request["tools"].as_array().unwrap().iter();
        let mut tools: Vec<Value> = tools
            .map(|tool| tool["function"].clone())
            .filter(|tool| is_hosted(tool["name"].as_str().unwrap()))
            .collect();
        tools.sort_by_key(|tool| tool["name"].to_string());
        tools
    };
    let offered = hosted(&asked[0]);
    let steady = asked.iter().all(|request| request["tools"] == asked[0]["tools"]);
    let root = talk.project.path().display().to_string();
    let temp = talk.project.temp().display().to_string();
    let plain = |text: &str| text.replace(&root, "<project>").replace(&temp, "<temp>");
    let last = asked.last().unwrap()["messages"].as_array().unwrap();
    let read = last.iter().filter(|message| message["role"] == "tool").map(|message| {
        let content = message["content"]
            .as_str()
            .unwrap_or_else(|| panic!("{harness}: {message}"));
        (
            message["tool_call_id"].as_str().unwrap().to_owned(),
            without_file(&plain(content)),
        )
    });
    Outcome {
        offered,
        steady,
        read: read.collect(),
        transcript: messages.iter().map(|message| told(message, &plain)).collect(),
    }
}

fn is_hosted(name: &str) -> bool {
    ["lookup", "memory", "echo", "fail"].contains(&name) || TOOLS.iter().any(|(tool, _)| *tool == name)
}

/// A text whose note names the file with the whole output, without that name, which is another one each time.
fn without_file(text: &str) -> String {
    let Some(at) = text.rfind("<temp>/") else {
        return text.to_owned();
    };
    let end = text[at..].find([']', ' ', '\n']).map_or(text.len(), |end| at + end);
    format!("{}<file>{}", &text[..at], &text[end..])
}

/// What a message tells, without what differs from run to run.
fn told(message: &Value, plain: &impl Fn(&str) -> String) -> Value {
    let parts = message["parts"].as_array().unwrap().iter().map(|part| {
        let text = |key: &str| part[key].as_str().map(|text| without_file(&plain(text)));
        json!({
            "type": part["type"],
            "text": text("text"),
            "call": part["call"],
            "tool": part["tool"],
            "arguments": part["arguments"],
            "status": part["status"],
            "output": text("output"),
            "error": text("error"),
        })
    });
    json!({
        "role": message["role"],
        "origin": message["origin"],
        "agent": message["agent"],
        "model": message["model"],
        "finish": message["finish"],
        "error": message["error"],
        "parts": parts.collect::<Vec<_>>(),
    })
}

#[test]
fn t1_one_conversation_is_the_same_on_both_harnesses() {
    let ours = run("experimental");
    let standard = run("standard");

    assert_eq!(ours.offered.len(), TOOLS.len() + 4);
    for (ours, standard) in ours.offered.iter().zip(&standard.offered) {
        // As text: the order of keys is part of what a provider caches.
        let both = [ours, standard].map(|tool| {
            let part = |key: &str| tool[key].to_string();
            (part("name"), part("description"), part("parameters"))
        });
        assert_eq!(both[0], both[1]);
    }
    assert_eq!(ours.offered.len(), standard.offered.len());
    assert!(
        ours.steady && standard.steady,
        "the tools differ from request to request"
    );

    assert_eq!(ours.read.len(), 19);
    for (ours, standard) in ours.read.iter().zip(&standard.read) {
        assert_eq!(ours.0, standard.0);
        assert!(
            ours.1 == standard.1,
            "{}: {} bytes on the experimental harness, {} on the standard one:\n{}\n---\n{}",
            ours.0,
            ours.1.len(),
            standard.1.len(),
            ends(&ours.1),
            ends(&standard.1),
        );
    }
    assert_eq!(ours.read.len(), standard.read.len());
    let text = |call: &str| &ours.read.iter().find(|(id, _)| id == call).unwrap().1;
    assert_eq!((text("c3").as_str(), text("c4").as_str()), ("(no output)", "0"));
    assert_eq!((text("c12").len(), text("c13").lines().count()), (51_200, 2_000));
    assert!(
        text("c15").contains("<file>") && text("c15").len() <= 51_200,
        "{}",
        ends(text("c15"))
    );
    let numbers = text("c19");
    assert!(
        ["9007199254740993", "-9223372036854775808"]
            .iter()
            .all(|exact| numbers.contains(exact)),
        "{numbers}"
    );

    for (ours, standard) in ours.transcript.iter().zip(&standard.transcript) {
        assert_eq!(ours, standard);
    }
    assert_eq!(ours.transcript.len(), standard.transcript.len());
}

/// The beginning and the end of a text.
fn ends(text: &str) -> String {
    let shown: Vec<char> = text.chars().collect();
    if shown.len() <= 600 {
        return text.to_owned();
    }
    let part = |chars: &[char]| chars.iter().collect::<String>();
    format!("{} … {}", part(&shown[..200]), part(&shown[shown.len() - 400..]))
}

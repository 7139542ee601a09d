//! The project's files that OpenCode gets in another form than they have.

use std::path::Path;

use super::Place;

/// OpenCode's own tools: they ask for permission themselves.
const HARNESS: &[&str] = &[
    "bash",
    "read",
    "write",
    "edit",
    "apply_patch",
    "glob",
    "grep",
    "task",
    "question",
    "todowrite",
    "webfetch",
    "skill",
];

/// A file that has the tools of `file`, which first ask for permission: OpenCode asks for its own tools only.
pub(super) fn wrapper(file: &Path, tools: &[(String, String)]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!(
        "// Made by Beeuni for {0}\nimport * as own from {1};\n\
         const asking = (permission, tool) => ({{ ...tool, async execute(args, context) {{\n  \
         await context.ask({{ permission, patterns: [JSON.stringify(args)], always: [\"*\"], metadata: {{}} }});\n  \
         return tool.execute(args, context);\n}} }});\n",
        file.display().to_string().replace(['\n', '\r'], " "),
        quoted(&file.to_string_lossy()),
    );
    let mut exports = Vec::new();
    for (at, (name, export)) in tools.iter().enumerate() {
        let own = format!("own[{}]", quoted(export));
        if HARNESS.contains(&name.as_str()) {
            text.push_str(&format!("const tool{at} = {own};\n"));
        } else {
            text.push_str(&format!("const tool{at} = asking({}, {own});\n", quoted(name)));
        }
        exports.push(format!("tool{at} as {}", quoted(export)));
    }
    text.push_str(&format!("export {{ {} }};\n", exports.join(", ")));
    text
}

/// A configuration file for its new place: what it names by paths that would lead elsewhere from there. It also gets
/// the `$schema` that OpenCode would write into it.
pub(super) fn moved(text: &str, place: &Place) -> String {
    let source = place.config_source.display();
    let mut moved = text.replace("{file:../", &format!("{{file:{source}/../"));
    if let Some(home) = place.env.get("HOME") {
        moved = moved.replace("{file:~/", &format!("{{file:{home}/"));
    }
    if !moved.contains("\"$schema\"")
        && let Some(at) = moved.find('{')
    {
        moved.insert_str(at + 1, "\"$schema\":\"https://opencode.ai/config.json\",");
    }
    moved
}

//! `todowrite`: the session's todo list.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::permission::Access;

use super::Inner;
use super::arguments::{Arguments, shown};
use super::context::{CallContext, ToolFailure, ToolOutput};
use super::spec::Spec;

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "todowrite",
    description: "Keep the todo list of this session, which the user sees. Use it for work of several steps. Every call \
        gives the whole list and replaces the old one: mark a todo in_progress when you begin it and completed as soon as \
        it is done.",
    parameters: r#"{"type":"object","properties":{"todos":{"type":"array","description":"The whole list, in order.","items":{"type":"object","properties":{"content":{"type":"string","description":"What is to do."},"status":{"type":"string","enum":["pending","in_progress","completed","cancelled"]},"priority":{"type":"string","enum":["high","medium","low"],"description":"Default: medium."}},"required":["content","status"]}}},"required":["todos"]}"#,
};

/// Longest list.
const MOST: usize = 200;
/// Longest text of one todo, in characters.
const LONGEST: usize = 2000;

/// One entry of a todo list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to do.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// How much it matters.
    pub priority: TodoPriority,
}

/// How far a todo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Not needed any more.
    Cancelled,
}

/// How much a todo matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    /// First.
    High,
    /// The usual.
    Medium,
    /// Last.
    Low,
}

pub(super) fn prepare(arguments: &Arguments) -> Result<(Vec<Todo>, Vec<Access>), ToolFailure> {
    let items = arguments.list("todos", "the whole list, [] to clear it")?;
    if items.len() > MOST {
        return Err(ToolFailure::arguments(format!(
            "The list has {} todos: keep it to {MOST}.",
            items.len()
        )));
    }
    let todos: Result<Vec<Todo>, ToolFailure> = items.iter().enumerate().map(|(at, item)| todo(at, item)).collect();
    Ok((todos?, vec![Access::new("todowrite", SPEC.name, "", "*")]))
}

fn todo(at: usize, item: &Value) -> Result<Todo, ToolFailure> {
    let wrong = |name: &str, wanted: &str, came: &Value| {
        ToolFailure::arguments(format!(
            "The argument `todos[{at}]{name}` of `todowrite` must be {wanted}, but {} came.",
            shown(came)
        ))
    };
    // Some models send the entries as texts of objects, or as plain texts.
    let parsed = item.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let item = parsed.as_ref().filter(|parsed| parsed.is_object()).unwrap_or(item);
    if let Value::String(content) = item
        && !content.trim().is_empty()
    {
        return Ok(Todo {
            content: content.trim().to_owned(),
            status: TodoStatus::Pending,
            priority: TodoPriority::Medium,
        });
    }
    if !item.is_object() {
        return Err(wrong("", "an object { content, status, priority }", item));
    }
    let get = |name: &str| item.get(name).unwrap_or(&Value::Null);
    let content = get("content").as_str().unwrap_or_default().trim();
    if content.is_empty() || content.chars().count() > LONGEST {
        return Err(wrong(".content", "a text of 1 to 2000 characters", get("content")));
    }
    let word = |name: &str| {
        get(name)
            .as_str()
            .map(|text| text.trim().to_ascii_lowercase().replace(['-', ' '], "_"))
    };
    let status = match word("status").as_deref() {
        Some("pending" | "todo" | "open") => TodoStatus::Pending,
        Some("in_progress") => TodoStatus::InProgress,
        Some("completed" | "done" | "complete") => TodoStatus::Completed,
        Some("cancelled" | "canceled") => TodoStatus::Cancelled,
        None if get("status").is_null() => TodoStatus::Pending,
        _ => {
            return Err(wrong(
                ".status",
                "one of pending, in_progress, completed, cancelled",
                get("status"),
            ));
        }
    };
    let priority = match word("priority").as_deref() {
        Some("high") => TodoPriority::High,
        Some("medium") => TodoPriority::Medium,
        Some("low") => TodoPriority::Low,
        None if get("priority").is_null() => TodoPriority::Medium,
        _ => return Err(wrong(".priority", "one of high, medium, low", get("priority"))),
    };
    Ok(Todo {
        content: content.to_owned(),
        status,
        priority,
    })
}

/// Metadata: `{ todos: [{ content, status, priority }] }`.
pub(super) fn run(tools: &Inner, todos: Vec<Todo>, context: CallContext<'_>) -> ToolOutput {
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let open = todos
        .iter()
        .filter(|todo| matches!(todo.status, TodoStatus::Pending | TodoStatus::InProgress))
        .count();
    let text = if todos.is_empty() {
        "The todo list is empty.".to_owned()
    } else {
        render(&todos)
    };
    let output = ToolOutput {
        text: tools.outputs.bounded(SPEC.name, text),
        title: format!("{done} done, {open} open"),
        metadata: json!({"todos": todos}),
        ..ToolOutput::default()
    };
    tools.sessions.set_todos(context.session, todos);
    output
}

fn render(todos: &[Todo]) -> String {
    let lines: Vec<String> = todos
        .iter()
        .map(|todo| {
            let mark = match todo.status {
                TodoStatus::Pending => "[ ]",
                TodoStatus::InProgress => "[>]",
                TodoStatus::Completed => "[x]",
                TodoStatus::Cancelled => "[-]",
            };
            let priority = match todo.priority {
                TodoPriority::High => " (high)",
                TodoPriority::Medium => "",
                TodoPriority::Low => " (low)",
            };
            format!("{mark} {}{priority}", todo.content)
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn read(todos: &str) -> Result<Vec<Todo>, String> {
        let arguments = Arguments::parse("todowrite", &format!(r#"{{"todos":{todos}}}"#)).unwrap();
        prepare(&arguments)
            .map(|(todos, _)| todos)
            .map_err(|failure| failure.message)
    }

    #[test]
    fn a_list_is_read_as_it_is_meant_and_shown_with_its_marks() {
        let todos = read(
            r#"[{"content":"a","status":"completed","priority":"high"},{"content":"b","status":"in-progress"},
                {"content":"c","status":"pending","priority":"low"},"d","{\"content\":\"e\",\"status\":\"cancelled\"}"]"#,
        );
        assert_eq!(
            render(&todos.unwrap()),
            "[x] a (high)\n[>] b\n[ ] c (low)\n[ ] d\n[-] e"
        );
        assert_eq!(read("[]"), Ok(Vec::new()));
    }

    #[test]
    fn a_wrong_entry_is_named() {
        for (todos, expected) in [
            (
                r#"[{"content":"a","status":"later"}]"#,
                "todos[0].status` of `todowrite` must be one of pending",
            ),
            (
                r#"["a",{"status":"pending"}]"#,
                "todos[1].content` of `todowrite` must be a text",
            ),
            (
                r#"[{"content":"a","status":"pending","priority":1}]"#,
                "todos[0].priority",
            ),
            ("[7]", "todos[0]` of `todowrite` must be an object"),
            ("\"x\"", "must be an array"),
        ] {
            let message = read(todos).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        let many = format!("[{}]", vec!["\"a\""; 201].join(","));
        assert!(read(&many).unwrap_err().contains("201 todos"));
    }
}

//! What a call of a hosted tool, or of `task`, is going to do.

use std::path::Path;

use serde_json::Value;

use super::access::Access;
use super::pattern::Text;

/// The accesses of a call that is no harness tool: a Beeuni or project tool, or `task`.
///
/// `args` is the arguments' JSON text, `checkout` the folder of which `memory/` is in. The five Beeuni tools stand
/// under the capabilities of the manifest; a project tool is its own capability, and its subject is the arguments'
/// JSON text on one line.
pub fn accesses_of(tool: &str, args: &str, checkout: &Path) -> Vec<Access> {
    let value: Value = serde_json::from_str(args).unwrap_or(Value::Null);
    match tool {
        "web_search" | "image_search" => queries(&value, tool),
        "scrape_webpage" => addresses(&value, tool),
        "memory" => memory(&value, checkout),
        "task" => vec![named(&value, "subagent_type", tool)],
        "skill" => vec![named(&value, "name", tool)],
        _ => {
            // As it came: numbers keep their digits, keys their order.
            let subject = if value.is_null() {
                args.trim().to_owned()
            } else {
                one_line(args)
            };
            vec![Access::new(tool, tool, subject, "*")]
        }
    }
}

/// The text of JSON without the space between its parts.
fn one_line(json: &str) -> String {
    let (mut out, mut in_string, mut escaped) = (String::with_capacity(json.len()), false, false);
    for c in json.chars() {
        if in_string || !c.is_ascii_whitespace() {
            out.push(c);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
    }
    out
}

fn named(value: &Value, key: &str, tool: &str) -> Access {
    match value.get(key).and_then(Value::as_str) {
        Some(name) => Access::new(tool, tool, name.trim(), name.trim()),
        None => Access::new(tool, tool, "", "*"),
    }
}

/// As the tools do: text split at `|||`, or a list, or the text of a JSON list.
fn queries(value: &Value, tool: &str) -> Vec<Access> {
    let queries: Vec<String> = match list(value.get("query")) {
        Listed::Items(items) => items,
        Listed::Text(text) => text.split("|||").map(|query| query.trim().to_owned()).collect(),
    };
    let mut accesses: Vec<Access> = queries
        .into_iter()
        .filter(|query| !query.is_empty())
        .map(|query| Access::new("websearch", tool, query, "*"))
        .collect();
    if accesses.is_empty() {
        accesses.push(Access::new("websearch", tool, "", "*"));
    }
    accesses
}

fn addresses(value: &Value, tool: &str) -> Vec<Access> {
    let entries = match list(value.get("urls")) {
        Listed::Items(items) => items,
        Listed::Text(text) => vec![text],
    };
    let mut accesses: Vec<Access> = entries
        .iter()
        .flat_map(|entry| split_addresses(entry))
        .map(|address| address_access(&address, tool))
        .collect();
    if accesses.is_empty() {
        accesses.push(Access::new("webfetch", tool, "", "*"));
    }
    accesses
}

enum Listed {
    Items(Vec<String>),
    Text(String),
}

/// A list, the text of a JSON list, or a text: what a model may send where several are meant.
fn list(value: Option<&Value>) -> Listed {
    let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Some(Value::Array(items)) => Listed::Items(items.iter().map(as_text).collect()),
        Some(Value::String(text)) if text.trim_start().starts_with('[') => match serde_json::from_str(text) {
            Ok(Value::Array(items)) => Listed::Items(items.iter().map(as_text).collect()),
            _ => Listed::Text(text.clone()),
        },
        Some(Value::Null) | None => Listed::Text(String::new()),
        Some(value) => Listed::Text(as_text(value)),
    }
}

/// Splits a list of addresses as `scrape_webpage` does: a comma inside a query does not split, a new address begins
/// with `http` or stands behind a comma and a space.
fn split_addresses(text: &str) -> Vec<String> {
    let mut entries = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let behind = &text[at + c.len_utf8()..];
        let next = behind.trim_start();
        let spaced = next.len() < behind.len();
        let ends = (c == ',' || c.is_whitespace()) && is_web_address(next) || c == ',' && spaced || c == '\n';
        if ends {
            entries.push(&text[start..at]);
            at = text.len() - next.len();
            start = at;
        } else {
            at += c.len_utf8();
        }
    }
    entries.push(&text[start..]);
    entries
        .into_iter()
        .flat_map(|entry| {
            // Hosts without a path may stand side by side: `a.example,b.example/page`.
            let scheme = if is_web_address(entry) {
                entry.find("//").map_or(0, |at| at + 2)
            } else {
                0
            };
            let host_end = entry[scheme..]
                .find(['/', '?', '#'])
                .map_or(entry.len(), |at| scheme + at);
            let mut parts: Vec<String> = entry[..host_end].split(',').map(str::to_owned).collect();
            if let Some(last) = parts.last_mut() {
                last.push_str(&entry[host_end..]);
            }
            parts
        })
        .map(|entry| entry.trim().trim_end_matches(',').to_owned())
        .filter(|entry| !entry.is_empty())
        .collect()
}

fn is_web_address(text: &str) -> bool {
    let start = text.as_bytes();
    ["http://", "https://"]
        .iter()
        .any(|scheme| start.len() >= scheme.len() && start[..scheme.len()].eq_ignore_ascii_case(scheme.as_bytes()))
}

/// Reading one address. Patterns may match the whole address or its host alone.
pub(crate) fn address_access(address: &str, tool: &str) -> Access {
    let whole = if address.contains("://") {
        address.to_owned()
    } else {
        format!("https://{address}")
    };
    let Ok(mut url) = url::Url::parse(&whole) else {
        return Access::new("webfetch", tool, address, address);
    };
    let Some(host) = url.host_str().map(|host| host.trim_end_matches('.').to_owned()) else {
        return Access::new("webfetch", tool, address, address);
    };
    // Two writings of one address must not be two subjects.
    let _ = url.set_host(Some(&host));
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let path = decode_plain(url.path());
    url.set_path(&path);
    url.set_fragment(None);
    let subject = url.to_string();
    let without_slash = subject.strip_suffix('/').filter(|_| url.path() == "/");
    let forms = [Some(subject.as_str()), without_slash, Some(host.as_str())];
    let always = format!("{}://{}/*", url.scheme(), subject_authority(&url, &host));
    Access::new("webfetch", tool, subject.clone(), always).with_forms(forms.into_iter().flatten().map(Text::from))
}

fn subject_authority(url: &url::Url, host: &str) -> String {
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Decodes percent-encoded characters that need no encoding: `%70rivate` is `private`.
fn decode_plain(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code.map(char::from) {
            Some(c) if c.is_ascii_alphanumeric() || "-._~".contains(c) => {
                out.push(c);
                rest = &rest[at + 3..];
            }
            _ => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// `memory` edits, except that `view` reads; its paths are those of `memory/` in the checkout.
fn memory(value: &Value, checkout: &Path) -> Vec<Access> {
    let capability = if value.get("command").and_then(Value::as_str) == Some("view") {
        "read"
    } else {
        "edit"
    };
    let mut accesses: Vec<Access> = ["path", "old_path", "new_path"]
        .iter()
        .filter_map(|key| value.get(key).and_then(Value::as_str))
        .map(|path| Access::new(capability, "memory", memory_path(path, checkout), "memory/*"))
        .collect();
    if accesses.is_empty() {
        accesses.push(Access::new(capability, "memory", "memory/", "memory/*"));
    }
    accesses
}

/// The checkout's path of what `memory` calls `/memories/notes.md`; other paths as they are, which it refuses.
fn memory_path(path: &str, checkout: &Path) -> String {
    let own = checkout.join("memory");
    let folders = ["/memories", &own.to_string_lossy(), "memory", "memories"];
    let below = folders.iter().find_map(|folder| {
        let rest = path.strip_prefix(folder)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    });
    let Some(below) = below.or((!path.starts_with('/')).then_some(path)) else {
        return path.to_owned();
    };
    let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
    format!("memory/{}", names.join("/"))
}

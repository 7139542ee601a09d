//! An agent's `.md`: settings in the frontmatter, the system prompt below it.
mod permission;
mod settings;

use std::rc::Rc;

use crate::issue::Issue;
use crate::report::{At, Findings, Spot};
use crate::tree::Tree;
use crate::yaml::{self, Kind};

pub(crate) use permission::CAPABILITIES;
pub use permission::{PermissionAction, PermissionRule};
pub(crate) use settings::FILE_KEYS;

/// The line before and after the frontmatter.
const FENCE: &str = "---";

/// When an agent can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentMode {
    /// As the agent of a session.
    Primary,
    /// By another agent through `task`.
    Subagent,
    /// Both.
    All,
}

/// What an agent's `.md` says. A setting that is missing or wrong is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentFile {
    /// What the agent is for.
    pub description: Option<String>,
    /// The model, as `provider/model`.
    pub model: Option<String>,
    /// When it can be used.
    pub mode: Option<AgentMode>,
    /// Sampling temperature, from 0 to 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling, from 0 to 1.
    pub top_p: Option<f64>,
    /// The most model calls of one turn, at least 1.
    pub steps: Option<u32>,
    /// Permission rules as written, in order. A single action is a rule for `*`.
    pub permission: Vec<PermissionRule>,
    /// The text below the frontmatter, without blank lines around it: the system prompt.
    pub prompt: String,
}

/// Reads the agent's file at `path` of `tree`, and what is wrong with it in line order.
///
/// Whether a rule names a tool of the project is for [`load`](crate::load), which knows them.
#[must_use]
pub fn read_agent_file(tree: &dyn Tree, path: &str) -> (AgentFile, Vec<Issue>) {
    let mut findings = Findings::new();
    let read = read(tree, path, &mut findings);
    (read.file, findings.sorted([path]))
}

/// An agent's file and what its permission rules name.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) file: AgentFile,
    pub(crate) capabilities: Vec<(String, Spot)>,
}

/// Reads the agent's file at `path`.
pub(crate) fn read(tree: &dyn Tree, path: &str, findings: &mut Findings) -> Read {
    let name: Rc<str> = Rc::from(path);
    let mut read = Read::default();
    let top = Spot::top(&name);
    let text = match tree.read(path) {
        Ok(bytes) => yaml::decode(bytes),
        Err(error) => {
            findings.error(&top, format!("the agent's file cannot be read: {error}"));
            return read;
        }
    };
    let text = match text {
        Ok(text) => text.body,
        Err(problem) => {
            findings.error(
                &Spot {
                    mark: problem.mark,
                    ..top
                },
                problem.message,
            );
            return read;
        }
    };
    let Some((front, body)) = split(&text) else {
        let message = "the frontmatter that begins with `---` never ends: close it with a line `---`";
        findings.error(&top, message);
        return read;
    };
    read.file.prompt = body.trim().to_owned();
    let document = match yaml::parse(front) {
        Ok(document) => document,
        Err(problem) => {
            findings.error(
                &Spot {
                    mark: problem.mark,
                    ..top
                },
                problem.message,
            );
            return read;
        }
    };
    for fault in document.faults {
        findings.error(
            &Spot {
                path: fault.path,
                mark: fault.mark,
                ..top.clone()
            },
            fault.message,
        );
    }
    let Some(root) = document.root else {
        return read;
    };
    let at = At::root(&name, &root);
    if root.kind() == Kind::Map {
        settings::read(&at, &mut read, findings);
    } else {
        let found = root.kind().describe();
        findings.error(
            &at.spot,
            format!("the frontmatter must be a map of keys such as `model`, not {found}"),
        );
    }
    read
}

/// The frontmatter with its opening line, which is a YAML document whose places are those of the
/// file, and the text below. `None` when it never ends.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == FENCE) else {
        return Some(("", text));
    };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == FENCE {
            return Some((&text[..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn frontmatter_and_prompt_are_told_apart() {
        assert_eq!(split("---\na: b\n---\nHello\n"), Some(("---\na: b\n", "Hello\n")));
        assert_eq!(
            split("---\r\na: b\r\n--- \r\nHello"),
            Some(("---\r\na: b\r\n", "Hello"))
        );
        assert_eq!(split("---\n---\n"), Some(("---\n", "")));
        assert_eq!(
            split("Hello\n---\nnot a fence\n"),
            Some(("", "Hello\n---\nnot a fence\n"))
        );
        assert_eq!(split(""), Some(("", "")));
        assert_eq!(split("---\na: b\n ---\n"), None);
    }
}

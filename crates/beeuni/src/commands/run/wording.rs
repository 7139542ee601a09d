//! The words in which a person is asked, and what their answers mean.
use beeuni_protocol::session::{PermissionRequest, Question, RequestedAccess};

use crate::output::{DIM, Look, STRONG, WARNING, visible};

/// What a permission is asked for, and what `always` would allow.
pub(super) fn about(look: Look, request: &PermissionRequest) -> Vec<String> {
    let who = format!("{} asks for permission ({})", request.tool, request.agent);
    let mut lines = vec![format!(
        "{} {}",
        look.paint(WARNING, "?"),
        look.paint(STRONG, &visible(&who))
    )];
    for (at, access) in request.accesses.iter().enumerate() {
        lines.push(format!("    {}", visible(&access.subject).replace('\n', "\n    ")));
        let rule = |access: &RequestedAccess| format!("{}: {}", access.capability, access.rule);
        // One rule often asks about several parts of one command: it is said once, below them.
        if request
            .accesses
            .get(at + 1)
            .is_none_or(|next| rule(next) != rule(access))
        {
            lines.push(format!("    {}", look.paint(DIM, &visible(&rule(access)))));
        }
    }
    let patterns: Vec<String> = request
        .always
        .iter()
        .map(|allowed| format!("{}: {}", allowed.capability, allowed.pattern))
        .collect();
    if !patterns.is_empty() {
        let always = format!("always would allow for this session: {}", patterns.join(", "));
        lines.push(format!("    {}", look.paint(DIM, &visible(&always))));
    }
    lines
}

/// A question and what can be chosen.
pub(super) fn choices(look: Look, question: &Question) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {}",
        look.paint(WARNING, "?"),
        look.paint(STRONG, &visible(&question.question))
    )];
    for (index, option) in question.options.iter().enumerate() {
        let description = match option.description.as_str() {
            "" => String::new(),
            text => look.paint(DIM, &visible(&format!(": {text}"))),
        };
        lines.push(format!("  {}. {}{description}", index + 1, visible(&option.label)));
    }
    lines
}

/// What a line of a person means: options by number or label, else a text of their own.
pub(super) fn chosen(question: &Question, line: &str) -> Vec<String> {
    let option = |text: &str| {
        let by_number = text
            .parse::<usize>()
            .ok()
            .and_then(|number| question.options.get(number.checked_sub(1)?));
        let by_label = || {
            question
                .options
                .iter()
                .find(|option| option.label.eq_ignore_ascii_case(text))
        };
        by_number.or_else(by_label).map(|option| option.label.clone())
    };
    let parts: Vec<&str> = if question.multiple {
        line.split(',').map(str::trim).collect()
    } else {
        vec![line]
    };
    let options: Option<Vec<String>> = parts.into_iter().filter(|part| !part.is_empty()).map(option).collect();
    options
        .filter(|options| !options.is_empty())
        .unwrap_or_else(|| vec![line.to_owned()])
}

#[cfg(test)]
mod tests {
    use beeuni_protocol::session::QuestionOption;

    use super::*;

    #[test]
    fn a_rule_that_asks_about_several_parts_is_said_once() {
        let access = |subject: &str, rule: &str| RequestedAccess {
            capability: "bash".to_owned(),
            subject: subject.to_owned(),
            rule: rule.to_owned(),
        };
        let request = PermissionRequest {
            id: "per_1".to_owned(),
            session: "s".to_owned(),
            agent: "support".to_owned(),
            message: "msg_1".to_owned(),
            call: "call_1".to_owned(),
            tool: "bash".to_owned(),
            accesses: vec![
                access("git status", "first"),
                access("git log", "first"),
                access("rm x", "second"),
            ],
            always: Vec::new(),
            created: 0,
        };
        assert_eq!(
            about(Look::plain(), &request),
            [
                "? bash asks for permission (support)",
                "    git status",
                "    git log",
                "    bash: first",
                "    rm x",
                "    bash: second",
            ]
        );
    }

    fn question(multiple: bool) -> Question {
        let option = |label: &str| QuestionOption {
            label: label.to_owned(),
            description: String::new(),
        };
        Question {
            question: "Which database?".to_owned(),
            header: "Database".to_owned(),
            options: vec![option("Postgres"), option("SQLite")],
            multiple,
        }
    }

    #[test]
    fn an_answer_is_a_number_a_label_or_a_text() {
        assert_eq!(chosen(&question(false), "2"), ["SQLite"]);
        assert_eq!(chosen(&question(false), "postgres"), ["Postgres"]);
        assert_eq!(chosen(&question(false), "3"), ["3"]);
        assert_eq!(chosen(&question(false), "0"), ["0"]);
        assert_eq!(chosen(&question(false), "none, really"), ["none, really"]);
    }

    #[test]
    fn several_answers_are_separated_by_commas() {
        assert_eq!(chosen(&question(true), "1, sqlite"), ["Postgres", "SQLite"]);
        assert_eq!(chosen(&question(true), "1, and another"), ["1, and another"]);
    }
}

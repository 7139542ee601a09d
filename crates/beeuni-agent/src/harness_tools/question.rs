//! `question`: asks the user.

use serde_json::{Value, json};

use crate::permission::Access;

use super::Inner;
use super::arguments::{Arguments, shown};
use super::context::{CallContext, FailureKind, Question, QuestionOption, ToolFailure, ToolOutput};
use super::spec::Spec;

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "question",
    description: "Ask the user, and wait for the answer: when what they want is not clear, or a decision is theirs. Ask \
        several questions in one call. Give options where they help, the one that you recommend first; the user can always \
        write an answer of their own, so add no option such as \"other\".",
    parameters: r#"{"type":"object","properties":{"questions":{"type":"array","description":"1 to 8 questions.","items":{"type":"object","properties":{"question":{"type":"string","description":"The whole question."},"header":{"type":"string","description":"A label of a few words."},"options":{"type":"array","description":"What can be chosen, up to 12.","items":{"type":"object","properties":{"label":{"type":"string","description":"A few words."},"description":{"type":"string","description":"What choosing it means."}},"required":["label"]}},"multiple":{"type":"boolean","description":"Several options can be chosen. Default: false."}},"required":["question"]}}},"required":["questions"]}"#,
};

const MOST_QUESTIONS: usize = 8;
const MOST_OPTIONS: usize = 12;
/// Longest label of a question, in characters; a longer one is cut.
const LONGEST_HEADER: usize = 40;

pub(super) fn prepare(arguments: &Arguments) -> Result<(Vec<Question>, Vec<Access>), ToolFailure> {
    let items = arguments.list("questions", "1 to 8 questions")?;
    if items.is_empty() || items.len() > MOST_QUESTIONS {
        return Err(ToolFailure::arguments(format!(
            "Ask 1 to {MOST_QUESTIONS} questions in one call, not {}.",
            items.len()
        )));
    }
    let questions: Result<Vec<Question>, ToolFailure> =
        items.iter().enumerate().map(|(at, item)| question(at, item)).collect();
    Ok((questions?, vec![Access::new("question", SPEC.name, "", "*")]))
}

fn question(at: usize, item: &Value) -> Result<Question, ToolFailure> {
    let wrong = |name: &str, wanted: &str, came: &Value| {
        ToolFailure::arguments(format!(
            "The argument `questions[{at}]{name}` of `question` must be {wanted}, but {} came.",
            shown(came)
        ))
    };
    let get = |name: &str| item.get(name).unwrap_or(&Value::Null);
    let text = item
        .as_str()
        .or_else(|| get("question").as_str())
        .unwrap_or_default()
        .trim();
    if text.is_empty() {
        return Err(wrong(".question", "the text of the question", get("question")));
    }
    let header = get("header")
        .as_str()
        .map(str::trim)
        .filter(|header| !header.is_empty())
        .unwrap_or(text);
    let listed = match get("options") {
        Value::Null => Vec::new(),
        Value::Array(options) => options.clone(),
        Value::String(json) => serde_json::from_str(json).map_err(|_| wrong(".options", "an array", get("options")))?,
        other => return Err(wrong(".options", "an array", other)),
    };
    if listed.len() > MOST_OPTIONS {
        return Err(ToolFailure::arguments(format!(
            "Question {} has {} options: give at most {MOST_OPTIONS}.",
            at + 1,
            listed.len()
        )));
    }
    let mut options: Vec<QuestionOption> = Vec::new();
    for option in &listed {
        let label = option
            .as_str()
            .or_else(|| option.get("label")?.as_str())
            .unwrap_or_default()
            .trim();
        if label.is_empty() {
            return Err(wrong(".options", "a list of { label, description }", option));
        }
        if options.iter().any(|other| other.label == label) {
            return Err(ToolFailure::arguments(format!(
                "Question {} has the option {label:?} twice.",
                at + 1
            )));
        }
        let description = option.get("description").and_then(Value::as_str).unwrap_or_default();
        options.push(QuestionOption {
            label: label.to_owned(),
            description: description.trim().to_owned(),
        });
    }
    let multiple = match get("multiple") {
        Value::Bool(flag) => *flag,
        Value::String(flag) => flag.trim().eq_ignore_ascii_case("true"),
        _ => false,
    };
    Ok(Question {
        question: text.to_owned(),
        header: header.chars().take(LONGEST_HEADER).collect(),
        options,
        multiple,
    })
}

/// Metadata: `{ answers: [[…]] }`, a list for each question.
pub(super) async fn run(
    tools: &Inner,
    questions: Vec<Question>,
    context: CallContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let Some(asker) = context.asker else {
        return Err(ToolFailure {
            kind: FailureKind::Refused,
            message: "Nobody is there to answer. Decide yourself, and say in your answer what you assumed.".to_owned(),
        });
    };
    let answers = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Err(ToolFailure::stopped()),
        answers = asker.ask(&questions) => answers,
    };
    let answers = answers.map_err(|unanswered| ToolFailure {
        kind: FailureKind::Refused,
        message: unanswered.0,
    })?;
    let lines: Vec<String> = questions
        .iter()
        .enumerate()
        .map(|(at, question)| {
            let chosen: Vec<&str> = answers.get(at).into_iter().flatten().map(|text| text.trim()).collect();
            let answer = if chosen.iter().all(|text| text.is_empty()) {
                "(no answer)".to_owned()
            } else {
                chosen.join(", ")
            };
            format!("{}\n→ {answer}", question.question)
        })
        .collect();
    Ok(ToolOutput {
        text: tools.outputs.bounded(SPEC.name, lines.join("\n\n")),
        title: questions
            .first()
            .map(|question| question.header.clone())
            .unwrap_or_default(),
        metadata: json!({"answers": answers}),
        ..ToolOutput::default()
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn read(questions: &str) -> Result<Vec<Question>, String> {
        let arguments = Arguments::parse("question", &format!(r#"{{"questions":{questions}}}"#)).unwrap();
        prepare(&arguments)
            .map(|(questions, _)| questions)
            .map_err(|failure| failure.message)
    }

    #[test]
    fn questions_are_read_as_they_are_meant() {
        let questions = read(
            r#"["Why?",{"question":"Which?","header":"Pick","options":["a",{"label":"b","description":"B"}],"multiple":"true"}]"#,
        )
        .unwrap();
        assert_eq!((questions[0].header.as_str(), questions[0].options.len()), ("Why?", 0));
        assert_eq!(questions[1].options[1].description, "B");
        assert!(questions[1].multiple && !questions[0].multiple);
    }

    #[test]
    fn a_wrong_question_is_named() {
        for (questions, expected) in [
            ("[]", "1 to 8 questions"),
            (r#"[{"header":"x"}]"#, "questions[0].question"),
            (r#"[{"question":"x","options":7}]"#, "questions[0].options"),
            (r#"[{"question":"x","options":["a","a"]}]"#, "\"a\" twice"),
            (r#"[{"question":"x","options":[{}]}]"#, "label, description"),
        ] {
            let message = read(questions).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}

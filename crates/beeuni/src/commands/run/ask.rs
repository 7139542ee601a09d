//! Asks the person at the terminal: permissions and questions of a turn.
use std::io::{self, Write as _};

use beeuni_protocol::session::{PermissionAnswer, PermissionReply, PermissionRequest, QuestionAnswer, QuestionRequest};

use super::lines::Lines;
use super::watch::{Stop, Watch};
use super::wording::{about, choices, chosen};
use crate::output::{Look, Output, STRONG};

/// What came of asking.
#[derive(Debug)]
pub(super) enum Asked<T> {
    /// An answer.
    Answer(T),
    /// The turn is to end instead.
    Stop(Stop),
}

/// Asks a person.
#[derive(Default)]
pub(super) struct Asker {
    lines: Lines,
}

impl Asker {
    /// Asks for a permission.
    pub(super) async fn permission(
        &mut self,
        output: &Output,
        watch: &mut Watch,
        request: &PermissionRequest,
    ) -> Asked<PermissionAnswer> {
        let look = output.err;
        for line in about(look, request) {
            output.note(&line);
        }
        let answer = |reply, message| Asked::Answer(PermissionAnswer { reply, message });
        loop {
            match self.line(look, watch, "  [y] yes, once  [a] always  [n] no: ").await {
                Asked::Stop(stop) => return Asked::Stop(stop),
                // The end of input is no consent.
                Asked::Answer(None) => {
                    output.note("");
                    return answer(PermissionReply::Reject, None);
                }
                Asked::Answer(Some(line)) => match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => return answer(PermissionReply::Once, None),
                    "a" | "always" => return answer(PermissionReply::Always, None),
                    "n" | "no" => break,
                    _ => {}
                },
            }
        }
        match self
            .line(look, watch, "  What should it do instead? (Enter: nothing, stop) ")
            .await
        {
            Asked::Stop(stop) => Asked::Stop(stop),
            Asked::Answer(line) => {
                let message = line.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
                answer(PermissionReply::Reject, message)
            }
        }
    }

    /// Asks questions; the answer is `None` when the person wants none of it.
    pub(super) async fn questions(
        &mut self,
        output: &Output,
        watch: &mut Watch,
        request: &QuestionRequest,
    ) -> Asked<Option<QuestionAnswer>> {
        let look = output.err;
        let mut answers = Vec::new();
        for question in &request.questions {
            for line in choices(look, question) {
                output.note(&line);
            }
            let how = match (question.options.is_empty(), question.multiple) {
                (true, _) => "  Answer",
                (false, false) => "  Number, or an answer of your own",
                (false, true) => "  Numbers with commas, or an answer of your own",
            };
            match self.line(look, watch, &format!("{how} (Enter: dismiss) ")).await {
                Asked::Stop(stop) => return Asked::Stop(stop),
                Asked::Answer(None) => {
                    output.note("");
                    return Asked::Answer(None);
                }
                Asked::Answer(Some(line)) if line.trim().is_empty() => return Asked::Answer(None),
                Asked::Answer(Some(line)) => answers.push(chosen(question, line.trim())),
            }
        }
        Asked::Answer(Some(QuestionAnswer { answers }))
    }

    /// Shows what is asked and waits for a line.
    async fn line(&mut self, look: Look, watch: &mut Watch, prompt: &str) -> Asked<Option<String>> {
        // What was written before shows already; this has no line end of its own.
        let _ = write!(io::stderr().lock(), "{}", look.paint(STRONG, prompt));
        let _ = io::stderr().flush();
        tokio::select! {
            stop = watch.next() => {
                let _ = writeln!(io::stderr().lock());
                Asked::Stop(stop)
            }
            line = self.lines.next() => Asked::Answer(line),
        }
    }
}

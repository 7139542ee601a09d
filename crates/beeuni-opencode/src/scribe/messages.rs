//! Messages: what was said, answers, summaries.
use beeuni_agent::StoreError;
use beeuni_agent::kit::now;
use beeuni_gateway::Usage as Counted;
use beeuni_protocol::session::{
    EventBody, Finish, Message, MessageTime, Origin, Part, PartBody, Role, TextPart, Usage,
};

use super::{Answer, Noted, PartState, Scribe};
use crate::client::{MessageInfo, PartInfo, Tokens, millis};
use crate::failure;

impl Scribe {
    pub(super) fn message(&mut self, info: &MessageInfo) -> Result<(), StoreError> {
        if self.passed_over.contains(&info.id) || !self.talks.contains_key(&info.session) {
            return Ok(());
        }
        // Between turns nothing is said: what comes then is late.
        if self.turn(&self.root).is_none() {
            return Ok(());
        }
        match (info.is_answer(), info.is_summary()) {
            (true, true) => self.summary(info),
            (true, false) => self.answer(info),
            (false, _) => {
                self.said(info);
                Ok(())
            }
        }
    }

    fn said(&mut self, info: &MessageInfo) {
        if self.messages.contains_key(&info.id) {
            return;
        }
        let is_told = self.journal.position_of(&self.id_of(&info.session), &info.id).is_some();
        let noted = if is_told {
            Noted::User
        } else {
            Noted::Unsaid {
                session: info.session.clone(),
                created: info.time.created.map_or_else(now, millis),
            }
        };
        self.messages.insert(info.id.clone(), noted);
    }

    /// The first part of a message on the user's side that is not a person's: now it is known what it is.
    pub(super) fn say(&mut self, session: &str, created: u64, part: &PartInfo) -> Result<(), StoreError> {
        let is_mark = part.kind == "compaction";
        if !is_mark && part.kind != "text" && part.kind != "file" {
            return Ok(());
        }
        let is_task = session != self.root && self.turn(session).is_none();
        let started = if is_task {
            self.begin_child(session, &part.message)
        } else {
            None
        };
        let Some(turn) = self.turn(session).map(|turn| turn.id.clone()) else {
            return Ok(());
        };
        let id = self.id_of(session);
        let agent = self.talk(session).map(|talk| talk.agent.clone()).unwrap_or_default();
        let message = Message {
            id: part.message.clone(),
            session: id.clone(),
            turn,
            role: Role::User,
            origin: Some(match (is_mark, is_task) {
                (true, _) => Origin::Compaction,
                (false, true) => Origin::Prompt,
                (false, false) => Origin::Harness,
            }),
            agent,
            model: None,
            time: MessageTime {
                created,
                completed: Some(created),
            },
            finish: None,
            error: None,
            usage: None,
            parts: Vec::new(),
        };
        let mut events = vec![EventBody::MessageCreated { message }];
        if !is_mark {
            let part = Part {
                id: part.id.clone(),
                message: part.message.clone(),
                body: self.user_part(part),
            };
            events.push(EventBody::PartUpdated { part });
        }
        events.extend(started.map(EventBody::TurnStarted));
        self.journal.publish_all(&id, events)?;
        self.parts.insert(part.id.clone(), PartState::Ended);
        let noted = if is_mark {
            Noted::Compaction {
                keep_from: part.tail_start_id.clone(),
                reason: match (part.auto, part.overflow) {
                    (true, true) => "overflow",
                    (true, false) => "window",
                    (false, _) => "asked",
                },
            }
        } else {
            Noted::User
        };
        self.messages.insert(part.message.clone(), noted);
        Ok(())
    }

    pub(super) fn user_part(&self, part: &PartInfo) -> PartBody {
        if part.kind == "file" {
            return PartBody::File(beeuni_protocol::session::Attachment {
                mime: part.mime.clone(),
                name: part.filename.clone(),
                url: part.url.clone(),
            });
        }
        PartBody::Text(TextPart {
            text: self.clean(&part.text),
        })
    }

    fn answer(&mut self, info: &MessageInfo) -> Result<(), StoreError> {
        if !self.messages.contains_key(&info.id) {
            return self.begin_answer(info);
        }
        self.end_answer(info)
    }

    fn begin_answer(&mut self, info: &MessageInfo) -> Result<(), StoreError> {
        let (id, created) = (self.id_of(&info.session), info.time.created.map_or_else(now, millis));
        let Some(talk) = self.talks.get_mut(&info.session) else {
            return Ok(());
        };
        let agent = talk.agent.clone();
        let Some(turn) = talk.turn.as_mut() else { return Ok(()) };
        turn.beyond_limit |= turn.limit.is_some_and(|limit| turn.answers >= limit);
        if turn.sealed || turn.beyond_limit {
            turn.overran = true;
            self.passed_over.insert(info.id.clone());
            return Ok(());
        }
        turn.steps += 1;
        turn.answers += 1;
        turn.error = None;
        turn.last = Some(info.id.clone());
        turn.answered.clone_from(&info.parent);
        if !info.model.is_empty() {
            turn.model.clone_from(&info.model);
        }
        let message = Message {
            id: info.id.clone(),
            session: id.clone(),
            turn: turn.id.clone(),
            role: Role::Assistant,
            origin: None,
            agent,
            model: Some(turn.model.clone()),
            time: MessageTime {
                created,
                completed: None,
            },
            finish: None,
            error: None,
            usage: None,
            parts: Vec::new(),
        };
        self.models.learn(message.model.as_deref().unwrap_or_default());
        self.journal.publish(
            &id,
            EventBody::MessageCreated {
                message: message.clone(),
            },
        )?;
        let answer = Answer {
            session: info.session.clone(),
            message,
            stepped: false,
        };
        self.messages.insert(info.id.clone(), Noted::Answer(Box::new(answer)));
        if info.time.completed.is_some() {
            self.end_answer(info)?;
        }
        Ok(())
    }

    fn end_answer(&mut self, info: &MessageInfo) -> Result<(), StoreError> {
        let Some(completed) = info.time.completed.map(millis) else {
            return Ok(());
        };
        let usage = self.usage(&info.tokens, &info.model);
        let pending = self.turn(&info.session).and_then(|turn| turn.error.clone());
        let stopping = self.stopping;
        let Some(Noted::Answer(answer)) = self.messages.get_mut(&info.id) else {
            return Ok(());
        };
        let mut message = answer.message.clone();
        let told = info.error.as_ref().map(failure::of_error);
        message.finish = Some(match (info.finish.as_deref(), &told) {
            _ if info.error.as_ref().is_some_and(failure::is_filter) => Finish::ContentFilter,
            (_, Some(None)) => Finish::Aborted,
            (_, Some(Some(_))) => Finish::Error,
            (Some("stop"), _) => Finish::Stop,
            (Some("tool-calls"), _) => Finish::ToolCalls,
            (Some("length"), _) => Finish::Length,
            (Some("content-filter"), _) => Finish::ContentFilter,
            (None, _) if pending.is_some() => Finish::Error,
            (None, _) if stopping => Finish::Aborted,
            (Some("error"), _) => Finish::Error,
            _ => Finish::Other,
        });
        if message.finish == Some(Finish::Error) {
            message.error = told.flatten().or(pending);
        }
        message.time.completed = Some(completed);
        message.usage = (usage != Usage::default()).then_some(usage);
        if message == answer.message {
            return Ok(());
        }
        answer.message = message.clone();
        let open = |part: &PartState| matches!(part, PartState::Open { message } if *message == info.id);
        let open: Vec<String> = self
            .parts
            .iter()
            .filter(|(_, part)| open(part))
            .map(|(id, _)| id.clone())
            .collect();
        for part in open {
            self.journal.end_part(&part, |_| {})?;
            self.parts.insert(part, PartState::Ended);
        }
        let id = self.id_of(&info.session);
        self.journal.publish(&id, EventBody::MessageUpdated { message })
    }

    pub(super) fn usage(&self, tokens: &Tokens, model: &str) -> Usage {
        let count = millis;
        let input = count(tokens.input) + count(tokens.cache.read) + count(tokens.cache.write);
        // What is shown as output leaves reasoning out, as far as the provider tells it apart; the sum does not.
        let output = match tokens.total.map(count) {
            Some(total) if total > input => total - input,
            _ => count(tokens.output) + count(tokens.reasoning),
        };
        let counted = Counted {
            input_tokens: input,
            output_tokens: output,
            cached_input_tokens: count(tokens.cache.read),
            cache_write_tokens: count(tokens.cache.write),
            reasoning_tokens: count(tokens.reasoning),
            cost: None,
        };
        if counted == Counted::default() {
            return Usage::default();
        }
        self.models.usage(model, &counted)
    }
}

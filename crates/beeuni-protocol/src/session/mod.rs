//! The conversation of a session: messages with their parts, events, and what waits for a person.
//!
//! One form for every harness. Ids are text that sorts in the order of creation; times are milliseconds
//! since 1970; sums of money are US dollars. A reader ignores fields that it does not know. What is absent
//! from an object is empty or does not apply.
mod ask;
mod event;
mod message;
mod part;
mod request;
mod state;

pub use ask::{
    AllowedPattern, PermissionAnswer, PermissionReply, PermissionRequest, Question, QuestionAnswer, QuestionOption,
    QuestionRequest, RequestedAccess,
};
pub use event::{Delta, DeltaField, Event, EventBody, Retry, SessionCreated, TurnEnded, TurnOutcome, TurnStarted};
pub use message::{Finish, Message, MessageTime, Origin, Role, TurnError, Usage};
pub use part::{Attachment, Compaction, Part, PartBody, Reasoning, TextPart, ToolCall, ToolStatus, ToolTime};
pub use request::{
    AbortAnswer, MessageList, OnAsk, PermissionList, PromptAnswer, PromptRequest, QuestionList, SessionList,
};
pub use state::{Activity, SessionState};

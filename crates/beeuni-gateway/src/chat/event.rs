//! What a model's answer is made of.

/// One piece of a model's answer, in the order in which it arrived.
///
/// [`Usage`](ChatEvent::Usage) comes at most once and [`Finish`](ChatEvent::Finish) exactly once,
/// last; a stream that ends in an error has no `Finish`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// More text of the answer. Never empty.
    Text(String),
    /// More of the model's reasoning, where the provider shows it. Never empty.
    Reasoning(String),
    /// A tool call begins, or its arguments go on.
    ToolCall {
        /// Which call of this answer: 0, 1, 2 … in the order in which they began. This is the
        /// gateway's own count: some providers send every parallel call with the same index.
        index: usize,
        /// The call's id: the provider's, or 9 random letters and digits where it sent none. The
        /// same in every event of the call.
        id: String,
        /// The tool's name. The same in every event of the call.
        name: String,
        /// More text of the arguments; may be empty. The whole text may be no JSON at all.
        arguments_delta: String,
    },
    /// JSON that belongs to call `index` and has to go back to the provider as the member
    /// `extra_content` of that entry of `tool_calls`. Gemini puts its thought signatures there and
    /// refuses the next request without them.
    ToolCallExtra {
        /// Which call, as in [`ToolCall`](ChatEvent::ToolCall).
        index: usize,
        /// The value as JSON text, unchanged.
        json: String,
    },
    /// Entries of `reasoning_details` (a JSON array as text), which OpenRouter wants back, all
    /// arrays joined in order, as that member of the assistant's message.
    ReasoningDetails(String),
    /// What the whole answer cost.
    Usage(Usage),
    /// The answer is complete.
    Finish(FinishReason),
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// It said all that it had to say.
    Stop,
    /// It waits for the results of its tool calls. Also where a provider says `stop` after calls.
    ToolCalls,
    /// The answer reached the token limit: text may end in mid-sentence, arguments in mid-word.
    Length,
    /// The provider's filter held the answer back.
    ContentFilter,
    /// Some other word of the provider.
    Other(String),
}

/// Tokens of one model call, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// How many of the request's tokens came from the provider's cache.
    pub cached_input_tokens: u64,
    /// How many of the request's tokens were written to the cache, where the provider says so.
    pub cache_write_tokens: u64,
    /// How many of the answer's tokens were reasoning.
    pub reasoning_tokens: u64,
    /// US dollars, where the provider says so (OpenRouter does).
    pub cost: Option<f64>,
}

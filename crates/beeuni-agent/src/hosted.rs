//! The seam to the tool host: Beeuni and project tools, called directly and not over HTTP (T2).
use std::sync::Arc;

use beeuni_tools::{Call, CallError, LoadReport, SelectedTool, ToolHost};

use crate::harness_tools::BoxFuture;

/// What loads and runs Beeuni and project tools. [`ToolHost`] does; tests have others.
pub trait HostedTools: Send + Sync {
    /// Loads these tools afresh and makes them the ones that can be called.
    fn load<'a>(&'a self, tools: &'a [SelectedTool]) -> BoxFuture<'a, Arc<LoadReport>>;

    /// What the last load gave, in the order of the selection.
    fn report(&self) -> Arc<LoadReport>;

    /// Calls a tool. Dropping the future stops the call.
    ///
    /// `args` is the text of a JSON object, passed on as it is; `agent` decides which secrets the tool sees.
    fn call<'a>(&'a self, tool: &'a str, args: &'a str, agent: &'a str) -> BoxFuture<'a, Result<String, CallError>>;
}

impl HostedTools for ToolHost {
    fn load<'a>(&'a self, tools: &'a [SelectedTool]) -> BoxFuture<'a, Arc<LoadReport>> {
        Box::pin(self.load(tools))
    }

    fn report(&self) -> Arc<LoadReport> {
        self.report()
    }

    fn call<'a>(&'a self, tool: &'a str, args: &'a str, agent: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        Box::pin(self.call(Call {
            tool,
            args,
            agent,
            directory: None,
        }))
    }
}

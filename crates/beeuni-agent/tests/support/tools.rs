//! Beeuni and project tools made of closures.
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use beeuni_agent::HostedTools;
use beeuni_agent::harness_tools::BoxFuture;
use beeuni_manifest::{SelectedTool, ToolKind, ToolSource};
use beeuni_tools::{CallError, LoadReport, LoadedTool};
use serde_json::value::RawValue;

type Body = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Tools that a test defines, and what they were called with.
#[derive(Default)]
pub struct TestTools {
    known: Mutex<HashMap<String, (LoadedTool, Body)>>,
    report: Mutex<Arc<LoadReport>>,
    pub called: Mutex<Vec<(String, String, String)>>,
}

pub fn tool(name: &str, kind: ToolKind) -> SelectedTool {
    SelectedTool {
        name: name.to_owned(),
        kind,
        source: match kind {
            ToolKind::Beeuni => ToolSource::Beeuni,
            _ => ToolSource::Module(format!("tools/{name}.ts")),
        },
    }
}

impl TestTools {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Defines a project tool and loads it.
    pub fn add<F>(&self, name: &str, body: impl Fn(String) -> F + Send + Sync + 'static) -> &Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.add_with(
            tool(name, ToolKind::Project),
            r#"{"type":"object","properties":{}}"#,
            body,
        )
    }

    pub fn add_with<F>(
        &self,
        tool: SelectedTool,
        parameters: &str,
        body: impl Fn(String) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        let loaded = LoadedTool {
            description: format!("The tool {}", tool.name),
            parameters: RawValue::from_string(parameters.to_owned()).unwrap(),
            tool,
        };
        let mut report = self.report.lock().unwrap();
        let mut tools = report.tools.clone();
        tools.retain(|other| other.tool.name != loaded.tool.name);
        tools.push(loaded.clone());
        *report = Arc::new(LoadReport {
            tools,
            failed: Vec::new(),
        });
        let body: Body = Arc::new(move |args| Box::pin(body(args)));
        self.known
            .lock()
            .unwrap()
            .insert(loaded.tool.name.clone(), (loaded, body));
        self
    }

    /// A tool that gives back its arguments.
    pub fn echo(&self, name: &str) -> &Self {
        self.add(name, |args| async move { Ok(args) })
    }

    /// The arguments of every call of `name` so far.
    pub fn args(&self, name: &str) -> Vec<String> {
        let called = self.called.lock().unwrap();
        called
            .iter()
            .filter(|(tool, ..)| tool == name)
            .map(|(_, args, _)| args.clone())
            .collect()
    }
}

impl HostedTools for TestTools {
    fn load<'a>(&'a self, tools: &'a [SelectedTool]) -> BoxFuture<'a, Arc<LoadReport>> {
        let known = self.known.lock().unwrap();
        let loaded = tools.iter().filter_map(|tool| known.get(&tool.name));
        let report = Arc::new(LoadReport {
            tools: loaded.map(|(loaded, _)| loaded.clone()).collect(),
            failed: Vec::new(),
        });
        *self.report.lock().unwrap() = Arc::clone(&report);
        Box::pin(async move { report })
    }

    fn report(&self) -> Arc<LoadReport> {
        Arc::clone(&self.report.lock().unwrap())
    }

    fn call<'a>(&'a self, tool: &'a str, args: &'a str, agent: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        let loaded = self.report().tools.iter().any(|loaded| loaded.tool.name == tool);
        let body = self
            .known
            .lock()
            .unwrap()
            .get(tool)
            .filter(|_| loaded)
            .map(|(_, body)| Arc::clone(body));
        let called = (tool.to_owned(), args.to_owned(), agent.to_owned());
        self.called.lock().unwrap().push(called);
        Box::pin(async move {
            let body = body.ok_or_else(|| CallError::NotLoaded(tool.to_owned()))?;
            body(args.to_owned()).await.map_err(CallError::Failed)
        })
    }
}

//! Which tools a session gets (S2–S5) and how `beeuni tools ls` names their kinds (L2).
use crate::model::{Manifest, ToolSource};
use crate::names::BEEUNI_TOOLS;

/// Kinds as `beeuni tools ls` prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// `beeuni`
    Beeuni,
    /// `beeuni (overridden)`
    Overridden,
    /// `project`
    Project,
}

impl ToolKind {
    /// The text of the KIND column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Beeuni => "beeuni",
            Self::Overridden => "beeuni (overridden)",
            Self::Project => "project",
        }
    }
}

/// One tool of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedTool {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ToolKind,
    /// Where its module comes from.
    pub source: ToolSource,
}

impl SelectedTool {
    /// The text of the SOURCE column: `beeuni:<name>` or the module path.
    #[must_use]
    pub fn source_text(&self) -> String {
        match &self.source {
            ToolSource::Beeuni => format!("beeuni:{}", self.name),
            ToolSource::Module(path) => path.clone(),
        }
    }
}

/// The tools of a session and the Beeuni tools that the project removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Beeuni tools in fixed order, then project tools as declared.
    pub tools: Vec<SelectedTool>,
    /// Beeuni tools that sessions of this project do not get.
    pub removed: Vec<String>,
}

impl Manifest {
    /// The tools of a session (S2–S5): Beeuni tools in fixed order, then project tools as declared.
    #[must_use]
    pub fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        for name in BEEUNI_TOOLS {
            let source = if self.tools_key {
                self.tools
                    .iter()
                    .find(|tool| tool.name == name)
                    .map(|tool| tool.source.clone())
            } else {
                Some(ToolSource::Beeuni)
            };
            match source {
                Some(source) => selection.tools.push(SelectedTool {
                    name: name.to_owned(),
                    kind: match source {
                        ToolSource::Beeuni => ToolKind::Beeuni,
                        ToolSource::Module(_) => ToolKind::Overridden,
                    },
                    source,
                }),
                None => selection.removed.push(name.to_owned()),
            }
        }
        let own = self
            .tools
            .iter()
            .filter(|tool| !BEEUNI_TOOLS.contains(&tool.name.as_str()));
        selection.tools.extend(own.map(|tool| SelectedTool {
            name: tool.name.clone(),
            kind: ToolKind::Project,
            source: tool.source.clone(),
        }));
        selection
    }
}

//! `beeuni.yaml`: reading with positions, rules, tool selection, agent access and lossless edits.
mod agent_file;
mod edit;
mod find;
mod issue;
mod load;
mod lookup;
mod model;
mod names;
mod repo_path;
mod report;
mod schema;
mod select;
mod tree;
mod yaml;

pub use agent_file::{AgentFile, AgentMode, PermissionAction, PermissionRule, read_agent_file};
pub use edit::{Edit, EditError, set_tool};
pub use find::{FindError, Found, find};
pub use issue::{Issue, Place, Severity};
pub use load::load;
pub use model::{Agent, Connector, Grant, HarnessKind, Loaded, Manifest, Project, ToolAccess, ToolEntry, ToolSource};
pub use names::{BEEUNI_TOOLS, HARNESS_TOOLS, is_harness_tool, is_tool_name};
pub use schema::json_schema;
pub use select::{SelectedTool, Selection, ToolKind};
pub use tree::{EntryKind, Folder, Tree};

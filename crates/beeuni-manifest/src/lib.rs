//! `beeuni.yaml`: reading with positions, rules, tool selection, agent access and lossless edits.
//!
//! [`find`] says where a project's manifest is, [`load`] reads it with its imports and tells everything
//! that is wrong at once, [`Manifest::selection`] says which tools a session gets, [`set_tool`] changes
//! one entry and no other byte, [`read_agent_file`] reads an agent's `.md`, [`json_schema`] describes the
//! file to an editor.
//!
//! ```
//! use beeuni_manifest::{Folder, load};
//!
//! let folder = std::env::temp_dir().join("beeuni-manifest-example");
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("beeuni.yaml"), "beeuni_version: 2\ntools: { show: beeuni:shw }\n")?;
//!
//! let loaded = load(&Folder::new(&folder), "beeuni.yaml");
//! let issue = &loaded.issues[0];
//! assert!(!loaded.is_valid());
//! assert_eq!((issue.path.as_str(), issue.place.line, issue.place.column), ("tools.show", 2, 16));
//! # std::io::Result::Ok(())
//! ```
//!
//! What holds throughout:
//!
//! - Nothing here is async, opens a socket or starts a process; files are read through [`Tree`] alone.
//! - No input makes it panic, and none costs much more than its size in time or memory.
//! - Every finding says what to do, and none repeats a text that may be a secret.
//! - The module `yaml` knows nothing of manifests, and nothing outside it knows of the YAML parser.
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

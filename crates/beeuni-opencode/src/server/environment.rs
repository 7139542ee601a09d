//! The environment of OpenCode's process, and that of the commands that it runs.

use std::collections::BTreeMap;

use beeuni_tools::{SecretValue, exempt_this_machine};

use super::Place;
use super::layout::Layout;

/// Set for every command, whatever the environment says: nobody is there to page, answer or colour for. The same as
/// the experimental harness sets.
const COMMANDS: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("NO_COLOR", "1"),
];

/// Switches that keep OpenCode from the network, from the user's own settings, and from asking a terminal.
const SWITCHES: &[&str] = &[
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_DISABLE_SHARE",
    "OPENCODE_ENABLE_QUESTION_TOOL",
];

/// What a model's commands see.
pub(super) fn of_commands(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own = COMMANDS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    env.clone().into_iter().chain(own).collect()
}

/// What OpenCode's process sees.
pub(super) fn of_process(place: &Place, layout: &Layout, password: &SecretValue) -> BTreeMap<String, String> {
    let mut env = of_modules(place, layout);
    let mut set = |name: &str, value: String| {
        env.insert(name.to_owned(), value);
    };
    for name in SWITCHES {
        set(name, "1".to_owned());
    }
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    set("OPENCODE_CONFIG_DIR", path(&layout.project));
    set("OPENCODE_MODELS_PATH", path(&layout.models));
    // The last of the configurations: its plugin speaks after those of the project. It holds no secret.
    set("OPENCODE_CONFIG_CONTENT", layout.plugin_entry());
    set("OPENCODE_SERVER_PASSWORD", password.expose().to_owned());
    env
}

/// What the project's modules see when they are tried before OpenCode loads them.
pub(super) fn of_modules(place: &Place, layout: &Layout) -> BTreeMap<String, String> {
    let foreign = |name: &str| {
        ["OPENCODE", "XDG_", "BUN_", "NODE_PATH"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let mut env: BTreeMap<String, String> = place
        .env
        .iter()
        .filter(|(name, _)| !foreign(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let own = [
        ("HOME", &layout.home),
        ("XDG_CONFIG_HOME", &layout.config_home),
        ("XDG_DATA_HOME", &layout.data),
        ("XDG_CACHE_HOME", &layout.cache),
        ("XDG_STATE_HOME", &layout.state),
        // Where an import that the project's own `node_modules` do not answer is looked for.
        ("NODE_PATH", &layout.modules),
    ];
    for (name, path) in own {
        env.insert(name.to_owned(), path.to_string_lossy().into_owned());
    }
    // The daemon is on this machine, whatever proxy there is.
    exempt_this_machine(&mut env);
    env
}

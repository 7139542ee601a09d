//! The folder in which OpenCode lives: what is where, and the files in it that never change.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Place, StartError, binaries, files};

/// The plugin, and the code that tries the project's modules.
const BRIDGE: &str = include_str!("../../../../runtime/opencode/bridge.js");
const TRY: &str = include_str!("../../../../runtime/opencode/try.js");
/// What `@opencode-ai/plugin` is to a project that has not installed it.
const SHIM: &str = include_str!("../../../../runtime/opencode/plugin.js");
const SHIM_PACKAGE: &str = r#"{"name":"@opencode-ai/plugin","version":"0.0.0","type":"module","main":"index.js"}"#;
/// What OpenCode takes for the lock file of a finished installation: without it, it installs 64 MB from npm.
const LOCK: &str = r#"{"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}"#;

/// Where everything is.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) home: PathBuf,
    pub(super) config_home: PathBuf,
    pub(super) data: PathBuf,
    pub(super) cache: PathBuf,
    pub(super) state: PathBuf,
    /// The project's configuration folder as OpenCode sees it.
    pub(super) project: PathBuf,
    /// OpenCode's catalogue of models: empty, which saves it a second and 200 MB.
    pub(super) models: PathBuf,
    /// Packages that modules find when nothing nearer has them.
    pub(super) modules: PathBuf,
    pub(super) bridge: PathBuf,
    /// What the plugin reads: agents, tools, models, the key.
    pub(super) session: PathBuf,
    pub(super) tryer: PathBuf,
    /// The skills that come with Beeuni.
    pub(super) skills: PathBuf,
    /// Folders in which a configuration is tried before the checkout sees it.
    pub(super) trials: PathBuf,
}

impl Layout {
    pub(super) fn new(folder: &Path) -> Self {
        let plugin = folder.join("plugin");
        Self {
            home: folder.join("home"),
            config_home: folder.join("config"),
            data: folder.join("data"),
            cache: folder.join("cache"),
            state: folder.join("state"),
            project: folder.join("project"),
            models: folder.join("models.json"),
            modules: folder.join("node_modules"),
            bridge: plugin.join("bridge.js"),
            session: plugin.join("session.json"),
            tryer: plugin.join("try.js"),
            skills: folder.join("skills"),
            trials: folder.join("trials"),
        }
    }

    /// Makes the folders and the files that are the same for every session.
    pub(super) fn prepare(&self, place: &Place) -> Result<(), StartError> {
        let settings = self.config_home.join("opencode");
        let rg = self.cache.join("opencode/bin");
        let shim = self.modules.join("@opencode-ai/plugin");
        let plugin = self.bridge.parent().unwrap_or(&place.folder).to_owned();
        for folder in [
            &place.folder,
            &self.home,
            &self.data,
            &self.state,
            &self.trials,
            &plugin,
            &shim,
            &rg,
            &settings.join("node_modules"),
            &self.project.join("node_modules"),
        ] {
            files::folder(folder)?;
        }
        for config in [&settings, &self.project] {
            files::write(&config.join("package-lock.json"), LOCK.as_bytes())?;
        }
        // Where the plugin is named twice the last place counts; this one is for an environment that was lost.
        files::write(&settings.join("opencode.json"), self.plugin_entry().as_bytes())?;
        files::write(&self.models, b"{}")?;
        files::write(&self.bridge, BRIDGE.as_bytes())?;
        files::write(&self.tryer, TRY.as_bytes())?;
        files::write(&shim.join("package.json"), SHIM_PACKAGE.as_bytes())?;
        files::write(&shim.join("index.js"), SHIM.as_bytes())?;
        match binaries::zod_beside(&place.program) {
            Some(zod) => files::link(&zod, &self.modules.join("zod"))?,
            None => files::remove(&self.modules.join("zod"))?,
        };
        match &place.ripgrep {
            Some(ripgrep) => files::link(ripgrep, &rg.join("rg"))?,
            None => files::remove(&rg.join("rg"))?,
        };
        Ok(())
    }

    /// A configuration that names the plugin and nothing else.
    pub(super) fn plugin_entry(&self) -> String {
        json!({
            "$schema": "https://opencode.ai/config.json",
            "plugin": [file_url(&self.bridge)],
        })
        .to_string()
    }
}

/// A path as the URL that modules are imported by.
pub(super) fn file_url(path: &Path) -> String {
    format!("file://{}", percent_encoded(path))
}

/// A path as it stands in a URL.
pub(crate) fn percent_encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut encoded = String::new();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            encoded.push(char::from(*byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

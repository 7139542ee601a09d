//! Notices when the project's files change: manifest, agents, skills, and the files of tool modules.
//!
//! It looks once a second instead of asking the kernel to tell (inotify): that works on every file system, through
//! links that are exchanged and files that are replaced, and costs some hundred `stat` calls. A change counts once
//! nothing has changed for a quarter of a second, and only when the content differs, so a file that is half written
//! or saved again as it was makes no difference.
mod scan;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use beeuni_manifest::Found;
use beeuni_tools::LoadReport;
use tokio::time::sleep;

use crate::local::project::Reading;
use scan::{Known, Snapshot, Targets};

/// How often it looks.
const EVERY: Duration = Duration::from_secs(1);
/// How long nothing may change until a change counts.
const QUIET: Duration = Duration::from_millis(250);
/// How often it is looked for quiet.
const MOST_LOOKS: usize = 40;

/// What the project's files were when they were last loaded, and what they are.
pub(crate) struct Watch {
    found: Found,
    /// Whether the folder of the standard harness's own configuration matters.
    with_config: bool,
    targets: Arc<Targets>,
    /// As they were when it was last looked.
    last: Snapshot,
    /// What files of modules hold.
    known: Known,
    /// What was loaded.
    loaded: Content,
    /// Whether a tool did not load, so that packages matter.
    any_failed: bool,
}

/// The content of the project's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Manifest, agents and skills as they were understood.
    reading: u64,
    /// The files of tool modules.
    modules: u64,
    /// The packages that modules can import.
    packages: u64,
    /// The standard harness's own configuration, where it matters.
    config: u64,
}

impl Watch {
    /// Nothing was seen yet: the first look is compared with what was loaded until then.
    pub(crate) fn new(found: Found, with_config: bool) -> Self {
        Self {
            found,
            with_config,
            targets: Arc::default(),
            last: Snapshot::default(),
            known: Known::default(),
            loaded: Content::default(),
            any_failed: false,
        }
    }

    /// Waits until the files differ from when it was last looked, and have come to rest.
    pub(crate) async fn changed(&mut self) {
        loop {
            sleep(EVERY).await;
            let mut now = self.look().await;
            if now == self.last {
                continue;
            }
            // A file that is written all the time must not keep others from being seen for ever.
            for _ in 0..MOST_LOOKS {
                sleep(QUIET).await;
                let then = std::mem::replace(&mut now, self.look().await);
                if then == now {
                    break;
                }
            }
            self.last = now;
            return;
        }
    }

    async fn look(&self) -> Snapshot {
        let (targets, packages) = (Arc::clone(&self.targets), self.any_failed);
        let look = move || scan::look(&targets, packages);
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// What the files of `reading` hold now. To be asked before they are loaded. What was seen at the last look stays:
    /// whatever changed since, even before `reading` was read, makes the next look differ and be compared with this.
    pub(crate) async fn content(&mut self, reading: &Arc<Reading>) -> Content {
        let targets = Arc::new(Targets::of(&self.found, reading, self.with_config));
        self.targets = Arc::clone(&targets);
        let (print, with_packages) = (print_of(reading), self.any_failed);
        let mut known = std::mem::take(&mut self.known);
        let read = move || {
            let now = scan::look(&targets, with_packages);
            let (modules, config) = scan::contents(&targets, &now, &mut known);
            (known, modules, config, scan::packages(&targets))
        };
        let Ok((known, modules, config, packages)) = tokio::task::spawn_blocking(read).await else {
            return Content::default();
        };
        self.known = known;
        Content {
            reading: print,
            modules,
            packages,
            config,
        }
    }

    /// Whether `content` is what was loaded, as far as it matters.
    pub(crate) fn is_loaded(&self, content: &Content) -> bool {
        let Content {
            reading,
            modules,
            packages,
            config,
        } = &self.loaded;
        *reading == content.reading
            && *modules == content.modules
            && *config == content.config
            && (!self.any_failed || *packages == content.packages)
    }

    /// Notes that `content` was loaded, and what came of it.
    pub(crate) fn loaded(&mut self, content: Content, report: &LoadReport) {
        self.loaded = content;
        self.any_failed = !report.failed.is_empty();
    }
}

/// A number for what a reading says. Its places are part of it: a finding that moved is another one.
fn print_of(reading: &Reading) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{reading:?}").hash(&mut hasher);
    hasher.finish()
}

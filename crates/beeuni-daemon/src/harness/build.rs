//! The one place that knows which harness is made of what.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use beeuni_gateway::Gateway;
use beeuni_opencode::server::{find_opencode, find_ripgrep};

use super::Harness;
use super::experimental::Experimental;
use super::none::NoHarness;
use super::standard::Standard;
use crate::bridge::BridgePort;
use crate::config::HarnessChoice;
use crate::error::DaemonError;
use crate::local::hosting::Hosting;
use crate::local::project::Reading;
use crate::local::{LocalOptions, open_conversation};

/// The programs that the standard harness consists of.
pub(crate) struct Programs {
    pub(crate) opencode: PathBuf,
    /// Without it OpenCode's searches fail.
    pub(crate) ripgrep: Option<PathBuf>,
}

/// What a harness is made from. It starts nothing yet: see [`Harness::start`].
pub(crate) struct HarnessPlace<'a> {
    pub(crate) options: &'a LocalOptions,
    /// The session's id.
    pub(crate) id: &'a str,
    pub(crate) hosting: &'a Arc<Hosting>,
    pub(crate) gateway: &'a Gateway,
    pub(crate) reading: &'a Reading,
    /// What [`programs`] found.
    pub(crate) programs: Option<Programs>,
    /// Where a harness that is a process of its own finds tools and models.
    pub(crate) port: Option<&'a BridgePort>,
    /// For the files of a harness that is a process of its own.
    pub(crate) folder: PathBuf,
}

/// Finds what `choice` needs beside this binary: the setting, the folder that `beeuni setup` fills, `PATH`.
pub(crate) fn programs(choice: HarnessChoice, managed: Option<&Path>) -> Result<Option<Programs>, DaemonError> {
    if choice != HarnessChoice::Standard {
        return Ok(None);
    }
    // Without a home nothing is managed: no folder has this name.
    let managed = managed.unwrap_or(Path::new("/nonexistent"));
    let opencode = find_opencode(managed).map_err(DaemonError::Program)?;
    let ripgrep = find_ripgrep(managed)
        .inspect_err(|error| tracing::warn!("OpenCode's grep, glob and skill will fail: {error}"))
        .ok();
    Ok(Some(Programs { opencode, ripgrep }))
}

/// Makes the harness of a session.
pub(crate) fn build(place: HarnessPlace<'_>) -> Result<Box<dyn Harness>, DaemonError> {
    Ok(match place.options.harness {
        HarnessChoice::None => Box::new(NoHarness(place.hosting.host.clone())),
        HarnessChoice::Standard => Box::new(Standard::new(place)?),
        HarnessChoice::Experimental => {
            let (session, tools) =
                open_conversation(place.options, place.id, place.hosting, place.gateway, place.reading)?;
            Box::new(Experimental::new(session, tools, place.hosting.host.clone()))
        }
    })
}

//! A running process and what it is asked.

use std::path::Path;

use beeuni_tools::SecretValue;

use super::StartError;
use super::layout::Layout;
use super::probe::{Known, Prober, Said};
use super::process::Process;

/// The process and the way to it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) process: Process,
    pub(super) url: String,
    pub(super) password: SecretValue,
    pub(super) prober: Prober,
}

impl Running {
    /// Asks whether it can work with its configuration as it is now.
    pub(super) async fn ask(&self, layout: &Layout) -> Result<Said, StartError> {
        tokio::select! {
            ended = self.process.ended() => Err(StartError::Ended(ended)),
            said = self.prober.ask(layout, &self.url, &self.password) => said,
        }
    }

    /// Drops all that it has read of its configuration.
    pub(super) async fn dispose(&self) -> Result<(), StartError> {
        tokio::select! {
            ended = self.process.ended() => Err(StartError::Ended(ended)),
            disposed = self.prober.dispose(&self.url, &self.password) => disposed,
        }
    }

    /// What it knows in a folder.
    pub(super) async fn known(&self, folder: &Path) -> Result<Known, StartError> {
        tokio::select! {
            ended = self.process.ended() => Err(StartError::Ended(ended)),
            known = self.prober.known(folder, &self.url, &self.password) => known,
        }
    }

    /// The last error in its log.
    pub(super) fn last_error(&self) -> Option<String> {
        let lines = self.process.last_lines();
        let line = lines.iter().rev().find(|line| line.contains("level=ERROR"))?;
        let (_, error) = line.split_once("error=\"")?;
        let mut end = None;
        let mut escaped = false;
        for (at, c) in error.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let quoted = format!("\"{}\"", &error[..end.unwrap_or(error.len())]);
        serde_json::from_str(&quoted).ok()
    }
}

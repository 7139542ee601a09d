//! Bringing OpenCode's files in line with what a session works with, and keeping out what OpenCode would choke on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::layout::Layout;
use super::probe::Said;
use super::project::{Project, Refused};
use super::reach::Running;
use super::trying::Tries;
use super::{Change, Given, LeftOut, Overridden, Place, StartError, session, trying};

/// How often OpenCode is asked about one configuration: once for each file that it may refuse, within reason.
const MOST_QUESTIONS: usize = 50;

/// How often OpenCode is told to read everything again before it counts as not doing it.
const MOST_DISPOSALS: usize = 5;

/// OpenCode's files as they are.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    project: Project,
    refused: Refused,
    tries: Tries,
    /// Hosted tools whose place tools of the project's plugins take.
    from_plugins: BTreeSet<String>,
    overridden: Vec<Overridden>,
    /// The agents and hosted tools that OpenCode has to know.
    agents: BTreeSet<String>,
    tools: BTreeSet<String>,
    /// OpenCode runs code that is another by now.
    stale: bool,
}

impl Configuration {
    /// Writes everything for an OpenCode that does not run yet.
    pub(super) async fn first(place: &Place, layout: &Layout, given: &Given) -> Result<Self, StartError> {
        let mut this = Self::default();
        this.write(place, layout, given).await?;
        Ok(this)
    }

    /// Asks a fresh OpenCode whether it can work with the project's folder; what it refuses is left out.
    pub(super) async fn settle(
        &mut self,
        place: &Place,
        layout: &Layout,
        given: &Given,
        running: &Running,
    ) -> Result<(), StartError> {
        for _ in 0..MOST_QUESTIONS {
            if self.project.is_empty() {
                return Ok(());
            }
            match running.ask(layout).await? {
                Said::Fine { tools } => return self.leave_to_plugins(place, layout, given, &tools),
                Said::Refused { file, reason } => {
                    let source = file.and_then(|file| self.project.source_of(place, layout, &file));
                    match source {
                        Some(source) => {
                            self.refuse(source, reason);
                            self.write(place, layout, given).await?;
                        }
                        None => self.sift(place, layout, given, running, reason).await?,
                    }
                }
            }
        }
        Err(StartError::Refused(format!(
            "it refused {MOST_QUESTIONS} files of {}",
            place.config_source.display()
        )))
    }

    /// Writes everything for an OpenCode that runs. What has to happen so that it counts.
    pub(super) async fn update(
        &mut self,
        place: &Place,
        layout: &Layout,
        given: &Given,
        running: &Running,
    ) -> Result<Change, StartError> {
        let imported = self.project.code.clone();
        let hosted = self.tools.clone();
        let (shown, other) = self.write(place, layout, given).await?;
        if shown || (self.tools != hosted && self.project.plugins().next().is_some()) {
            // Which hosted tools plugins define, too, shows only while OpenCode is offered all of them.
            self.from_plugins.clear();
            self.write_session(place, layout, given)?;
            self.settle(place, layout, given, running).await?;
            self.write(place, layout, given).await?;
        }
        let differs = |(file, was): (&PathBuf, &u64)| self.project.code.get(file).is_some_and(|is| is != was);
        self.stale |= imported.iter().any(differs);
        Ok(if self.stale {
            Change::Restart
        } else if shown || other {
            Change::Dispose
        } else {
            Change::Nothing
        })
    }

    /// Has OpenCode read everything for the checkout, and makes sure that it did: without the plugin it would know
    /// neither agents nor models nor hosted tools.
    pub(super) async fn read(&self, place: &Place, running: &Running) -> Result<(), StartError> {
        let known = running.known(&place.checkout).await?;
        let agents = self.agents.difference(&known.agents);
        let tools = self.tools.difference(&known.tools);
        let unknown: Vec<&str> = agents.chain(tools).map(String::as_str).collect();
        let own: Vec<&str> = session::UNUSED
            .into_iter()
            .filter(|name| known.agents.contains(*name) && !self.agents.contains(*name))
            .collect();
        if unknown.is_empty() && own.is_empty() {
            return Ok(());
        }
        let said = running
            .last_error()
            .unwrap_or_else(|| "its log does not say why".to_owned());
        Err(StartError::Refused(format!(
            "it did not take the plugin into account: it does not know [{}] and has its own [{}] ({said})",
            unknown.join(", "),
            own.join(", ")
        )))
    }

    /// Has it read everything afresh. What it keeps now and then when it was busy at that moment is dropped once more.
    pub(super) async fn read_again(&self, place: &Place, running: &Running) -> Result<(), StartError> {
        let mut tries = 0;
        loop {
            tries += 1;
            running.dispose().await?;
            match self.read(place, running).await {
                Err(StartError::Refused(reason)) if tries < MOST_DISPOSALS => {
                    tracing::debug!("OpenCode is told again to read its configuration: {reason}");
                }
                read => return read,
            }
        }
    }

    pub(super) fn overridden(&self) -> Vec<Overridden> {
        self.overridden.clone()
    }

    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        self.project.left_out.clone()
    }

    /// Writes the project's folder and the rest. Whether each is another than before.
    async fn write(&mut self, place: &Place, layout: &Layout, given: &Given) -> Result<(bool, bool), StartError> {
        self.project = Project::read(place, layout, &self.refused, &mut self.tries).await?;
        let shown = self.project.show(layout)?;
        let other = self.write_session(place, layout, given)?;
        Ok((shown, other))
    }

    fn write_session(&mut self, place: &Place, layout: &Layout, given: &Given) -> Result<bool, StartError> {
        let hosted = || given.tools.iter().map(|tool| tool.name.as_str());
        self.overridden = self.project.overriding(hosted());
        let plugins: Vec<&PathBuf> = self.project.plugins().collect();
        let plugin = match plugins[..] {
            [only] => only,
            _ => &place.config_source,
        };
        let by_plugins = hosted().filter(|name| self.from_plugins.contains(*name));
        let by_plugins: Vec<Overridden> = by_plugins
            .map(|name| Overridden {
                name: name.to_owned(),
                file: plugin.clone(),
            })
            .collect();
        self.overridden.extend(by_plugins);
        let left: BTreeSet<String> = self.overridden.iter().map(|tool| tool.name.clone()).collect();
        self.agents = session::expected(given).map(str::to_owned).collect();
        self.tools = hosted().map(str::to_owned).collect();
        session::write(place, layout, given, &self.project, &left)
    }

    /// A tool that is there twice is defined by a plugin of the project's too: that one wins (O1).
    fn leave_to_plugins(
        &mut self,
        place: &Place,
        layout: &Layout,
        given: &Given,
        tools: &[String],
    ) -> Result<(), StartError> {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in tools {
            *count.entry(tool).or_default() += 1;
        }
        let twice = given
            .tools
            .iter()
            .filter(|tool| count.get(tool.name.as_str()) > Some(&1));
        self.from_plugins.extend(twice.map(|tool| tool.name.clone()));
        self.write_session(place, layout, given)?;
        Ok(())
    }

    fn refuse(&mut self, file: PathBuf, reason: String) {
        let code = trying::code_of([&file]);
        self.refused.insert(file, (code, reason));
    }

    /// Finds the modules that OpenCode cannot work with, one by one: it does not name them.
    async fn sift(
        &mut self,
        place: &Place,
        layout: &Layout,
        given: &Given,
        running: &Running,
        reason: String,
    ) -> Result<(), StartError> {
        let reason = running.last_error().unwrap_or(reason);
        let suspects = self.project.modules.clone();
        for file in &suspects {
            self.refuse(file.clone(), reason.clone());
        }
        self.write(place, layout, given).await?;
        if suspects.is_empty() || !matches!(running.ask(layout).await?, Said::Fine { .. }) {
            return Err(StartError::Refused(reason));
        }
        for file in suspects {
            self.refused.remove(&file);
            self.write(place, layout, given).await?;
            if let Said::Refused { reason, .. } = running.ask(layout).await? {
                self.refuse(file, running.last_error().unwrap_or(reason));
            }
        }
        self.write(place, layout, given).await?;
        Ok(())
    }
}

//! Sessions through the daemon's routes: a project, a model that answers at once, a daemon.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::http::{Client, Events, request};
use crate::model::Model;
use crate::project;
use crate::report::median;
use crate::rounds::micros;
use crate::server::Server;
use crate::{Outcome, Programs};

/// Starts that are measured.
pub(crate) const STARTS: usize = 5;
/// Bytes that the tool of the long session gives back.
const OUTPUT: usize = 1024;

/// A tool that says how long it took itself, in milliseconds.
const TIMED: &str = "const begin = performance.now(); await Bun.sleep(1); return String(performance.now() - begin)";

/// A daemon with a harness, and what it is talked to with.
pub(crate) struct Session {
    pub(crate) server: Server,
    pub(crate) client: Client,
    events: Events,
    prompt: String,
}

impl Session {
    pub(crate) async fn open(server: Server) -> Outcome<Self> {
        Ok(Self {
            client: Client::connect(&server.address).await?,
            events: Events::open(&server.address).await?,
            prompt: format!("/beeuni/sessions/{}/prompt", server.session),
            server,
        })
    }

    /// One turn, from its prompt to its end.
    pub(crate) async fn turn(&mut self, text: &str) -> Outcome<Duration> {
        let body = serde_json::json!({ "text": text }).to_string();
        let request = request("POST", &self.server.address, &self.prompt, &body);
        let begin = Instant::now();
        self.client.exchange(&request).await?;
        self.events.turn_ended().await?;
        Ok(begin.elapsed())
    }
}

/// A project, a model, and a bare server beside them.
pub(crate) struct Bench<'a> {
    programs: &'a Programs,
    folder: tempfile::TempDir,
    pub(crate) project: PathBuf,
    pub(crate) model: Model,
}

impl<'a> Bench<'a> {
    pub(crate) async fn new(programs: &'a Programs) -> Outcome<Self> {
        let (folder, project) = project::scratch()?;
        project::make(&project, 1)?;
        let pad = format!("return {{ status: 'shipped', lines: 'x'.repeat({OUTPUT}) }}");
        std::fs::write(
            project.join("tools/t0.ts"),
            project::MODULE.replace("return {", &format!("{pad};\n    return {{")),
        )?;
        project::add_tool(&project, "timed", TIMED)?;
        Ok(Self {
            programs,
            folder,
            project,
            model: Model::start().await?,
        })
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A daemon that is ready, and how long that took.
    pub(crate) async fn daemon(&self, harness: &str, state: &Path) -> Outcome<(Server, Duration)> {
        let begin = Instant::now();
        let server = Server::session(self.programs, &self.project, state, harness, &self.model.address).await?;
        server.until_ready().await?;
        Ok((server, begin.elapsed()))
    }

    /// How long a session takes until it is ready, how long a bare server does, both in ms. The session's state is in
    /// `state`, or new each time.
    pub(crate) async fn starts(&self, harness: &str, state: Option<&Path>) -> Outcome<(f64, f64)> {
        let [mut ready, mut bare] = [const { Vec::new() }; 2];
        for n in 0..STARTS {
            let new = self.state(&format!("{harness}-{n}"));
            let (server, time) = self.daemon(harness, state.unwrap_or(&new)).await?;
            server.stop().await?;
            ready.push(ms(time));
            bare.push(self.bare_start().await?);
        }
        Ok((median(&mut ready), median(&mut bare)))
    }

    pub(crate) async fn bare_start(&self) -> Outcome<f64> {
        let begin = Instant::now();
        drop(Server::bare(self.programs, &self.project).await?);
        Ok(ms(begin.elapsed()))
    }

    /// What the requests of the last turn take without a harness.
    pub(crate) async fn model_alone(&self, client: &mut Client) -> Outcome<Duration> {
        let mut whole = Duration::ZERO;
        for request in self.model.take_asked() {
            whole += client.timed(&request).await?;
        }
        self.model.take_asked();
        Ok(whole)
    }
}

pub(crate) fn ms(duration: Duration) -> f64 {
    micros(duration) / 1000.0
}

//! A running OpenCode: its start, its address, its end.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Duration;

use beeuni_tools::SecretValue;
use tokio::sync::Mutex;

use super::configuring::Configuration;
use super::layout::Layout;
use super::probe::Prober;
use super::process::{Command, Process};
use super::reach::Running;
use super::{Change, Ended, Given, LeftOut, Overridden, Place, StartError, environment};

/// How often a start is tried when another program took the port meanwhile.
const MOST_PORTS: usize = 5;
/// What OpenCode says when it cannot listen.
const NO_PORT: &str = "ServeError";

/// A running OpenCode. Dropping it ends the process.
#[derive(Debug)]
pub struct Server {
    place: Place,
    layout: Layout,
    running: Running,
    configuration: Mutex<Configuration>,
    /// What the configuration says of the project's folder, to be read at any time.
    known: StdMutex<(Vec<Overridden>, Vec<LeftOut>)>,
}

impl Server {
    /// Writes OpenCode's files, starts it and waits until it listens. The project's own configuration has been tried
    /// then, and what OpenCode cannot work with is left out.
    ///
    /// # Errors
    /// A file cannot be written, the process does not start, ends, or is not ready in time.
    pub async fn start(place: &Place, given: &Given) -> Result<Self, StartError> {
        let layout = Layout::new(&place.folder);
        layout.prepare(place)?;
        let mut configuration = Configuration::first(place, &layout, given).await?;
        let spawning = |source| StartError::Spawn {
            program: place.program.clone(),
            source,
        };
        let password = password().map_err(spawning)?;
        let env = environment::of_process(place, &layout, &password);
        let prober = Prober::new()?;
        let mut tried = 0;
        let running = loop {
            tried += 1;
            let port = free_port().map_err(spawning)?;
            let args = [
                "serve",
                "--hostname",
                "127.0.0.1",
                "--print-logs",
                "--log-level",
                "WARN",
                "--port",
            ];
            let mut args: Vec<_> = args.iter().map(Into::into).collect();
            args.push(port.to_string().into());
            let command = Command {
                guard: &place.guard,
                program: &place.program,
                args,
                folder: &place.checkout,
                env: &env,
            };
            let secrets = vec![password.clone(), given.bridge.key.clone()];
            let process = Process::start(&command, secrets).map_err(spawning)?;
            match tokio::time::timeout(place.start, process.listening()).await {
                Ok(Ok(url)) => {
                    break Running {
                        process,
                        url,
                        password,
                        prober,
                    };
                }
                Ok(Err(ended)) if tried < MOST_PORTS && has(&ended, NO_PORT) => {}
                Ok(Err(ended)) => return Err(StartError::Ended(ended)),
                Err(_) => {
                    let last_lines = process.last_lines();
                    process.stop(Duration::ZERO).await;
                    return Err(StartError::TimedOut {
                        after: place.start,
                        last_lines,
                    });
                }
            }
        };
        let works = async {
            configuration.settle(place, &layout, given, &running).await?;
            configuration.read(place, &running).await
        };
        if let Err(error) = works.await {
            running.process.stop(Duration::ZERO).await;
            return Err(error);
        }
        let server = Self {
            place: place.clone(),
            layout,
            running,
            known: StdMutex::default(),
            configuration: Mutex::default(),
        };
        server.tell(&configuration);
        *server.configuration.lock().await = configuration;
        Ok(server)
    }

    /// Writes the files for what is given now. What comes back has to happen so that it counts.
    ///
    /// # Errors
    /// A file cannot be written, or OpenCode does not answer; it then goes on with what it had.
    pub async fn update(&self, given: &Given) -> Result<Change, StartError> {
        let mut configuration = self.configuration.lock().await;
        let change = configuration
            .update(&self.place, &self.layout, given, &self.running)
            .await?;
        self.tell(&configuration);
        Ok(change)
    }

    /// Makes what [`update`](Self::update) wrote count, where that said [`Change::Dispose`]. Turns that run are
    /// stopped, and streams of events end.
    ///
    /// # Errors
    /// OpenCode does not answer, or does not work with what was written: it needs a new start.
    pub async fn dispose(&self) -> Result<(), StartError> {
        let configuration = self.configuration.lock().await;
        configuration.read_again(&self.place, &self.running).await
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.running.url
    }

    /// The password of the user `opencode` (Basic).
    pub fn password(&self) -> &SecretValue {
        &self.running.password
    }

    /// The project's own tools that take the place of hosted ones (O1).
    pub fn overridden(&self) -> Vec<Overridden> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Files of the project's own folder that are left out, with the reason.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// The last lines that OpenCode printed, without keys: for error texts.
    pub fn last_lines(&self) -> Vec<String> {
        self.running.process.last_lines()
    }

    /// Waits for the end of the process. May be called any number of times, also after the end.
    pub async fn ended(&self) -> Ended {
        self.running.process.ended().await
    }

    /// The same, without holding the server.
    pub(crate) fn end(&self) -> impl Future<Output = Ended> + Send + use<> {
        self.running.process.end()
    }

    /// Ends the process: SIGTERM, and SIGKILL for what is left after `grace`. Returns when all is gone.
    pub async fn stop(&self, grace: Duration) {
        self.running.process.stop(grace).await;
    }

    /// Keeps what is known about the project's folder, and logs what is new of it.
    fn tell(&self, configuration: &Configuration) {
        let (overridden, left_out) = (configuration.overridden(), configuration.left_out());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in overridden.iter().filter(|tool| !known.0.contains(tool)) {
            let (name, file) = (&tool.name, tool.file.display());
            tracing::debug!("[tools] {name}: the one in {file} takes the place of the hosted one on this harness");
        }
        for file in left_out.iter().filter(|file| !known.1.contains(file)) {
            tracing::debug!("[opencode] {} is left out: {}", file.file.display(), file.reason);
        }
        *known = (overridden, left_out);
    }
}

fn has(ended: &Ended, word: &str) -> bool {
    ended.last_lines.iter().any(|line| line.contains(word))
}

/// A port that is free now. OpenCode itself takes 4096 when it may choose.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    match listener.local_addr()?.port() {
        0 => Err(ErrorKind::AddrNotAvailable.into()),
        port => Ok(port),
    }
}

fn password() -> std::io::Result<SecretValue> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(SecretValue::new(
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
    ))
}

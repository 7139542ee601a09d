//! A terminal that a test types into and reads from.
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::model::until;

/// How long a terminal that is still open shows nothing new before nothing more is expected.
const QUIET: std::time::Duration = std::time::Duration::from_secs(1);

/// A program whose standard input, output and error are one terminal.
pub(crate) struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    reader: std::thread::JoinHandle<()>,
    pub(crate) child: Child,
}

impl Terminal {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave: OwnedFd = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let stdio = || Stdio::from(slave.try_clone().unwrap());
        command
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .env("TERM", "xterm-256color");
        let child = command.spawn().unwrap();
        // The command holds the slave too: it would keep the terminal open after the program's end.
        drop(command);
        drop(slave);
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, seen) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            // Reading fails when the last program on the terminal has ended.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                bytes.extend_from_slice(&buffer[..read]);
                *seen.lock().unwrap() = String::from_utf8_lossy(&bytes).into_owned();
            }
        });
        Self {
            keyboard,
            screen,
            reader,
            child,
        }
    }

    /// Everything that was written so far.
    pub(crate) fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Waits until this shows.
    pub(crate) fn wait_for(&self, text: &str) {
        let begun = std::time::Instant::now();
        while begun.elapsed() < crate::support::PATIENCE {
            if self.screen().contains(text) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("waited in vain for {text:?} on the terminal:\n{}", self.screen());
    }

    /// Types.
    pub(crate) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the program's end: its exit code and what was written.
    pub(crate) fn end(mut self) -> (i32, String) {
        let status = until("the program's end", || self.child.try_wait().unwrap());
        // What was written last may still be on its way: to the end of the terminal, or until it has been quiet for long,
        // where a program that is about to end holds it.
        let mut last = (self.screen(), std::time::Instant::now());
        let screen = until("a quiet terminal", || {
            let now = self.screen();
            if now != last.0 {
                last = (now, std::time::Instant::now());
            }
            (self.reader.is_finished() || last.1.elapsed() > QUIET).then(|| self.screen())
        });
        (status.code().unwrap(), screen)
    }
}

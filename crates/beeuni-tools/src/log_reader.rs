//! Reads what a tool prints: line by line, redacted, cut, and bounded so that a flood ends the worker.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

use crate::ending::Ending;
use crate::env_of_agent::Environments;
use crate::output::readable;
use crate::worker::Worker;
use crate::{LogLine, LogStream};

/// Longest log line that is passed on, in bytes.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// Longest line that is searched for secrets; what is behind it is dropped unread.
const MAX_SEARCHED_BYTES: usize = 64 * 1024;
/// A tool may print this much at once …
const BURST_BYTES: f64 = 8.0 * 1024.0 * 1024.0;
const BURST_LINES: f64 = 100_000.0;
/// … and then this much more each second.
const BYTES_A_SECOND: f64 = 1024.0 * 1024.0;
const LINES_A_SECOND: f64 = 10_000.0;

/// Where log lines go, with the secrets taken out.
#[derive(Clone)]
pub(crate) struct LogSink {
    pub(crate) receive: Arc<dyn Fn(&LogLine) + Send + Sync>,
    pub(crate) environments: Arc<Mutex<Environments>>,
}

impl LogSink {
    pub(crate) fn line(&self, tool: &str, stream: LogStream, text: &str) {
        let redactor = Arc::clone(
            &self
                .environments
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .log_redactor,
        );
        let clean = redactor.apply(text);
        let mut shown = readable(&clean).into_owned();
        if shown.len() > MAX_LINE_BYTES {
            let more = shown.len() - shown.floor_char_boundary(MAX_LINE_BYTES);
            shown.truncate(shown.floor_char_boundary(MAX_LINE_BYTES));
            shown.push_str(&format!("… [{more} more bytes]"));
        }
        (self.receive)(&LogLine {
            tool: tool.to_owned(),
            stream,
            text: shown,
        });
    }

    /// A note of the host, such as a stack trace; one line each.
    pub(crate) fn host(&self, tool: &str, text: &str) {
        for line in text.lines().take(40) {
            self.line(tool, LogStream::Host, line);
        }
    }
}

/// Passes on what comes from `source` until it ends.
pub(crate) fn spawn(
    mut source: impl AsyncRead + Unpin + Send + 'static,
    stream: LogStream,
    worker: &Arc<Worker>,
    sink: &LogSink,
) -> JoinHandle<()> {
    let (worker, sink) = (Arc::clone(worker), sink.clone());
    tokio::spawn(async move {
        let mut lines = Lines::default();
        let mut allowance = Allowance::new();
        let mut chunk = vec![0; 32 * 1024];
        let mut flooded = false;
        while let Ok(read) = source.read(&mut chunk).await {
            if read == 0 {
                break;
            }
            if flooded {
                continue; // read on, so that the worker is not held up while it is ended
            }
            let new_lines = memchr::memchr_iter(b'\n', &chunk[..read]).count();
            if !allowance.take(read, new_lines) {
                flooded = true;
                sink.line(
                    &worker.name,
                    LogStream::Host,
                    "printed too much: the rest is dropped and the worker is ended",
                );
                worker.kill(Ending::Killed(
                    "it printed more than 8 MiB or 100,000 lines at once".to_owned(),
                ));
                continue;
            }
            lines.push(&chunk[..read], |line| sink.line(&worker.name, stream, line));
        }
        lines.end(|line| sink.line(&worker.name, stream, line));
    })
}

/// Cuts a stream into lines, holding at most one line's searched part.
#[derive(Default)]
struct Lines {
    held: Vec<u8>,
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&str)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.hold(&bytes[..end]);
            self.end(&mut each);
            bytes = &bytes[end + 1..];
        }
        self.hold(bytes);
    }

    fn hold(&mut self, bytes: &[u8]) {
        let room = MAX_SEARCHED_BYTES.saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn end(&mut self, mut each: impl FnMut(&str)) {
        if !self.held.is_empty() {
            each(String::from_utf8_lossy(&self.held).trim_end_matches('\r'));
            self.held.clear();
        }
    }
}

/// A bucket that empties as a tool prints and fills up again with time.
struct Allowance {
    bytes: f64,
    lines: f64,
    at: Instant,
}

impl Allowance {
    fn new() -> Self {
        Self {
            bytes: BURST_BYTES,
            lines: BURST_LINES,
            at: Instant::now(),
        }
    }

    fn take(&mut self, bytes: usize, lines: usize) -> bool {
        let now = Instant::now();
        let passed = now.duration_since(self.at).as_secs_f64();
        self.at = now;
        // Both counts are far below what a double holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "a chunk is at most 32 KiB")]
        let (bytes, lines) = (bytes as f64, lines as f64);
        self.bytes = (self.bytes + passed * BYTES_A_SECOND).min(BURST_BYTES) - bytes;
        self.lines = (self.lines + passed * LINES_A_SECOND).min(BURST_LINES) - lines;
        self.bytes >= 0.0 && self.lines >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_any_chunk_boundary_and_bounded() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let text = format!("one\r\ntwo 漢\n\n{}\nlast", "x".repeat(200_000));
        for chunk in text.as_bytes().chunks(3) {
            lines.push(chunk, |line| seen.push(line.to_owned()));
        }
        lines.end(|line| seen.push(line.to_owned()));
        assert_eq!(
            (seen[0].as_str(), seen[1].as_str(), seen[2].len(), seen[3].as_str()),
            ("one", "two 漢", MAX_SEARCHED_BYTES, "last")
        );
    }

    #[test]
    fn proto_03_a_flood_runs_out_of_its_allowance() {
        let mut allowance = Allowance::new();
        assert!((0..100).all(|_| allowance.take(32 * 1024, 100)));
        assert!(!(0..1000).all(|_| allowance.take(32 * 1024, 100)));
    }
}

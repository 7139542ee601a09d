//! Just enough HTTP to be measured with: one request after the other on a connection, and a stream of events.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Outcome;
use crate::project::TOKEN;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A request with the session's token.
pub(crate) fn request(method: &str, address: &str, path: &str, body: &str) -> Vec<u8> {
    request_as(TOKEN, method, address, path, body)
}

/// A request with another credential.
pub(crate) fn request_as(credential: &str, method: &str, address: &str, path: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {credential}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A connection that is kept open.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(16 * 1024),
        })
    }

    /// Sends a request and reads the whole answer; its body is given back. Anything but a 2xx is an error.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> std::io::Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(std::io::Error::other("the server closed the connection"));
            }
            if let Some((start, end)) = body_of(&self.buffer)?
                && self.buffer.len() >= end
            {
                return Ok(&self.buffer[start..end]);
            }
        }
    }

    /// The same, with how long it took.
    pub(crate) async fn timed(&mut self, request: &[u8]) -> std::io::Result<Duration> {
        let begin = Instant::now();
        self.exchange(request).await?;
        Ok(begin.elapsed())
    }
}

/// Where the body begins and ends, once the head is there.
fn body_of(bytes: &[u8]) -> std::io::Result<Option<(usize, usize)>> {
    let Some(head) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    if !bytes.starts_with(b"HTTP/1.1 2") {
        return Err(std::io::Error::other(String::from_utf8_lossy(bytes).into_owned()));
    }
    let length = content_length(&bytes[..head]).ok_or_else(|| std::io::Error::other("an answer without a length"))?;
    Ok(Some((head + 4, head + 4 + length)))
}

/// What a head says about the body's length.
pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    head.split(|byte| *byte == b'\n')
        .filter(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))
        .find_map(|line| String::from_utf8_lossy(&line[NAME.len()..]).trim().parse().ok())
}

/// The events of a session, as they come.
pub(crate) struct Events {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Events {
    pub(crate) async fn open(address: &str) -> Outcome<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&request("GET", address, "/beeuni/events", "")).await?;
        let mut events = Self {
            stream,
            buffer: Vec::with_capacity(64 * 1024),
        };
        events.until(b": connected").await?;
        Ok(events)
    }

    /// Waits for the end of a turn, which must be a good one.
    pub(crate) async fn turn_ended(&mut self) -> Outcome<()> {
        self.until(b"\"type\":\"turn.ended\"").await?;
        let ended = self.until(b"\n\n").await?;
        if memchr::memmem::find(&ended, b"\"outcome\":\"done\"").is_none() {
            return Err(format!("a turn did not end well: {}", String::from_utf8_lossy(&ended)).into());
        }
        Ok(())
    }

    /// Reads up to `needle` and takes everything before it away.
    async fn until(&mut self, needle: &[u8]) -> Outcome<Vec<u8>> {
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memmem::find(&self.buffer[searched..], needle) {
                return Ok(self.buffer.drain(..searched + at + needle.len()).collect());
            }
            searched = self.buffer.len().saturating_sub(needle.len());
            let read = self.stream.read_buf(&mut self.buffer);
            if tokio::time::timeout(PATIENCE, read)
                .await
                .map_err(|_| "no event came")??
                == 0
            {
                let last = String::from_utf8_lossy(&self.buffer);
                return Err(format!("the events ended: {last}").into());
            }
        }
    }
}

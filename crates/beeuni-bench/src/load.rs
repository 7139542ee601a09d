//! A small HTTP load generator: keep-alive connections that send one request after the other.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Outcome;
use crate::project::TOKEN;

/// What one run of the generator saw.
pub(crate) struct Load {
    /// Median latency.
    pub(crate) median: Duration,
    /// Answers per second over all connections.
    pub(crate) per_second: f64,
}

/// Calls `tools` in turn over `connections` connections for `time`.
pub(crate) async fn run(address: &str, tools: &[String], connections: usize, time: Duration) -> Outcome<Load> {
    let requests: Vec<Vec<u8>> = tools.iter().map(|tool| request(address, tool)).collect();
    let mut tasks = tokio::task::JoinSet::new();
    let begin = Instant::now();
    for n in 0..connections {
        let (address, request) = (address.to_owned(), requests[n % requests.len()].clone());
        tasks.spawn(async move {
            connection(&address, &request, begin + time)
                .await
                .map_err(|error| error.to_string())
        });
    }
    let mut all = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        all.extend(joined??);
    }
    let elapsed = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    let per_second = all.len() as f64 / elapsed;
    all.sort_unstable();
    Ok(Load {
        median: all[all.len() / 2],
        per_second,
    })
}

/// One request on a connection of its own: its latency.
pub(crate) async fn once(address: &str, tool: &str) -> Outcome<Duration> {
    let request = request(address, tool);
    let mut client = Client::connect(address).await?;
    let begin = Instant::now();
    client.exchange(&request).await?;
    Ok(begin.elapsed())
}

fn request(address: &str, tool: &str) -> Vec<u8> {
    let body = r#"{"args":{"id":"A-1042"},"agent":"beeuni"}"#;
    format!(
        "POST /beeuni/tools/{tool} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

async fn connection(address: &str, request: &[u8], until: Instant) -> std::io::Result<Vec<Duration>> {
    let mut client = Client::connect(address).await?;
    let mut latencies = Vec::with_capacity(100_000);
    loop {
        let begin = Instant::now();
        if begin >= until {
            return Ok(latencies);
        }
        client.exchange(request).await?;
        latencies.push(begin.elapsed());
    }
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(16 * 1024),
        })
    }

    async fn exchange(&mut self, request: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(std::io::Error::other("the server closed the connection"));
            }
            if let Some(whole) = answer_length(&self.buffer)?
                && self.buffer.len() >= whole
            {
                return Ok(());
            }
        }
    }
}

/// The length of the whole answer once its head is there.
fn answer_length(bytes: &[u8]) -> std::io::Result<Option<usize>> {
    let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    if !bytes.starts_with(b"HTTP/1.1 200") {
        return Err(std::io::Error::other(String::from_utf8_lossy(bytes).into_owned()));
    }
    for line in bytes[..end].split(|byte| *byte == b'\n') {
        if line.len() > 15 && line[..15].eq_ignore_ascii_case(b"content-length:") {
            let digits = String::from_utf8_lossy(&line[15..]);
            let length: usize = digits.trim().parse().map_err(std::io::Error::other)?;
            return Ok(Some(end + 4 + length));
        }
    }
    Err(std::io::Error::other("an answer without a length"))
}

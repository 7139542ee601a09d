//! A small load generator: keep-alive connections that send one request after the other.

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::http::{self, Client};

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
    Ok(client.timed(&request).await?)
}

fn request(address: &str, tool: &str) -> Vec<u8> {
    let body = r#"{"args":{"id":"A-1042"},"agent":"beeuni"}"#;
    http::request("POST", address, &format!("/beeuni/tools/{tool}"), body)
}

async fn connection(address: &str, request: &[u8], until: Instant) -> std::io::Result<Vec<Duration>> {
    let mut client = Client::connect(address).await?;
    let mut latencies = Vec::with_capacity(100_000);
    loop {
        let begin = Instant::now();
        if begin >= until {
            return Ok(latencies);
        }
        latencies.push(client.timed(request).await?);
    }
}

//! Calls through the daemon and through the host alone, in rounds that alternate with the baseline.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use beeuni_tools::{Call, HostConfig, Limits, SelectedTool, ToolHost, ToolKind, ToolSource, sandbox_env};

use crate::project;
use crate::report::{Report, median};
use crate::server::Server;
use crate::{Outcome, Programs, load};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1500);
const COLD_TOOLS: usize = 20;
const WAITS: usize = 20;
const BESIDE_SPIN: usize = 500;

pub(crate) async fn calls(programs: &Programs, report: &mut Report) -> Outcome<()> {
    let (folder, project) = project::scratch()?;
    project::make(&project, 4)?;
    let bare = Server::bare(programs, &project).await?;
    let daemon = Server::daemon(programs, &project, &folder.path().join("state")).await?;
    let idle = daemon.resident()?;
    let host = host(programs, &project, folder.path()).await?;
    let one = vec!["t0".to_owned()];
    let four: Vec<String> = (0..4).map(|n| format!("t{n}")).collect();
    for server in [&bare, &daemon] {
        load::run(&server.address, &four, 16, ROUND).await?; // both warm
    }
    host_load(&host, 16, ROUND).await?;

    let [mut bare_1, mut daemon_1, mut host_1] = [const { Vec::new() }; 3];
    let [mut bare_16, mut daemon_16, mut daemon_4x4, mut host_16] = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        bare_1.push(micros(load::run(&bare.address, &one, 1, ROUND).await?.median));
        daemon_1.push(micros(load::run(&daemon.address, &one, 1, ROUND).await?.median));
        host_1.push(micros(host_load(&host, 1, ROUND).await?.median));
        bare_16.push(load::run(&bare.address, &one, 16, ROUND).await?.per_second);
        daemon_16.push(load::run(&daemon.address, &one, 16, ROUND).await?.per_second);
        daemon_4x4.push(load::run(&daemon.address, &four, 16, ROUND).await?.per_second);
        host_16.push(host_load(&host, 16, ROUND).await?.per_second);
    }
    let (bare_1, bare_16) = (median(&mut bare_1), median(&mut bare_16));
    report.less(
        "call through the daemon, 1 connection",
        "µs",
        median(&mut daemon_1),
        bare_1,
        1.3,
    );
    report.less("call through the host, no HTTP", "µs", median(&mut host_1), bare_1, 1.0);
    report.more(
        "calls through the daemon, 16 connections",
        "/s",
        median(&mut daemon_16),
        bare_16,
        0.9,
    );
    report.more(
        "  the same, spread over 4 tools",
        "/s",
        median(&mut daemon_4x4),
        bare_16,
        0.9,
    );
    report.more(
        "calls through the host, 16 at once, no HTTP",
        "/s",
        median(&mut host_16),
        bare_16,
        1.0,
    );
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    let mb = |bytes: u64| bytes as f64 / 1e6;
    report.at_most("daemon's memory, all workers idle", "MB", mb(idle), 15.0);
    report.note(&format!("the bare server's memory is {:.0} MB", mb(bare.resident()?)));
    host.shutdown(Duration::ZERO).await;
    Ok(())
}

/// The first call of each of many tools: the worker starts, the module is imported, the answer comes.
pub(crate) async fn cold_calls(programs: &Programs, report: &mut Report) -> Outcome<()> {
    let (folder, project) = project::scratch()?;
    project::make(&project, COLD_TOOLS)?;
    let daemon = Server::daemon(programs, &project, &folder.path().join("state")).await?;
    let mut cold = Vec::new();
    for n in 0..COLD_TOOLS {
        cold.push(micros(load::once(&daemon.address, &format!("t{n}")).await?) / 1000.0);
    }
    report.at_most(
        "first call of a tool, its worker included",
        "ms",
        median(&mut cold),
        60.0,
    );
    Ok(())
}

/// What a tool that computes for ever, and twenty that wait, cost the calls beside them.
pub(crate) async fn side_by_side(programs: &Programs, report: &mut Report) -> Outcome<()> {
    let (folder, project) = project::scratch()?;
    project::make(&project, 1)?;
    project::add_tool(&project, "spin", "while (true) {}")?;
    project::add_tool(&project, "wait", "await Bun.sleep(400); return 'waited'")?;
    let daemon = Server::daemon(programs, &project, &folder.path().join("state")).await?;
    for tool in ["t0", "wait"] {
        load::once(&daemon.address, tool).await?; // both warm
    }

    let begin = Instant::now();
    let mut waits = tokio::task::JoinSet::new();
    for _ in 0..WAITS {
        let address = daemon.address.clone();
        waits.spawn(async move { load::once(&address, "wait").await.map_err(|error| error.to_string()) });
    }
    while let Some(joined) = waits.join_next().await {
        joined??;
    }
    report.at_most(
        "20 calls that wait 400 ms each, all done after",
        "ms",
        micros(begin.elapsed()) / 1000.0,
        500.0,
    );

    let address = daemon.address.clone();
    let spin = tokio::spawn(async move { load::once(&address, "spin").await.map_err(|error| error.to_string()) });
    let mut slowest = Duration::ZERO;
    for _ in 0..BESIDE_SPIN {
        slowest = slowest.max(load::once(&daemon.address, "t0").await?);
    }
    report.at_most(
        "slowest of 500 calls while another tool spins",
        "ms",
        micros(slowest) / 1000.0,
        50.0,
    );
    spin.abort();
    Ok(())
}

async fn host(programs: &Programs, project: &Path, folder: &Path) -> Outcome<ToolHost> {
    let host = ToolHost::new(HostConfig {
        bun: programs.bun.clone(),
        runtime_dir: folder.join("runtime"),
        project: project.to_owned(),
        output_dir: folder.join("outputs"),
        session: "bench".to_owned(),
        env: sandbox_env(&[]),
        session_secrets: std::collections::BTreeMap::new(),
        limits: Limits::default(),
        guard: programs.beeuni.clone(),
        log: Arc::new(|_| {}),
    })
    .await?;
    let tool = SelectedTool {
        name: "t0".to_owned(),
        kind: ToolKind::Project,
        source: ToolSource::Module("tools/t0.ts".to_owned()),
    };
    host.load(&[tool]).await;
    Ok(host)
}

async fn host_load(host: &ToolHost, at_once: usize, time: Duration) -> Outcome<load::Load> {
    let begin = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        let host = host.clone();
        tasks.spawn(async move {
            let mut latencies = Vec::with_capacity(100_000);
            while begin.elapsed() < time {
                let start = Instant::now();
                let call = Call {
                    tool: "t0",
                    args: r#"{"id":"A-1042"}"#,
                    agent: "beeuni",
                    directory: None,
                };
                host.call(call).await.map_err(|error| error.to_string())?;
                latencies.push(start.elapsed());
            }
            Ok::<_, String>(latencies)
        });
    }
    let mut all = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        all.extend(joined??);
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    let per_second = all.len() as f64 / begin.elapsed().as_secs_f64();
    all.sort_unstable();
    Ok(load::Load {
        median: all[all.len() / 2],
        per_second,
    })
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

//! What each harness takes: starts, turns, memory, and what lies between the standard harness and the tools.

use std::path::Path;
use std::time::Instant;

use crate::http::{Client, request, request_as};
use crate::model::CALL;
use crate::report::{Report, median};
use crate::server::Server;
use crate::sessions::{Bench, STARTS, Session, ms};
use crate::{Outcome, Programs};

/// Turns of the long session: three messages each.
const TURNS: usize = 200;
/// Messages after which its memory is looked at.
const MANY_MESSAGES: usize = 500;
/// Bridged calls that are measured.
const CALLS: usize = 300;

/// The rows that both harnesses have, over several sessions. The last one goes on.
async fn first_turns(bench: &Bench<'_>, harness: &str, report: &mut Report) -> Outcome<Session> {
    const NAMES: [&str; 2] = ["first turn, a text", "second turn, a text"];
    let [mut ready, mut bare] = [const { Vec::new() }; 2];
    let [mut turns, mut alone] = [const { [const { Vec::new() }; NAMES.len()] }; 2];
    let mut model = Client::connect(&bench.model.address).await?;
    let mut last = None;
    for n in 0..STARTS {
        let (server, time) = bench.daemon(harness, &bench.state(&format!("session-{n}"))).await?;
        ready.push(ms(time));
        bare.push(bench.bare_start().await?);
        let mut session = Session::open(server).await?;
        bench.model.take_asked();
        for (turns, alone) in turns.iter_mut().zip(&mut alone) {
            turns.push(ms(session.turn("Say hello.").await?));
            alone.push(ms(bench.model_alone(&mut model).await?));
        }
        if let Some(before) = last.replace(session) {
            before.server.stop().await?;
        }
    }
    let what = format!("{harness} harness: start until ready");
    report.compare(&what, "ms", median(&mut ready), median(&mut bare));
    for ((name, turns), alone) in NAMES.iter().zip(&mut turns).zip(&mut alone) {
        report.compare(&format!("  {name}"), "ms", median(turns), median(alone));
    }
    last.ok_or_else(|| "no session was started".into())
}

/// Where the state of the session is that [`first_turns`] gives.
fn last_session() -> String {
    format!("session-{}", STARTS - 1)
}

pub(crate) async fn experimental(programs: &Programs, report: &mut Report) -> Outcome<()> {
    let bench = Bench::new(programs).await?;
    let bare = Server::bare(programs, &bench.project).await?.resident()?;
    let mut session = first_turns(&bench, "experimental", report).await?;
    report.beside(
        "  a live session, idle",
        "MB",
        mb(session.server.resident()?),
        mb(bare),
        20.0,
    );

    let mut model = Client::connect(&bench.model.address).await?;
    let [mut turns, mut alone] = [const { Vec::new() }; 2];
    for turn in 0..TURNS {
        turns.push(ms(session.turn(&format!("{CALL} ({turn})")).await?));
        alone.push(ms(bench.model_alone(&mut model).await?));
        if turn * 3 >= MANY_MESSAGES && (turn - 1) * 3 < MANY_MESSAGES {
            let what = format!("  memory with {MANY_MESSAGES} messages, without workers");
            report.beside(&what, "MB", mb(session.server.resident()?), mb(bare), 40.0);
        }
    }
    let cost = |from: usize| {
        let mut cost: Vec<f64> = turns
            .iter()
            .zip(&alone)
            .skip(from)
            .map(|(turn, alone)| turn - alone)
            .collect();
        (median(&mut cost), median(&mut alone[from..].to_vec()))
    };
    let (all, model_all) = cost(0);
    let (last, model_last) = cost(TURNS - 20);
    report.beside(
        &format!("  a turn of {TURNS}: two requests, one call; without the model"),
        "ms",
        all,
        model_all,
        5.0,
    );
    report.beside("    the last 20 of them", "ms", last, model_last, 5.0);

    let state = request("GET", &session.server.address, "/beeuni/sessions/bench", "");
    let state: serde_json::Value = serde_json::from_slice(session.client.exchange(&state).await?)?;
    let messages = state["messages"]
        .as_u64()
        .ok_or("the session's state has no count of messages")?;
    // Two texts, and three messages for each turn with a call: else something else was measured.
    if messages != u64::try_from(TURNS * 3 + 4)? {
        return Err(format!("the session has {messages} messages after {TURNS} turns with a call").into());
    }
    session.server.stop().await?;
    let (long, _) = bench
        .starts("experimental", Some(&bench.state(&last_session())))
        .await?;
    let (empty, _) = bench.starts("experimental", None).await?;
    let what = format!("  start with {messages} messages, beside one with none");
    report.compare(&what, "ms", long, empty);
    Ok(())
}

pub(crate) async fn standard(programs: &Programs, report: &mut Report) -> Outcome<()> {
    if programs.opencode.is_none() {
        report.note("the standard harness was NOT measured: OpenCode was not found. Name its binary as the third argument, or run `make setup`");
        return Ok(());
    }
    let bench = Bench::new(programs).await?;
    let bare = Server::bare(programs, &bench.project).await?;
    let mut session = first_turns(&bench, "standard", report).await?;
    session.turn(CALL).await?;
    let memory = session.server.resident_of_all()?;
    report.compare(
        "  memory: the daemon, OpenCode and all else below it",
        "MB",
        mb(memory.all),
        mb(bare.resident()?),
    );
    report.note(&format!(
        "of the standard session's memory {:.0} MB are the daemon and {:.0} MB OpenCode",
        mb(memory.own),
        mb(memory.opencode)
    ));

    let state = bench.state(&last_session());
    let key = std::fs::read_to_string(state.join("tool-bridge.key"))?;
    let bridge = bridge_address(&state)?;
    let mut client = Client::connect(&bridge).await?;
    let call = request_as(
        key.trim(),
        "POST",
        &bridge,
        "/beeuni/tools/timed",
        r#"{"args":{},"agent":"beeuni"}"#,
    );
    let mut shares = Vec::new();
    for n in 0..CALLS + 10 {
        let begin = Instant::now();
        let answer = client.exchange(&call).await?;
        let whole = ms(begin.elapsed());
        let answer: serde_json::Value = serde_json::from_slice(answer)?;
        let own: f64 = answer["output"]
            .as_str()
            .and_then(|own| own.parse().ok())
            .ok_or("no time came back")?;
        // The first ones start the worker.
        if n >= 10 {
            shares.push(whole - own);
        }
    }
    let mut alone = Client::connect(&bare.address).await?;
    let plain = request(
        "POST",
        &bare.address,
        "/",
        r#"{"args":{"id":"A-1042"},"agent":"beeuni"}"#,
    );
    let mut base = Vec::new();
    for _ in 0..CALLS {
        base.push(ms(alone.timed(&plain).await?));
    }
    report.beside(
        "  a bridged call, beyond the tool's own time",
        "ms",
        median(&mut shares),
        median(&mut base),
        2.0,
    );
    session.server.stop().await
}

/// Where the bridge listens: it is written where OpenCode reads it.
fn bridge_address(state: &Path) -> Outcome<String> {
    const MARK: &str = "/beeuni/llm";
    let mut folders = vec![state.join("opencode")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path)
                && let Some((before, _)) = text.split_once(MARK)
                && let Some((_, address)) = before.rsplit_once("http://")
            {
                return Ok(address.to_owned());
            }
        }
    }
    Err("the address of the bridge was not found below the state folder".into())
}

#[expect(clippy::cast_precision_loss, reason = "megabytes")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

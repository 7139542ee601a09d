//! How a command ended, in words for the model and in numbers for views.

use std::time::Duration;

use serde_json::json;

use super::process::{Ending, Why};

/// What there is to say about how a command ended.
pub(super) fn notes(ending: Ending, printed: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match (ending.why, ending.code, ending.signal) {
        (Some(Why::Stopped), ..) => notes.push("[The call was stopped and the command ended]".to_owned()),
        (Some(Why::Killed), ..) => notes.push("[It was ended]".to_owned()),
        (Some(Why::TimedOut(limit)), ..) => notes.push(format!(
            "[timed out after {} s: the command was ended with everything that it started. Give a longer `timeout` (up \
             to 600000 ms), or run it with `background: true`.]",
            limit.as_secs_f64()
        )),
        (None, Some(0), _) if printed => {}
        (None, Some(0), _) => notes.push("[no output, exit code 0]".to_owned()),
        (None, Some(code), _) => notes.push(format!("[exit code {code}{}]", meaning(code))),
        (None, None, Some(signal)) => notes.push(format!("[ended by signal {signal}{}]", name_of(signal))),
        (None, None, None) => notes.push("[how it ended is not known]".to_owned()),
    }
    if ending.left > 0 {
        notes.push(format!(
            "[{} that the command had left in the background ended with it. Use `background: true` for what shall go on.]",
            if ending.left == 1 { "1 process".to_owned() } else { format!("{} processes", ending.left) }
        ));
    }
    notes
}

/// What a shell means by an exit code.
fn meaning(code: i32) -> String {
    match code {
        126 => ": the program cannot be run".to_owned(),
        127 => ": a program was not found".to_owned(),
        137 => ": killed (SIGKILL), perhaps for want of memory".to_owned(),
        139 => ": crashed (SIGSEGV)".to_owned(),
        129..=165 => format!(": ended by signal {}", code - 128),
        _ => String::new(),
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

pub(super) fn metadata(ending: Option<Ending>, took: Duration) -> serde_json::Value {
    let mut metadata = json!({"exit": null, "seconds": (took.as_secs_f64() * 1000.0).round() / 1000.0});
    if let Some(ending) = ending {
        metadata["exit"] = json!(ending.code.filter(|_| ending.why.is_none()));
        if let Some(signal) = ending.signal.filter(|_| ending.why.is_none()) {
            metadata["signal"] = json!(signal);
        }
        match ending.why {
            Some(Why::TimedOut(_)) => metadata["timed_out"] = json!(true),
            Some(Why::Stopped | Why::Killed) => metadata["stopped"] = json!(true),
            None => {}
        }
        if ending.left > 0 {
            metadata["left"] = json!(ending.left);
        }
    }
    metadata
}

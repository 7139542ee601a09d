//! A client of `GET /beeuni/events`.
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use super::{Daemon, request, signed, until};

/// The events that a client gets, gathered in the background.
pub(crate) struct Events {
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Default)]
struct Gathered {
    events: Vec<Value>,
    ended: bool,
}

impl Events {
    /// Connects; with `after`, as a client that has seen that event. Events are gathered from here on.
    pub(crate) fn of(daemon: &Daemon, after: Option<u64>) -> Self {
        let mut headers = signed();
        if let Some(after) = after {
            headers.push_str(&format!("last-event-id: {after}\r\n"));
        }
        let mut connection = daemon.connect();
        connection.send(request("GET", "/beeuni/events", &headers, "").as_bytes());
        let head = connection.head();
        assert_eq!(
            (head.status, head.header("content-type")),
            (200, Some("text/event-stream")),
            "{}",
            head.head
        );
        let gathered = Arc::new(Mutex::new(Gathered::default()));
        let to = gathered.clone();
        thread::spawn(move || {
            let mut text = String::new();
            while let Some(chunk) = connection.chunk().filter(|chunk| !chunk.is_empty()) {
                text.push_str(&String::from_utf8(chunk).unwrap());
                while let Some((event, rest)) = text.split_once("\n\n") {
                    if let Some(event) = parsed(event) {
                        to.lock().unwrap().events.push(event);
                    }
                    text = rest.to_owned();
                }
            }
            to.lock().unwrap().ended = true;
        });
        Self { gathered }
    }

    /// All so far.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.gathered.lock().unwrap().events.clone()
    }

    /// Waits for an event that `wanted` accepts.
    pub(crate) fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(what, || self.all().into_iter().find(|event| wanted(event)))
    }

    /// Waits for an event of this type.
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        self.wait(kind, |event| event["type"] == kind)
    }

    /// Waits until the stream has ended.
    pub(crate) fn until_ended(&self) {
        until("the end of the events", || {
            self.gathered.lock().unwrap().ended.then_some(())
        });
    }

    /// Forgets what came so far.
    pub(crate) fn forget(&self) {
        self.gathered.lock().unwrap().events.clear();
    }
}

/// The event in the lines of one; `None` for a comment. Its `id:` line must be the number in it.
fn parsed(lines: &str) -> Option<Value> {
    let (mut id, mut data) = (None, None);
    for line in lines.lines().filter(|line| !line.starts_with(':')) {
        match line.split_once(": ").unwrap() {
            ("id", value) => id = Some(value.parse::<u64>().unwrap()),
            ("data", value) => data = Some(serde_json::from_str::<Value>(value).unwrap()),
            other => panic!("an unknown field {other:?}"),
        }
    }
    let event = data?;
    assert_eq!(event["id"].as_u64(), id, "{event}");
    Some(event)
}

//! Lines that a person types, read one by one when they are asked for.
use std::io;
use std::sync::mpsc;

use tokio::sync::oneshot;

/// Reads lines of standard input one by one, when they are asked for: until then what is typed stays with the
/// terminal.
#[derive(Default)]
pub(super) struct Lines(Option<mpsc::Sender<oneshot::Sender<Option<String>>>>);

impl Lines {
    /// The next line without its end; `None` at the end of input.
    pub(super) async fn next(&mut self) -> Option<String> {
        let (reply, line) = oneshot::channel();
        let sender = self.0.get_or_insert_with(|| {
            let (sender, wanted) = mpsc::channel::<oneshot::Sender<Option<String>>>();
            // A thread, since reading from a terminal cannot be stopped: it ends with the process.
            std::thread::spawn(move || {
                for reply in wanted {
                    let mut line = String::new();
                    let read = io::stdin().read_line(&mut line).ok().filter(|bytes| *bytes > 0);
                    // Who asked may have gone; the line is nobody's then.
                    let _ = reply.send(read.map(|_| line.trim_end_matches(['\n', '\r']).to_owned()));
                }
            });
            sender
        });
        sender.send(reply).ok()?;
        line.await.ok().flatten()
    }
}

//! The worker's channel: frames out in batches, replies in.
//!
//! Both halves share one socket that is registered for reading only: with the usual registration for both, the
//! kernel would also wake this process each time the worker has read something. Tokio's type for one direction is
//! that of pipes; it reads any descriptor.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::{Answer, Worker};
use crate::ending::Ending;
use crate::frames::{Kind, Reply, ReplyReader};
use crate::log_reader::LogSink;

/// Room for one read.
const READ_BYTES: usize = 32 * 1024;
/// A buffer that grew larger is given back once it is empty.
const KEPT_BYTES: usize = 1024 * 1024;

/// Writes whatever is waiting, whenever something is.
pub(super) async fn write_frames(worker: Arc<Worker>, socket: Arc<UnixStream>) {
    let mut batch = Vec::new();
    loop {
        worker.wake_writer.notified().await;
        loop {
            std::mem::swap(&mut worker.state().out, &mut batch);
            if batch.is_empty() {
                break;
            }
            if write_all(&socket, &batch).await.is_err() {
                return; // the reader sees the end and says why
            }
            batch.clear();
            if batch.capacity() > KEPT_BYTES {
                batch = Vec::new();
            }
        }
    }
}

async fn write_all(socket: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(socket, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                // Full, which is rare: the registration for writing lasts until there is room.
                pipe::Sender::from_owned_fd_unchecked(socket.try_clone()?.into())?
                    .writable()
                    .await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Hands on replies until the channel closes.
pub(super) async fn read_replies(worker: Arc<Worker>, socket: Arc<UnixStream>, sink: LogSink) {
    let mut reader = ReplyReader::default();
    let receiver = socket
        .try_clone()
        .map(Into::into)
        .and_then(pipe::Receiver::from_owned_fd_unchecked);
    if let Ok(mut receiver) = receiver {
        loop {
            let buffer = reader.buffer();
            buffer.reserve(READ_BYTES);
            match receiver.read_buf(buffer).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            loop {
                match reader.next() {
                    Ok(Some(reply)) => handle(&worker, reply, &sink),
                    Ok(None) => break,
                    Err(error) => return worker.kill(Ending::Killed(error.to_string())),
                }
            }
        }
    }
    // A worker that closed its channel can serve no call any more.
    worker.retire();
}

fn handle(worker: &Worker, reply: Reply, sink: &LogSink) {
    match reply.kind {
        Kind::Log => sink.host(&worker.name, &reply.text),
        Kind::Retire => {
            sink.host(
                &worker.name,
                &format!("{}: the next call gets a fresh worker", reply.text),
            );
            worker.retire();
        }
        _ => {
            let mut state = worker.state();
            let waiting = state.waiting.remove(&reply.id);
            let wake = worker.note_idle(&mut state) && state.retiring;
            drop(state);
            if let Some(waiting) = waiting {
                let _ = waiting.answer.send(Answer::Reply(reply));
            }
            if wake {
                worker.wake_supervisor.notify_one();
            }
        }
    }
}

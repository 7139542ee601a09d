//! The frames between the host and a worker: a length, then JSON towards the worker, kind, id and text back.

use std::collections::BTreeMap;

use serde::Serialize;

/// The longest frame that a worker may send, in bytes. A longer one ends the worker.
pub(crate) const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// What the host tells a worker. The same shapes stand in `runtime/worker.ts`.
#[derive(Serialize)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(crate) enum Message<'a> {
    Init {
        session: &'a str,
        directory: &'a str,
        progress: &'a str,
    },
    Load {
        i: u32,
        n: &'a str,
        p: &'a str,
    },
    Env {
        v: &'a BTreeMap<String, String>,
    },
    Abort {
        i: u32,
        r: &'a str,
    },
    Ping {
        i: u32,
    },
}

/// Appends `message` as a frame.
pub(crate) fn push(out: &mut Vec<u8>, message: &Message<'_>) -> serde_json::Result<()> {
    frame(out, |out| serde_json::to_writer(out, message))
}

/// Appends a call: written by hand because `args` is JSON text already, passed on byte for byte.
pub(crate) fn push_call(out: &mut Vec<u8>, id: u32, call: &crate::Call<'_>) -> serde_json::Result<()> {
    frame(out, |out| {
        out.extend_from_slice(b"{\"t\":\"call\",\"i\":");
        serde_json::to_writer(&mut *out, &id)?;
        out.extend_from_slice(b",\"n\":");
        serde_json::to_writer(&mut *out, call.tool)?;
        out.extend_from_slice(b",\"g\":");
        serde_json::to_writer(&mut *out, call.agent)?;
        if let Some(directory) = call.directory {
            out.extend_from_slice(b",\"d\":");
            serde_json::to_writer(&mut *out, directory)?;
        }
        out.extend_from_slice(b",\"a\":");
        out.extend_from_slice(call.args.as_bytes());
        out.push(b'}');
        Ok(())
    })
}

fn frame(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> serde_json::Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out)?;
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// What a worker tells the host. The same numbers stand in `runtime/channel.ts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ok,
    Error,
    Loaded,
    LoadFailed,
    Pong,
    Log,
    Retire,
}

/// One frame of a worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) kind: Kind,
    pub(crate) id: u32,
    pub(crate) text: String,
}

/// A worker sent what is no frame.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum BadFrame {
    #[error("its result is larger than {} MiB", MAX_REPLY_BYTES / 1024 / 1024)]
    TooLong,
    #[error("it wrote to the channel of its worker")]
    Malformed,
}

/// Collects bytes and cuts them into frames.
#[derive(Debug, Default)]
pub(crate) struct ReplyReader {
    held: Vec<u8>,
    start: usize,
}

impl ReplyReader {
    /// The buffer to read into; new bytes go at its end.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.start == self.held.len() {
            self.held.clear();
            self.start = 0;
            // A large reply must not keep its memory for the life of the worker.
            if self.held.capacity() > 1024 * 1024 {
                self.held = Vec::new();
            }
        } else if self.start > self.held.len() / 2 {
            self.held.drain(..self.start);
            self.start = 0;
        }
        &mut self.held
    }

    /// The next whole frame.
    pub(crate) fn next(&mut self) -> Result<Option<Reply>, BadFrame> {
        let rest = &self.held[self.start..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_REPLY_BYTES {
            return Err(BadFrame::TooLong);
        }
        if length < 5 {
            return Err(BadFrame::Malformed);
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let kind = match body[0] {
            1 => Kind::Ok,
            2 => Kind::Error,
            3 => Kind::Loaded,
            4 => Kind::LoadFailed,
            5 => Kind::Pong,
            6 => Kind::Log,
            7 => Kind::Retire,
            _ => return Err(BadFrame::Malformed),
        };
        let id = u32::from_le_bytes([body[1], body[2], body[3], body[4]]);
        let text = std::str::from_utf8(&body[5..])
            .map_err(|_| BadFrame::Malformed)?
            .to_owned();
        self.start += 4 + length;
        Ok(Some(Reply { kind, id, text }))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn reply(kind: u8, id: u32, text: &str) -> Vec<u8> {
        let mut bytes = u32::try_from(text.len() + 5).unwrap().to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    #[test]
    fn proto_03_frames_survive_any_chunking() {
        let bytes = [reply(1, 7, "漢😀é"), reply(2, 8, ""), reply(6, 0, "log")].concat();
        for size in 1..bytes.len() {
            let mut reader = ReplyReader::default();
            let mut seen = Vec::new();
            for chunk in bytes.chunks(size) {
                reader.buffer().extend_from_slice(chunk);
                while let Some(reply) = reader.next().unwrap() {
                    seen.push((reply.kind, reply.id, reply.text));
                }
            }
            assert_eq!(
                seen,
                [
                    (Kind::Ok, 7, "漢😀é".to_owned()),
                    (Kind::Error, 8, String::new()),
                    (Kind::Log, 0, "log".to_owned())
                ]
            );
        }
    }

    #[test]
    fn an_endless_frame_is_refused_before_it_is_read() {
        let mut reader = ReplyReader::default();
        reader.buffer().extend_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(reader.next(), Err(BadFrame::TooLong));
    }

    #[test]
    fn noise_is_refused() {
        let mut reader = ReplyReader::default();
        reader.buffer().extend_from_slice(&reply(99, 1, "x"));
        assert_eq!(reader.next(), Err(BadFrame::Malformed));
    }

    #[test]
    fn a_call_passes_its_arguments_on_byte_for_byte() {
        let mut out = Vec::new();
        let args = "{ \"id\": 7301444403212345679,\n \"b\":\"\\ud800\" }";
        push_call(
            &mut out,
            3,
            &crate::Call {
                tool: "t",
                args,
                agent: "a\"b",
                directory: None,
            },
        )
        .unwrap();
        let text = std::str::from_utf8(&out[4..]).unwrap();
        assert_eq!(
            text,
            format!("{{\"t\":\"call\",\"i\":3,\"n\":\"t\",\"g\":\"a\\\"b\",\"a\":{args}}}")
        );
        assert_eq!(
            u32::from_le_bytes([out[0], out[1], out[2], out[3]]) as usize,
            text.len()
        );
    }
}

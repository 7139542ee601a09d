//! Raw HTTP: a client that sends any bytes, and its view of a reply.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use super::{PATIENCE, TOKEN};

/// The text of a request.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = if body.is_empty() && method == "GET" {
        String::new()
    } else {
        format!("content-length: {}\r\n", body.len())
    };
    format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}{length}\r\n{body}")
}

/// The headers of a caller with the session token.
pub(crate) fn signed() -> String {
    format!("authorization: Bearer {TOKEN}\r\n")
}

/// One connection to a daemon.
pub(crate) struct Connection<S: Read + Write> {
    reader: BufReader<S>,
}

impl Connection<UnixStream> {
    pub(crate) fn unix(path: &Path) -> std::io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE * 2))?;
        Ok(Self {
            reader: BufReader::new(stream),
        })
    }
}

impl Connection<TcpStream> {
    pub(crate) fn tcp(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
        Self {
            reader: BufReader::new(stream),
        }
    }

    /// Goes away without a word.
    pub(crate) fn leave(self) {
        let _ = self.reader.get_ref().shutdown(Shutdown::Both);
    }
}

impl<S: Read + Write> Connection<S> {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    /// Sends what the other side takes.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Sends a request and reads the reply to it.
    pub(crate) fn ask(&mut self, request: &str) -> Reply {
        self.send(request.as_bytes());
        self.reply(request.starts_with("HEAD "))
    }

    /// The next reply.
    pub(crate) fn reply(&mut self, to_head: bool) -> Reply {
        self.try_reply(to_head)
            .unwrap_or_else(|| panic!("the connection ended before a reply"))
    }

    /// The next reply; `None` when the connection ended before it.
    pub(crate) fn try_reply(&mut self, to_head: bool) -> Option<Reply> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply {
            status,
            head,
            body: String::new(),
        };
        if !to_head && reply.header("transfer-encoding") == Some("chunked") {
            reply.body = self.chunks()?;
        } else if !to_head {
            let mut body = vec![
                0;
                reply
                    .header("content-length")
                    .map_or(0, |length| length.parse().unwrap())
            ];
            self.reader.read_exact(&mut body).ok()?;
            reply.body = String::from_utf8(body).unwrap();
        }
        Some(reply)
    }

    /// A body in chunks, to its end; `None` when it is cut.
    fn chunks(&mut self) -> Option<String> {
        let mut body = Vec::new();
        loop {
            match self.chunk()? {
                chunk if chunk.is_empty() => return Some(String::from_utf8(body).unwrap()),
                chunk => body.extend(chunk),
            }
        }
    }

    /// The next chunk of a body, empty at its end; `None` when it is cut.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(size);
        Some(chunk)
    }

    /// The head of the next reply; its body is left to [`Connection::chunk`].
    pub(crate) fn head(&mut self) -> Reply {
        self.reply(true)
    }

    /// Waits until the other side closes; what it still sent.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = self.reader.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The status and the text of `error`.
    pub(crate) fn error(&self) -> (u16, String) {
        let json = self.json();
        (
            self.status,
            json["error"]
                .as_str()
                .unwrap_or_else(|| panic!("no error in {json}"))
                .to_owned(),
        )
    }
}

//! One connection of a scripted server: reads requests and writes answers, byte by byte.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::server::Shared;
use super::{Answer, RecordedRequest};

pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Ends with this task: a test that drops its server leaves no connection behind.
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, number, Arc::clone(&shared)));
        number += 1;
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, number: usize, shared: Arc<Shared>) {
    let (mut reader, mut writer) = stream.into_split();
    let mut buffer = BytesMut::new();
    loop {
        let (hung_up, receiver) = watch::channel(false);
        let Some(request) = read_request(&mut reader, &mut buffer, number, receiver).await else {
            return;
        };
        let head_only = request.method == Method::HEAD;
        let answer = shared.answer(request);
        if answer.hang_up {
            return;
        }
        // A client that closes its side while it should be reading has hung up.
        let outcome = tokio::select! {
            outcome = write_answer(&mut writer, &answer, head_only) => outcome,
            () = closed(&mut reader, &mut buffer) => Err(io::ErrorKind::BrokenPipe.into()),
        };
        match outcome {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => {
                hung_up.send_replace(true);
                return;
            }
        }
    }
}

/// Returns when the other side closed; keeps bytes that it sent before.
async fn closed(reader: &mut OwnedReadHalf, buffer: &mut BytesMut) {
    while let Ok(1..) = reader.read_buf(buffer).await {}
}

/// The next request; `None` when the connection ends first.
async fn read_request(
    reader: &mut OwnedReadHalf,
    buffer: &mut BytesMut,
    connection: usize,
    hung_up: watch::Receiver<bool>,
) -> Option<RecordedRequest> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if reader.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = buffer.split_to(head_end);
    let head = std::str::from_utf8(&head).expect("a request head in UTF-8");
    let mut lines = head.trim_end().split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().unwrap_or_default().parse().expect("a method");
    let target = first.next().expect("a request target").to_owned();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').expect("a header with a colon");
        let name: HeaderName = name.parse().expect("a header name");
        headers.append(name, HeaderValue::from_str(value.trim()).expect("a header value"));
    }
    assert!(
        !headers.contains_key("transfer-encoding"),
        "a request body without content-length: {target}"
    );
    let length = headers
        .get("content-length")
        .map_or(0, |value| value.to_str().expect("text").parse().expect("a number"));
    while buffer.len() < length {
        if reader.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    Some(RecordedRequest {
        method,
        target,
        headers,
        body: buffer.split_to(length).freeze(),
        connection,
        hung_up,
    })
}

/// Writes an answer. `false`: the connection is to be closed.
async fn write_answer(writer: &mut OwnedWriteHalf, answer: &Answer, head_only: bool) -> io::Result<bool> {
    if let Some(gate) = &answer.hold_head {
        gate.passed().await;
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let has_body = !head_only && answer.status != 204 && answer.status != 304;
    if has_body {
        head.push_str("transfer-encoding: chunked\r\n");
    }
    head.push_str("\r\n");
    writer.write_all(head.as_bytes()).await?;
    if !has_body {
        return Ok(true);
    }
    let end = answer.cut_at.unwrap_or(answer.body.len()).min(answer.body.len());
    let mut sent = 0;
    let mut holds = answer.holds.iter().peekable();
    loop {
        while let Some((_, gate)) = holds.next_if(|(at, _)| *at <= sent) {
            gate.passed().await;
        }
        if sent >= end {
            break;
        }
        let stop = holds.peek().map_or(end, |(at, _)| (*at).min(end));
        let piece = answer.body.slice(sent..stop.min(sent.saturating_add(answer.piece)));
        sent += piece.len();
        write_chunk(writer, &piece).await?;
    }
    if answer.keep_open {
        std::future::pending::<()>().await;
    }
    if answer.cut_at.is_some() {
        return Ok(false);
    }
    writer.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}

async fn write_chunk(writer: &mut OwnedWriteHalf, piece: &Bytes) -> io::Result<()> {
    writer.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    writer.write_all(piece).await?;
    writer.write_all(b"\r\n").await?;
    writer.flush().await
}

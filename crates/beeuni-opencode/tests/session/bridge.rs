//! What stands in for the daemon: a listener with the hosted tools and the models.
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use beeuni_agent::HostedTools;
use beeuni_gateway::Gateway;
use beeuni_opencode::{BridgedCall, OpenCode};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use crate::desk::{KEY, TestTools};

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A bridge. It ends with the value.
pub(crate) struct Bridge {
    pub(crate) url: String,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

struct Shared {
    gateway: Gateway,
    tools: Arc<TestTools>,
    opencode: OnceLock<OpenCode>,
}

impl Bridge {
    pub(crate) async fn start(gateway: Gateway, tools: Arc<TestTools>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            gateway,
            tools,
            opencode: OnceLock::new(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { url, shared, accepting }
    }

    /// Calls are decided by this session.
    pub(crate) fn serve(&self, opencode: &OpenCode) {
        assert!(self.shared.opencode.set(opencode.clone()).is_ok());
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let serve = service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(shared.answer(request).await) }
            });
            // A client that leaves is what some tests are about.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), serve)
                .await;
        });
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let key = parts.headers["authorization"].to_str().unwrap();
        assert_eq!(key, format!("Bearer {KEY}"), "{}", parts.uri);
        let body = body.collect().await.unwrap().to_bytes();
        match parts.uri.path() {
            "/beeuni/llm/v1/chat/completions" => {
                let answer = self.gateway.completions(&parts.headers, body).await;
                final_answer(answer.map(|body| BodyExt::boxed_unsync(body.map_err(Into::into)))).await
            }
            path => {
                let tool = path.strip_prefix("/beeuni/tools/").unwrap();
                let (status, value) = self.call(tool, &body).await;
                let mut response = Response::new(whole(value.to_string()));
                *response.status_mut() = status.try_into().unwrap();
                response
            }
        }
    }

    async fn call(&self, tool: &str, body: &Bytes) -> (u16, serde_json::Value) {
        #[derive(Deserialize)]
        struct Call<'a> {
            #[serde(borrow)]
            args: &'a RawValue,
            agent: String,
            call: Origin,
        }
        #[derive(Deserialize)]
        struct Origin {
            session: String,
            message: String,
            id: String,
        }
        let call: Call<'_> = serde_json::from_slice(body).unwrap();
        let opencode = self.opencode.get().expect("a call comes after the start");
        let permitted = opencode
            .permit(BridgedCall {
                session: call.call.session,
                message: call.call.message,
                call: call.call.id,
                agent: call.agent,
                tool: tool.to_owned(),
                args: call.args.get().to_owned(),
            })
            .await;
        let permitted = match permitted {
            Ok(permitted) => permitted,
            Err(refusal) => return (403, json!({ "error": refusal.0 })),
        };
        match self.tools.call(tool, call.args.get(), &permitted.agent).await {
            Ok(output) => (200, json!({ "output": output })),
            Err(error) => (422, json!({ "error": error.to_string() })),
        }
    }
}

/// As the daemon's bridge does: OpenCode would ask again for ever.
async fn final_answer(answer: Response<Body>) -> Response<Body> {
    let status = answer.status().as_u16();
    if !matches!(status, 408 | 409 | 429 | 500..) {
        return answer;
    }
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let neutral = json!({ "error": { "message": "the model could not answer", "type": "beeuni", "code": null } });
    let mut answer = Response::new(whole(neutral.to_string()));
    *answer.status_mut() = hyper::StatusCode::BAD_REQUEST;
    let headers = answer.headers_mut();
    headers.insert("content-type", "application/json".parse().unwrap());
    headers.insert("x-beeuni-status", status.into());
    headers.insert("x-beeuni-error", BASE64.encode(body).parse().unwrap());
    answer
}

fn whole(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed_unsync()
}

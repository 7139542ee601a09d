//! Calls: what a tool receives, that calls run side by side, and how they are stopped.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "support/host.rs"]
mod host;

use std::time::{Duration, Instant};

use beeuni_tools::{Call, SecretValue};
use host::{module, plain_module, project, secrets, wait_until};
use serde_json::{Value, json};

#[tokio::test]
async fn m4_context_holds_the_five_fields() {
    let host = project()
        .tool(
            "ctx",
            "return { ...context, env: Object.keys(context.env).length > 0, signal: context.signal.aborted }",
        )
        .load()
        .await;
    let context: Value = serde_json::from_str(&host.output("ctx", "{}").await).unwrap();
    let directory = host.project();
    assert_eq!(
        context,
        json!({ "sessionId": "session-1", "agent": "beeuni", "directory": directory, "env": true, "signal": false })
    );
    let elsewhere = directory.join("sub");
    std::fs::create_dir(&elsewhere).unwrap();
    let call = Call {
        tool: "ctx",
        args: "{}",
        agent: "helper",
        directory: elsewhere.to_str(),
    };
    let context: Value = serde_json::from_str(&host.host.call(call).await.unwrap()).unwrap();
    assert_eq!(
        (&context["agent"], &context["directory"]),
        (&json!("helper"), &json!(elsewhere))
    );
}

#[tokio::test]
async fn sec_04_secrets_are_those_of_the_agent_as_they_are_now() {
    let host = project()
        .tool("key", "const before = context.env.KEY; if (args.wait) await Bun.sleep(400); return [before ?? 'unset', context.env.KEY ?? 'unset', process.pid]")
        .load()
        .await;
    let key = async |agent: &str| -> Value {
        serde_json::from_str(&host.call_as(agent, "key", "{}").await.unwrap()).unwrap()
    };
    host.host
        .set_secrets(secrets(&[("a", "KEY", "one"), ("b", "OTHER", "b only")]));
    let first = key("a").await;
    assert_eq!(
        (&first[0], &key("b").await[0], &key("c").await[0]),
        (&json!("one"), &json!("unset"), &json!("unset"))
    );

    let args = r#"{"wait":true}"#;
    let running = {
        let host = host.host.clone();
        tokio::spawn(async move {
            host.call(Call {
                tool: "key",
                args,
                agent: "a",
                directory: None,
            })
            .await
        })
    };
    key("a").await; // the running call was sent before this one and so has started
    host.host.set_secrets(secrets(&[("a", "KEY", "two")]));
    let second = key("a").await;
    assert_eq!(
        (&second[0], &second[2]),
        (&json!("two"), &first[2]),
        "a new value reaches the same process"
    );
    host.host.set_secrets(secrets(&[]));
    assert_eq!(key("a").await[0], "unset");
    host.host.set_secrets(secrets(&[("a", "KEY", "three")]));
    assert_eq!(key("a").await[0], "three");
    let kept: Value = serde_json::from_str(&running.await.unwrap().unwrap()).unwrap();
    assert_eq!(
        (&kept[0], &kept[1]),
        (&json!("one"), &json!("one")),
        "a running call keeps what it started with"
    );
}

#[tokio::test]
async fn sec_03_a_workers_own_environment_holds_no_secret() {
    let spy = "
        const all = [JSON.stringify(process.env), require('child_process').execSync('env').toString(), require('fs').readFileSync('/proc/self/environ', 'utf8'),
          require('fs').readFileSync(`/proc/${process.ppid}/environ`, 'utf8'), require('fs').readFileSync('/proc/self/cmdline', 'utf8')].join('\\n');
        return { seen: ['s3cret', 't0ken'].filter((part) => all.includes(part)), path: !!process.env.PATH, token: context.env.BEEUNI_TOKEN.length, key: context.env.KEY.length }";
    let mut builder = project().file("tools/spy.ts", plain_module(spy));
    builder
        .session_secrets
        .insert("BEEUNI_TOKEN".to_owned(), SecretValue::new("t0ken-t0ken"));
    let host = builder.load().await;
    host.host.set_secrets(secrets(&[("beeuni", "KEY", "s3cret-s3cret")]));
    let seen: Value = serde_json::from_str(&host.output("spy", "{}").await).unwrap();
    assert_eq!(seen, json!({ "seen": [], "path": true, "token": 11, "key": 13 }));
}

#[tokio::test]
async fn a_change_to_context_or_env_stays_in_its_call() {
    let host = project().tool("change", "const before = context.env.NEW ?? 'none'; context.env.NEW = 'x'; delete context.env.PATH; return before + context.env.NEW + !!context.env.PATH").load().await;
    assert_eq!(host.output("change", "{}").await, "nonexfalse");
    assert_eq!(host.output("change", "{}").await, "nonexfalse");
}

#[tokio::test]
async fn sec_01_a_secret_shows_in_no_output_error_log_or_saved_file() {
    let leak = "
        const key = context.env.API_TOKEN;
        if (args.how === 'throw') throw new Error('GET https://x/?key=' + encodeURIComponent(key) + ' 403', { cause: key });
        if (args.how === 'log') { console.log('key', key); console.error(JSON.stringify({ key })); return '' }
        if (args.how === 'key') return { [key]: 1, in: 'a' + key + 'b' };
        if (args.how === 'large') return (key + '\\n').repeat(5000);
        return 'short ' + context.env.ONE + ' ' + context.env.YES;";
    let host = project().tool("leak", leak).load().await;
    let token = "tok-6f1e-Zq+/9=\"";
    host.host.set_secrets(secrets(&[
        ("beeuni", "API_TOKEN", token),
        ("beeuni", "ONE", "1"),
        ("beeuni", "YES", "true"),
    ]));
    let mut all = vec![host.error("leak", r#"{"how":"throw"}"#).await];
    for how in ["log", "key", "large"] {
        all.push(host.output("leak", &format!(r#"{{"how":"{how}"}}"#)).await);
    }
    host.wait_for_log("{\"key\":\"[secret API_TOKEN]\"}").await;
    all.push(host.log_text());
    for file in std::fs::read_dir(host.folder.path().join("outputs")).unwrap() {
        all.push(std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    assert_eq!(all.len(), 6);
    for text in &all {
        assert!(!text.contains("6f1e"), "{}", &text[..text.len().min(500)]);
    }
    assert!(all[0].contains("key=[secret API_TOKEN] 403"), "{}", all[0]);
    assert_eq!(
        host.output("leak", "{}").await,
        "short 1 true",
        "short values are not replaced"
    );
}

#[tokio::test]
async fn args_05_integers_above_2_to_the_53_keep_every_digit() {
    let host = project()
        .tool(
            "id",
            "return `${args.id} ${typeof args.id} ${args.list[1]} ${args.float} ${args.text}`",
        )
        .load()
        .await;
    let args = r#"{"id": 7301444403212345679, "list": [1, -9007199254740993], "float": 1234567890123456.5, "text": "7301444403212345679"}"#;
    assert_eq!(
        host.output("id", args).await,
        "7301444403212345679 bigint -9007199254740993 1234567890123456.5 7301444403212345679"
    );
    let host = project().tool("echo", "return args").load().await;
    assert_eq!(
        host.output("echo", r#"{"id":7301444403212345679}"#).await,
        "{\n  \"id\": 7301444403212345679\n}"
    );
}

#[tokio::test]
async fn m2_arguments_arrive_as_the_model_sent_them() {
    let host = project().tool("echo", "return JSON.stringify(args)").load().await;
    for args in [
        r#"{"n":"12","list":"[1]","x":null,"deep":{"a":[{}]}}"#,
        "{}",
        r#"{"é漢😀":"\\ \" \n"}"#,
    ] {
        assert_eq!(host.output("echo", args).await, args);
    }
}

#[tokio::test]
async fn proto_03_large_text_travels_byte_for_byte_in_both_directions() {
    let host = project()
        .tool("size", "const hash = new Bun.CryptoHasher('sha256').update(args.text).digest('hex'); return args.text.length + ' ' + hash")
        .tool("echo", "return args.text")
        .load()
        .await;
    let text = "漢😀é".repeat(600_000);
    let args = format!("{{\"text\":\"{text}\"}}");
    assert_eq!(host.output("size", &args).await, host.output("size", &args).await);
    host.output("echo", &args).await;
    let saved = std::fs::read_dir(host.folder.path().join("outputs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert!(
        std::fs::read_to_string(saved).unwrap() == text,
        "the saved output is the text"
    );
}

#[tokio::test]
async fn calls_of_400_ms_run_side_by_side() {
    let host = project()
        .tool("wait", "await Bun.sleep(400); return 'w' + args.n")
        .load()
        .await;
    host.output("wait", "{}").await;
    let begin = Instant::now();
    let calls: Vec<_> = (0..20).map(|_| host.spawn("wait", r#"{"n":1}"#)).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "w1");
    }
    assert!(
        begin.elapsed() < Duration::from_millis(1600),
        "one after the other would take 8 s, this took {:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn conc_01_every_call_gets_its_own_result() {
    let host = project()
        .tool("own", "await Bun.sleep(args.n % 7 * 5); return 'n=' + args.n")
        .load()
        .await;
    let calls: Vec<_> = (0..100u32)
        .map(|n| {
            let host = host.host.clone();
            tokio::spawn(async move {
                let args = format!("{{\"n\":{n}}}");
                host.call(Call {
                    tool: "own",
                    args: &args,
                    agent: "beeuni",
                    directory: None,
                })
                .await
                .unwrap()
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), format!("n={n}"));
    }
}

#[tokio::test]
async fn conc_03_a_blocking_tool_delays_no_other_tool() {
    let host = project()
        .file(
            "tools/cpu.ts",
            plain_module("const end = Date.now() + 300; while (Date.now() < end) {} return 'cpu'"),
        )
        .tool("quick", "return 'quick'")
        .load()
        .await;
    host.output("quick", "{}").await;
    let cpu: Vec<_> = (0..5).map(|_| host.spawn("cpu", "{}")).collect();
    let begin = Instant::now();
    for _ in 0..10 {
        host.output("quick", "{}").await;
    }
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    for call in cpu {
        assert_eq!(call.await.unwrap().unwrap(), "cpu");
    }
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_and_their_deadline_with_them() {
    let host = project()
        .tool("wait", "await Bun.sleep(300); return 'w'")
        .limits(|limits| (limits.concurrent_calls, limits.call) = (2, Duration::from_millis(800)))
        .load()
        .await;
    host.output("wait", "{}").await;
    let calls: Vec<_> = (0..8).map(|_| host.spawn("wait", "{}")).collect();
    for call in calls {
        assert_eq!(
            call.await.unwrap().unwrap(),
            "w",
            "the last one waits 900 ms and then runs 300"
        );
    }
}

#[tokio::test]
async fn run_02_a_stopped_call_hears_its_signal_at_once() {
    let body = "
        const fs = require('fs');
        fs.writeFileSync('started', '');
        return new Promise((resolve, reject) => {
          const timer = setTimeout(() => { fs.writeFileSync('too-late', ''); resolve('done') }, 3000);
          context.signal.addEventListener('abort', () => { clearTimeout(timer); fs.writeFileSync('stopped', String(context.signal.reason)); reject(context.signal.reason) }, { once: true });
        })";
    let host = project()
        .tool("job", body)
        .tool("other", "await Bun.sleep(300); return 'other'")
        .load()
        .await;
    let (job, other) = (host.spawn("job", "{}"), host.spawn("other", "{}"));
    host.wait_for_file("started").await;
    job.abort();
    host.wait_for_file("stopped").await;
    assert_eq!(
        std::fs::read_to_string(host.project().join("stopped")).unwrap(),
        "AbortError: the call was stopped"
    );
    assert_eq!(other.await.unwrap().unwrap(), "other");
    assert!(!host.project().join("too-late").exists());
}

#[tokio::test]
async fn a_stopped_call_that_does_not_yield_has_its_worker_replaced() {
    let host = project()
        .file(
            "tools/spin.ts",
            plain_module(
                "require('fs').writeFileSync('pid' + process.pid, ''); if (args.well) return 'well'; while (true) {}",
            ),
        )
        .limits(|limits| limits.stop_grace = Duration::from_millis(200))
        .load()
        .await;
    let spin = host.spawn("spin", "{}");
    wait_until("the call to start", || !host.processes().is_empty()).await;
    wait_until("the call to run", || {
        std::fs::read_dir(host.project()).unwrap().count() > 1
    })
    .await;
    spin.abort();
    assert_eq!(host.output("spin", r#"{"well":true}"#).await, "well");
}

#[tokio::test]
async fn a_call_that_is_stopped_before_it_starts_never_runs() {
    let host = project()
        .file("tools/seq.ts", plain_module("require('fs').appendFileSync('runs', args.n); const end = Date.now() + args.ms; while (Date.now() < end) {} return 'ok'"))
        .load()
        .await;
    let first = host.spawn("seq", r#"{"n":"1","ms":500}"#);
    host.wait_for_file("runs").await;
    let second = host.spawn("seq", r#"{"n":"2","ms":0}"#);
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    assert_eq!(first.await.unwrap().unwrap(), "ok");
    host.output("seq", r#"{"n":"3","ms":0}"#).await;
    assert_eq!(std::fs::read_to_string(host.project().join("runs")).unwrap(), "13");
}

#[tokio::test]
async fn a_tool_can_use_this_and_helper_exports() {
    let text = "export const helper = 1;\nexport default { description: 'd', parameters: { type: 'object', properties: {} }, greeting: 'hi', execute() { return this.greeting } }";
    let host = project()
        .file("tools/self.ts", text)
        .file(
            "tools/cjs.cjs",
            "module.exports = { description: 'd', parameters: { type: 'object' }, execute: () => 'cjs' }",
        )
        .load()
        .await;
    assert_eq!(host.output("self", "{}").await, "hi");
    assert_eq!(host.output("cjs", "{}").await, "cjs");
}

#[tokio::test]
async fn an_unknown_tool_is_not_loaded() {
    let host = project().file("tools/a.ts", module("return 1")).load().await;
    assert_eq!(host.error("show", "{}").await, "no tool named show is loaded");
}

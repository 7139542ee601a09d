//! Outputs and errors: every returned or thrown value becomes text, within the bound.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "support/host.rs"]
mod host;

use host::project;

/// Returned expressions and the text that the caller gets (M3, OUT-01, OUT-02, OUT-04).
const OUTPUTS: &[(&str, &str)] = &[
    ("'text'", "text"),
    ("''", ""),
    ("undefined", ""),
    ("null", "null"),
    ("0", "0"),
    ("false", "false"),
    ("12.5", "12.5"),
    ("NaN", "\"NaN\""),
    ("{ a: 1, b: [] }", "{\n  \"a\": 1,\n  \"b\": []\n}"),
    ("[1, 2]", "[\n  1,\n  2\n]"),
    ("{ isError: true }", "{\n  \"isError\": true\n}"),
    ("{ a: undefined, b: null }", "{\n  \"b\": null\n}"),
    ("[undefined]", "[\n  null\n]"),
    ("12345678901234567890n", "12345678901234567890"),
    ("{ n: 10n }", "{\n  \"n\": 10\n}"),
    (
        "(() => { const a = { x: 1 }; a.self = a; return a })()",
        "{\n  \"x\": 1,\n  \"self\": \"[circular]\"\n}",
    ),
    (
        "(() => { const b = { y: 1 }; return [b, b] })()",
        "[\n  {\n    \"y\": 1\n  },\n  {\n    \"y\": 1\n  }\n]",
    ),
    ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    (
        "{ at: new Date(0), bad: new Date(NaN) }",
        "{\n  \"at\": \"1970-01-01T00:00:00.000Z\",\n  \"bad\": \"Invalid Date\"\n}",
    ),
    ("new Map([['a', 1]])", "{\n  \"a\": 1\n}"),
    (
        "new Map([[{ k: 1 }, 2]])",
        "[\n  [\n    {\n      \"k\": 1\n    },\n    2\n  ]\n]",
    ),
    ("new Set(['x'])", "[\n  \"x\"\n]"),
    ("Buffer.from('héllo')", "héllo"),
    ("Buffer.from([255, 0])", "data:application/octet-stream;base64,/wA="),
    ("new Uint8Array([104, 105])", "hi"),
    ("{ b: Buffer.from('hi') }", "{\n  \"b\": \"hi\"\n}"),
    ("new Float32Array([1, 2.5])", "[\n  1,\n  2.5\n]"),
    ("'a\\ud800b'", "a\u{fffd}b"),
    ("{ ['k\\udc00']: 'v\\ud800' }", "{\n  \"k\u{fffd}\": \"v\u{fffd}\"\n}"),
    ("'nul\\u0000 end \\\\u0000'", "nul end \\u0000"),
    ("'\\u001b[31mred\\u001b[0m'", "red"),
    ("Symbol('q')", "Symbol(q)"),
    (
        "{ s: Symbol('q'), f() {} }",
        "{\n  \"s\": \"Symbol(q)\",\n  \"f\": \"[function f]\"\n}",
    ),
    (
        "{ ok: 1, get boom() { throw new Error('x') } }",
        "{\n  \"ok\": 1,\n  \"boom\": \"[unreadable: x]\"\n}",
    ),
    ("{ toJSON() { throw new Error('y') } }", "\"[unreadable: y]\""),
    ("{ toJSON() { return { z: 1 } } }", "{\n  \"z\": 1\n}"),
    ("new Error('returned')", "returned"),
    (
        "{ e: new TypeError('inner', { cause: 'why' }) }",
        "{\n  \"e\": {\n    \"name\": \"TypeError\",\n    \"message\": \"inner\\ncaused by: why\"\n  }\n}",
    ),
    ("new URL('https://example.com/a')", "\"https://example.com/a\""),
    (
        "{ r: /a+/g, p: Promise.resolve(1) }",
        "{\n  \"r\": \"/a+/g\",\n  \"p\": \"[promise: await it before returning]\"\n}",
    ),
    (
        "new (class Point { x = 1; get y() { return 2 } })()",
        "{\n  \"x\": 1\n}",
    ),
    (
        "Object.create(null, { q: { value: 1, enumerable: true } })",
        "{\n  \"q\": 1\n}",
    ),
    ("{ then(resolve) { resolve('thenable') } }", "thenable"),
    ("'漢😀é'", "漢😀é"),
];

#[tokio::test]
async fn m3_every_returned_value_becomes_text() {
    for execute in ["async execute", "execute"] {
        let cases: String = OUTPUTS
            .iter()
            .map(|(expression, _)| format!("() => ({expression}),\n"))
            .collect();
        let text = host::module(&format!("const cases = [\n{cases}]; return cases[args.n]()"))
            .replace("async execute", execute);
        let host = project().file("tools/value.ts", text).load().await;
        for (n, (expression, expected)) in OUTPUTS.iter().enumerate() {
            assert_eq!(
                host.output("value", &format!("{{\"n\":{n}}}")).await,
                *expected,
                "{expression}"
            );
        }
    }
}

/// Thrown or refused expressions and the error text (OUT-08).
const ERRORS: &[(&str, &str)] = &[
    ("throw 'plain'", "plain"),
    ("throw ''", "the tool threw an empty text"),
    ("throw null", "the tool threw null"),
    ("throw undefined", "the tool threw undefined"),
    ("throw 42", "42"),
    (
        "throw { code: 'E_QUOTA', detail: 'daily' }",
        "{\n  \"code\": \"E_QUOTA\",\n  \"detail\": \"daily\"\n}",
    ),
    ("throw new Error('plain error')", "plain error"),
    ("throw new TypeError('')", "TypeError (no message)"),
    (
        "throw new AggregateError([new Error('a'), new Error('b')], 'both')",
        "both\n- a\n- b",
    ),
    (
        "throw new Error('outer', { cause: new Error('middle', { cause: 'inner' }) })",
        "outer\ncaused by: middle\ncaused by: inner",
    ),
    (
        "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw 1 } }); throw e",
        "the tool threw an error whose message cannot be read",
    ),
    (
        "const e = new Error('loop'); e.cause = e; throw e",
        "loop\ncaused by: loop",
    ),
    ("throw new Error('half \\ud800')", "half \u{fffd}"),
    ("args.missing.deep()", "undefined is not an object"),
    (
        "return () => 1",
        "execute returned a function (anonymous): return text or a JSON value",
    ),
    (
        "return new Response('x')",
        "execute returned a Response: return `await response.text()`",
    ),
    ("return new Blob(['x'])", "execute returned a Blob"),
    ("return (function* () { yield 1 })()", "execute returned a generator"),
    ("return new ReadableStream()", "execute returned a ReadableStream"),
];

#[tokio::test]
async fn out_08_every_thrown_value_becomes_an_error_text() {
    for execute in ["async execute", "execute"] {
        let cases: String = ERRORS
            .iter()
            .map(|(statement, _)| format!("() => {{ {statement} }},\n"))
            .collect();
        let text = host::module(&format!("const cases = [\n{cases}]; return cases[args.n]()"))
            .replace("async execute", execute);
        let host = project().file("tools/thrower.ts", text).load().await;
        for (n, (statement, expected)) in ERRORS.iter().enumerate() {
            let error = host.error("thrower", &format!("{{\"n\":{n}}}")).await;
            assert!(error.starts_with(expected), "{statement}: {error}");
        }
        host.wait_for_log("[thrower] Error: plain error").await;
        assert!(
            host.log_text().contains("tools/thrower.ts:"),
            "the stack with file and line is in the log"
        );
    }
}

#[tokio::test]
async fn m5_a_long_output_is_saved_whole_and_its_head_returned() {
    let host = project()
        .tool(
            "lines",
            "return Array.from({ length: args.n }, (_, i) => (args.tag ?? 'line') + ' ' + i).join('\\n')",
        )
        .tool("bytes", "return 'x'.repeat(args.n)")
        .load()
        .await;
    assert_eq!(host.output("lines", r#"{"n":2000}"#).await.lines().count(), 2000);
    assert_eq!(host.output("bytes", r#"{"n":51200}"#).await.len(), 51200);
    let outputs = host.folder.path().join("outputs");
    assert_eq!(
        std::fs::read_dir(&outputs).unwrap().count(),
        0,
        "an output of exactly the limit is whole"
    );

    let (a, b) = (
        host.spawn("lines", r#"{"n":5000,"tag":"a"}"#),
        host.spawn("lines", r#"{"n":5000,"tag":"b"}"#),
    );
    for (tag, call) in [("a", a), ("b", b)] {
        let shown = call.await.unwrap().unwrap();
        assert!(shown.len() <= 51_200 && shown.lines().count() <= 2000);
        let path = shown
            .lines()
            .last()
            .unwrap()
            .rsplit(" is in ")
            .next()
            .unwrap()
            .trim_end_matches(']')
            .to_owned();
        assert!(path.starts_with(outputs.to_str().unwrap()), "{path}");
        let whole = std::fs::read_to_string(path).unwrap();
        assert!(
            whole.lines().count() == 5000 && whole.lines().all(|line| line.starts_with(tag)),
            "two files, never mixed"
        );
    }
    let shown = host.output("bytes", r#"{"n":51201}"#).await;
    assert!(
        shown.starts_with("xxxx") && shown.contains("51201 bytes in 1 lines"),
        "{}",
        &shown[shown.len() - 200..]
    );
}

#[tokio::test]
async fn an_error_text_is_bounded_too() {
    let host = project()
        .tool("thrower", "throw new Error('line\\n'.repeat(100000))")
        .load()
        .await;
    let error = host.error("thrower", "{}").await;
    assert!(error.len() <= 51_200 && error.lines().count() <= 2000 && error.contains("Error text cut"));
}

#[tokio::test]
async fn a_result_too_large_for_the_channel_fails_its_call_only() {
    let host = project()
        .tool(
            "huge",
            "return args.well ? 'well' : Buffer.alloc(80 * 1024 * 1024, 'x').toString()",
        )
        .load()
        .await;
    let error = host.error("huge", "{}").await;
    assert!(error.contains("its result is larger than 64 MiB"), "{error}");
    assert_eq!(host.output("huge", r#"{"well":1}"#).await, "well");
}

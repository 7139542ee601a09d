//! Calls of an answer: their ids, their order, their arguments, their results.
use beeuni_gateway::testing::Answer;
use beeuni_protocol::session::ToolStatus;

use crate::support::{calls, results, rig, say};

#[tokio::test]
async fn parallel_calls_run_at_once_and_keep_their_ids_and_order() {
    let rig = rig().await;
    let meet = std::sync::Arc::new(tokio::sync::Barrier::new(3));
    let barrier = meet.clone();
    rig.tools.add("meet", move |args| {
        let barrier = barrier.clone();
        async move {
            // Only calls that run side by side get past this.
            barrier.wait().await;
            Ok(args)
        }
    });
    rig.server.push(Answer::tool_calls(&[
        ("c1", "meet", r#"{"n":1}"#),
        ("c2", "meet", r#"{"n":2}"#),
        ("c3", "meet", r#"{"n":3}"#),
    ]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    let own = |id: &str, n: i32| (id.to_owned(), format!("{{\"n\":{n}}}"));
    assert_eq!(results(&rig.bodies()[1]), [own("c1", 1), own("c2", 2), own("c3", 3)]);
    assert!(calls(&session).iter().all(|call| call.status == ToolStatus::Completed));
}

#[tokio::test]
async fn conc_01_an_id_that_comes_again_in_a_later_answer_keeps_its_own_result() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[("same", "t", r#"{"n":1}"#)]));
    rig.server.push(Answer::tool_calls(&[("same", "t", r#"{"n":2}"#)]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    let own = |n: i32| ("same".to_owned(), format!("{{\"n\":{n}}}"));
    assert_eq!(results(&rig.bodies()[2]), [own(1), own(2)]);
}

#[tokio::test]
async fn conc_01_two_calls_of_one_answer_with_one_id_both_run_and_get_ids_of_their_own() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[
        ("same", "t", r#"{"n":1}"#),
        ("same", "t", r#"{"n":2}"#),
    ]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    let both = ["same", "same_2"].map(str::to_owned);
    let body = &rig.bodies()[1];
    let sent = body["messages"][2]["tool_calls"].as_array().unwrap();
    assert_eq!(sent.iter().map(|call| call["id"].clone()).collect::<Vec<_>>(), both);
    let outputs = [r#"{"n":1}"#, r#"{"n":2}"#].map(str::to_owned);
    let results = results(body);
    assert_eq!(results, both.clone().into_iter().zip(outputs).collect::<Vec<_>>());
    assert_eq!(
        calls(&session).iter().map(|call| call.call.clone()).collect::<Vec<_>>(),
        both
    );
}

#[tokio::test]
async fn a_tool_error_reaches_the_model_word_for_word() {
    let rig = rig().await;
    rig.tools
        .add("fails", |_| async { Err("there is no order A-1".to_owned()) });
    rig.server.push(Answer::tool_calls(&[("c1", "fails", "{}")]));
    rig.server.push(Answer::text("sorry"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(
        results(&rig.bodies()[1]),
        [("c1".to_owned(), "there is no order A-1".to_owned())]
    );
    let call = &calls(&session)[0];
    assert_eq!(
        (call.status, call.error.as_deref()),
        (ToolStatus::Error, Some("there is no order A-1"))
    );
}

#[tokio::test]
async fn a_malformed_arguments_string_does_not_poison_the_session() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server
        .push(Answer::tool_calls(&[("c1", "t", r#"{"n": 1"#), ("c2", "t", "[1]")]));
    rig.server.push(Answer::text("again"));
    rig.server.push(Answer::text("fine"));
    let session = rig.open();
    say(&session, "go").await;
    assert!(rig.tools.args("t").is_empty(), "nothing ran");
    let results = results(&rig.bodies()[1]);
    assert!(
        results[0].1.contains("not valid JSON") && results[1].1.contains("not an array"),
        "{results:?}"
    );
    assert_eq!(
        calls(&session)[0].arguments,
        r#"{"n": 1"#,
        "the transcript has what the model wrote"
    );
    session.close().await;
    drop(session);
    let session = rig.open();
    say(&session, "more").await;
    for body in &rig.bodies()[1..] {
        for call in body["messages"][2]["tool_calls"].as_array().unwrap() {
            assert_eq!(call["function"]["arguments"], "{}");
        }
    }
}

#[tokio::test]
async fn args_05_integers_above_2_53_keep_every_digit_everywhere() {
    let rig = rig().await;
    rig.tools.echo("t");
    let args = r#"{"id": 7301444403212345679}"#;
    rig.server.push(Answer::tool_calls(&[("c1", "t", args)]));
    rig.server.push(Answer::text("done"));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(rig.tools.args("t"), [args]);
    session.close().await;
    drop(session);
    let session = rig.open();
    let call = &calls(&session)[0];
    assert_eq!((call.arguments.as_str(), call.output.as_deref()), (args, Some(args)));
    say(&session, "again").await;
    let body = &rig.bodies()[2];
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], args);
    assert_eq!(results(body)[0].1, args);
}

#[tokio::test]
async fn args_03_a_tool_without_arguments_runs_whatever_stands_for_none() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[
        ("c1", "t", ""),
        ("c2", "t", "null"),
        ("c3", "t", "{}"),
    ]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(rig.tools.args("t"), ["{}", "{}", "{}"]);
}

#[tokio::test]
async fn out_01_an_empty_output_is_marked_for_the_model_only() {
    let rig = rig().await;
    rig.tools.add("t", |_| async { Ok(String::new()) });
    rig.server.push(Answer::tool_calls(&[("c1", "t", "{}")]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(results(&rig.bodies()[1])[0].1, "(no output)");
    assert_eq!(calls(&session)[0].output.as_deref(), Some(""));
}

//! Messages that come while a turn runs.
use beeuni_agent::PromptOptions;
use beeuni_gateway::testing::{Answer, Gate};
use beeuni_protocol::session::{Origin, TurnOutcome};

use crate::support;
use crate::support::{ended, last_text, messages, rig, roles};

#[tokio::test]
async fn a_message_to_a_running_turn_is_read_at_its_next_step() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[("c1", "t", "{}")]).hold(&gate));
    rig.server.push(Answer::text("As you say."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    let steering = session.prompt("But in French", PromptOptions::default()).unwrap();
    assert!(steering.is_steering() && steering.turn() == turn.turn());
    gate.open();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    let bodies = rig.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(roles(&bodies[1]), ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(bodies[1]["messages"][4]["content"], "But in French");
    assert_eq!(messages(&session)[2].origin, Some(Origin::Steering));
}

#[tokio::test]
async fn a_message_that_comes_with_the_last_answer_is_still_read_in_that_turn() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("Done.").hold(&gate));
    rig.server.push(Answer::text("That too."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    session.prompt("and this", PromptOptions::default()).unwrap();
    gate.open();
    assert_eq!(ended(&mut turn).await.steps, 2);
    assert_eq!(last_text(&session), "That too.");
}

#[tokio::test]
async fn a_message_to_a_running_turn_may_name_what_runs_and_nothing_else() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("one").hold(&gate));
    rig.server.push(Answer::text("two"));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    let with = |agent: &str, model: &str| PromptOptions {
        agent: Some(agent.to_owned()),
        model: Some(model.to_owned()),
        ..PromptOptions::default()
    };
    for options in [with("other", support::MODEL), with("beeuni", "scripted/m2")] {
        let error = session.prompt("and", options).unwrap_err().to_string();
        assert!(error.contains("a turn runs with beeuni"), "{error}");
    }
    assert!(
        session
            .prompt("and", with("beeuni", support::MODEL))
            .unwrap()
            .is_steering()
    );
    gate.open();
    assert_eq!(ended(&mut turn).await.steps, 2);
}

#[tokio::test]
async fn a_word_from_the_person_gives_a_model_in_a_circle_another_chance() {
    let rig = rig().await;
    rig.tools.echo("t");
    let gate = Gate::closed();
    for round in 0..14 {
        let answer = Answer::tool_calls(&[("c", "t", "{}")]);
        rig.server.push(if round == 8 { answer.hold(&gate) } else { answer });
    }
    rig.server.push(Answer::text("Done."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(9).await;
    session.prompt("go on", PromptOptions::default()).unwrap();
    gate.open();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
}

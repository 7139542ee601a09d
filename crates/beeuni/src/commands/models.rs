//! `beeuni models`: the models that are set up, and the one that is used where none is named.
use beeuni_gateway::{DefaultModel, DefaultSource, Gateway, GatewayConfig, ModelInfo, ModelList};
use serde::Serialize;

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{DIM, GOOD, HINT, Output, thousands, visible};
use crate::runtime::block_on;

/// List the models that are set up, and the one that is used where none is named
///
/// Asks each provider that the environment switches on. With none, the built-in rehearsal model is the
/// default: a stand-in that follows simple instructions, and no language model.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment:
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY
                         switch on that provider
  OPENAI_BASE_URL, …     another address for it
  BEEUNI_LLM_BASE_URL, BEEUNI_LLM_API_KEY
                         the provider `custom`: any server that speaks OpenAI's chat completions
  OLLAMA_HOST            where Ollama is; one on this machine is found without it
  BEEUNI_MODEL           the model to use where none is named

Examples:
  beeuni models
  beeuni models --json | jq -r '.models[].id'")]
pub(crate) struct Args {
    /// Print JSON: { default: { id, source }, models: [{ id, provider, context_window, … }], problems }
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    default: Default<'a>,
    models: Vec<Model<'a>>,
    problems: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct Default<'a> {
    id: &'a str,
    source: &'static str,
}

#[derive(Serialize)]
struct Model<'a> {
    id: &'a str,
    provider: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
}

/// US dollars for a million tokens.
#[derive(Serialize)]
struct Price {
    input: f64,
    output: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input: Option<f64>,
}

#[derive(Serialize)]
struct Problem<'a> {
    provider: &'a str,
    error: String,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let (list, default) = block_on(async {
        let gateway = Gateway::new(GatewayConfig::from_env());
        let list = gateway.models().await;
        Ok((list, gateway.default_model().await))
    })?;
    if args.json {
        context.output.json(&report(&list, &default));
        return Ok(Exit::DONE);
    }
    print(&mut context.output, &list, &default);
    Ok(Exit::DONE)
}

fn report<'a>(list: &'a ModelList, default: &'a DefaultModel) -> Report<'a> {
    let problem = |(provider, error): &'a (String, beeuni_gateway::ChatError)| Problem {
        provider,
        error: error.to_string(),
    };
    Report {
        default: Default {
            id: &default.id,
            source: match default.source {
                DefaultSource::Setting => "setting",
                DefaultSource::Provider => "provider",
                DefaultSource::Rehearsal => "rehearsal",
            },
        },
        models: list.models.iter().map(model).collect(),
        problems: list.problems.iter().map(problem).collect(),
    }
}

fn model(info: &ModelInfo) -> Model<'_> {
    Model {
        id: &info.id,
        provider: &info.provider,
        context_window: info.context_window,
        max_output: info.max_output,
        price: info.price.map(|price| Price {
            input: price.input,
            output: price.output,
            cached_input: price.cached_input,
        }),
    }
}

fn print(output: &mut Output, list: &ModelList, default: &DefaultModel) {
    let width = list
        .models
        .iter()
        .map(|model| model.id.chars().count())
        .max()
        .unwrap_or(0);
    let look = output.out;
    for info in &list.models {
        let mark = if info.id == default.id {
            look.paint(GOOD, "*")
        } else {
            " ".to_owned()
        };
        let line = format!("{mark} {:width$}  {}", visible(&info.id), look.paint(DIM, &facts(info)));
        output.println(line.trim_end());
    }
    if !list.models.iter().any(|model| model.id == default.id) {
        let line = format!("{} {:width$}", look.paint(GOOD, "*"), visible(&default.id));
        output.println(&format!("{}  {}", line, look.paint(DIM, "(in no provider's list)")));
    }
    output.flush();
    let why = match default.source {
        DefaultSource::Setting => "* is used where none is named: BEEUNI_MODEL says so",
        DefaultSource::Provider | DefaultSource::Rehearsal => "* is used where none is named",
    };
    output.note(&output.err.paint(DIM, why));
    for (_, error) in &list.problems {
        output.warn(&error.to_string());
    }
    if let Some(notice) = default.notice() {
        output.note(&format!("{} {}", output.err.paint(HINT, "note:"), visible(&notice)));
    }
}

/// What a model holds and costs, where that is known.
fn facts(info: &ModelInfo) -> String {
    if info.provider == "beeuni" {
        return "a built-in stand-in, not a language model".to_owned();
    }
    let window = info
        .context_window
        .map(|tokens| format!("{} tokens", thousands(tokens)));
    let price = info.price.map(|price| {
        format!(
            "${} in, ${} out per million",
            dollars(price.input),
            dollars(price.output)
        )
    });
    [window, price].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `3`, `0.25`: no more digits than there are, computed from a price per token.
fn dollars(amount: f64) -> String {
    let text = format!("{amount:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::dollars;

    #[test]
    fn prices_have_no_digits_that_say_nothing() {
        assert_eq!(dollars(3.0), "3");
        assert_eq!(dollars(0.25), "0.25");
        assert_eq!(dollars(0.3), "0.3");
        assert_eq!(dollars(100.0), "100");
    }
}

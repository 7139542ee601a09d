//! Shell commands as permissions see them: every part that may run, one by one.

#[cfg(test)]
mod against_bash;
mod compound;
mod expansions;
mod parse;
mod prefix;
mod redirects;
mod script;
mod simple;
#[cfg(test)]
mod tests;
mod words;
mod wrapped;
mod wrappers;

pub(crate) use script::{Command, Script, Word};

use super::access::{Access, Always, Reach};
use super::pattern::{Pattern, Text};

/// More parts than this are not decided one by one.
const MOST_PARTS: usize = 300;

/// Takes a command line apart, commands in arguments (`sudo …`, `bash -c …`) included.
pub(crate) fn parse(text: &str) -> Script {
    let mut script = parse::parse(text);
    wrapped::add_wrapped(&mut script);
    if script.commands.len() > MOST_PARTS {
        script.commands.truncate(MOST_PARTS);
        script.unclear.get_or_insert("it has too many parts");
    }
    script
}

/// What running `text`, which is `script`, does under the capability `bash`.
pub(crate) fn accesses(text: &str, script: &Script) -> Vec<Access> {
    let mut accesses: Vec<Access> = Vec::new();
    let mut add = |access: Access| {
        if !accesses.contains(&access) {
            accesses.push(access);
        }
    };
    let moves = |command: &Command| matches!(command.name().as_deref(), Some("cd" | "pushd" | "popd"));
    let only_moves = script.commands.iter().all(moves);
    for command in &script.commands {
        if command.words.is_empty() && command.assignments.is_empty() {
            continue; // redirections alone: the files are what matters
        }
        let reach = if moves(command) && !only_moves {
            Reach::Named
        } else {
            Reach::All
        };
        part(command)
            .into_iter()
            .for_each(|access| add(access.with_reach(reach)));
        by_its_name(command).into_iter().for_each(&mut add);
    }
    let trimmed = text.trim();
    if let Some(why) = script.unclear {
        add(bash(trimmed, vec![Text::unknown()]).exact().doubtful(why));
    }
    if accesses.is_empty() {
        accesses.push(bash(trimmed, vec![Text::from(trimmed)]).exact());
    }
    if Pattern::new(trimmed).has_operator() {
        let whole = bash(trimmed, vec![Text::from(trimmed)]).exact();
        accesses.push(whole.with_reach(Reach::Operators));
    }
    accesses
}

fn bash(subject: &str, texts: Vec<Text>) -> Access {
    Access::new("bash", "bash", subject, "*").one_of(texts)
}

/// A command, and the same with the variables that are set for it: both have to be allowed.
fn part(command: &Command) -> Vec<Access> {
    let texts = command.texts();
    let known = match texts.as_slice() {
        [text] => text.known(),
        _ => None,
    };
    let mut accesses = Vec::new();
    if !command.words.is_empty() {
        let subject = known.as_deref().unwrap_or(&command.source);
        let words: Vec<Option<String>> = command
            .words
            .iter()
            .enumerate()
            .map(|(index, word)| word.known().filter(|_| index > 0 || !word.glob))
            .collect();
        let access = bash(subject, texts.clone());
        accesses.push(match prefix::always(&words) {
            Always::Pattern(pattern) => access.remembering(pattern),
            Always::Exact => access.exact(),
        });
    }
    if !command.assignments.is_empty() {
        let with_variables = |text: &Text| {
            let mut whole = Text::default();
            for part in command.assignments.iter().chain([text]).filter(|part| !part.is_empty()) {
                if !whole.is_empty() {
                    whole.push(' ');
                }
                whole.append(part);
            }
            whole
        };
        accesses.push(bash(&command.source, texts.iter().map(with_variables).collect()).exact());
    }
    accesses
}

/// `/bin/rm x` is `rm x` to a rule that speaks of `rm`.
fn by_its_name(command: &Command) -> Option<Access> {
    let first = command.words.first()?;
    let known = first.known().filter(|known| known.contains('/'))?;
    let mut named = command.clone();
    named.words[0] = Word::from(known.rsplit('/').next()?);
    Some(bash(&command.source, named.texts()).exact().with_reach(Reach::Named))
}

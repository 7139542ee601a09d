//! Commands that stand in the arguments of another: `sudo rm`, `bash -c '…'`, `find -exec rm {} +`.

use super::parse::parse;
use super::script::{Command, Script, Word};
use super::wrappers::{SHELLS, WRAPPERS, Wrapper};

/// How many rounds of commands inside of commands are looked at.
const ROUNDS: usize = 8;

/// Adds to `script` the commands that its commands run through their arguments.
pub(super) fn add_wrapped(script: &mut Script) {
    let mut from = 0;
    for _ in 0..ROUNDS {
        let to = script.commands.len();
        for index in from..to {
            let command = script.commands[index].clone();
            if let Err(why) = add_of(&command, script) {
                script.unclear.get_or_insert(why);
            }
        }
        if script.commands.len() == to {
            return;
        }
        from = to;
    }
    script.unclear.get_or_insert("commands run commands that run commands");
}

fn add_of(command: &Command, script: &mut Script) -> Result<(), &'static str> {
    let Some(name) = command.name() else {
        return if command.words.is_empty() {
            Ok(())
        } else {
            Err("which program runs is only known when it runs")
        };
    };
    let arguments = &command.words[1..];
    match name.as_str() {
        "eval" => add_script(join(arguments).as_deref(), command, script),
        "trap" => match arguments {
            [action, _, ..] => add_script(action.known().as_deref(), command, script),
            _ => Ok(()),
        },
        "find" => {
            add_find(arguments, command, script);
            Ok(())
        }
        "parallel" => Err("`parallel` runs what it is given"),
        shell if SHELLS.contains(&shell) => add_shell(arguments, command, script),
        name => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => add_rest(wrapper, arguments, command, script),
            None => Ok(()),
        },
    }
}

fn join(words: &[Word]) -> Option<String> {
    let known: Option<Vec<String>> = words.iter().map(Word::known).collect();
    known.map(|words| words.join(" "))
}

/// A text that a shell runs.
fn add_script(text: Option<&str>, outer: &Command, script: &mut Script) -> Result<(), &'static str> {
    let text = text.ok_or("it runs a text that is only known when it runs")?;
    let inner = parse(text);
    let first = script.scopes.len();
    script.scopes.extend(inner.scopes.iter().enumerate().map(
        |(index, parent)| {
            if index == 0 { outer.scope } else { first + parent }
        },
    ));
    script
        .commands
        .extend(inner.commands.into_iter().map(|command| Command {
            scope: first + command.scope,
            ..command
        }));
    inner.unclear.map_or(Ok(()), Err)
}

fn add_words(words: &[Word], outer: &Command, script: &mut Script) {
    let source: Vec<String> = words
        .iter()
        .map(|word| word.known().unwrap_or_else(|| format!("{}…", word.text.known_start())))
        .collect();
    script.commands.push(Command {
        words: words.to_vec(),
        scope: outer.scope,
        source: source.join(" "),
        ..Command::default()
    });
}

/// `find`: what stands between `-exec` and `;` or `+`.
fn add_find(arguments: &[Word], command: &Command, script: &mut Script) {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !matches!(word.known().as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            continue;
        }
        let mut inner = Vec::new();
        for word in words.by_ref() {
            match word.known().as_deref() {
                Some(";" | "+") => break,
                Some(text) if text.contains("{}") => {
                    let mut found = Word::default();
                    found.text.push_unknown();
                    inner.push(found);
                }
                _ => inner.push(word.clone()),
            }
        }
        if !inner.is_empty() {
            add_words(&inner, command, script);
        }
    }
}

/// A shell: the script of `-c`; a file is decided by the command itself; anything else comes from its input.
fn add_shell(arguments: &[Word], command: &Command, script: &mut Script) -> Result<(), &'static str> {
    let mut takes_script = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        let option = word.known().ok_or("what a shell runs is only known when it runs")?;
        match option.as_str() {
            "--" | "-" => break,
            "--version" | "--help" => return Ok(()),
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => at += 1,
            _ if option.starts_with("--") => {}
            _ if option.starts_with(['-', '+']) => {
                takes_script |= option.contains('c');
                if option.contains('s') {
                    return Err("a shell reads its commands from its input");
                }
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    match arguments.get(at) {
        Some(text) if takes_script => add_script(text.known().as_deref(), command, script),
        Some(_) => Ok(()),
        None => Err("a shell reads its commands from its input"),
    }
}

fn add_rest(wrapper: &Wrapper, arguments: &[Word], outer: &Command, script: &mut Script) -> Result<(), &'static str> {
    let unknown = "the command that it runs is only known when it runs";
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.known().ok_or(unknown)?;
        if text == "--" {
            at += 1;
            break;
        }
        let assigns = matches!(wrapper.name, "env" | "sudo" | "doas") && text.contains('=') && !text.starts_with('-');
        if !text.starts_with('-') && !assigns {
            break;
        }
        if wrapper.idle.contains(&text.as_str()) {
            return Ok(());
        }
        if wrapper.name == "env" && (text.starts_with("-S") || text.starts_with("--split-string")) {
            return Err("`env -S` splits a text into a command");
        }
        if wrapper.name == "flock" && (text == "-c" || text == "--command") {
            return add_script(arguments.get(at + 1).and_then(Word::known).as_deref(), outer, script);
        }
        at += 1 + usize::from(wrapper.valued.contains(&text.as_str()));
    }
    at += wrapper.operands;
    let Some(rest) = arguments.get(at..).filter(|rest| !rest.is_empty()) else {
        return Ok(());
    };
    match wrapper.name {
        "watch" => return add_script(join(rest).as_deref(), outer, script),
        "flock" if rest[0].known().as_deref() == Some("-c") => {
            return add_script(rest.get(1).and_then(Word::known).as_deref(), outer, script);
        }
        _ => {}
    }
    let mut words = rest.to_vec();
    if wrapper.name == "xargs" {
        let mut input = Word::default();
        input.text.push_unknown();
        words.push(input);
    }
    add_words(&words, outer, script);
    Ok(())
}

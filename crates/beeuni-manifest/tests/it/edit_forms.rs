//! Every form that YAML has for an entry, changed byte for byte: `samples/edited/<form>` holds the file
//! before and after an eject of `web_search`.
use std::fs;
use std::path::Path;

use crate::edit::eject;
use crate::support::Files;

#[test]
fn every_form_is_edited_to_the_letter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/edited");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let sample = entry.unwrap().path();
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let before = fs::read_to_string(sample.join("before.yaml")).unwrap();
        let after = match eject(&Files::with(&before)) {
            Ok(edit) => edit.text,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        if std::env::var_os("UPDATE_SAMPLES").is_some() {
            fs::write(sample.join("after.yaml"), &after).unwrap();
        }
        let expected = fs::read_to_string(sample.join("after.yaml")).unwrap_or_default();
        if after != expected {
            wrong.push(format!("{name}\nexpected {expected:?}\nfound    {after:?}"));
        }
        let again = eject(&Files::with(&after)).map(|edit| edit.text);
        if again.as_deref().ok() != Some(after.as_str()) {
            wrong.push(format!("{name}: a second time gives {again:?}"));
        }
        let manifest = Files::with(&after).load().manifest.unwrap();
        let tool = manifest.tools.iter().find(|tool| tool.name == "web_search");
        if tool.is_none_or(|tool| tool.source != beeuni_manifest::ToolSource::Module("tools/web_search.ts".to_owned()))
        {
            wrong.push(format!("{name}: the entry is not what was asked for"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 50, "only {count} forms");
}

/// A small generator of numbers that gives the same ones on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A manifest such as a person writes: any indentation, quotes, comments, blank lines and line ends.
fn manifest(numbers: &mut Numbers) -> String {
    let eol = numbers.pick(&["\n", "\r\n"]);
    let indent = " ".repeat(numbers.pick(&[1, 2, 3, 4, 8]));
    let mut lines: Vec<String> = Vec::new();
    let comment = |numbers: &mut Numbers| numbers.pick(&["", "", "  # ü – note", " # ejected", "   "]).to_owned();
    let blank = |numbers: &mut Numbers, lines: &mut Vec<String>| {
        for _ in 0..numbers.below(3) {
            lines.push(
                numbers
                    .pick(&["", "# comment: with colon", "  # indented", "   "])
                    .to_owned(),
            );
        }
    };
    if numbers.below(3) == 0 {
        lines.push("---".to_owned());
    }
    blank(numbers, &mut lines);
    lines.push(format!("beeuni_version: 2{}", comment(numbers)));
    blank(numbers, &mut lines);
    let mut sections = vec!["tools", "agents", "x-own"];
    if numbers.below(4) == 0 {
        sections.remove(0);
    }
    while !sections.is_empty() {
        let section = sections.remove(numbers.below(sections.len()));
        match section {
            "tools" => {
                let anchor = numbers.pick(&["", "", " &tools"]);
                lines.push(format!("tools:{anchor}{}", comment(numbers)));
                for name in ["show", "web_search", "memory", "notes"] {
                    blank(numbers, &mut lines);
                    if numbers.below(3) == 0 {
                        continue;
                    }
                    let key = numbers.pick(&["", "'", "\""]);
                    let quote = numbers.pick(&["", "'", "\""]);
                    let value = if name == "notes" {
                        "tools/a.ts".to_owned()
                    } else {
                        format!("beeuni:{name}")
                    };
                    let space = numbers.pick(&[" ", "   "]);
                    let tail = comment(numbers);
                    lines.push(format!("{indent}{key}{name}{key}:{space}{quote}{value}{quote}{tail}"));
                }
            }
            "agents" => {
                lines.push("agents:".to_owned());
                blank(numbers, &mut lines);
                lines.push(format!("{indent}beeuni: {{ tools: [read, show] }}{}", comment(numbers)));
            }
            _ => {
                lines.push(format!("x-own: |{}", numbers.pick(&["", "-"])));
                lines.push(format!("{indent}tools:"));
                lines.push(format!("{indent}  web_search: text"));
            }
        }
        blank(numbers, &mut lines);
    }
    let bom = numbers.pick(&["", "", "\u{feff}"]);
    // Blanks behind the last break may be part of a text below `|`: such an edit is refused.
    let blank_end = lines.last().is_some_and(|line| line.trim().is_empty());
    let end = if blank_end { eol } else { numbers.pick(&[eol, eol, ""]) };
    format!("{bom}{}{end}", lines.join(eol))
}

#[test]
fn an_edit_of_any_manifest_touches_the_lines_of_its_entry_and_no_other() {
    let mut numbers = Numbers(0xbee);
    let mut replaced = 0;
    for round in 0..3000 {
        let before = manifest(&mut numbers);
        let after = match eject(&Files::with(&before)) {
            Ok(edit) => edit.text,
            Err(error) => panic!("round {round}: {error}\n{before}"),
        };
        let old: Vec<&str> = before.split('\n').collect();
        let new: Vec<&str> = after.split('\n').collect();
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - head;
        let tail = old
            .iter()
            .rev()
            .zip(new.iter().rev())
            .take(rest)
            .take_while(|(a, b)| a == b)
            .count();
        let (gone, come) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
        let declared = Files::with(&before).load().manifest.unwrap();
        let said = format!("round {round}\n{before}\nbecame\n{after}");
        if declared.tools.iter().any(|tool| tool.name == "web_search") {
            assert_eq!((gone.len(), come.len()), (1, 1), "{said}");
            assert!(
                come[0].trim_end().ends_with("# ejected from beeuni:web_search"),
                "{said}"
            );
            replaced += 1;
        } else {
            // A last line without a break, or an empty `tools:` line with blanks, may be completed.
            let kept = gone
                .iter()
                .all(|line| come.iter().any(|other| other.trim_end() == line.trim_end()));
            assert!(kept && gone.len() <= 1, "{said}");
            assert_eq!(
                come.len() - gone.len(),
                if declared.tools_key { 1 } else { 6 },
                "{said}"
            );
        }
        assert_eq!(before.starts_with('\u{feff}'), after.starts_with('\u{feff}'), "{said}");
        assert_eq!(before.contains('\r'), after.contains('\r'), "{said}");
        assert_eq!(
            after.matches("\r\n").count(),
            if before.contains('\r') {
                after.matches('\n').count()
            } else {
                0
            }
        );
        assert_eq!(before.ends_with('\n'), after.ends_with('\n'), "{said}");
        let now = Files::with(&after).load().manifest.unwrap();
        let others = |manifest: &beeuni_manifest::Manifest| {
            let tools = manifest.tools.iter().filter(|tool| tool.name != "web_search");
            tools
                .map(|tool| (tool.name.clone(), tool.source.clone()))
                .collect::<Vec<_>>()
        };
        if declared.tools_key {
            assert_eq!(others(&declared), others(&now), "{said}");
        }
        assert_eq!(eject(&Files::with(&after)).unwrap().text, after, "{said}");
    }
    assert!(replaced > 500);
}

#[test]
fn an_edit_of_a_damaged_manifest_is_right_or_refused() {
    const PIECES: [&str; 24] = [
        " ",
        "\n",
        "\r",
        "\t",
        ":",
        ": ",
        "- ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        " # ",
        "&a ",
        "*a",
        "|\n",
        "'",
        "\"",
        "---\n",
        "...\n",
        "<<: ",
        "tools:\n",
        "web_search: ",
    ];
    let mut numbers = Numbers(0xdead);
    let (mut edited, mut refused) = (0, 0);
    for round in 0..3000 {
        let mut text = manifest(&mut numbers);
        for _ in 0..=numbers.below(3) {
            let mut at = numbers.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.insert_str(at, numbers.pick(&PIECES));
        }
        let Ok(edit) = eject(&Files::with(&text)) else {
            refused += 1;
            continue;
        };
        edited += 1;
        let said = format!("round {round}\n{text}\nbecame\n{}", edit.text);
        let again = eject(&Files::with(&edit.text)).map(|edit| edit.text);
        assert_eq!(again.ok().as_ref(), Some(&edit.text), "{said}");
        // Whatever was there is still there, in order, but for the value that changed.
        let (old, new) = (Files::with(&text).load(), Files::with(&edit.text).load());
        let rest = |loaded: &beeuni_manifest::Loaded| {
            let manifest = loaded.manifest.as_ref().unwrap();
            let agents: Vec<_> = manifest
                .agents
                .iter()
                .map(|agent| (agent.name.clone(), agent.tools.clone()))
                .collect();
            let tools = manifest.tools.iter().filter(|tool| tool.name != "web_search");
            (
                agents,
                tools
                    .map(|tool| (tool.name.clone(), tool.source.clone()))
                    .collect::<Vec<_>>(),
            )
        };
        if old.manifest.as_ref().is_some_and(|manifest| manifest.tools_key) {
            assert_eq!(rest(&old), rest(&new), "{said}");
        }
    }
    assert!(edited > 300 && refused > 300, "{edited} edited, {refused} refused");
}

//! Whatever a real shell runs of a script has to be among its parts, or the script is unclear.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::process::{Command as Process, Stdio};

use super::tests::commands;
use super::*;

/// Pieces from which scripts are put together. The commands do not exist: a real shell reports them.
const PIECES: &[&str] = &[
    "c1",
    "c2",
    "c3 x",
    " ",
    " ",
    " ",
    "'",
    "'",
    "\"",
    "\"",
    "$(",
    ")",
    ")",
    "`",
    "`",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "{ ",
    " }",
    ";}",
    "\\",
    "\n",
    "\n",
    "<<E",
    "<<'E'",
    "<<-E",
    "\nE\n",
    "case x in x)",
    " esac",
    ";;",
    "#",
    "(",
    "((",
    "))",
    "$((",
    "${v:-",
    "}",
    "if ",
    "; then ",
    "; fi",
    "for i in ",
    "; do ",
    "; done",
    "[[ ",
    " ]]",
    "v=",
    "a=(",
    "! ",
    "$v",
    "$'",
    "{c1,c2}",
    "<(",
    ">f",
    "2>&1 ",
    "<<<",
    "f() ",
    "function g ",
    "time ",
    "\t",
    ",",
    "..",
    "{",
    "$",
    "=",
    "-",
    "é",
    "*",
    "~",
    "E",
    "eval ",
    "\\\n",
    "x=1 ",
    "in",
    "!",
    "@(",
    "$\"",
    "<",
    ">",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn pick<'p>(&mut self, of: &[&'p str]) -> &'p str {
        of[self.below(of.len())]
    }

    /// A script that mostly makes sense.
    fn script(&mut self, depth: usize) -> String {
        let words = [
            "a", "$v", "'q r'", "\"d e\"", "x=1", "#c", "-o", "{b,c}", "", "\\ ", "$'t'", "~", "\"#\"",
        ];
        let command = format!("c{}", self.below(9));
        if depth == 0 {
            return format!("{command} {}", self.pick(&words));
        }
        let one = self.script(depth - 1);
        match self.below(26) {
            0 => format!("{one} {}", self.pick(&words)),
            1 => format!("{one}; {command}"),
            2 => format!("{command} {} && {one}", self.pick(&words)),
            3 => format!("{one} | {command}"),
            4 => format!("{command} $({one})"),
            5 => format!("{command} \"x $({one}) y\""),
            6 => format!("{command} `{one}`"),
            7 => format!("({one})"),
            8 => format!("{{ {one}; }}"),
            9 => format!("if {one}; then {command}; fi"),
            10 => format!("for i in a b; do {one}; done"),
            11 => format!("case x in y) c8;; x) {one};; esac"),
            12 => format!("case x in x) {one}\nesac\n{command}"),
            13 => format!("{command} <<E\n{one}\n$({one})\nE\n{command} z"),
            14 => format!("{command} <<'E'\n{one}\nE\n{one}"),
            15 => format!("[[ x == x && -n $({one}) ]]; {command}"),
            16 => format!("f() {{ {one}; }}; f"),
            17 => format!("{command} ${{v:-$({one})}}"),
            18 => format!("{command} $((1 + $({one}; builtin echo 2)))"),
            19 => format!("v=$({one}) {command}"),
            20 => format!("a=(x $({one})); {command}"),
            21 => format!("{command} <({one}) 2>&1"),
            22 => format!("{one} # comment\n{command}"),
            23 => format!("{command} \\\n {}; {one}", self.pick(&words)),
            24 => format!("! {one} || time {command}"),
            _ => format!("{one} &\nwait\n{command} > f"),
        }
    }

    /// Pieces in a row, which rarely make sense.
    fn pieces(&mut self) -> String {
        (0..2 + self.below(9)).map(|_| self.pick(PIECES)).collect()
    }

    /// A script that makes sense, with a few faults.
    fn faulty(&mut self) -> String {
        let depth = 1 + self.below(3);
        let mut chars: Vec<char> = self.script(depth).chars().collect();
        for _ in 0..self.below(4) {
            let at = self.below(chars.len() + 1);
            match self.below(4) {
                0 if at < chars.len() => {
                    chars.remove(at);
                }
                _ => {
                    let piece: Vec<char> = self.pick(PIECES).chars().collect();
                    chars.splice(at..at, piece);
                }
            }
        }
        chars.into_iter().collect()
    }
}

/// What a real shell ran of `script`: name and arguments with one space between, empty arguments left out.
fn really_ran(script: &str) -> Vec<String> {
    // A folder of its own: what an earlier script left in the background must not write here.
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    let child = Process::new(bash.unwrap_or_else(|| panic!("this test needs bash")))
        .args(["--norc", "--noprofile", "-f", "-c", script])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LOG", &log)
        // What is compared is the text: a path that begins with `~` stays as it is written.
        .env("HOME", "~")
        // A script may come to call its own function.
        .env("FUNCNEST", "3")
        .env(
            "BASH_FUNC_command_not_found_handle%%",
            // In one piece: what holds a line's end would be written in two, with another command between.
            "() { builtin printf '%s\\0' \"${*//$'\\n'/$'\\x01'}\" >> \"$LOG\"; }",
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    child.unwrap();
    let ran = std::fs::read(&log).unwrap_or_default();
    ran.split(|byte| *byte == 0)
        .filter(|command| !command.is_empty())
        .map(|command| String::from_utf8_lossy(command).replace('\u{1}', "\n"))
        .collect()
}

/// Whether one of the commands found may be `ran`.
fn found(script: &Script, ran: &str) -> bool {
    // A pattern that is the text itself.
    if ran.contains(['*', '?']) {
        return true;
    }
    let pattern = Pattern::new(ran);
    script
        .commands
        .iter()
        .flat_map(|command| command.texts())
        .any(|text| pattern.fit(&text) > crate::permission::pattern::Fit::No)
}

fn compare_with_a_shell(seed: u64, scripts: usize) {
    let mut random = Random(seed);
    let mut compared = 0;
    for number in 0..scripts {
        let text = if number % 4 == 0 {
            random.pieces()
        } else {
            random.faulty()
        };
        let script = parse(&text);
        if script.unclear.is_some() {
            continue;
        }
        for ran in really_ran(&text) {
            compared += 1;
            // Newlines and tabs inside of arguments stay; runs of spaces come from empty ones.
            let squeezed = ran
                .split(' ')
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" ");
            if squeezed.is_empty() {
                continue; // its name is empty: there is no such program
            }
            assert!(
                found(&script, &ran) || found(&script, &squeezed),
                "bash runs {ran:?} of {text:?}, and the parts found are {:?}",
                commands(&text)
            );
        }
    }
    assert!(compared > scripts / 2, "only {compared} commands ran");
}

#[test]
fn whatever_bash_runs_is_among_the_parts_or_the_script_is_unclear() {
    compare_with_a_shell(0x9E37_79B9_7F4A_7C15, 400);
}

#[test]
#[ignore = "takes minutes: run it after a change to the parser"]
fn whatever_bash_runs_is_among_the_parts_of_many_scripts() {
    let seed = std::env::var("BEEUNI_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    compare_with_a_shell(seed, 60_000);
}

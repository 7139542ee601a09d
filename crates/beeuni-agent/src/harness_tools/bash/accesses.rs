//! What a command is going to do, as far as its text tells: its parts, the files that it writes by redirection, and
//! the folders outside of the checkout that it names.
//!
//! This asks a person before a command reaches out by its plain words. It is no fence: a program opens what it
//! wants. The sandbox is the fence.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::harness_tools::paths::{Paths, Place, external, external_folder};
use crate::permission::Access;
use crate::permission::shell::{self, Command, Script, Word};

/// Programs whose arguments are files and folders.
const FILE_PROGRAMS: &[&str] = &[
    "cat", "chgrp", "chmod", "chown", "cp", "dd", "du", "find", "head", "install", "less", "link", "ln", "ls", "mkdir",
    "mkfifo", "more", "mv", "readlink", "realpath", "rm", "rmdir", "rsync", "shred", "stat", "tac", "tail", "tar",
    "tee", "touch", "tree", "truncate", "unlink", "unzip", "wc", "zip",
];
/// Devices that are no place.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];
/// How many paths of one command line are looked at.
const MOST_PATHS: usize = 200;

/// Everything that running `command` in `folder` does.
pub(super) fn accesses(paths: &Paths, command: &str, folder: &Place) -> Vec<Access> {
    let script = shell::parse(command);
    let mut accesses = shell::accesses(command, &script);
    let mut looker = Looker {
        paths,
        script: &script,
        folders: HashMap::from([(0, Some(folder.real.clone()))]),
        found: Vec::new(),
        looked: 0,
    };
    if folder.is_outside() {
        looker.add(external(&folder.real));
    }
    for command in &script.commands {
        looker.command(command);
    }
    accesses.append(&mut looker.found);
    accesses
}

struct Looker<'a> {
    paths: &'a Paths,
    script: &'a Script,
    /// The folder in which each scope is, as far as it is known.
    folders: HashMap<usize, Option<PathBuf>>,
    found: Vec<Access>,
    looked: usize,
}

impl Looker<'_> {
    fn add(&mut self, access: Access) {
        if !self.found.contains(&access) {
            self.found.push(access);
        }
    }

    /// Where the scope is: a new one begins where the one around it is at that moment.
    fn folder(&mut self, scope: usize) -> Option<PathBuf> {
        let mut around = scope;
        loop {
            if let Some(folder) = self.folders.get(&around).cloned() {
                self.folders.insert(scope, folder.clone());
                return folder;
            }
            around = *self.script.scopes.get(around)?;
        }
    }

    fn command(&mut self, command: &Command) {
        let folder = self.folder(command.scope);
        for redirect in &command.redirects {
            self.redirect(&redirect.target, redirect.writes, folder.as_ref());
        }
        let Some(name) = command.name() else { return };
        let arguments = &command.words[1..];
        match name.as_str() {
            "cd" | "pushd" => {
                let target = arguments.iter().find(|word| !starts_with(word, '-') || is(word, "-"));
                let moved = match target {
                    None => self.place("~", None),
                    Some(word) if is(word, "-") => None,
                    Some(word) => word.known().and_then(|text| self.place(&text, folder.as_ref())),
                };
                if let Some(place) = &moved
                    && place.is_outside_for_reading()
                {
                    self.add(external_folder(&place.real, &place.real));
                }
                self.folders.insert(command.scope, moved.map(|place| place.real));
            }
            "popd" => {
                self.folders.insert(command.scope, None);
            }
            name if FILE_PROGRAMS.contains(&name) => {
                for word in arguments {
                    self.argument(word, folder.as_ref());
                }
            }
            _ => {}
        }
    }

    /// An argument, or the value of an option such as `--target-directory=/x` or `of=/x`.
    fn argument(&mut self, word: &Word, folder: Option<&PathBuf>) {
        let known = word.text.known_start();
        let text = match known.split_once('=') {
            Some((option, value)) if !option.contains('/') => value,
            _ if known.starts_with('-') => return,
            _ => known.as_str(),
        };
        // Of what is only known when it runs, or is a pattern, the folder before it.
        let whole = word.known().is_some();
        let end = text
            .find(['*', '?', '['])
            .filter(|_| word.glob)
            .or((!whole).then_some(text.len()));
        let text = match end {
            Some(end) => match text[..end].rfind('/') {
                Some(at) => &text[..=at],
                None => return,
            },
            None => text,
        };
        if text.is_empty() || DEVICES.contains(&text) || text.starts_with("/dev/fd/") {
            return;
        }
        if let Some(place) = self.place(text, folder)
            && place.is_outside_for_reading()
        {
            self.add(external(&place.real));
        }
    }

    fn redirect(&mut self, target: &Word, writes: bool, folder: Option<&PathBuf>) {
        let Some(text) = target.known().filter(|_| !target.glob) else {
            if writes {
                let subject = format!("{}…", target.text.known_start());
                self.add(
                    Access::new("edit", "edit", subject, "*")
                        .with_forms([target.text.clone()])
                        .exact(),
                );
            }
            return;
        };
        if DEVICES.contains(&text.as_str()) || text.starts_with("/dev/fd/") || text.is_empty() {
            return;
        }
        let Some(place) = self.place(&text, folder) else { return };
        if writes {
            self.paths
                .accesses(&place, "edit", "edit")
                .into_iter()
                .for_each(|access| self.add(access));
        } else if place.is_outside_for_reading() {
            self.add(external(&place.real));
        }
    }

    /// The place that `text` names; none when it depends on a folder that is not known.
    fn place(&mut self, text: &str, folder: Option<&PathBuf>) -> Option<Place> {
        self.looked += 1;
        if self.looked > MOST_PATHS {
            return None;
        }
        match folder {
            Some(folder) => self.paths.resolve_from(folder, text).ok(),
            None if text.starts_with(['/', '~']) => self.paths.resolve(text).ok(),
            None => None,
        }
    }
}

fn is(word: &Word, text: &str) -> bool {
    word.known().as_deref() == Some(text)
}

fn starts_with(word: &Word, c: char) -> bool {
    word.text.known_start().starts_with(c)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    /// What is outside of the checkout, and what is written by redirection.
    fn found(command: &str) -> Vec<String> {
        let mut found = all_found(command);
        found.dedup();
        found
    }

    fn all_found(command: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let checkout = base.join("work");
        std::fs::create_dir_all(checkout.join("sub/deep")).unwrap();
        std::fs::create_dir_all(base.join("other")).unwrap();
        std::os::unix::fs::symlink(base.join("other"), checkout.join("out")).unwrap();
        let home = base.join("home");
        let paths = Paths::new(&checkout, &[], &[], home.to_str());
        let folder = paths.resolve(".").unwrap();
        accesses(&paths, command, &folder)
            .into_iter()
            .filter(|access| access.capability != "bash")
            .map(|access| {
                let subject = access.subject.replace(base.to_str().unwrap(), "BASE");
                format!("{} {subject}", if access.capability == "edit" { "edit" } else { "out" })
            })
            .collect()
    }

    #[test]
    fn folders_outside_are_named_before_a_command_reaches_them() {
        let cases: &[(&str, &[&str])] = &[
            ("ls -la src", &[]),
            ("cat /etc/hostname", &["out /etc/*"]),
            ("rm -rf /etc/x /etc/y ~/z", &["out /etc/*", "out BASE/home/*"]),
            ("cat ../other/x", &["out BASE/other/*"]),
            ("cat out/x", &["out BASE/other/*"]),
            ("cd sub && cat ../x", &[]),
            ("cd sub/deep && cat ../../../other/x", &["out BASE/other/*"]),
            ("cd .. && ls", &["out BASE/*"]),
            ("cd ../other && rm x", &["out BASE/other/*"]),
            ("cd", &["out BASE/home/*"]),
            ("(cd ../other; ls); cat ../other/x", &["out BASE/other/*"]),
            ("(cd sub/deep); cat ../other/x", &["out BASE/other/*"]),
            ("cp a /tmp/nowhere-here/*.txt", &["out /tmp/*"]),
            ("cat /etc/$NAME", &["out /etc/*"]),
            ("cat $NAME", &[]),
            ("dd if=/dev/zero of=/etc/x", &["out /etc/*"]),
            ("cp --target-directory=/etc a", &["out /etc/*"]),
            ("sudo rm /etc/x", &["out /etc/*"]),
            ("bash -c 'rm /etc/x'", &["out /etc/*"]),
            ("echo /etc/x", &[]),
            ("sed -n '/etc/p' a", &[]),
            ("ls > /dev/null 2>&1", &[]),
            ("cd $X && cat ../y", &[]),
        ];
        for (command, expected) in cases {
            assert_eq!(found(command), *expected, "{command}");
        }
    }

    #[test]
    fn files_written_by_redirection_are_edits() {
        let cases: &[(&str, &[&str])] = &[
            ("echo x > a.txt", &["edit a.txt"]),
            ("cd sub; echo x >> deep/a", &["edit sub/deep/a"]),
            ("echo x > /etc/a", &["out /etc/*", "edit /etc/a"]),
            ("echo x &> $FILE", &["edit …"]),
            ("cat < /etc/a", &["out /etc/*"]),
            ("{ a; b; } > all.log", &["edit all.log"]),
            ("cat <<E > a\n$(echo x > b)\nE", &["edit a", "edit b"]),
        ];
        for (command, expected) in cases {
            let mut found = found(command);
            found.sort();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{command}");
        }
    }
}

//! The pattern that "always" remembers of a command: `git status *` of `git status --short`.

use crate::permission::access::Always;

/// Programs whose first argument says what they do, and how many words do where one more counts.
const SUBCOMMANDS: &[(&str, usize)] = &[
    ("apt", 2),
    ("apt-get", 2),
    ("aws", 3),
    ("az", 3),
    ("brew", 2),
    ("bun", 2),
    ("bun run", 3),
    ("bun x", 3),
    ("cargo", 2),
    ("composer", 2),
    ("deno", 2),
    ("deno task", 3),
    ("docker", 2),
    ("docker compose", 3),
    ("docker container", 3),
    ("docker image", 3),
    ("docker network", 3),
    ("docker volume", 3),
    ("docker-compose", 2),
    ("dotnet", 2),
    ("gcloud", 3),
    ("gh", 3),
    ("git", 2),
    ("git remote", 3),
    ("git stash", 3),
    ("git submodule", 3),
    ("git worktree", 3),
    ("go", 2),
    ("go mod", 3),
    ("gradle", 2),
    ("helm", 2),
    ("just", 2),
    ("kubectl", 2),
    ("make", 2),
    ("mvn", 2),
    ("npm", 2),
    ("npm exec", 3),
    ("npm run", 3),
    ("npx", 2),
    ("pip", 2),
    ("pip3", 2),
    ("pnpm", 2),
    ("pnpm exec", 3),
    ("pnpm run", 3),
    ("podman", 2),
    ("poetry", 2),
    ("poetry run", 3),
    ("rustup", 2),
    ("systemctl", 2),
    ("terraform", 2),
    ("uv", 2),
    ("uv run", 3),
    ("uvx", 2),
    ("yarn", 2),
    ("yarn run", 3),
    ("beeuni", 2),
    ("beeuni tools", 3),
];

/// Programs of which an "always" covers nothing but the same command again: they run whatever they are given, or
/// what they do cannot be undone.
const EXACT: &[&str] = &[
    ".", "ash", "awk", "bash", "builtin", "busybox", "chmod", "chown", "chroot", "command", "dash", "dd", "doas",
    "env", "eval", "exec", "expect", "find", "fish", "flock", "halt", "kill", "killall", "ksh", "lua", "mkfs", "nice",
    "node", "nohup", "parallel", "perl", "php", "pkill", "poweroff", "python", "python2", "python3", "reboot", "rm",
    "rsync", "ruby", "scp", "setsid", "sh", "shred", "shutdown", "source", "ssh", "stdbuf", "strace", "sudo", "time",
    "timeout", "toybox", "trap", "unshare", "watch", "xargs", "zsh", "[[", "((",
];

/// What "always" remembers of a command whose `words` are known up to the first `None`.
pub(super) fn always(words: &[Option<String>]) -> Always {
    let known: Vec<&str> = words.iter().map_while(|word| word.as_deref()).collect();
    let Some(first) = known.first() else {
        return Always::Exact;
    };
    let name = first.rsplit('/').next().unwrap_or(first);
    if EXACT.contains(&name) {
        return Always::Exact;
    }
    let mut length = 1;
    // The longest entry that the command begins with counts.
    for words in 1..=2.min(known.len()) {
        let start = known[..words].join(" ");
        if let Some((_, count)) = SUBCOMMANDS.iter().find(|(command, _)| *command == start) {
            length = *count;
        }
    }
    let Some(prefix) = known.get(..length) else {
        // `git` alone, or `git $COMMAND`: there is no subcommand to speak of.
        return Always::Exact;
    };
    let plain = |word: &&str| {
        !word.is_empty() && !word.starts_with('-') && !word.contains(|c: char| c.is_whitespace() || "*?".contains(c))
    };
    if prefix.iter().all(plain) {
        Always::Pattern(format!("{} *", prefix.join(" ")))
    } else {
        Always::Exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(command: &str) -> Option<String> {
        let words: Vec<Option<String>> = command
            .split(' ')
            .map(|word| (!word.starts_with('$')).then(|| word.to_owned()))
            .collect();
        match always(&words) {
            Always::Pattern(pattern) => Some(pattern),
            Always::Exact => None,
        }
    }

    #[test]
    fn always_remembers_what_a_command_does_and_not_all_that_its_program_can_do() {
        for (command, expected) in [
            ("git status --short", Some("git status *")),
            ("git status", Some("git status *")),
            ("git remote add x y", Some("git remote add *")),
            ("npm run build -- --watch", Some("npm run build *")),
            ("npm test", Some("npm test *")),
            ("cargo test -p x", Some("cargo test *")),
            ("docker compose up -d", Some("docker compose up *")),
            ("ls -la src", Some("ls *")),
            ("ls $DIR", Some("ls *")),
            ("./scripts/build.sh fast", Some("./scripts/build.sh *")),
            ("git -C x push", None),
            ("git", None),
            ("git $COMMAND", None),
            ("rm -rf x", None),
            ("/bin/rm x", None),
            ("bash x.sh", None),
            ("python3 x.py", None),
            ("sudo ls", None),
            ("$PROGRAM x", None),
            ("l* x", None),
        ] {
            assert_eq!(pattern(command).as_deref(), expected, "{command}");
        }
    }
}

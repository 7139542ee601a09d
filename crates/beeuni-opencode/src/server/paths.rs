//! Patterns of paths as OpenCode compares them: relative to the work tree, which is not always the checkout.

use std::path::{Component, Path, PathBuf};

/// What the patterns of a key are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text that stands in the call: a command, an address, a name.
    Text,
    /// A path; OpenCode writes it relative to the work tree.
    Path,
    /// A folder outside of the checkout, as `/folder/*`.
    Outside,
}

/// Where paths begin.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    checkout: PathBuf,
    /// What OpenCode measures paths by: the root of the git repository, else `/`.
    worktree: PathBuf,
    home: Option<String>,
}

impl Paths {
    pub(super) fn new(checkout: &Path, home: Option<&str>) -> Self {
        let checkout = std::fs::canonicalize(checkout).unwrap_or_else(|_| checkout.to_owned());
        let worktree = checkout
            .ancestors()
            .find(|folder| folder.join(".git").exists())
            .unwrap_or(Path::new("/"))
            .to_owned();
        Self {
            checkout,
            worktree,
            home: home.map(|home| home.trim_end_matches('/').to_owned()),
        }
    }

    /// For tests: folders that need not be there.
    #[cfg(test)]
    pub(super) fn of(checkout: &str, worktree: &str, home: &str) -> Self {
        Self {
            checkout: checkout.into(),
            worktree: worktree.into(),
            home: Some(home.to_owned()),
        }
    }

    /// A path pattern as OpenCode compares it. What begins with a wildcard matches anywhere already.
    fn pattern(&self, pattern: &str) -> String {
        if pattern.starts_with(['*', '?']) {
            return pattern.to_owned();
        }
        let whole = self.checkout.join(pattern);
        let (mut up, mut below) = (PathBuf::new(), PathBuf::new());
        let mut worktree = self.worktree.components().peekable();
        let mut parts = whole.components().peekable();
        while let (Some(a), Some(b)) = (worktree.peek(), parts.peek())
            && a == b
        {
            worktree.next();
            parts.next();
        }
        worktree.for_each(|_| up.push(".."));
        parts.for_each(|part| match part {
            Component::ParentDir if below.pop() => {}
            Component::CurDir => {}
            part => below.push(part),
        });
        // `..` within the pattern itself may have gone above the work tree.
        let mut path = up.join(below).to_string_lossy().into_owned();
        if pattern.ends_with('/') && !path.is_empty() {
            path.push('/');
        }
        path
    }

    pub(super) fn expand_home(&self, pattern: &str) -> String {
        let Some(home) = &self.home else {
            return pattern.to_owned();
        };
        for start in ["~", "$HOME"] {
            if let Some(rest) = pattern.strip_prefix(start)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{home}{rest}");
            }
        }
        pattern.to_owned()
    }

    /// The forms in which a rule's pattern has to be written.
    pub(super) fn forms(&self, pattern: &str, form: Form) -> Vec<String> {
        match form {
            Form::Text => vec![pattern.to_owned()],
            Form::Path => vec![self.pattern(&self.expand_home(pattern))],
            Form::Outside => {
                let pattern = self.expand_home(pattern);
                let folder = (!pattern.ends_with('*')).then(|| format!("{}/*", pattern.trim_end_matches('/')));
                std::iter::once(pattern).chain(folder).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_opencode_compares_them() {
        let inside = Paths::of("/w", "/w", "/home/me");
        let below = Paths::of("/repo/sub", "/repo", "/home/me");
        let no_git = Paths::of("/w", "/", "/home/me");
        for (pattern, in_checkout, in_subfolder, without_git) in [
            ("docs/**", "docs/**", "sub/docs/**", "w/docs/**"),
            ("*.env", "*.env", "*.env", "*.env"),
            ("/w/a*", "a*", "../w/a*", "w/a*"),
            ("/etc/*", "../etc/*", "../etc/*", "etc/*"),
            ("~/x", "../home/me/x", "../home/me/x", "home/me/x"),
            ("./a/../b", "b", "sub/b", "w/b"),
        ] {
            let written = |paths: &Paths| paths.forms(pattern, Form::Path).remove(0);
            assert_eq!(written(&inside), in_checkout, "{pattern}");
            assert_eq!(written(&below), in_subfolder, "{pattern}");
            assert_eq!(written(&no_git), without_git, "{pattern}");
        }
        assert_eq!(inside.forms("/data", Form::Outside), ["/data", "/data/*"]);
        assert_eq!(inside.forms("/data/**", Form::Outside), ["/data/**"]);
    }
}

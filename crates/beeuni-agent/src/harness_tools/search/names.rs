//! Glob patterns of file names: from which folder on they look, and what they match.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::harness_tools::context::ToolFailure;

/// A pattern taken apart.
#[derive(Debug)]
pub(super) struct Names {
    /// The folder that the pattern names before its first special character.
    pub(super) folder: String,
    matcher: GlobMatcher,
    /// Without `/` the pattern is about names, however deep.
    any_depth: bool,
    /// It names something that begins with a dot.
    pub(super) hidden: bool,
}

impl Names {
    pub(super) fn new(pattern: &str) -> Result<Self, ToolFailure> {
        let pattern = pattern.trim();
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.is_empty() || pattern.ends_with('/') {
            return Err(ToolFailure::arguments(format!(
                "The pattern {pattern:?} names no files: write for example `**/*.rs` or `src/**`."
            )));
        }
        // Inside of `{…}` a `/` belongs to the alternative.
        let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
        let (folder, rest) = match pattern[..special].rfind('/') {
            Some(0) => ("/", &pattern[1..]),
            Some(at) => (&pattern[..at], &pattern[at + 1..]),
            None => ("", pattern),
        };
        let matcher = GlobBuilder::new(rest)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| ToolFailure::arguments(format!("The pattern cannot be read: {error}.")))?
            .compile_matcher();
        Ok(Self {
            folder: folder.to_owned(),
            matcher,
            any_depth: !pattern.contains('/'),
            hidden: pattern.starts_with('.') || pattern.contains("/.") || pattern.contains("{."),
        })
    }

    /// Whether a path relative to the folder matches.
    pub(super) fn matches(&self, path: &Path) -> bool {
        if self.any_depth {
            path.file_name()
                .is_some_and(|name| self.matcher.is_match(Path::new(name)))
        } else {
            self.matcher.is_match(path)
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Names::new(pattern).unwrap().matches(Path::new(path))
    }

    #[test]
    fn a_pattern_without_a_folder_matches_names_at_any_depth() {
        assert!(matches("*.rs", "a.rs") && matches("*.rs", "x/y/a.rs") && !matches("*.rs", "a.rsx"));
        assert!(matches("main.rs", "x/main.rs") && matches("*.{ts,tsx}", "x/a.tsx"));
    }

    #[test]
    fn a_pattern_with_folders_matches_paths() {
        assert!(matches("**/*.rs", "a.rs") && matches("**/*.rs", "x/y/a.rs"));
        assert!(matches("src/*/a.rs", "x/a.rs") && !matches("src/*/a.rs", "x/y/a.rs"));
        assert!(matches("src/main.rs", "main.rs") && !matches("src/main.rs", "x/main.rs"));
        assert!(matches("{src,tests}/**/*.rs", "tests/x/a.rs"));
    }

    #[test]
    fn the_folder_is_what_stands_before_the_first_special_character() {
        for (pattern, folder) in [
            ("*.rs", ""),
            ("src/**/*.rs", "src"),
            ("./src/a/b*.rs", "src/a"),
            ("/etc/*.conf", "/etc"),
            ("/*", "/"),
            ("../x/*", "../x"),
            ("src/{a,b}/c", "src"),
            ("src/main.rs", "src"),
        ] {
            assert_eq!(Names::new(pattern).unwrap().folder, folder, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_may_name_what_is_hidden() {
        assert!(Names::new(".github/**").unwrap().hidden && Names::new("**/.env*").unwrap().hidden);
        assert!(!Names::new("**/*.rs").unwrap().hidden);
    }

    #[test]
    fn a_pattern_that_cannot_be_read_says_why() {
        for pattern in ["src/[a", "{a,b", "a[z-a]"] {
            assert!(
                Names::new(pattern).unwrap_err().message.contains("cannot be read"),
                "{pattern}"
            );
        }
        assert!(Names::new("src/").unwrap_err().message.contains("names no files"));
    }
}

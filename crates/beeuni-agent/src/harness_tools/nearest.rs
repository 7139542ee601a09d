//! What someone probably meant: the names nearest to one that does not exist.

use std::path::Path;

/// How many entries of a folder are compared.
const MOST_COMPARED: usize = 5000;
/// How many names are given.
const GIVEN: usize = 3;

/// Says that `path` does not exist and what there is instead. `shown` is the path as the model knows it; `show`
/// makes the same of another path.
pub(super) fn missing(path: &Path, shown: &str, show: impl Fn(&Path) -> String) -> String {
    // The first part that is missing is the one to speak of.
    let mut there = path;
    let mut first_missing = path;
    while let Some(parent) = there.parent() {
        first_missing = there;
        there = parent;
        if there.exists() {
            break;
        }
    }
    if there.is_file() {
        return format!("{shown} does not exist: {} is a file, not a folder.", show(there));
    }
    let mut text = format!("{shown} does not exist");
    if first_missing != path {
        text.push_str(&format!(": there is no folder {}", show(first_missing)));
    }
    let wanted = first_missing
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let names = nearest(&wanted, there);
    if names.is_empty() {
        text.push_str(". Look for it with `glob`.");
    } else {
        let paths: Vec<String> = names.iter().map(|name| show(&there.join(name))).collect();
        text.push_str(&format!(". Did you mean {}?", paths.join(", or ")));
    }
    text
}

/// The entries of `folder` whose names resemble `wanted`, nearest first.
fn nearest(wanted: &str, folder: &Path) -> Vec<String> {
    let lower = wanted.to_lowercase();
    let stem = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let mut scored: Vec<(u8, usize, String)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST_COMPARED)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let other = name.to_lowercase();
            if other.len() > 200 || lower.len() > 200 {
                return None;
            }
            let distance = strsim::osa_distance(&lower, &other);
            let limit = (lower.chars().count() / 3).max(1);
            // Another ending of the same name, a longer or shorter form of it, a slip of the pen.
            let class = if other == lower || stem(&other) == stem(&lower) && !stem(&lower).is_empty() {
                0
            } else if distance <= limit {
                1
            } else if lower.len() > 2 && (other.contains(&lower) || lower.contains(&other) && other.len() > 2) {
                2
            } else {
                return None;
            };
            Some((class, distance, name))
        })
        .collect();
    scored.sort();
    scored.into_iter().take(GIVEN).map(|(_, _, name)| name).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn a_missing_file_names_what_resembles_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("src")).unwrap();
        for name in [
            "src/main.rs",
            "src/main.test.rs",
            "README.md",
            "Makefile",
            "src/other.ts",
        ] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let say = |path: &str| {
            let show = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
            missing(&root.join(path), path, show)
        };
        assert_eq!(say("readme.md"), "readme.md does not exist. Did you mean README.md?");
        assert_eq!(
            say("src/main.ts"),
            "src/main.ts does not exist. Did you mean src/main.rs, or src/main.test.rs?"
        );
        assert_eq!(
            say("scr/main.rs"),
            "scr/main.rs does not exist: there is no folder scr. Did you mean src?"
        );
        assert_eq!(say("src/zzz.qq"), "src/zzz.qq does not exist. Look for it with `glob`.");
        assert_eq!(
            say("Makefile/x"),
            "Makefile/x does not exist: Makefile is a file, not a folder."
        );
    }
}

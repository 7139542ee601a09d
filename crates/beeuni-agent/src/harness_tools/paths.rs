//! Where a path really leads: relative to the checkout, `~` expanded, links followed, inside or outside.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::permission::{Access, Text};

use super::context::ToolFailure;

/// How many links may follow one another.
const MOST_LINKS: usize = 40;

/// The folders that paths are measured by.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    /// The checkout without links in its path.
    checkout: PathBuf,
    /// The checkout as it was given: models use this one.
    given: PathBuf,
    /// Other folders that count as inside.
    free: Vec<PathBuf>,
    /// Folders that count as inside for reading.
    readable: Vec<PathBuf>,
    home: Option<PathBuf>,
}

/// A place that a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Where it is, without links.
    pub(super) real: PathBuf,
    /// As people and models read it: relative to the checkout where it is inside.
    pub(super) shown: String,
    /// As it was named, without `.` and `..`; differs from `shown` where a link leads on.
    named: String,
    inside: bool,
    readable: bool,
}

impl Place {
    /// Whether looking into it leaves the checkout and the folders that count as inside for reading.
    pub(super) fn is_outside_for_reading(&self) -> bool {
        !self.readable
    }

    /// Whether changing it, or running there, leaves the checkout and the folders that count as inside.
    pub(super) fn is_outside(&self) -> bool {
        !self.inside
    }
}

impl Paths {
    pub(super) fn new(checkout: &Path, free: &[PathBuf], readable: &[PathBuf], home: Option<&str>) -> Self {
        let real = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        Self {
            checkout: real(&checkout.to_owned()),
            given: checkout.to_owned(),
            free: free.iter().map(real).collect(),
            readable: readable.iter().map(real).collect(),
            home: home.filter(|home| home.starts_with('/')).map(PathBuf::from),
        }
    }

    /// Finds the place that `path` names, seen from the checkout. It need not exist.
    pub(super) fn resolve(&self, path: &str) -> Result<Place, ToolFailure> {
        self.resolve_from(&self.checkout, path)
    }

    /// Finds the place that `path` names, seen from `base`.
    pub(super) fn resolve_from(&self, base: &Path, path: &str) -> Result<Place, ToolFailure> {
        if path.is_empty() {
            return Err(ToolFailure::arguments("The path is empty: name a file or folder."));
        }
        if path.contains('\0') {
            return Err(ToolFailure::arguments(
                "The path holds a NUL character, which no path can.",
            ));
        }
        let expanded = self.expand_home(path)?;
        let absolute = base.join(expanded);
        // A path through the checkout as it was given is one through the checkout.
        let absolute = match absolute.strip_prefix(&self.given) {
            Ok(rest) => self.checkout.join(rest),
            Err(_) => absolute,
        };
        let real = follow(&absolute, MOST_LINKS)
            .map_err(|error| ToolFailure::failed(format!("Cannot tell where {} leads: {error}", absolute.display())))?;
        let inside = real.starts_with(&self.checkout) || self.free.iter().any(|folder| real.starts_with(folder));
        Ok(Place {
            shown: self.shown(&real),
            named: self.shown(&lexical(&absolute)),
            readable: inside || self.readable.iter().any(|folder| real.starts_with(folder)),
            inside,
            real,
        })
    }

    /// A path as people read it.
    pub(super) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.checkout) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    fn expand_home(&self, path: &str) -> Result<PathBuf, ToolFailure> {
        let Some(rest) = path
            .strip_prefix('~')
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return Ok(PathBuf::from(path));
        };
        let home = self.home.as_ref().ok_or_else(|| {
            ToolFailure::arguments("`~` stands for nothing here, because HOME is not set: write the whole path.")
        })?;
        Ok(home.join(rest.trim_start_matches('/')))
    }

    /// Reading or changing a file or folder, as `capability` and `tool`; its being outside is one of the accesses.
    pub(super) fn accesses(&self, place: &Place, capability: &str, tool: &str) -> Vec<Access> {
        let mut accesses = Vec::new();
        let outside = if capability == "edit" {
            !place.inside
        } else {
            !place.readable
        };
        if outside {
            accesses.push(external(&place.real));
        }
        let of = |shown: &str| {
            let absolute = self.checkout.join(shown);
            let forms = [Text::from(shown), Text::from(&*absolute.to_string_lossy())];
            let access = Access::new(capability, tool, shown, folder_pattern(shown)).with_forms(forms);
            // "Always" must not open a whole folder because of one file that needs care, nor the whole checkout.
            let name = shown.rsplit('/').next().unwrap_or(shown);
            if name.contains(".env") || !shown.contains('/') {
                access.exact()
            } else {
                access
            }
        };
        accesses.push(of(&place.shown));
        if place.named != place.shown {
            accesses.push(of(&place.named));
        }
        accesses
    }
}

/// What "always" remembers of a change to a file: its folder.
fn folder_pattern(shown: &str) -> String {
    shown
        .rsplit_once('/')
        .map_or_else(|| shown.to_owned(), |(folder, _)| format!("{folder}/*"))
}

/// Leaving the checkout: rules know the folder as `/folder/*` and `/folder`, and the path itself.
pub(super) fn external(path: &Path) -> Access {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    external_folder(folder, path)
}

/// Leaving the checkout for `folder`, because of `path` in it.
pub(super) fn external_folder(folder: &Path, path: &Path) -> Access {
    let folder = folder.to_string_lossy();
    let pattern = format!("{}/*", folder.trim_end_matches('/'));
    let forms = [
        Text::from(pattern.as_str()),
        Text::from(&*folder),
        Text::from(&*path.to_string_lossy()),
    ];
    Access::new("external_directory", "external_directory", pattern.clone(), pattern).with_forms(forms)
}

/// The path without links, as far as it exists; what is missing is added by its words.
fn follow(path: &Path, links: usize) -> std::io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(real) => return Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::NotADirectory => {}
        // A folder that may not be searched, a loop of links: what is behind cannot be known.
        Err(error) => return Err(error),
    }
    let missing = || std::io::Error::new(ErrorKind::NotFound, "it has no parent folder");
    let mut parts: Vec<Component<'_>> = path.components().collect();
    let last = parts.pop().ok_or_else(missing)?;
    let parent: PathBuf = parts.iter().collect();
    let parent = follow(&parent, links)?;
    match last {
        Component::ParentDir => Ok(parent.parent().unwrap_or(&parent).to_owned()),
        Component::Normal(name) => {
            let whole = parent.join(name);
            match std::fs::read_link(&whole) {
                // A link to what does not exist yet leads there all the same.
                Ok(target) if links > 0 => follow(&parent.join(target), links - 1),
                Ok(_) => Err(std::io::Error::other("too many links follow one another")),
                Err(_) => Ok(whole),
            }
        }
        _ => Ok(parent),
    }
}

/// The path without `.` and `..`, by its words alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;
    use std::os::unix::fs::symlink;

    struct Folders {
        _root: tempfile::TempDir,
        checkout: PathBuf,
        outside: PathBuf,
        paths: Paths,
    }

    fn folders() -> Folders {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let (checkout, outside, free) = (base.join("work"), base.join("other"), base.join("free"));
        for folder in [&checkout.join("src"), &outside, &free] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(checkout.join("src/a.rs"), "").unwrap();
        std::fs::write(outside.join("secret"), "").unwrap();
        symlink(&checkout, base.join("alias")).unwrap();
        symlink(&outside, checkout.join("out")).unwrap();
        symlink(outside.join("new"), checkout.join("dangling")).unwrap();
        symlink("src/a.rs", checkout.join("link")).unwrap();
        symlink("loop", checkout.join("loop")).unwrap();
        let paths = Paths::new(&base.join("alias"), &[free], &[base.join("spill")], outside.to_str());
        Folders {
            _root: root,
            checkout,
            outside,
            paths,
        }
    }

    fn capabilities(folders: &Folders, path: &str) -> Vec<String> {
        let place = folders.paths.resolve(path).unwrap();
        let accesses = folders.paths.accesses(&place, "edit", "write");
        accesses
            .into_iter()
            .map(|access| format!("{} {}", access.capability, access.subject))
            .collect()
    }

    #[test]
    fn a_path_inside_is_shown_relative_however_it_is_written() {
        let folders = folders();
        let given = folders.checkout.parent().unwrap().join("alias/src/a.rs");
        for path in [
            "src/a.rs",
            "./src/../src/a.rs",
            folders.checkout.join("src/a.rs").to_str().unwrap(),
            given.to_str().unwrap(),
        ] {
            assert_eq!(capabilities(&folders, path), ["edit src/a.rs"], "{path}");
        }
        assert_eq!(capabilities(&folders, "new/folder/x"), ["edit new/folder/x"]);
        assert_eq!(
            capabilities(&folders, "src/a.rs/x"),
            ["edit src/a.rs/x"],
            "below a file"
        );
        assert_eq!(folders.paths.resolve(".").unwrap().shown, ".");
    }

    #[test]
    fn a_link_that_leads_out_is_outside_and_one_that_stays_is_both_names() {
        let folders = folders();
        let outside = folders.outside.display();
        assert_eq!(
            capabilities(&folders, "out/secret"),
            [
                format!("external_directory {outside}/*"),
                format!("edit {outside}/secret"),
                "edit out/secret".to_owned()
            ]
        );
        assert_eq!(
            capabilities(&folders, "dangling")[0],
            format!("external_directory {outside}/*")
        );
        assert_eq!(
            folders.paths.resolve("dangling").unwrap().real,
            folders.outside.join("new")
        );
        assert_eq!(
            capabilities(&folders, "out/../work/src/x")[0],
            "edit src/x",
            "`..` is taken behind the link"
        );
        assert_eq!(capabilities(&folders, "link"), ["edit src/a.rs", "edit link"]);
        assert_eq!(
            capabilities(&folders, "~/x")[0],
            format!("external_directory {outside}/*")
        );
        assert_eq!(
            capabilities(&folders, "../other/y/z")[0],
            format!("external_directory {outside}/y/*")
        );
    }

    #[test]
    fn free_folders_are_inside_and_saved_outputs_for_reading_only() {
        let folders = folders();
        let base = folders.checkout.parent().unwrap();
        let free = base.join("free/x");
        assert_eq!(
            capabilities(&folders, free.to_str().unwrap()),
            [format!("edit {}", free.display())]
        );
        let spill = folders.paths.resolve(base.join("spill/x").to_str().unwrap()).unwrap();
        assert_eq!(folders.paths.accesses(&spill, "read", "read").len(), 1);
        assert_eq!(folders.paths.accesses(&spill, "edit", "edit").len(), 2);
        // A folder whose name begins the same is another folder.
        let near = base.join("work-evil/x");
        assert_eq!(capabilities(&folders, near.to_str().unwrap()).len(), 2);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let folders = folders();
        for (path, expected) in [("", "empty"), ("a\0b", "NUL"), ("loop", "Cannot tell where")] {
            let failure = folders.paths.resolve(path).unwrap_err();
            assert!(failure.message.contains(expected), "{failure}");
        }
        let homeless = Paths::new(&folders.checkout, &[], &[], None);
        assert!(homeless.resolve("~/x").unwrap_err().message.contains("HOME"));
        assert_eq!(homeless.resolve("~x").unwrap().shown, "~x", "a file may be called so");
    }
}

//! The checkout, and the folders in it that a call may name.
use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
pub(crate) struct Project {
    /// Its root as the user named it: `context.directory`.
    pub(crate) root: PathBuf,
    /// The same with every link resolved.
    resolved: PathBuf,
}

impl Project {
    /// The checkout at the absolute path `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        let resolved = fs::canonicalize(&root).unwrap_or_else(|_| root.clone());
        Self { root, resolved }
    }

    /// What a call's `directory` means: `None` for the checkout itself, else the folder below it.
    pub(crate) fn directory<'d>(&self, asked: Option<&'d str>) -> Result<Option<&'d str>, String> {
        // The usual case, and no reason to ask the file system.
        let Some(asked) = asked.filter(|asked| Path::new(asked) != self.root) else {
            return Ok(None);
        };
        if !Path::new(asked).is_absolute() {
            return Err("directory must be an absolute path".to_owned());
        }
        let found = fs::canonicalize(asked).map_err(|error| format!("directory cannot be used: {}", error.kind()))?;
        if !found.starts_with(&self.resolved) {
            return Err("directory must be the checkout or a folder below it".to_owned());
        }
        if !found.is_dir() {
            return Err("directory must be a folder".to_owned());
        }
        Ok((found != self.resolved).then_some(asked))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn a_directory_is_the_checkout_or_below_it() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir(outer.path().join("project-evil")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(outer.path(), root.join("out")).unwrap();
        let project = Project::new(root.clone());
        let text = |path: &str| root.join(path).to_str().unwrap().to_owned();

        assert_eq!(project.directory(None), Ok(None));
        for same in [text(""), text("."), text("src/..")] {
            assert_eq!(project.directory(Some(&same)), Ok(None), "{same}");
        }
        let below = text("src/deep");
        assert_eq!(project.directory(Some(&below)), Ok(Some(below.as_str())));
        for bad in [
            "",
            "src",
            "./src",
            "/",
            "/etc",
            "\0",
            &text("../project-evil"),
            &text("out"),
            &text("missing"),
            &text("file"),
            outer.path().to_str().unwrap(),
        ] {
            assert!(project.directory(Some(bad)).is_err(), "{bad:?}");
        }
    }
}

//! The root file and everything that it imports, each read once, in order.
use std::rc::Rc;

use crate::lookup::Lookup;
use crate::report::{At, Findings, Spot};
use crate::tree::Tree;
use crate::yaml::{self, Document, Kind, Mark, Problem};

use super::imports::Imports;

/// What an empty manifest should have been.
const MINIMAL: &str = "the file is empty; a minimal manifest is one line: `beeuni_version: 2`";

/// One manifest file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Repo-relative.
    pub(crate) file: Rc<str>,
    /// Its text without byte order mark.
    pub(crate) text: String,
    /// It begins with a byte order mark.
    pub(crate) bom: bool,
    /// Its tree.
    pub(crate) document: Document,
}

/// All files of a manifest.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Root first, then imports in order. Empty when the root file cannot be read.
    pub(crate) files: Vec<Source>,
    /// An import could not be read: what it declares is not known.
    pub(crate) broken: bool,
}

/// Reads `file` and its imports.
pub(crate) fn gather(lookup: &mut Lookup<'_>, file: &str, findings: &mut Findings) -> Sources {
    let file: Rc<str> = Rc::from(file);
    let mut sources = Sources::default();
    let source = match read(lookup.tree, &file) {
        Ok(source) => source,
        Err(problem) => {
            findings.error(
                &Spot {
                    mark: problem.mark,
                    ..Spot::top(&file)
                },
                problem.message,
            );
            return sources;
        }
    };
    match source.document.root.as_deref() {
        None => {
            findings.error(&Spot::top(&file), MINIMAL);
            return sources;
        }
        Some(root) if root.kind() != Kind::Map => {
            let message = format!(
                "must be a map of keys such as `beeuni_version: 2`, not {}",
                root.kind().describe()
            );
            findings.error(&At::root(&file, root).spot, message);
            return sources;
        }
        Some(_) => {}
    }
    let canonical = lookup.tree.canonical(&file).unwrap_or_else(|_| file.to_string());
    Imports::new(lookup, findings, &mut sources).follow(source, canonical);
    sources
}

/// Reads one file as YAML.
pub(crate) fn read(tree: &dyn Tree, file: &Rc<str>) -> Result<Source, Problem> {
    let bytes = tree.read(file).map_err(|error| {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
            std::io::ErrorKind::FileTooLarge => yaml::TOO_LARGE.to_owned(),
            _ => format!("the file cannot be read: {error}"),
        };
        Problem::new(message, Mark { line: 1, column: 1 })
    })?;
    let yaml::Text { body, bom } = yaml::decode(bytes)?;
    let document = yaml::parse(&body)?;
    Ok(Source {
        file: Rc::clone(file),
        text: body,
        bom,
        document,
    })
}

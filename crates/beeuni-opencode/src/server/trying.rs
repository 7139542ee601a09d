//! Trying a module of the project in a process of its own, by the Bun that is inside OpenCode.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::layout::Layout;
use super::process::{Command, run};
use super::{Place, StartError, environment};

/// How long a module may take to load.
const LONGEST: Duration = Duration::from_secs(10);

/// Files and a number for their content.
pub(super) type Code = BTreeMap<PathBuf, u64>;

/// How a module behaved.
#[derive(Debug, Clone)]
pub(super) enum Tried {
    /// It loads: the exports that are tools, and the files that it is made of.
    Loads { tools: Vec<String>, code: Code },
    /// It does not, for this reason.
    Fails(String),
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    error: Option<String>,
    files: Vec<PathBuf>,
}

/// What was found out about modules whose code is still the same.
#[derive(Debug, Default)]
pub(super) struct Tries(BTreeMap<PathBuf, (Code, Tried)>);

impl Tries {
    /// Tries a module, unless it loaded before and is the same. One that failed is tried again: a package may have
    /// been installed.
    pub(super) async fn module(&mut self, place: &Place, layout: &Layout, file: &Path) -> Result<Tried, StartError> {
        if let Some((code, tried)) = self.0.get(file)
            && code_of(code.keys()) == *code
        {
            return Ok(tried.clone());
        }
        let tried = try_module(place, layout, file).await?;
        match &tried {
            Tried::Loads { code, .. } => self.0.insert(file.to_owned(), (code.clone(), tried.clone())),
            Tried::Fails(_) => self.0.remove(file),
        };
        Ok(tried)
    }
}

/// Imports a module and says what came of it.
async fn try_module(place: &Place, layout: &Layout, module: &Path) -> Result<Tried, StartError> {
    let failed = |source| StartError::Write {
        path: layout.trials.clone(),
        source,
    };
    let result = tempfile::Builder::new()
        .prefix("module-")
        .tempfile_in(&layout.trials)
        .map_err(failed)?;
    let mut env = environment::of_modules(place, layout);
    env.insert("BUN_BE_BUN".to_owned(), "1".to_owned());
    let args = ["--no-install", "--no-env-file", "--config=/dev/null"].map(PathBuf::from);
    let args = args
        .into_iter()
        .chain([layout.tryer.clone(), module.to_owned(), result.path().to_owned()])
        .map(PathBuf::into_os_string)
        .collect();
    let command = Command {
        guard: &place.guard,
        program: &place.program,
        args,
        folder: &place.checkout,
        env: &env,
    };
    let ended = run(&command, LONGEST).await.map_err(|source| StartError::Spawn {
        program: place.program.clone(),
        source,
    })?;
    let text = std::fs::read(result.path()).map_err(failed)?;
    let Ok(found) = serde_json::from_slice::<Found>(&text) else {
        return Ok(Tried::Fails(match ended {
            None => format!("it did not load within {} s", LONGEST.as_secs()),
            Some(ended) => format!("loading it ended the process: {ended}"),
        }));
    };
    Ok(match found.error {
        Some(error) => Tried::Fails(error),
        None => {
            let project = found
                .files
                .iter()
                .filter(|file| !file.starts_with(&layout.modules) && **file != layout.tryer);
            Tried::Loads {
                tools: found.tools,
                code: code_of(project),
            }
        }
    })
}

/// The files as they are now.
pub(super) fn code_of<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Code {
    files
        .into_iter()
        .map(|file| {
            let mut hasher = DefaultHasher::new();
            std::fs::read(file).ok().hash(&mut hasher);
            (file.clone(), hasher.finish())
        })
        .collect()
}

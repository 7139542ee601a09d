//! A page of memory that host and worker share: it speaks even while the worker is stuck in a loop.
//!
//! Word 0 is the id of the last call that the worker started. Word `1 + id % STOPPED_WORDS` is the id of a call that
//! was stopped before it started. The worker maps the file; this side reads and writes it, which the kernel keeps
//! coherent.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Words for stopped calls: the same number stands in `runtime/worker.ts`.
const STOPPED_WORDS: u32 = 1023;

pub(super) struct SharedPage {
    file: File,
}

impl SharedPage {
    /// A page in a file of its own below `folder`; the caller removes the file when the worker has ended.
    pub(super) fn new(folder: &Path) -> std::io::Result<(Self, PathBuf)> {
        let named = tempfile::Builder::new().prefix("page-").tempfile_in(folder)?;
        named.as_file().set_len(4 * (1 + u64::from(STOPPED_WORDS)))?;
        let (file, path) = named.keep()?;
        Ok((Self { file }, path))
    }

    /// The id of the last call that the worker started.
    pub(super) fn last_started(&self) -> u32 {
        let mut word = [0; 4];
        match self.file.read_exact_at(&mut word, 0) {
            Ok(()) => u32::from_le_bytes(word),
            // Unknown: as if all had started, so that nothing ever runs twice.
            Err(_) => u32::MAX,
        }
    }

    /// Asks the worker not to start the call `id`.
    pub(super) fn mark_stopped(&self, id: u32) {
        // A mark that cannot be written only means that the call may start, and is stopped then.
        let _ = self
            .file
            .write_all_at(&id.to_le_bytes(), u64::from(1 + id % STOPPED_WORDS) * 4);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn a_mark_stands_in_the_word_of_its_call_and_leaves_the_first_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (page, path) = SharedPage::new(folder.path()).unwrap();
        page.mark_stopped(1023);
        page.mark_stopped(5);
        assert_eq!(page.last_started(), 0);
        let bytes = std::fs::read(path).unwrap();
        let word = |n: usize| u32::from_le_bytes(bytes[n * 4..n * 4 + 4].try_into().unwrap());
        assert_eq!((bytes.len(), word(1), word(6)), (4096, 1023, 5));
    }
}

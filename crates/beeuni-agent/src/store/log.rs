//! The file of a session: lines that are only ever added, each with a checksum, so that a torn end is found and cut.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::sync::Syncer;

/// Bytes of a line before its JSON: eight hex digits of the checksum and a space.
const HEAD: usize = 9;

/// Where the JSON of a record stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    offset: u64,
    len: u32,
}

/// A session's file, open for adding and reading, and locked against other processes.
#[derive(Debug)]
pub(crate) struct Log {
    file: Arc<File>,
    end: u64,
    sync: Syncer,
    line: Vec<u8>,
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// Another process has it open.
    #[error("another process has it open")]
    InUse,
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Log {
    /// Opens the file, makes it when it is missing, and gives every whole record to `each` in order. What stands
    /// after the last whole record was being written when its process or machine ended: it is cut off.
    pub(crate) fn open(path: &Path, mut each: impl FnMut(&[u8], Place)) -> Result<Self, LogError> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => LogError::InUse,
            TryLockError::Error(error) => LogError::Io(error),
        })?;
        let end = scan(&file, path, &mut each)?;
        if end < file.metadata()?.len() {
            tracing::warn!(file = %path.display(), at = end, "cut off a record that was not written whole");
            file.set_len(end)?;
        }
        // The name is durable from here on; the records are once `sync` has run.
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(Self {
            // A handle of its own: a sync in the background must not hold the lock of a log that was closed.
            sync: Syncer::new(File::open(path)?),
            file: Arc::new(file),
            end,
            line: Vec::new(),
        })
    }

    /// Adds a record. It survives the end of this process from here on, and the end of the machine after the next
    /// sync. On an error the file is as before.
    pub(crate) fn add(&mut self, record: &impl serde::Serialize) -> io::Result<Place> {
        self.line.clear();
        self.line.resize(HEAD, b' ');
        serde_json::to_writer(&mut self.line, record)?;
        let checksum = crc32fast::hash(&self.line[HEAD..]);
        write!(&mut self.line[..HEAD], "{checksum:08x} ")?;
        self.line.push(b'\n');
        let place = Place {
            offset: self.end + HEAD as u64,
            len: u32::try_from(self.line.len() - HEAD - 1).map_err(io::Error::other)?,
        };
        if let Err(error) = (&*self.file).write_all(&self.line) {
            // A part of the line may be there; the next record must not stand behind it.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end += self.line.len() as u64;
        if self.line.capacity() > 64 * 1024 {
            self.line = Vec::new();
        }
        Ok(place)
    }

    /// Gives up the lock: another process may open the log. Nothing may be added from here on.
    pub(crate) fn release(&self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the transcript could not be unlocked");
        }
    }

    /// Makes what was added durable, in the background and together with what is added meanwhile.
    pub(crate) fn sync_soon(&self) {
        self.sync.soon();
    }

    /// What waits until everything that was added is durable.
    pub(crate) fn syncer(&self) -> Syncer {
        self.sync.clone()
    }

    /// Reads records without the lock that adds them.
    pub(crate) fn reader(&self) -> LogReader {
        LogReader(Arc::clone(&self.file))
    }
}

/// Reads the records of a log.
#[derive(Debug, Clone)]
pub(crate) struct LogReader(Arc<File>);

impl LogReader {
    /// The JSON of a record.
    pub(crate) fn read(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut json = vec![0; place.len as usize];
        self.0.read_exact_at(&mut json, place.offset)?;
        Ok(json)
    }
}

/// Gives every whole record to `each`; returns where the last one ends.
pub(crate) fn scan(file: &File, path: &Path, each: &mut impl FnMut(&[u8], Place)) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let (mut line, mut start, mut end) = (Vec::new(), 0_u64, 0_u64);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(end);
        }
        if let Some(json) = whole(&line) {
            if end < start {
                tracing::warn!(file = %path.display(), from = end, to = start, "skipped damaged records");
            }
            let place = Place {
                offset: start + HEAD as u64,
                len: u32::try_from(json.len()).unwrap_or(u32::MAX),
            };
            each(json, place);
            end = start + length;
        }
        start += length;
    }
}

/// The JSON of a line that was written whole.
pub(super) fn whole(line: &[u8]) -> Option<&[u8]> {
    let json = line.get(HEAD..)?.strip_suffix(b"\n")?;
    let (digits, space) = line[..HEAD].split_at(HEAD - 1);
    let checksum = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (space == b" " && checksum == crc32fast::hash(json)).then_some(json)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn records(path: &Path) -> Vec<String> {
        let mut all = Vec::new();
        let log = Log::open(path, |json, place| {
            all.push((String::from_utf8(json.to_vec()).unwrap(), place));
        })
        .unwrap();
        for (json, place) in &all {
            assert_eq!(log.reader().read(*place).unwrap(), json.as_bytes());
        }
        all.into_iter().map(|(json, _)| json).collect()
    }

    #[test]
    fn a_log_cut_at_any_byte_keeps_every_whole_record_and_takes_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let mut log = Log::open(&path, |_, _| {}).unwrap();
        for record in ["one", "zwei ä", "three"] {
            log.add(&record).unwrap();
        }
        drop(log);
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count();
            assert_eq!(records(&path).len(), whole, "cut at {cut}");
            Log::open(&path, |_, _| {}).unwrap().add(&"new").unwrap();
            let after = records(&path);
            assert_eq!(
                (after.len(), after.last().unwrap().as_str()),
                (whole + 1, "\"new\""),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn a_damaged_record_does_not_take_the_later_ones_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let mut log = Log::open(&path, |_, _| {}).unwrap();
        let place = log.add(&"first").unwrap();
        log.add(&"second").unwrap();
        drop(log);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[usize::try_from(place.offset).unwrap() + 2] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(records(&path), ["\"second\""]);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_log_is_private_and_opened_once() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let _log = Log::open(&path, |_, _| {}).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(Log::open(&path, |_, _| {}), Err(LogError::InUse)));
    }
}

//! A slot holds at most one open worker for its tools and starts a new one when a call needs it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::host::Inner;
use crate::worker::Worker;

pub(crate) struct Slot {
    name: String,
    /// Tool names and the files of their modules.
    modules: Vec<(String, PathBuf)>,
    /// How many calls run at once.
    pub(crate) places: Semaphore,
    current: Mutex<Option<Arc<Worker>>>,
    /// Modules that loaded when the session did, but not in the current worker.
    failures: Mutex<HashMap<String, String>>,
    starting: tokio::sync::Mutex<()>,
}

impl Slot {
    pub(crate) fn new(name: &str, modules: Vec<(String, PathBuf)>, places: Semaphore) -> Self {
        Self {
            name: name.to_owned(),
            modules,
            places,
            current: Mutex::default(),
            failures: Mutex::default(),
            starting: tokio::sync::Mutex::new(()),
        }
    }

    fn open(&self) -> Option<Arc<Worker>> {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .filter(|worker| worker.is_open())
            .cloned()
    }

    pub(crate) fn load_failure(&self, tool: &str) -> Option<String> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() {
            None
        } else {
            failures.get(tool).cloned()
        }
    }

    /// The open worker, started now if there is none.
    pub(crate) async fn worker(self: &Arc<Self>, host: &Arc<Inner>) -> Result<Arc<Worker>, String> {
        if let Some(worker) = self.open() {
            return Ok(worker);
        }
        // In a task of its own: a caller that goes away must not take the start of the others along.
        let (slot, host) = (Arc::clone(self), Arc::clone(host));
        tokio::spawn(async move { slot.start(&host).await })
            .await
            .map_err(|_| "the host is shutting down".to_owned())?
    }

    async fn start(&self, host: &Inner) -> Result<Arc<Worker>, String> {
        let _one_at_a_time = self.starting.lock().await;
        if let Some(worker) = self.open() {
            return Ok(worker);
        }
        let worker = host.start_worker(&self.name)?;
        let mut failures = HashMap::new();
        for (name, path) in &self.modules {
            if let Err(reason) = host.load_one(&worker, name, path).await {
                failures.insert(name.clone(), reason);
            }
        }
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = failures;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&worker));
        Ok(worker)
    }

    /// Lets running calls end; the worker goes with the last one.
    pub(crate) fn retire(&self) {
        if let Some(worker) = self.current.lock().unwrap_or_else(PoisonError::into_inner).take() {
            worker.retire();
        }
    }
}

//! Processes: who descends from a daemon, and whether they are gone.
use std::fs;

use super::until;

/// The processes that descend from `pid`, with their start times, which tell a process from a later one
/// with its number.
pub(crate) fn descendants(pid: u32) -> Vec<(u32, String)> {
    let all: Vec<(u32, u32, String)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let (parent, start) = parent_and_start(pid)?;
            Some((pid, parent, start))
        })
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for (pid, _, start) in all.iter().filter(|(_, of, _)| *of == parent) {
            found.push((*pid, start.clone()));
            parents.push(*pid);
        }
    }
    found
}

/// Waits until every one of `processes` is gone.
pub(crate) fn until_gone(processes: &[(u32, String)]) {
    until(&format!("the end of the processes {processes:?}"), || {
        let left = processes
            .iter()
            .any(|(pid, start)| parent_and_start(*pid).is_some_and(|(_, now)| now == *start));
        (!left).then_some(())
    });
}

/// A process's parent and start time; `None` when it is gone or waits to be reaped.
fn parent_and_start(pid: u32) -> Option<(u32, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    (fields[0] != "Z").then(|| (fields[1].parse().unwrap_or(0), fields[19].to_owned()))
}

//! Permissions: whether a call is allowed, asked about or denied, and which rule says so.
//!
//! A call is a list of [`Access`]es: [`accesses_of`] lists those of a hosted tool and of `task`; the harness tools
//! list their own and hand them to the [`Gate`](crate::harness_tools::Gate). [`Permissions::check`] decides them.
//!
//! The rule, which does not depend on the order of lines: a rule that names the tool itself comes before one that
//! names its capability, that before one for `*`; among these the longest matching pattern wins (`*` is the
//! weakest), and of two equally long ones the stricter. Where no rule matches, a call is allowed, except that
//! `external_directory` and reading `.env` files ask. An earlier "always" turns ask into allow, never deny.
//!
//! A subagent is held to its own rules and to those of the agent that started it: the stricter of both.
//!
//! A shell command is decided part by part: allowed when each part is, denied when any is. What is only known when
//! it runs, and what cannot be read, is asked about as soon as a rule might restrict it.

mod access;
mod check;
mod hosted;
mod memory;
mod pattern;
mod rules;
pub(crate) mod shell;
#[cfg(test)]
mod tests;

pub use access::Access;
pub use beeuni_manifest::{PermissionAction as Action, PermissionRule};
pub use check::{Asked, Permissions, Scope, Verdict};
pub use hosted::accesses_of;
pub use memory::Remembered;
pub use rules::{Decision, Rules};

pub(crate) use hosted::address_access;
pub(crate) use pattern::Text;

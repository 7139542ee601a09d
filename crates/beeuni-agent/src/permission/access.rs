//! One thing that a call is going to do, as rules see it.

use super::pattern::{Fit, Pattern, Text};

/// One thing that a call is going to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// What rules may name: `bash`, `edit`, `external_directory`, …; a project tool's name.
    pub capability: String,
    /// The tool's name: a rule that names it comes before one that names the capability.
    pub tool: String,
    /// What it is about, as a person reads it: the command, the path, the address.
    pub subject: String,
    /// What a pattern may match: any of these. Each is a list of texts of which one will be true.
    pub(super) forms: Vec<Vec<Text>>,
    /// Which rules have a say.
    pub(super) reach: Reach,
    /// What "always" remembers.
    pub(super) always: Always,
    /// Why its forms do not say all of it.
    pub(super) doubt: Option<&'static str>,
}

/// Which rules have a say about an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All.
    All,
    /// Only those that restrict and begin with a plain character. For another way to write a command
    /// (`/bin/rm` as `rm`): a rule that forbids `rm` means it, a rule for `*` has spoken already.
    Named,
    /// Only those that restrict and have an operator of the shell in their pattern. For a whole command line whose
    /// parts are decided one by one.
    Operators,
}

/// What "always" remembers of an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Always {
    /// Whatever matches this pattern.
    Pattern(String),
    /// This very subject.
    Exact,
}

impl Access {
    /// An access of `tool` under `capability`. "Always" remembers `always`, a pattern.
    pub fn new(
        capability: impl Into<String>,
        tool: impl Into<String>,
        subject: impl Into<String>,
        always: impl Into<String>,
    ) -> Self {
        let subject = subject.into();
        Self {
            capability: capability.into(),
            tool: tool.into(),
            forms: vec![vec![Text::from(subject.as_str())]],
            subject,
            reach: Reach::All,
            always: Always::Pattern(always.into()),
            doubt: None,
        }
    }

    /// The same, known to patterns by any of several forms.
    pub(crate) fn with_forms(mut self, forms: impl IntoIterator<Item = Text>) -> Self {
        self.forms = forms.into_iter().map(|form| vec![form]).collect();
        self
    }

    /// The same, about one of several texts, which one is only known later.
    pub(crate) fn one_of(mut self, texts: Vec<Text>) -> Self {
        self.forms = vec![texts];
        self
    }

    /// The same, with a say for fewer rules.
    pub(crate) fn with_reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// The same; "always" remembers this very subject.
    pub(crate) fn exact(mut self) -> Self {
        self.always = Always::Exact;
        self
    }

    /// The same; "always" remembers `pattern`.
    pub(crate) fn remembering(mut self, pattern: String) -> Self {
        self.always = Always::Pattern(pattern);
        self
    }

    /// The same; it cannot be read, for this reason.
    pub(crate) fn doubtful(mut self, why: &'static str) -> Self {
        self.doubt = Some(why);
        self
    }

    /// What "always" remembers, for a person: a pattern, or the subject itself.
    pub fn always(&self) -> &str {
        match &self.always {
            Always::Pattern(pattern) => pattern,
            Always::Exact => &self.subject,
        }
    }

    /// How `pattern` fits the best of the forms.
    pub(super) fn fit(&self, pattern: &Pattern) -> Fit {
        let of_form = |texts: &Vec<Text>| {
            let mut fits = texts.iter().map(|text| pattern.fit(text));
            let first = fits.next().unwrap_or(Fit::No);
            if fits.all(|fit| fit == first) {
                first
            } else {
                Fit::Maybe
            }
        };
        self.forms.iter().map(of_form).max().unwrap_or(Fit::No)
    }
}

//! The table that `make bench` prints.

use std::io::Write;

/// The median; the figures are sorted by it.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<[String; 5]>,
    notes: Vec<String>,
}

impl Report {
    /// A figure whose ratio to the baseline should be at most `goal`.
    pub(crate) fn less(&mut self, what: &str, unit: &str, figure: f64, base: f64, goal: f64) {
        self.ratio(what, unit, figure, base, format!("≤ {goal:.2}"), figure / base <= goal);
    }

    /// A figure whose ratio to the baseline should be at least `goal`.
    pub(crate) fn more(&mut self, what: &str, unit: &str, figure: f64, base: f64, goal: f64) {
        self.ratio(what, unit, figure, base, format!("≥ {goal:.2}"), figure / base >= goal);
    }

    /// A figure beside its baseline, with no goal.
    pub(crate) fn compare(&mut self, what: &str, unit: &str, figure: f64, base: f64) {
        let ratio = format!("{:.2}", figure / base);
        self.rows.push([
            what.to_owned(),
            with_unit(figure, unit),
            with_unit(base, unit),
            ratio,
            String::new(),
        ]);
    }

    /// A figure with a fixed limit.
    pub(crate) fn at_most(&mut self, what: &str, unit: &str, figure: f64, limit: f64) {
        let goal = format!("≤ {limit} {unit}  {}", verdict(figure <= limit));
        self.rows.push([
            what.to_owned(),
            with_unit(figure, unit),
            String::new(),
            String::new(),
            goal,
        ]);
    }

    /// A figure with a fixed limit, beside a baseline that says how fast or small the machine is.
    pub(crate) fn beside(&mut self, what: &str, unit: &str, figure: f64, base: f64, limit: f64) {
        let goal = format!("≤ {limit} {unit}  {}", verdict(figure <= limit));
        self.rows.push([
            what.to_owned(),
            with_unit(figure, unit),
            with_unit(base, unit),
            format!("{:.2}", figure / base),
            goal,
        ]);
    }

    fn ratio(&mut self, what: &str, unit: &str, figure: f64, base: f64, goal: String, reached: bool) {
        let ratio = format!("{:.2}", figure / base);
        let goal = format!("{goal}  {}", verdict(reached));
        self.rows.push([
            what.to_owned(),
            with_unit(figure, unit),
            with_unit(base, unit),
            ratio,
            goal,
        ]);
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    pub(crate) fn print(&self) {
        let mut out = anstream::stdout().lock();
        let head = ["", "Beeuni", "baseline", "ratio", "goal"].map(str::to_owned);
        let rows = || std::iter::once(&head).chain(&self.rows);
        let width = |column: usize| rows().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..5).map(width).collect();
        for row in rows() {
            let mut line = format!("{:<1$}", row[0], widths[0]);
            for column in 1..4 {
                line.push_str(&format!("  {:>1$}", row[column], widths[column]));
            }
            line.push_str(&format!("  {}", row[4]));
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let _ = writeln!(
            out,
            "\nBaselines: a bare Bun.serve running the same module in its own process, for calls, starts and memory; for turns,\n\
             the same requests to the same model server without a harness; for commands, `bun -e 0`."
        );
        for note in &self.notes {
            let _ = writeln!(out, "Also: {note}.");
        }
    }
}

fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "not reached" }
}

fn with_unit(figure: f64, unit: &str) -> String {
    match figure {
        f if f >= 1000.0 => format!("{f:.0} {unit}"),
        f if f >= 10.0 => format!("{f:.1} {unit}"),
        f => format!("{f:.2} {unit}"),
    }
}

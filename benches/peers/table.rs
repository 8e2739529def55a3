//! What is printed.

use std::fmt::{self, Write as _};

use crate::contest::{Mode, Outcome, Times};

/// The outcomes at one size.
pub(crate) struct Table {
    pub(crate) n: u64,
    pub(crate) outcomes: Vec<Outcome>,
    /// Seconds of the serial and the parallel build.
    pub(crate) parallel: Option<[Vec<f64>; 2]>,
}

/// Which figure of a contestant is meant.
#[derive(Clone, Copy)]
pub(crate) enum Figure {
    Insert,
    Hit,
    Miss,
    Mix,
}

impl Figure {
    fn times(self, outcome: &Outcome) -> &Times {
        match self {
            Self::Insert => &outcome.insert,
            Self::Hit => &outcome.asked[0],
            Self::Miss => &outcome.asked[1],
            Self::Mix => &outcome.asked[2],
        }
    }
}

impl Table {
    pub(crate) const fn new(n: u64) -> Self {
        Self { n, outcomes: Vec::new(), parallel: None }
    }

    pub(crate) fn add(&mut self, outcomes: Vec<Outcome>) {
        self.outcomes.extend(outcomes);
    }

    /// The better median of one by one and batched.
    pub(crate) fn best(&self, name: &str, figure: Figure) -> f64 {
        let of_name = self.outcomes.iter().filter(|outcome| outcome.name == name);
        of_name.map(|outcome| figure.times(outcome).quantile(0.5)).fold(f64::NAN, f64::min)
    }

    /// The median in one mode.
    pub(crate) fn median(&self, name: &str, mode: Mode, figure: Figure) -> f64 {
        let found = self.outcomes.iter().find(|o| o.name == name && o.mode == mode);
        found.map_or(f64::NAN, |outcome| figure.times(outcome).quantile(0.5))
    }

    fn find(&self, name: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.name == name)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {} keys: ns per operation, 5th percentile / median\n", count(self.n))?;
        writeln!(
            f,
            "| filter | use | bits per key | rate | insert | hit | miss | mix | miss / floor |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|")?;
        let floor = |lines: u32| {
            let name = format!("floor of {lines} line{}", if lines == 1 { "" } else { "s" });
            self.best(&name, Figure::Miss)
        };
        for outcome in &self.outcomes {
            let mode = if outcome.mode == Mode::Single { "one by one" } else { "batch" };
            let rate = outcome.rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.3e}"));
            write!(f, "| {} | {mode} | {:.2} | {rate} |", outcome.name, outcome.bits_per_key)?;
            for figure in [Figure::Insert, Figure::Hit, Figure::Miss, Figure::Mix] {
                let times = figure.times(outcome);
                write!(f, " {:.1} / {:.1} |", times.quantile(0.05), times.quantile(0.5))?;
            }
            let lines = if outcome.name.contains("Cuckoo") { 2 } else { 1 };
            writeln!(f, " {:.2} |", Figure::Miss.times(outcome).quantile(0.5) / floor(lines))?;
        }
        if let Some([serial, parallel]) = &self.parallel {
            writeln!(
                f,
                "\nBlocked filter of all keys: {:.2} s by one thread, {:.2} s by two.",
                middle(serial),
                middle(parallel)
            )?;
        }
        if let Some(cuckoo) = self.find(CUCKOO) {
            let part = |from, to| cuckoo.insert.part(from, to).quantile(0.5);
            writeln!(
                f,
                "\nCuckoo inserts one by one, median: {:.1} ns, {:.1} at 85 to 94 % of the slots; the \
                 slowest burst in a thousand {:.1} ns an insert.",
                cuckoo.insert.quantile(0.5),
                part(0.85 / 0.95, 0.94 / 0.95),
                cuckoo.insert.quantile(0.999),
            )?;
        }
        Ok(())
    }
}

const BLOCKED: &str = "BlockedBloomFilter";
const BLOOM: &str = "BloomFilter";
const CUCKOO: &str = "CuckooFilter, 16 bits";
const SBBF: &str = "sbbf-rs-safe, ready hash";
const FASTBLOOM: &str = "fastbloom, ready hash";

/// The ratios we hold ourselves to, each as found, met or not.
pub(crate) fn goals(tables: &[Table]) -> String {
    use Figure::{Hit, Insert, Miss, Mix};
    let mut out = String::from(
        "### Goals: ratio of medians, the better of one by one and batch\n\n\
         | what | keys | against | goal | found |\n|---|---|---|---|---|\n",
    );
    let mut row = |table: &Table, what: &str, against: &str, goal: f64, found: f64| {
        let verdict = if found <= goal { "" } else { " **missed**" };
        let n = count(table.n);
        let _ = writeln!(out, "| {what} | {n} | {against} | {goal:.2} | {found:.2}{verdict} |");
    };
    for table in tables {
        let n = table.n;
        let ratio = |ours: &str, figure, theirs: &str| {
            table.best(ours, figure) / table.best(theirs, figure)
        };
        let goal = match n {
            ..5_000_000 => 1.05,
            5_000_000..50_000_000 => 0.6,
            _ => 0.4,
        };
        for (what, figure) in [("miss", Miss), ("hit", Hit), ("mix", Mix)] {
            row(table, &format!("blocked, {what}"), SBBF, goal, ratio(BLOCKED, figure, SBBF));
        }
        if n >= 5_000_000 {
            let goal = if n < 50_000_000 { 0.6 } else { 0.5 };
            row(table, "blocked, insert", SBBF, goal, ratio(BLOCKED, Insert, SBBF));
        }
        if n >= 500_000 {
            for kind in ["u64", "24 bytes"] {
                let ours = format!("{BLOCKED}, {kind}");
                for (hasher, small, large) in
                    [("SipHash", [0.4, 0.25], [0.15; 2]), ("foldhash", [0.7, 0.4], [0.25; 2])]
                {
                    let theirs = format!("fastbloom, {hasher}, {kind}");
                    let goals = if n < 5_000_000 { small } else { large };
                    for ((what, figure), goal) in
                        [("hit", Hit), ("miss", Miss)].into_iter().zip(goals)
                    {
                        let what = format!("blocked of {kind}, {what}");
                        row(table, &what, &theirs, goal, ratio(&ours, figure, &theirs));
                    }
                }
            }
        }
        if (500_000..5_000_000).contains(&n) {
            for (what, figure, goal) in [("hit", Hit, 1.0), ("miss", Miss, 0.7)] {
                let single = table.median(BLOOM, Mode::Single, figure);
                let what = format!("Bloom one by one, {what}");
                row(table, &what, FASTBLOOM, goal, single / table.best(FASTBLOOM, figure));
            }
        }
        if n >= 50_000_000 {
            for (what, figure) in [("hit", Hit), ("miss", Miss)] {
                let batch = table.median(BLOOM, Mode::Batch, figure);
                let what = format!("Bloom in batches, {what}");
                row(table, &what, FASTBLOOM, 0.5, batch / table.best(FASTBLOOM, figure));
            }
            let floor = "floor of 2 lines";
            let batch = table.median(CUCKOO, Mode::Batch, Miss);
            row(table, "cuckoo in batches, miss", floor, 1.5, batch / table.best(floor, Miss));
        }
        if (5_000_000..50_000_000).contains(&n)
            && let Some(cuckoo) = table.find(CUCKOO)
        {
            let late = cuckoo.insert.part(0.85 / 0.95, 0.94 / 0.95).quantile(0.5);
            let found = late / cuckoo.insert.quantile(0.5);
            row(table, "cuckoo inserts at 85 to 94 % of the slots", "their own median", 4.0, found);
        }
        if let Some([serial, parallel]) = &table.parallel {
            let found = middle(parallel) / middle(serial);
            row(table, "parallel build on 2 threads", "serial, in batches", 0.6, found);
        }
        let floor = "floor of 1 line";
        let batch = table.median(BLOCKED, Mode::Batch, Miss);
        row(table, "blocked in batches, miss", floor, 1.5, batch / table.best(floor, Miss));
    }
    out
}

fn middle(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A round number of keys in words.
pub(crate) fn count(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{} million", n / 1_000_000),
        n if n.is_multiple_of(1_000) => format!("{} thousand", n / 1_000),
        n => n.to_string(),
    }
}

/// The processor, its caches and the kernel's way with huge pages.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(':').nth(1)).map_or("unknown", str::trim).to_owned()
    };
    let cache = |level: u32| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size"));
    format!(
        "{} (family {}, model {}), {} processors, L2 {}, L3 {}, huge pages {}",
        field("model name"),
        field("cpu family"),
        field("model\t"),
        std::thread::available_parallelism().map_or(1, usize::from),
        cache(2).trim(),
        cache(3).trim(),
        read("/sys/kernel/mm/transparent_hugepage/enabled").trim(),
    )
}

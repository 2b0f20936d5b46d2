//! The tables that are printed.

use peers::median;

use crate::cell::{Phase, Report};
use crate::engines::{Engine, K};

/// What an engine did with this much memory and this many threads.
pub struct Row {
    pub times: f64,
    pub engine: Engine,
    pub bytes: u64,
    pub memory: u64,
    pub threads: usize,
    /// `None` if the process was ended because no memory was left.
    pub report: Option<Report>,
}

/// What the device allows.
pub struct Limits {
    /// Pages that a query of fpdb reads if none is in memory.
    pub reads: f64,
    /// Microseconds for as many random reads at once.
    pub together: Vec<f64>,
    /// Reads at once, and reads per second.
    pub per_second: [(usize, Vec<f64>); 3],
}

impl Limits {
    pub fn new(reads: f64) -> Self {
        let per_second = [1, 12, 64].map(|at_once| (at_once, Vec::new()));
        Self { reads, together: Vec::new(), per_second }
    }
}

fn show(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

pub fn print(n: u32, rows: &[Row], limits: &Limits) {
    println!("{n} uniform fingerprints, k = {K}\n");
    print!(
        "| files / memory | memory MiB | engine | threads | open ms | cold p50, p99 us | per s "
    );
    println!("| reads | warm p50, p99 us | per s | reads | process, cache / files |");
    println!(
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for row in rows {
        print!("| {} | {} | {} ", row.times, row.memory >> 20, row.engine.name());
        let Some(report) = &row.report else {
            println!("| {} | out of memory | | | | | | | |", row.threads);
            continue;
        };
        print!("| {} | {} ", row.threads, show(report.open_ms));
        for Phase { p50, p99, per_second, reads } in [&report.cold].into_iter().chain(&report.warm)
        {
            let [p50, p99, per_second, reads] = [p50, p99, per_second, reads].map(|&v| show(v));
            print!("| {p50}, {p99} | {per_second} | {reads} ");
        }
        let [process, cache] =
            [report.process, report.cache].map(|bytes| bytes as f64 / row.bytes as f64);
        println!("| {process:.2}, {cache:.2} |");
    }
    println!();
    for (at_once, per_second) in &limits.per_second {
        println!("random reads, {at_once} at once: {} per second", show(median(per_second)));
    }
    println!("a query of fpdb reads {:.1} pages if none is in memory", limits.reads);
    let together = show(median(&limits.together));
    println!("{:.0} random reads at once: {together} us", limits.reads.round());
    print_bounds(rows, limits);
}

/// Compares fpdb with what the device allows.
fn print_bounds(rows: &[Row], limits: &Limits) {
    let most = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let together = median(&limits.together);
    let [.., (_, at_most)] = &limits.per_second;
    println!(
        "\n| files / memory | cold p50 / reads at once | warm p50 / reads at once | queries of {most} threads / what the reads of the device allow, cold, warm |"
    );
    println!("| ---: | ---: | ---: | ---: |");
    let phases = |row: &Row| Some((row.report.as_ref()?.cold.clone(), row.report.clone()?.warm?));
    let mut rows = rows.iter().filter(|row| row.engine == Engine::Fpdb);
    while let Some((one, all)) = rows.next().zip(rows.next()) {
        let Some(((cold, warm), (all_cold, all_warm))) = phases(one).zip(phases(all)) else {
            continue;
        };
        let share = |phase: Phase| phase.per_second * phase.reads / median(at_most);
        println!(
            "| {} | {:.2} | {:.2} | {:.2}, {:.2} |",
            one.times,
            cold.p50 / together,
            warm.p50 / together,
            share(all_cold),
            share(all_warm)
        );
    }
}

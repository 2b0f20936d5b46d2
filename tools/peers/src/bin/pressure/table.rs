//! The table that is printed.

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

fn show(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

pub fn print(n: u32, rows: &[Row]) {
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
        for Phase { p50, p99, per_second, reads } in [&report.cold, &report.warm] {
            let [p50, p99, per_second, reads] = [p50, p99, per_second, reads].map(|&v| show(v));
            print!("| {p50}, {p99} | {per_second} | {reads} ");
        }
        let [process, cache] =
            [report.process, report.cache].map(|bytes| bytes as f64 / row.bytes as f64);
        println!("| {process:.2}, {cache:.2} |");
    }
}

//! The tables that are printed.

use crate::cell::Report;

/// The reports of an engine with this much memory, with each number of threads.
pub struct Row {
    times: f64,
    engine: String,
    bytes: u64,
    memory: u64,
    reports: Vec<(usize, Vec<Report>)>,
    /// Processes that were ended because no memory was left.
    ended: usize,
}

/// What the device allows.
pub struct Limits {
    /// Pages that a query of fpdb reads if none is in memory.
    pub reads: Vec<f64>,
    /// Microseconds for as many random reads at once.
    pub together: Vec<f64>,
    /// Reads at once, and reads per second as this program and as fio counts them.
    pub per_second: [(usize, Vec<f64>, Vec<f64>); 3],
}

impl Default for Limits {
    fn default() -> Self {
        let per_second = [1, 12, 64].map(|at_once| (at_once, Vec::new(), Vec::new()));
        Self { reads: Vec::new(), together: Vec::new(), per_second }
    }
}

impl Row {
    /// Returns the row of an engine and a share of memory, which is new if there is none.
    pub fn of<'a>(
        rows: &'a mut Vec<Self>,
        times: f64,
        engine: &str,
        bytes: u64,
        memory: u64,
    ) -> &'a mut Self {
        let same = |row: &Self| row.times == times && row.engine == engine;
        let index = rows.iter().position(same).unwrap_or_else(|| {
            let (engine, reports) = (engine.to_owned(), Vec::new());
            rows.push(Self { times, engine, bytes, memory, reports, ended: 0 });
            rows.len() - 1
        });
        &mut rows[index]
    }

    pub fn add(&mut self, threads: usize, report: Option<Report>) {
        let Some(report) = report else {
            self.ended += 1;
            return;
        };
        match self.reports.iter_mut().find(|(of, _)| *of == threads) {
            Some((_, reports)) => reports.push(report),
            None => self.reports.push((threads, vec![report])),
        }
    }

    /// Returns the median of a figure over the rounds.
    fn median(&self, threads: usize, figure: impl Fn(&Report) -> Option<f64>) -> Option<f64> {
        let (_, reports) = self.reports.iter().find(|(of, _)| *of == threads)?;
        median(&reports.iter().filter_map(figure).collect::<Vec<_>>())
    }
}

/// Returns the median; of two values the greater.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn show(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| match value {
        ..10.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    })
}

pub fn print(n: usize, rows: &[Row], threads: &[usize], limits: &Limits) {
    println!("{n} uniform fingerprints, k = {}\n", crate::engines::K);
    print!(
        "| files / memory | memory MiB | engine | threads | open ms | cold p50, p99 us | per s "
    );
    println!("| reads | warm p50, p99 us | per s | reads | process, cache / files |");
    println!(
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for row in rows {
        for &threads in threads {
            let get = |figure: &dyn Fn(&Report) -> Option<f64>| row.median(threads, figure);
            let of_files = |bytes: u64| bytes as f64 / row.bytes as f64;
            let share = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
            print!("| {} | {} ", row.times, row.memory >> 20);
            print!("| {} | {threads} | {} ", row.engine, show(get(&|report| Some(report.open_ms))));
            for phase in [|r: &Report| Some(r.cold.clone()), |r: &Report| r.warm.clone()] {
                print!(
                    "| {}, {} | {} | {} ",
                    show(get(&|report| Some(phase(report)?.p50))),
                    show(get(&|report| Some(phase(report)?.p99))),
                    show(get(&|report| Some(phase(report)?.per_second))),
                    show(get(&|report| Some(phase(report)?.reads))),
                );
            }
            println!(
                "| {}, {} |",
                share(get(&|report| Some(of_files(report.process)))),
                share(get(&|report| Some(of_files(report.cache)))),
            );
        }
    }
    println!();
    for row in rows.iter().filter(|row| row.ended > 0) {
        let Row { ended, engine, times, .. } = row;
        println!("out of memory: {ended} processes of {engine} at {times}");
    }
    for (at_once, ours, fio) in &limits.per_second {
        let (ours, fio) = (show(median(ours)), show(median(fio)));
        println!("random reads, {at_once} at once: {ours} per second; fio: {fio}");
    }
    if let Some(reads) = median(&limits.reads) {
        let together = show(median(&limits.together));
        println!("a query of fpdb reads {reads:.1} pages if none is in memory");
        println!("{:.0} random reads at once: {together} us", reads.round());
        print_bounds(rows, threads, limits);
    }
}

/// Compares fpdb with what the device allows.
fn print_bounds(rows: &[Row], threads: &[usize], limits: &Limits) {
    let most = threads.iter().copied().max().unwrap_or(1);
    let together = median(&limits.together);
    let [.., (_, at_most, _)] = &limits.per_second;
    println!(
        "\n| files / memory | cold p50 / reads at once | warm p50 / reads at once | queries of {most} threads / what the reads of the device allow, cold, warm |"
    );
    println!("| ---: | ---: | ---: | ---: |");
    for row in rows.iter().filter(|row| row.engine == "fpdb") {
        let ratio = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => format!("{:.2}", a / b),
            _ => "-".to_owned(),
        };
        let share = |report: &Report, warm: bool| {
            let phase = if warm { report.warm.as_ref()? } else { &report.cold };
            Some(phase.per_second * phase.reads)
        };
        println!(
            "| {} | {} | {} | {}, {} |",
            row.times,
            ratio(row.median(1, |report| Some(report.cold.p50)), together),
            ratio(row.median(1, |report| Some(report.warm.as_ref()?.p50)), together),
            ratio(row.median(most, |report| share(report, false)), median(at_most)),
            ratio(row.median(most, |report| share(report, true)), median(at_most)),
        );
    }
}

//! What the server says about itself: `INFO`, and figures for Prometheus.

use std::fmt::{Display, Write};

use fpdb::{Fingerprint, MatchRule, Stats};

use crate::commands::service::{Service, Shared};
use crate::metrics::{Histogram, Metrics};
use crate::process::Process;

/// What a database says about itself, whatever the width of its fingerprints.
pub(crate) struct Figures {
    stats: Stats,
    rule: MatchRule,
    compact_space: u64,
}

impl Figures {
    pub(crate) fn of<F: Fingerprint>(service: &Service<F>) -> Self {
        let db = &service.db;
        let (stats, rule) = (db.stats(), db.description().rule);
        Self { stats, rule, compact_space: db.compact_space() }
    }
}

/// Names that stand for all sections.
const EVERYTHING: [&[u8]; 3] = [b"default", b"all", b"everything"];

/// The rows of a section: their names and values.
type Rows<'a> = &'a [(&'a str, &'a dyn Display)];

/// Returns the reply to `INFO`: the sections with these names, or all of them if none is given.
pub(crate) fn info(shared: &Shared, database: &Figures, names: &[&[u8]]) -> String {
    let metrics = &shared.metrics;
    let stats = &database.stats;
    let is_asked_for = |title: &str| {
        let is_meant = |name: &&[u8]| {
            EVERYTHING.iter().any(|all| name.eq_ignore_ascii_case(all))
                || name.eq_ignore_ascii_case(title.as_bytes())
        };
        names.is_empty() || names.iter().any(is_meant)
    };
    let process = Process::now();
    let memory: [(&str, &dyn Display); 2] = [
        ("used_memory", &process.map_or(0, |process| process.allocated)),
        ("used_memory_rss", &process.map_or(0, |process| process.resident)),
    ];
    let sections: [(&str, Rows<'_>); 5] = [
        (
            "Server",
            &[
                ("fpdb_version", &env!("CARGO_PKG_VERSION")),
                ("redis_mode", &"standalone"),
                ("process_id", &std::process::id()),
                ("tcp_port", &shared.address.tcp().map_or(0, |address| address.port())),
                ("uptime_in_seconds", &metrics.started.elapsed().as_secs()),
            ],
        ),
        (
            "Clients",
            &[
                ("connected_clients", &shared.clients.len()),
                ("maxclients", &shared.max_connections),
            ],
        ),
        ("Memory", if process.is_some() { &memory } else { &[] }),
        (
            "Stats",
            &[
                ("total_connections_received", &metrics.connections.get()),
                ("rejected_connections", &metrics.connections_refused.get()),
                ("total_commands_processed", &calls(metrics)),
                ("total_error_replies", &errors(metrics)),
                ("total_net_input_bytes", &metrics.bytes_received.get()),
                ("total_net_output_bytes", &metrics.bytes_sent.get()),
            ],
        ),
        (
            "Database",
            &[
                ("bits", &stats.bits),
                ("match_rule", &database.rule),
                ("entries", &stats.entries),
                ("documents", &stats.documents),
                ("segments", &stats.segments.len()),
                ("bytes", &stats.bytes_total),
                ("compaction_bytes", &database.compact_space),
                ("refused_writes", &metrics.refused_for_space.get()),
                ("write_error", &stats.write_error.as_deref().unwrap_or("none")),
                ("background_error", &stats.background_error.as_deref().unwrap_or("none")),
            ],
        ),
    ];
    let mut text = String::new();
    for (title, rows) in sections.into_iter().filter(|(title, _)| is_asked_for(title)) {
        section(&mut text, title, rows);
    }
    text
}

fn section(text: &mut String, title: &str, rows: Rows<'_>) {
    // Sections are separated by empty lines.
    if !text.is_empty() {
        *text += "\r\n";
    }
    let _ = write!(text, "# {title}\r\n");
    for (name, value) in rows {
        let _ = write!(text, "{name}:{value}\r\n");
    }
}

fn calls(metrics: &Metrics) -> u64 {
    metrics.commands().map(|(_, counted)| counted.calls.get()).sum::<u64>() + metrics.unknown.get()
}

fn errors(metrics: &Metrics) -> u64 {
    metrics.commands().map(|(_, counted)| counted.errors.get()).sum::<u64>() + metrics.unknown.get()
}

/// Returns all figures in the text format of Prometheus.
pub(crate) fn prometheus(shared: &Shared, database: &Figures) -> String {
    let metrics = &shared.metrics;
    let stats = &database.stats;
    let mut text = String::new();
    let mut commands = String::new();
    let mut failures = String::new();
    for (name, counted) in metrics.commands() {
        let (calls, errors) = (counted.calls.get(), counted.errors.get());
        let _ = writeln!(commands, "fpdb_commands_total{{command=\"{name}\"}} {calls}");
        let _ = writeln!(failures, "fpdb_command_errors_total{{command=\"{name}\"}} {errors}");
    }
    family(&mut text, "fpdb_commands_total", "counter", "Commands by name.", &commands);
    family(
        &mut text,
        "fpdb_command_errors_total",
        "counter",
        "Error replies by command.",
        &failures,
    );
    let single: [(&str, &str, &str, u64); 18] = [
        (
            "unknown_commands_total",
            "counter",
            "Commands with an unknown name.",
            metrics.unknown.get(),
        ),
        ("connections", "gauge", "Open connections.", shared.clients.len() as u64),
        ("connections_total", "counter", "Accepted connections.", metrics.connections.get()),
        (
            "connections_refused_total",
            "counter",
            "Connections refused because too many were open.",
            metrics.connections_refused.get(),
        ),
        ("received_bytes_total", "counter", "Bytes of requests.", metrics.bytes_received.get()),
        ("sent_bytes_total", "counter", "Bytes of replies.", metrics.bytes_sent.get()),
        ("uptime_seconds", "gauge", "Time since the start.", metrics.started.elapsed().as_secs()),
        ("entries", "gauge", "Entries in the database.", stats.entries),
        ("documents", "gauge", "Documents in the database, with duplicates.", stats.documents),
        ("segments", "gauge", "Segments on disk.", stats.segments.len() as u64),
        ("disk_bytes", "gauge", "Size of all files.", stats.bytes_total),
        (
            "compaction_bytes",
            "gauge",
            "The most free disk space that a full compaction takes.",
            database.compact_space,
        ),
        ("memtable_bytes", "gauge", "Memory for recent changes.", stats.memtable_bytes as u64),
        (
            "wrong_passwords_total",
            "counter",
            "Attempts with a wrong user or password.",
            metrics.wrong_passwords.get(),
        ),
        (
            "refused_passwords_total",
            "counter",
            "Passwords refused without a look at them, after too many wrong ones.",
            metrics.refused_passwords.get(),
        ),
        (
            "refused_writes_total",
            "counter",
            "Commands refused because the disk is nearly full, each once.",
            metrics.refused_for_space.get(),
        ),
        (
            "write_failure",
            "gauge",
            "Whether the database takes no more writes until the server is started again.",
            stats.write_error.is_some().into(),
        ),
        (
            "background_failure",
            "gauge",
            "Whether flush or compaction fails.",
            stats.background_error.is_some().into(),
        ),
    ];
    for (name, kind, help, value) in single {
        let name = format!("fpdb_{name}");
        family(&mut text, &name, kind, help, &format!("{name} {value}\n"));
    }
    if let Some(process) = Process::now() {
        let gauge = |text: &mut String, name: &str, help: &str, value: u64| {
            family(text, name, "gauge", help, &format!("{name} {value}\n"));
        };
        let help = "Memory of the process, with the pages of files that are mapped.";
        gauge(&mut text, "process_resident_memory_bytes", help, process.resident);
        gauge(&mut text, "process_open_fds", "Open files, with connections.", process.open_files);
    }
    let stalled = format!("fpdb_stalled_seconds_total {}\n", stats.stalled.as_secs_f64());
    let help = "Time that writes have waited for flush and compaction.";
    family(&mut text, "fpdb_stalled_seconds_total", "counter", help, &stalled);
    let histograms: String = metrics
        .commands()
        .filter(|(_, counted)| counted.took.count() > 0)
        .map(|(name, counted)| histogram(name, &counted.took))
        .collect();
    let help = "Time to execute a command, for writes with the sync.";
    family(&mut text, "fpdb_command_seconds", "histogram", help, &histograms);
    text
}

/// Writes the samples of a metric after its description.
fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: &str) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
}

fn histogram(command: &str, took: &Histogram) -> String {
    let mut text = String::new();
    let label = format!("command=\"{command}\"");
    for (bound, count) in took.buckets() {
        let _ = writeln!(text, "fpdb_command_seconds_bucket{{{label},le=\"{bound}\"}} {count}");
    }
    let (count, seconds) = (took.count(), took.seconds());
    let _ = writeln!(text, "fpdb_command_seconds_bucket{{{label},le=\"+Inf\"}} {count}");
    let _ = writeln!(text, "fpdb_command_seconds_sum{{{label}}} {seconds}");
    let _ = writeln!(text, "fpdb_command_seconds_count{{{label}}} {count}");
    text
}

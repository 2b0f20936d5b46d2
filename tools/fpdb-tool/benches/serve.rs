//! How many synced `FP.ADDNX` per second `serve` answers, and how long they take, next to `SET` of
//! a Redis server that syncs every write.
//!
//! `cargo bench -p fpdb-tool --bench serve [-- --seconds N]`. The numbers of each line are of one
//! run: both servers take turns, five times, and the medians follow. The last column is the
//! processor time of the server per command, on Linux. It depends less on what else the machine
//! does.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// How often each measurement is repeated.
const ROUNDS: usize = 5;

/// What to measure.
#[derive(Debug, Clone, Copy)]
struct Load {
    connections: u64,
    /// Commands that a client sends before it reads their replies.
    pipelined: u64,
    duration: Duration,
}

/// A server, and the command to send to it.
struct Target {
    name: &'static str,
    command: &'static str,
    server: Child,
    port: u16,
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn main() {
    let is_test = std::env::args().any(|arg| arg == "--test");
    let seconds = std::env::args().skip_while(|arg| arg != "--seconds").nth(1);
    let seconds = seconds.map_or(5, |seconds| seconds.parse().expect("a number"));
    let connections = if is_test { 4 } else { 50 };
    let duration = if is_test { Duration::from_millis(50) } else { Duration::from_secs(seconds) };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let targets: Vec<Target> = [Some(start_fpdb(folder.path())), start_redis(folder.path())]
        .into_iter()
        .flatten()
        .collect();
    println!(
        "{:12} {:>10} {:>12} {:>9} {:>9} {:>9} {:>9}",
        "server", "pipelined", "commands/s", "p50 ms", "p99 ms", "max ms", "cpu us"
    );
    let runs = [1, 20].into_iter().flat_map(|pipelined| {
        targets.iter().map(move |target| (target, Load { connections, pipelined, duration }))
    });
    let mut runs: Vec<_> = runs.map(|(target, load)| (target, load, Vec::new())).collect();
    let mut seed = 0;
    for _ in 0..if is_test { 1 } else { ROUNDS } {
        for (target, load, figures) in &mut runs {
            seed += 1;
            let measured = measure(target, *load, seed);
            print(target, *load, &measured);
            figures.push(measured);
        }
    }
    println!("medians");
    for (target, load, figures) in &mut runs {
        print(target, *load, &medians(figures));
    }
}

/// What a run showed: the columns of the table.
type Figures = [f64; 5];

fn print(target: &Target, load: Load, [rate, p50, p99, max, cpu]: &Figures) {
    println!(
        "{:12} {:>10} {rate:>12.0} {p50:>9.2} {p99:>9.2} {max:>9.2} {cpu:>9.2}",
        target.name, load.pipelined,
    );
}

/// Returns the median of each column.
fn medians(runs: &[Figures]) -> Figures {
    std::array::from_fn(|column| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[column]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

/// Starts the tool as a server.
fn start_fpdb(folder: &Path) -> Target {
    let tool = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fpdb-tool"));
        command.current_dir(folder);
        command
    };
    let created = tool().args(["create", "fpdb", "--ids", "unique", "-q"]).status();
    assert!(created.expect("the tool starts").success());
    let serve = ["serve", "fpdb", "--listen", "127.0.0.1:0", "--json", "-q"];
    let mut command = tool();
    // Without the log.
    command.args(serve).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().expect("the tool starts");
    let mut line = String::new();
    let out = server.stdout.as_mut().expect("a pipe");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let ready: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let address = ready["address"].as_str().expect("an address");
    let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    Target { name: "fpdb", command: "FP.ADDNX", server, port }
}

/// Starts a Redis server that syncs every write, if there is one.
fn start_redis(folder: &Path) -> Option<Target> {
    // The system chooses a free port.
    let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let mut command = Command::new("redis-server");
    command.arg("--dir").arg(folder).args(["--port", &port.to_string(), "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always"]).stdout(Stdio::null());
    let Ok(server) = command.spawn() else {
        println!("redis-server is not installed, so there is nothing to compare with");
        return None;
    };
    let target = Target { name: "redis", command: "SET", server, port };
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(target)
}

fn measure(target: &Target, load: Load, seed: u64) -> Figures {
    let end = AtomicBool::new(false);
    let (start, cpu) = (Instant::now(), cpu_time(target.server.id()));
    let times = std::thread::scope(|scope| {
        let end = &end;
        let clients = (0..load.connections)
            .map(|client| scope.spawn(move || drive(target, load, (seed << 16) + client, end)));
        let clients: Vec<_> = clients.collect();
        std::thread::sleep(load.duration);
        end.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().expect("a client")).reduce(
            |mut all, times| {
                all.add(times).expect("histograms of one kind");
                all
            },
        )
    });
    let times = times.expect("a client");
    let seconds = start.elapsed().as_secs_f64();
    let commands = (times.len() * load.pipelined) as f64;
    let cpu = cpu_time(target.server.id()) - cpu;
    let milliseconds = |micros: u64| micros as f64 / 1e3;
    [
        commands / seconds,
        milliseconds(times.value_at_quantile(0.5)),
        milliseconds(times.value_at_quantile(0.99)),
        milliseconds(times.max()),
        cpu * 1e6 / commands,
    ]
}

/// Returns the processor time of a process in seconds; 0 if the system does not say.
fn cpu_time(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name may contain spaces. After it come the state and other fields.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    // Linux counts 100 ticks per second.
    ticks.sum::<f64>() / 100.0
}

/// Sends commands until the end. Returns the times from sending a pipeline to its last reply, in
/// microseconds.
fn drive(target: &Target, load: Load, seed: u64, end: &AtomicBool) -> Histogram<u64> {
    let mut stream = TcpStream::connect(("127.0.0.1", target.port)).expect("a connection");
    stream.set_nodelay(true).expect("an option");
    let mut replies = BufReader::new(stream.try_clone().expect("a copy"));
    let mut times = Histogram::new_with_max(60_000_000, 3).expect("a histogram");
    let mut state = seed << 32;
    let mut requests = Vec::new();
    while !end.load(Ordering::Relaxed) {
        requests.clear();
        for _ in 0..load.pipelined {
            let key = format!("{:020}", state);
            let fingerprint = format!("0x{:016x}", random(&mut state));
            let (name, len) = (target.command, target.command.len());
            write!(requests, "*3\r\n${len}\r\n{name}\r\n$20\r\n{key}\r\n$18\r\n{fingerprint}\r\n")
                .expect("memory takes everything");
        }
        let start = Instant::now();
        stream.write_all(&requests).expect("the server reads");
        for _ in 0..load.pipelined {
            skip_reply(&mut replies);
        }
        times.saturating_record(u64::try_from(start.elapsed().as_micros()).expect("a short time"));
    }
    times
}

/// Reads a reply, which must not be an error.
fn skip_reply(replies: &mut impl BufRead) {
    let mut line = Vec::new();
    replies.read_until(b'\n', &mut line).expect("a reply");
    let count = || std::str::from_utf8(&line[1..]).expect("a count").trim_end().parse::<usize>();
    match line.first().expect("the server goes on") {
        b'+' | b':' => {}
        b'*' => (0..count().expect("a count")).for_each(|_| skip_reply(replies)),
        b'$' => {
            let mut text = vec![0; count().expect("a length") + 2];
            replies.read_exact(&mut text).expect("a text");
        }
        _ => panic!("{}", String::from_utf8_lossy(&line)),
    }
}

/// Returns the next of a series of numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = fastrand::Rng::with_seed(*state).u64(..);
    *state
}

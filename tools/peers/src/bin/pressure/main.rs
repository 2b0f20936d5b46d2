//! Measures databases that are up to several times as large as the memory: fpdb, and LMDB and
//! RocksDB with the paper's tables, each in a control group whose limit is a share of its files;
//! cold and warm, with one thread and with several, beside random reads from the same device.
//!
//! README.md says what is counted.

mod cell;
#[cfg(test)]
#[path = "../../corpus.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod corpus;
#[cfg(test)]
#[path = "../../data.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod data;
mod device;
mod engines;
mod group;
#[path = "../../random.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod random;
#[cfg(test)]
#[path = "../../scan.rs"]
mod scan;
#[path = "../../stores/mod.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod stores;
mod table;

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand};

use cell::{Cell, Query, Report};
use device::Device;
use engines::files;
use group::Group;
use random::Random;
use table::{Limits, Row};

/// Compares fpdb, LMDB and RocksDB when a database is as large as the memory, and larger
#[derive(Parser)]
struct Args {
    /// Number of fingerprints
    #[arg(long, default_value_t = 3e7)]
    n: f64,

    /// How many times as large as the memory the files are
    #[arg(long, value_delimiter = ',', default_value = "0.25,0.65,1,2,4")]
    times: Vec<f64>,

    /// Engines [default: all that are in this build]
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,

    /// Numbers of threads that ask at the same time
    #[arg(long, value_delimiter = ',', default_value = "1,8")]
    threads: Vec<usize>,

    /// Queries of each thread, cold and warm
    #[arg(long, default_value_t = 10_000)]
    queries: usize,

    /// Seconds after which the queries of a cell end, cold and warm
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,

    /// Rounds; the table shows the median of each figure
    #[arg(long, default_value_t = 1)]
    rounds: usize,

    /// Keep the databases in this folder, and use those that are there [default: a temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,

    /// Share of the memory in which fpdb keeps pages [default: fpdb's own]
    #[arg(long)]
    page_memory: Option<f64>,

    /// Ask only queries without a match, which never wait for an id after the wait for its block
    #[arg(long)]
    no_matches: bool,

    /// Measure without control groups, to try the program
    #[arg(long)]
    no_groups: bool,

    #[command(subcommand)]
    cell: Option<Internal>,
}

#[derive(Subcommand)]
enum Internal {
    /// What this program starts itself with
    #[command(hide = true)]
    Cell(Cell),
}

/// An engine's database.
struct Database {
    engine: String,
    folder: PathBuf,
    bytes: u64,
}

fn main() -> Result<()> {
    let mut args = Args::parse();
    if let Some(Internal::Cell(cell)) = &args.cell {
        println!("{}", serde_json::to_string(&cell.run()?)?);
        return Ok(());
    }
    if args.engines.is_empty() {
        args.engines = engines::ALL.iter().map(|&name| name.to_owned()).collect();
    }
    let n = args.n as usize;
    ensure!((1..1 << 32).contains(&n), "--n {}: must be from 1 to 2^32 - 1", args.n);
    ensure!(args.rounds > 0 && args.queries > 0, "--rounds and --queries must be at least 1");
    ensure!(
        args.threads.iter().all(|&threads| threads > 0)
            && args.times.iter().all(|&times| times > 0.0),
        "--threads and --times must be more than 0"
    );
    if !args.no_groups {
        // Before the databases are built.
        drop(Group::create(1 << 30)?);
    }
    let temporary = tempfile::tempdir()?;
    let folder = args.folder.as_deref().unwrap_or(temporary.path());
    let databases = args.engines.iter().map(|engine| Database::create(engine, folder, n));
    let databases: Vec<Database> = databases.collect::<Result<_>>()?;
    for database in &databases {
        database.verify(n)?;
    }
    measure(&args, n, &databases)
}

impl Database {
    /// Builds a database, unless the folder has it.
    fn create(engine: &str, folder: &Path, n: usize) -> Result<Self> {
        let folder = folder.join(format!("{engine}-{n}"));
        let complete = folder.with_extension("complete");
        if !complete.exists() {
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            fs::create_dir_all(&folder)?;
            let start = Instant::now();
            engines::create(engine, &folder, n)?;
            File::create(&complete)?;
            eprintln!("{engine}: built in {:.0} s", start.elapsed().as_secs_f64());
        }
        let mut bytes = 0;
        files(&folder, &mut |path| {
            bytes += path.metadata()?.len();
            Ok(())
        })?;
        Ok(Self { engine: engine.to_owned(), folder, bytes })
    }

    /// Compares answers with what they must be. A scan does the same for the first of them.
    fn verify(&self, n: usize) -> Result<()> {
        let db = engines::open(&self.engine, &self.folder, 1 << 30, None)?;
        let (mut search, mut random, mut found) = (db.search()?, Random(1 << 40), Vec::new());
        for number in 0..500 {
            let query = Query::random(number, n, &mut random);
            found.clear();
            search(query.fingerprint, &mut found)?;
            query.check(&found).with_context(|| format!("{} is wrong", self.engine))?;
            if number < 4 {
                let near = |id: &u64| {
                    (engines::stored(*id) ^ query.fingerprint).count_ones() <= engines::K
                };
                let scanned: Vec<u64> = (0..n as u64).filter(near).collect();
                query.check(&scanned).context("a scan")?;
            }
        }
        Ok(())
    }

    /// Makes the system drop its cache of the files.
    fn evict(&self) -> Result<()> {
        files(&self.folder, &mut |path| {
            let file = File::open(path)?;
            file.sync_all()?;
            #[expect(unsafe_code, reason = "the standard library has no such call")]
            // SAFETY: a hint about a file that is open.
            let error =
                unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            ensure!(error == 0, "cannot drop {} from the page cache", path.display());
            Ok(())
        })
    }

    /// Returns the largest file.
    fn largest(&self) -> Result<PathBuf> {
        let mut largest = (0, PathBuf::new());
        files(&self.folder, &mut |path| {
            largest = largest.clone().max((path.metadata()?.len(), path.to_owned()));
            Ok(())
        })?;
        Ok(largest.1)
    }
}

fn measure(args: &Args, n: usize, databases: &[Database]) -> Result<()> {
    let device = databases.iter().max_by_key(|database| database.bytes);
    let device = device.context("no engines")?.largest()?;
    let mut limits = Limits::default();
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..args.rounds {
        if let Some(fpdb) = databases.iter().find(|database| database.engine == "fpdb") {
            let cell = Cell { page_memory: Some(0.0), ..fpdb.cell(args, n, fpdb.bytes, 1) };
            limits.reads.extend(fpdb.run(cell, None)?.map(|report| report.cold.reads));
        }
        for &times in &args.times {
            measure_device(&device, args, &mut limits)?;
            for &threads in &args.threads {
                for database in databases {
                    let memory = (database.bytes as f64 / times) as u64;
                    let group = if args.no_groups { None } else { Some(Group::create(memory)?) };
                    let cell = database.cell(args, n, memory, threads);
                    let report = database.run(cell, group.as_ref())?;
                    let row = Row::of(&mut rows, times, &database.engine, database.bytes, memory);
                    row.add(threads, report);
                }
            }
        }
    }
    measure_device(&device, args, &mut limits)?;
    table::print(n, &rows, &args.threads, &limits);
    Ok(())
}

fn measure_device(path: &Path, args: &Args, limits: &mut Limits) -> Result<()> {
    let time = Duration::from_secs_f64(args.seconds / 6.0);
    let mut device = Device::open(path)?;
    for (at_once, ours, fio) in &mut limits.per_second {
        ours.push(device.reads_per_second(*at_once, time)?);
        fio.extend(device::fio(path, *at_once, 2 * time)?);
    }
    if let Some(reads) = table::median(&limits.reads) {
        limits.together.push(device.together((reads.round() as usize).clamp(1, 64), time)?);
    }
    Ok(())
}

impl Database {
    fn cell(&self, args: &Args, n: usize, memory: u64, threads: usize) -> Cell {
        Cell {
            engine: self.engine.clone(),
            folder: self.folder.clone(),
            n,
            group: None,
            memory,
            threads,
            queries: args.queries,
            seconds: args.seconds,
            page_memory: args.page_memory,
            no_matches: args.no_matches,
        }
    }

    /// Runs a cell as a process of its own on cold files. Returns `None` if the system ended the
    /// process because its group had no memory left.
    fn run(&self, cell: Cell, group: Option<&Group>) -> Result<Option<Report>> {
        self.evict()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("cell").args(["--engine", &cell.engine]).arg("--folder").arg(&cell.folder);
        let mut option = |name: &str, value: String| {
            command.arg(name).arg(value);
        };
        option("--n", cell.n.to_string());
        option("--memory", cell.memory.to_string());
        option("--threads", cell.threads.to_string());
        option("--queries", cell.queries.to_string());
        option("--seconds", cell.seconds.to_string());
        if let Some(share) = cell.page_memory {
            option("--page-memory", share.to_string());
        }
        if cell.no_matches {
            command.arg("--no-matches");
        }
        if let Some(group) = group {
            command.arg("--group").arg(group.folder());
        }
        let output = command.stderr(Stdio::inherit()).output()?;
        if output.status.success() {
            return Ok(Some(serde_json::from_slice(&output.stdout)?));
        }
        use std::os::unix::process::ExitStatusExt;
        if group.is_some() && output.status.signal() == Some(libc::SIGKILL) {
            eprintln!("out of memory: {cell:?}");
            return Ok(None);
        }
        bail!("{cell:?}: {}", output.status)
    }
}

//! Measures databases that are up to several times as large as the memory: fpdb, and LMDB with the
//! paper's tables, each in a control group whose limit is a share of its files; cold and warm, with
//! one thread and with several.
//!
//! README.md says what is counted.

mod cell;
mod engines;
mod group;
mod table;

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use peers::random::Random;
use peers::{files, folder_bytes};

use cell::{Cell, Report};
use engines::{Engine, K, stored};
use group::Group;
use table::Row;

/// Numbers of threads that ask at the same time.
const THREADS: [usize; 2] = [1, 8];

/// Compares fpdb and LMDB when a database is as large as the memory, and larger
#[derive(Parser)]
struct Args {
    /// Number of fingerprints
    #[arg(long, default_value_t = 3e7)]
    n: f64,

    /// How many times as large as the memory the files are
    #[arg(long, value_delimiter = ',', default_value = "0.25,0.65,1,2,4")]
    times: Vec<f64>,

    /// Seconds after which the queries of a cell end, cold and warm
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,

    /// Measure without control groups, to try the program
    #[arg(long)]
    no_groups: bool,

    /// What this program starts itself with
    #[arg(long, hide = true)]
    cell: Option<String>,
}

/// An engine's database.
struct Database {
    engine: Engine,
    folder: PathBuf,
    bytes: u64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(cell) = &args.cell {
        let cell: Cell = serde_json::from_str(cell)?;
        println!("{}", serde_json::to_string(&cell.run()?)?);
        return Ok(());
    }
    let n = args.n as u32;
    ensure!(n > 0 && f64::from(n) == args.n.trunc(), "--n must be from 1 to 2^32 - 1");
    ensure!(args.times.iter().all(|&times| times > 0.0), "--times must be more than 0");
    if !args.no_groups {
        // Before the databases are built.
        drop(Group::create(1 << 30)?);
    }
    let folder = tempfile::tempdir()?;
    let databases = [Engine::Fpdb, Engine::Lmdb].map(|engine| {
        let database = Database::create(engine, folder.path(), n)?;
        database.verify(n)?;
        Ok(database)
    });
    let databases: Vec<Database> = databases.into_iter().collect::<Result<_>>()?;
    measure(&args, n, &databases)
}

fn measure(args: &Args, n: u32, databases: &[Database]) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for &times in &args.times {
        for threads in THREADS {
            for database in databases {
                let Database { engine, bytes, .. } = *database;
                let memory = (bytes as f64 / times) as u64;
                let group = if args.no_groups { None } else { Some(Group::create(memory)?) };
                let report = database.run(database.cell(args, threads), group.as_ref())?;
                rows.push(Row { times, engine, bytes, memory, threads, report });
            }
        }
    }
    // The rows of an engine stand together.
    rows.sort_by(|a, b| a.times.total_cmp(&b.times).then(a.engine.name().cmp(b.engine.name())));
    table::print(n, &rows);
    Ok(())
}

impl Database {
    fn create(engine: Engine, folder: &Path, n: u32) -> Result<Self> {
        let folder = folder.join(engine.name());
        fs::create_dir(&folder)?;
        let start = Instant::now();
        engine.create(&folder, n)?;
        eprintln!("{}: built in {:.0} s", engine.name(), start.elapsed().as_secs_f64());
        Ok(Self { engine, bytes: folder_bytes(&folder)?, folder })
    }

    /// Compares answers with what they must be: fingerprints are random, so others than the one
    /// that a query was made of are practically never near. Every other query is random, too. A
    /// scan does the same for the first of them.
    fn verify(&self, n: u32) -> Result<()> {
        let db = self.engine.open(&self.folder)?;
        let (mut search, mut random, mut found) = (db.search()?, Random(1 << 40), Vec::new());
        for number in 0..500 {
            let (id, flips) = (random.below(n as usize) as u32, random.below(K as usize + 1));
            let (query, expected) = match number % 2 {
                0 => (random.flip(stored(id), flips as u32, 0, 64), vec![id]),
                _ => (random.next(), vec![]),
            };
            found.clear();
            search(query, &mut found)?;
            let name = self.engine.name();
            ensure!(found == expected, "{name} is wrong: query {query:016x}: {found:?}");
            if number < 4 {
                let scanned = (0..n).filter(|&id| (stored(id) ^ query).count_ones() <= K);
                ensure!(scanned.eq(expected), "a scan finds something else: query {query:016x}");
            }
        }
        Ok(())
    }

    /// Makes the system drop its cache of the files.
    fn evict(&self) -> Result<()> {
        for path in files(&self.folder)? {
            let file = File::open(&path)?;
            file.sync_all()?;
            #[expect(unsafe_code, reason = "the standard library has no such call")]
            // SAFETY: a hint about a file that is open.
            let error =
                unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            ensure!(error == 0, "cannot drop {} from the page cache", path.display());
        }
        Ok(())
    }

    fn cell(&self, args: &Args, threads: usize) -> Cell {
        let (engine, folder) = (self.engine, self.folder.clone());
        Cell { engine, folder, group: None, threads, seconds: args.seconds }
    }

    /// Runs a cell as a process of its own on cold files. Returns `None` if the system ended the
    /// process because its group had no memory left.
    fn run(&self, cell: Cell, group: Option<&Group>) -> Result<Option<Report>> {
        self.evict()?;
        let cell = Cell { group: group.map(|group| group.folder().to_owned()), ..cell };
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--cell").arg(serde_json::to_string(&cell)?);
        let output = command.stderr(Stdio::inherit()).output()?;
        if output.status.success() {
            return Ok(Some(serde_json::from_slice(&output.stdout)?));
        }
        if group.is_some() && output.status.signal() == Some(libc::SIGKILL) {
            return Ok(None);
        }
        bail!("{cell:?}: {}", output.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_with_a_wrong_answer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(Engine::Fpdb, folder.path(), 1000).unwrap();
        database.verify(1000).unwrap();
        // Entries that the database does not have.
        let error = database.verify(3000).unwrap_err().to_string();
        assert!(error.contains("fpdb is wrong"), "{error}");
    }
}

//! Python packages, each in its own process, which runs one of the programs in `python/`. The clock
//! is read there, around each call.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python");

struct Python {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    built: Built,
}

#[derive(Deserialize)]
struct Built {
    build_s: f64,
    disk_bytes: u64,
    ram_bytes: u64,
}

#[derive(Deserialize)]
struct Answer {
    ns: u64,
    found: Vec<u32>,
}

pub(super) fn faiss(engines: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    entrants(engines, "faiss MultiHash", "faiss-cpu", "faiss", "faiss_multihash.py")
}

pub(super) fn hammingbird(engines: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    entrants(engines, "hammingbird", "hammingbird", "hammingbird", "hammingbird_index.py")
}

fn entrants<'a>(
    engines: &'a Engines,
    row: &str,
    package: &str,
    module: &str,
    program: &'static str,
) -> Result<Vec<Entrant<'a>>> {
    let Some(python) = &engines.python else {
        bail!("needs --python, an interpreter with the packages {package} and numpy");
    };
    let import = format!("import numpy, {module}");
    let has = Command::new(python).args(["-c", &import]).stderr(Stdio::null()).status();
    let has = has.with_context(|| python.display().to_string())?.success();
    ensure!(has, "{} lacks the package {package} or numpy", python.display());
    Ok(vec![Entrant::new(row, move |job| Python::start(python, program, job))])
}

impl Python {
    fn start(python: &Path, program: &str, job: &Job) -> Result<Self> {
        let file = job.folder.join("fingerprints.u64le");
        let bytes: Vec<u8> = job.fingerprints.iter().flat_map(|f| f.to_le_bytes()).collect();
        std::fs::write(&file, bytes)?;
        let mut child = Command::new(python)
            .arg(Path::new(PROGRAMS).join(program))
            .args([file.as_os_str(), job.k.to_string().as_ref()])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("no standard input")?;
        let output = child.stdout.take().context("no standard output")?;
        let mut output = BufReader::new(output).lines();
        let built = next(&mut output)?;
        Ok(Self { child, input, output, built })
    }
}

fn next<T: DeserializeOwned>(output: &mut Lines<BufReader<ChildStdout>>) -> Result<T> {
    let line = output.next().context("Python ended before it answered")??;
    serde_json::from_str(&line).with_context(|| format!("Python printed {line:?}"))
}

impl Peer for Python {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        serde_json::to_writer(&mut self.input, queries)?;
        writeln!(self.input)?;
        for i in 0..queries.len() {
            let answer: Answer = next(&mut self.output)?;
            each(i, Duration::from_nanos(answer.ns), &answer.found)?;
        }
        Ok(())
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.built.disk_bytes)
    }

    fn ram_bytes(&self) -> Result<u64> {
        Ok(self.built.ram_bytes)
    }

    fn build_seconds(&self) -> Option<f64> {
        Some(self.built.build_s)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

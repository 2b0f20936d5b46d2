//! A crawler on tokio: many tasks fetch pages at the same time, and each asks the database whether
//! its page is new.
//!
//! ```sh
//! cargo run --release --example crawler
//! ```
//!
//! The example makes the pages up instead of fetching them. It asks in three ways: with a call that
//! blocks the thread of the runtime, with that call on a thread of its own, and with a [`Batcher`].
//! In the meantime, a timer ticks every millisecond, and shows how long the runtime stalls.

#![expect(clippy::print_stdout, reason = "the output of an example")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use fpdb::{Batcher, Db, Ids};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

const PAGES: u64 = 4000;
/// Pages that are fetched at the same time.
const FETCHES: usize = 256;

/// How a task asks whether its page is new.
#[derive(Clone)]
enum Asking {
    Blocking(Db),
    OwnThread(Db),
    Batched(Batcher),
}

impl Asking {
    async fn is_new(
        &self,
        fingerprint: u64,
        url: String,
    ) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let outcome = match self {
            Self::Blocking(db) => db.insert_if_novel(fingerprint, &url)?,
            Self::OwnThread(db) => {
                let db = db.clone();
                spawn_blocking(move || db.insert_if_novel(fingerprint, &url)).await??
            }
            Self::Batched(batcher) => batcher.insert_if_novel(fingerprint, &url).await?,
        };
        Ok(!outcome.is_duplicate())
    }
}

/// Returns the fingerprint of a page. Every fourth page is a near-duplicate of the one before.
fn fetched(page: u64) -> u64 {
    let (original, change) = if page % 4 == 3 { (page - 1, 1) } else { (page, 0) };
    original.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ change
}

/// Crawls all pages, and returns how many are new.
async fn crawl(asking: Asking) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let fetches = Arc::new(Semaphore::new(FETCHES));
    let mut tasks = JoinSet::new();
    for page in 0..PAGES {
        let (asking, permit) = (asking.clone(), fetches.clone().acquire_owned().await?);
        tasks.spawn(async move {
            sleep(Duration::from_millis(page % 5)).await; // a real crawler fetches the page here
            let is_new = asking.is_new(fetched(page), format!("https://{page}.example/")).await;
            drop(permit);
            is_new
        });
    }
    let mut new = 0;
    while let Some(is_new) = tasks.join_next().await {
        new += u64::from(is_new??);
    }
    Ok(new)
}

/// Measures how late a timer of a millisecond is, until `is_done`.
async fn lateness(is_done: Arc<AtomicBool>) -> Vec<Duration> {
    let mut late = Vec::new();
    while !is_done.load(Relaxed) {
        let start = Instant::now();
        sleep(Duration::from_millis(1)).await;
        late.push(start.elapsed().saturating_sub(Duration::from_millis(1)));
    }
    late.sort_unstable();
    late
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    for name in ["a blocking call", "a thread per call", "a batcher"] {
        let db = Db::options().ids(Ids::Names).create(folder.path().join(name))?;
        let asking = match name {
            "a blocking call" => Asking::Blocking(db.clone()),
            "a thread per call" => Asking::OwnThread(db.clone()),
            _ => Asking::Batched(Batcher::new(&db)?),
        };
        let is_done = Arc::new(AtomicBool::new(false));
        let (start, timer) = (Instant::now(), tokio::spawn(lateness(is_done.clone())));
        let new = crawl(asking).await?;
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(new, PAGES / 4 * 3, "three of four pages are originals");
        is_done.store(true, Relaxed);
        let late = timer.await?;
        let p99 = late[late.len() * 99 / 100].as_secs_f64() * 1e3;
        let pages = PAGES as f64 / seconds;
        println!(
            "{name}: {new} of {PAGES} are new, {pages:.0} pages/s, the timer is {p99:.1} ms late (p99)"
        );
        db.close()?;
    }
    Ok(())
}

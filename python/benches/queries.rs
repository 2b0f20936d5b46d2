//! Times queries in Rust: `queries DATABASE FILE K SIZE...`. The file holds fingerprints of 64 bits,
//! little-endian. Prints the nanoseconds per query: one at a time, and in batches of each size.
//! queries.py runs this next to the same queries from Python.

#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints figures")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [path, file, distance, sizes @ ..] = &args[..] else {
        println!("nothing to time: queries.py passes a database");
        return Ok(());
    };
    let db = fpdb::Db::open_read_only(path)?;
    db.warm()?;
    let bytes = std::fs::read(file)?;
    let queries: Vec<u64> = bytes.as_chunks().0.iter().copied().map(u64::from_le_bytes).collect();
    let distance: u32 = distance.parse()?;
    let count = queries.len() as f64;
    let per_query = |begun: Instant| begun.elapsed().as_secs_f64() * 1e9 / count;
    let single = || -> fpdb::Result<f64> {
        let begun = Instant::now();
        for &query in &queries {
            black_box(db.snapshot().query(query, distance)?);
        }
        Ok(per_query(begun))
    };
    single()?;
    let mut figures = vec![single()?];
    for size in sizes {
        let size = size.parse()?;
        let begun = Instant::now();
        for batch in queries.chunks(size) {
            black_box(db.snapshot().query_batch(batch, distance)?);
        }
        figures.push(per_query(begun));
    }
    let figures: Vec<String> = figures.iter().map(|ns| format!("{ns:.1}")).collect();
    println!("{}", figures.join(" "));
    Ok(())
}

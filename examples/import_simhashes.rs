//! Imports SimHashes that another program computed, and finds the near-duplicates of one of them.
//!
//! ```sh
//! cargo run --release --example import_simhashes -- hashes.txt 0x08b73006b558c876
//! ```
//!
//! The file has one hexadecimal number of up to 64 bits per line; the line's number, from 0,
//! becomes the document's id. Without arguments, the example generates such a file and checks the
//! answers.

#![expect(clippy::print_stdout, reason = "the output of an example")]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use fpdb::{Db, DocId, Entry, Fingerprint, Match};

const MAX_DISTANCE: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [file, query] => {
            let db = import(Path::new(file), folder.path())?;
            find(&db, u64::parse(query)?)?;
        }
        _ => {
            let file = folder.path().join("hashes.txt");
            let hashes = generate(&file)?;
            let db = import(&file, folder.path())?;
            // Document 7000 is a copy of document 7 with two bits flipped.
            let matches = find(&db, hashes[7])?;
            let found: Vec<(u64, u32)> = matches.iter().map(|m| (m.id.0, m.distance)).collect();
            assert_eq!(found, [(7, 0), (7000, 2)]);
        }
    }
    Ok(())
}

/// Creates a database and loads all hashes of a file.
fn import(file: &Path, folder: &Path) -> Result<Db, Box<dyn Error>> {
    let lines = BufReader::new(File::open(file)?).lines();
    let entries = (0..)
        .zip(lines)
        .map(|(id, line)| Ok(Entry { fingerprint: u64::parse(line?.trim())?, id: DocId(id) }));
    let entries = entries.collect::<Result<Vec<Entry>, Box<dyn Error>>>()?;

    // The database is planned for the expected number of entries and the largest distance.
    let db = Db::options()
        .max_distance(MAX_DISTANCE)
        .expected_entries(entries.len() as u64)
        .create(folder.join("hashes.fpdb"))?;
    // A bulk load sorts all entries and writes them in one go: much faster than single inserts.
    let report = db.bulk_load(entries.into_iter().map(Ok))?;
    println!("imported {} hashes", report.inserted);
    Ok(db)
}

/// Prints and returns all documents within the distance, the nearest first.
fn find(db: &Db, hash: u64) -> fpdb::Result<Vec<Match>> {
    let matches = db.query(hash, MAX_DISTANCE)?;
    println!("{hash:#018x} has {} matches within {MAX_DISTANCE} bits:", matches.len());
    for m in &matches {
        println!("  document {}: {:#018x}, distance {}", m.id, m.fingerprint, m.distance);
    }
    Ok(matches)
}

/// Writes 10,000 hashes to a file. They are spread well, so only the planted pair is near.
fn generate(file: &Path) -> std::io::Result<Vec<u64>> {
    let mut hashes: Vec<u64> =
        (1..=10_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)).collect();
    hashes[7000] = hashes[7] ^ (1 << 5 | 1 << 60);
    let mut out = BufWriter::new(File::create(file)?);
    for hash in &hashes {
        writeln!(out, "{hash:016x}")?;
    }
    out.flush()?;
    Ok(hashes)
}

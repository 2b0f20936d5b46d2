//! Reads a web archive and lists the pages that are near-duplicates of earlier ones.
//!
//! ```sh
//! cargo run --release --example warc_dedup --features text -- crawl.warc.gz
//! ```
//!
//! Without an argument, the example reads a small archive that it makes itself, and checks the
//! result.

#![expect(clippy::print_stdout, reason = "the output of an example")]

use std::error::Error;
use std::fs::File;
use std::io::Read;

use fpdb::text::Recipe;
use fpdb::{Db, Ids, Outcome};
use fpdb_web::{Archive, Extracted, Extractor};

/// The numbers of pages, by what happened to them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    novel: usize,
    duplicates: usize,
    too_short: usize,
    /// Records that hold no page, such as requests and images.
    not_pages: usize,
    damaged: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().nth(1) {
        Some(path) => println!("{:?}", dedup(File::open(path)?)?),
        None => {
            let archive = sample();
            let counts = dedup(archive.as_slice())?;
            println!("{counts:?}");
            let expected =
                Counts { novel: 2, duplicates: 1, too_short: 1, not_pages: 2, damaged: 0 };
            assert_eq!(counts, expected);
        }
    }
    Ok(())
}

/// Reads a WARC or ARC file, uncompressed or compressed with gzip.
fn dedup(archive: impl Read) -> Result<Counts, Box<dyn Error>> {
    let recipe = Recipe::named("default")?;
    let extractor = Extractor::default();
    let folder = tempfile::tempdir()?;
    let db = Db::options()
        .max_distance(3)
        .ids(Ids::Names)
        .recipe(&recipe)
        .create(folder.path().join("archive.fpdb"))?;

    let mut counts = Counts::default();
    for record in Archive::new(archive)? {
        // Damage costs one record: report it and go on with the next.
        let page = match record.and_then(|record| extractor.record(&record)) {
            Ok(Extracted::Page(page)) => page,
            Ok(Extracted::Skipped(_)) => {
                counts.not_pages += 1;
                continue;
            }
            Err(error) => {
                eprintln!("{error}");
                counts.damaged += 1;
                continue;
            }
        };
        let Some(fingerprint) = recipe.fingerprint(&page.text).fingerprint else {
            counts.too_short += 1;
            continue;
        };
        match db.insert_if_novel(fingerprint, page.url.as_str())? {
            Outcome::Duplicate(earlier) => {
                let name = db.snapshot().name(earlier.id)?.unwrap_or_default();
                println!("{} is {} bits from {name}", page.url, earlier.distance);
                counts.duplicates += 1;
            }
            _ => counts.novel += 1,
        }
    }
    db.close()?;
    Ok(counts)
}

/// Makes an archive of six records, as a crawler would write them.
fn sample() -> Vec<u8> {
    let bread = "<p>Mix flour, water, salt and a little yeast in the evening, cover the bowl and \
        leave it on the kitchen table. In the morning the dough has doubled. Fold it four times, let \
        it rest while the oven heats up with a heavy pot inside, then bake it in the covered pot for \
        half an hour and without the lid for another ten minutes. The crust should be dark brown.</p>";
    let soup = "<p>Cut three onions into thin rings and brown them slowly in butter, which takes at \
        least forty minutes. Add a spoon of flour, a glass of white wine and a litre of stock, and \
        simmer for a quarter of an hour. Put toasted bread into bowls, pour the soup over it, cover \
        it with grated cheese and brown it under the grill.</p>";
    let html = |body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}")
    };
    let copy = format!("<h1>Recipe of the day</h1>{bread}");
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>Not found</p>";
    let records = [
        record("request", "http://a.example/bread", "GET /bread HTTP/1.1\r\n\r\n"),
        record("response", "http://a.example/bread", &html(bread)),
        record("response", "http://a.example/soup", &html(soup)),
        record("response", "http://b.example/", &html(&copy)),
        record("response", "http://b.example/about", &html("<p>About us</p>")),
        record("response", "http://b.example/old", missing),
    ];
    records.concat().into_bytes()
}

/// Writes one record. Its block is an HTTP message.
fn record(kind: &str, url: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http; msgtype={kind}\r\nContent-Length: {}\r\n\r\n\
         {block}\r\n\r\n",
        block.len()
    )
}

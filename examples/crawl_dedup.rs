//! Crawls a small web site and stores each page unless a near-duplicate is already stored.
//!
//! ```sh
//! cargo run --example crawl_dedup --features text
//! ```
//!
//! The example serves the site itself, on the loopback interface. A real crawler has an HTTP
//! client, but the way from a page to the database is the same: extract the text, compute its
//! fingerprint, insert it if it is novel.

#![expect(clippy::print_stdout, reason = "the output of an example")]

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use fpdb::text::Recipe;
use fpdb::{Db, Ids, Outcome};
use fpdb_web::{Extracted, Extractor};

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || serve(&listener));

    let recipe = Recipe::named("default")?;
    let extractor = Extractor::default();
    let folder = tempfile::tempdir()?;
    // Documents are named by their URLs. The database remembers which recipe its fingerprints have.
    let db = Db::options()
        .max_distance(3)
        .ids(Ids::Names)
        .recipe(&recipe)
        .create(folder.path().join("crawl.fpdb"))?;

    let (mut stored, mut skipped) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut queue = VecDeque::from(["/".to_owned()]);
    while let Some(path) = queue.pop_front() {
        let response = fetch(address, &path)?;
        for link in links(&response) {
            if seen.insert(link.clone()) {
                queue.push_back(link);
            }
        }
        let page = match extractor.response(&path, &response)? {
            Extracted::Page(page) => page,
            Extracted::Skipped(reason) => {
                println!("{path} skipped: {reason}");
                skipped.push((path, reason.to_string()));
                continue;
            }
        };
        match db.insert_text_if_novel(&recipe, &page.text, &path)? {
            None => {
                println!("{path} skipped: too little text to compare");
                skipped.push((path, "too short".to_owned()));
            }
            Some(Outcome::Duplicate(earlier)) => {
                let name = db.snapshot().name(earlier.id)?.unwrap_or_default();
                println!("{path} skipped: {} bits from {name}", earlier.distance);
                skipped.push((path, format!("duplicate of {name}")));
            }
            Some(outcome) => {
                println!("{path} stored as document {}", outcome.id());
                stored.push(path);
            }
        }
    }
    db.close()?;

    assert_eq!(stored, ["/", "/lighthouse", "/tides"]);
    let expected = [
        ("/logo.png", "media_type"),
        ("/lighthouse?print=1", "duplicate of /lighthouse"),
        ("/gone", "status_404"),
        ("/short", "too short"),
    ];
    assert_eq!(skipped, expected.map(|(path, reason)| (path.to_owned(), reason.to_owned())));
    Ok(())
}

/// Fetches a page: the response as it came, with its header.
fn fetch(address: SocketAddr, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    Ok(response)
}

/// Finds the links of a page, which this site writes in only one way.
fn links(response: &[u8]) -> Vec<String> {
    let html = String::from_utf8_lossy(response);
    let links = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.map(str::to_owned).collect()
}

/// Answers requests until the program ends.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        // A client that closes the connection early is no reason to stop.
        let _ = answer(stream);
    }
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or("/");
    let (status, media_type, body) = match path {
        "/" => ("200 OK", "text/html", page(HOME)),
        "/lighthouse" => ("200 OK", "text/html", page(LIGHTHOUSE)),
        // The same text in another layout.
        "/lighthouse?print=1" => ("200 OK", "text/html", format!("<h1>For print</h1>{LIGHTHOUSE}")),
        "/tides" => ("200 OK", "text/html", page(TIDES)),
        "/short" => ("200 OK", "text/html", "<p>Soon.</p>".to_owned()),
        "/logo.png" => ("200 OK", "image/png", "\u{89}PNG".to_owned()),
        _ => ("404 Not Found", "text/html", "<p>There is no such page.</p>".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Puts the furniture of the site around the text of a page.
fn page(text: &str) -> String {
    format!(
        "<!doctype html><title>The coast</title>\
         <nav><a href=\"/lighthouse\">Lighthouse</a> <a href=\"/tides\">Tides</a> \
         <a href=\"/logo.png\">Logo</a></nav>\
         <article>{text}</article>\
         <footer><a href=\"/lighthouse?print=1\">Print</a> <a href=\"/gone\">Old page</a> \
         <a href=\"/short\">News</a></footer>"
    )
}

const HOME: &str = "<p>This site describes a stretch of coast: the lighthouse on its northern end, \
    the tides in the bay below it, and the path that connects them. All pages are written by people \
    who live here. They describe what can be seen in every season, and what visitors should bring \
    along if they want to walk the entire path in one day.</p>";

const LIGHTHOUSE: &str = "<p>The lighthouse was built of granite blocks that were cut in a quarry two \
    miles inland and brought to the headland by ox carts. Its lamp burned colza oil at first, then \
    paraffin, and has been electric for a long time now. The keeper climbed the stairs four times a \
    night to wind the clockwork that turned the lens. Today a computer watches over the lamp, and the \
    keeper's house is a museum with a small collection of charts and instruments.</p>";

const TIDES: &str = "<p>Twice a day the sea leaves the bay almost empty, and for two hours it is \
    possible to cross the sand on foot to the island. The tables at the harbour list the times of low \
    water. Fog can hide the marker posts within minutes, so nobody should start to cross later than \
    half an hour before low water. Seals rest on the outer banks in summer and should not be \
    disturbed.</p>";

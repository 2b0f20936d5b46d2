//! Chromium without a window, to find out whether a page loads.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// The result of loading a page.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The document after loading, as HTML.
    pub(crate) document: String,
    /// What the page, or the browser because of it, wrote to the console.
    pub(crate) console: Vec<String>,
    /// The addresses that the page requested from the network.
    pub(crate) requests: Vec<String>,
}

/// Returns a browser of this machine, or prints that the test is skipped.
pub(crate) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = names.iter().find_map(|name| {
        folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    });
    if found.is_none() {
        eprintln!("skipped: there is no Chromium to load the reports in");
    }
    found
}

/// Loads a file in a browser with an empty profile, for which no host name resolves.
pub(crate) fn load(browser: &Path, page: &Path) -> Loaded {
    let profile = TempDir::new().expect("a temporary folder");
    let network = profile.path().join("network.json");
    let output = Command::new("timeout")
        .arg("60")
        .arg(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--log-net-log={}", network.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let network = std::fs::read(&network).expect("a log of the network");
    Loaded {
        document: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
        requests: requests(&serde_json::from_slice(&network).expect("JSON")),
    }
}

/// Returns the addresses in Chromium's log of the network that a page requested. The browser's own
/// requests have no origin.
fn requests(log: &Value) -> Vec<String> {
    let kind = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    assert!(kind.is_number(), "a request is logged in another way");
    let events = log["events"].as_array().expect("events").iter();
    let started = events.filter(|event| event["type"] == *kind).map(|event| &event["params"]);
    started
        .filter(|request| request["initiator"].as_str() != Some("not an origin"))
        .filter_map(|request| request["url"].as_str().map(str::to_owned))
        .collect()
}

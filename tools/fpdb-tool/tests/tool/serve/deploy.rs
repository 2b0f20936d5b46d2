//! The files in `deploy/` fit the server.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::client::{Client, request};
use super::server::Server;
use crate::common::Folder;

const ALERTS: &str = include_str!("../../../../../deploy/alerts.yml");
const UNIT: &str = include_str!("../../../../../deploy/fpdb.service");
const DOCKERFILE: &str = include_str!("../../../../../deploy/Dockerfile");
const DOCKERIGNORE: &str = include_str!("../../../../../.dockerignore");
const README: &str = include_str!("../../../../../deploy/README.md");

/// Returns all words that begin like this.
fn words<'t>(text: &'t str, prefix: &str) -> BTreeSet<&'t str> {
    let is_separator = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    text.split(is_separator).filter(|word| word.starts_with(prefix)).collect()
}

#[test]
fn alerts_use_figures_that_are_served_and_are_explained() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--metrics", "127.0.0.1:0"]);
    server.connect().call(&["FP.ADDNX", "a", "0xff"]);
    let mut stream = TcpStream::connect(server.metrics.unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut figures = String::new();
    stream.read_to_string(&mut figures).unwrap();
    let used = words(ALERTS, "fpdb_");
    assert!(used.len() >= 8, "{used:?}");
    for figure in used {
        let is_sample =
            |line: &str| line.strip_prefix(figure).is_some_and(|rest| rest.starts_with(['{', ' ']));
        assert!(figures.lines().any(is_sample), "{figure}");
    }
    let alerts = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    assert_eq!(alerts.collect::<BTreeSet<_>>(), words(README, "Fpdb"));
    for command in ["fp.addnx", "fp.upsert"] {
        assert!(ALERTS.contains(command), "writes by {command} have an alert when they are slow");
    }
}

#[test]
fn the_image_is_built_and_run_on_one_release_of_debian_and_without_what_it_does_not_need() {
    let images: Vec<&str> =
        DOCKERFILE.lines().filter_map(|line| line.strip_prefix("FROM ")).collect();
    let [build, run] = images[..] else { panic!("{images:?}") };
    let release = run.strip_prefix("debian:").unwrap().strip_suffix("-slim").unwrap();
    assert!(!release.contains("stable"), "{release}: it changes");
    assert_eq!(build, format!("rust:1-slim-{release} AS build"));
    for ignored in [".git", "**/target"] {
        assert!(DOCKERIGNORE.lines().any(|line| line == ignored), "{ignored}");
    }
    // The user's number never changes, so the owner of a mounted file can be set to it.
    let number = words(DOCKERFILE, "10").into_iter().next().unwrap();
    assert!(DOCKERFILE.contains(&format!("useradd --system --uid {number} ")), "{number}");
    assert!(README.contains(&format!("chown {number} ")), "{number}");
}

#[test]
fn options_in_the_unit_and_the_dockerfile_exist() {
    let help = Folder::new().ok("serve --help").text();
    let known = words(&help, "--");
    for file in [UNIT, DOCKERFILE] {
        let is_command =
            |line: &&str| line.starts_with("ExecStart=") || line.starts_with("ENTRYPOINT");
        let command = file.lines().find(is_command).unwrap();
        let used = words(command, "--");
        assert!(used.len() >= 3, "{command}");
        assert!(used.is_subset(&known), "{used:?}");
    }
}

#[test]
fn systemd_is_notified_when_the_server_is_ready_and_when_it_begins_to_stop() {
    let folder = Folder::new();
    let socket = UnixDatagram::bind(folder.file("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut command = folder.command(&["serve", "db", "--listen", "127.0.0.1:0"]);
    let mut child = command.env("NOTIFY_SOCKET", folder.file("notify")).spawn().unwrap();
    let receive = || {
        let mut state = [0; 100];
        let length = socket.recv(&mut state).unwrap();
        String::from_utf8(state[..length].to_vec()).unwrap()
    };
    assert_eq!(receive(), "READY=1");
    // Among the lines of the log.
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| Some(line.strip_prefix("listening on ")?.parse().unwrap()));
    let mut client = Client::new(address.unwrap());
    // More than the buffers of the system take, so the server waits for this client.
    let requests = 4000;
    client.send(&request(&["COMMAND"]).repeat(requests));
    assert_eq!(client.read().items().len(), client.read().items().len());
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(receive(), "STOPPING=1");
    // It has not stopped yet.
    (2..requests).for_each(|_| drop(client.read()));
    client.expect_end();
    assert!(child.wait().unwrap().success());
}

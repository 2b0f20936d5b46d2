//! The tool as a server that runs.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use super::client::Client;
use crate::common::{Folder, Run, records};

/// A running `fpdb-tool serve`. It is killed when the test ends.
pub(crate) struct Server {
    child: Option<Child>,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Option<SocketAddr>,
}

impl Server {
    /// Starts a server for the database `db` and waits until it is ready.
    pub(crate) fn start(folder: &Folder, options: &[&str]) -> Self {
        Self::start_at(folder, "127.0.0.1:0", options)
    }

    pub(crate) fn start_at(folder: &Folder, address: &str, options: &[&str]) -> Self {
        let args = [&["serve", "db", "--listen", address, "--json"], options].concat();
        let mut child = folder.command(&args).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            panic!("{}", String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr));
        }
        let listening = &records(&line)[0];
        assert_eq!(listening["schema"], "fpdb.serve/1");
        let address = |name: &str| Some(listening[name].as_str()?.parse().unwrap());
        Self {
            address: address("address").unwrap(),
            metrics: address("metrics"),
            child: Some(child),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(self.address)
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Sends SIGHUP, and returns the next line of the log that has this text.
    #[expect(clippy::unbuffered_bytes, reason = "the rest of the log is read at the end")]
    pub(crate) fn hang_up(&mut self, text: &str) -> String {
        let child = self.child.as_mut().unwrap();
        kill_process(Pid::from_child(child), Signal::HUP).unwrap();
        let mut bytes = child.stderr.as_mut().unwrap().bytes().map(Result::unwrap);
        loop {
            let line: Vec<u8> = bytes.by_ref().take_while(|&byte| byte != b'\n').collect();
            let line = String::from_utf8(line).unwrap();
            assert!(!line.is_empty(), "the log has no {text:?}");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn stop(&mut self) -> Run {
        self.end(Signal::TERM)
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) fn kill(&mut self) -> Run {
        self.end(Signal::KILL)
    }

    fn end(&mut self, signal: Signal) -> Run {
        let child = self.child.take().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        Run::of(child.wait_with_output().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

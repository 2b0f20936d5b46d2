//! Events for the log of the program, by the crate `tracing`.

use std::sync::Mutex;
use std::time::Duration;

use tracing::{error, info, warn};

use crate::command::Command;
use crate::net::clients::lock;
use crate::net::stream::{Address, Peer};

/// The target of all events, which subscribers filter by.
const TARGET: &str = "fpdb_server";

pub(crate) fn started(address: &Address, connections: usize) {
    let version = env!("CARGO_PKG_VERSION");
    info!(target: TARGET, version, %address, max_connections = connections, "serving");
}

pub(crate) fn stopping() {
    info!(target: TARGET, "stopping");
}

pub(crate) fn stopped(connections: u64, cut_off: usize) {
    info!(target: TARGET, connections, cut_off, "stopped");
}

pub(crate) fn connection_refused(peer: Peer, reason: &str) {
    warn!(target: TARGET, %peer, reason, "connection refused");
}

/// Says nothing about the name that was given, because some people type their password there.
pub(crate) fn wrong_password(peer: Peer) {
    warn!(target: TARGET, %peer, "wrong user or password");
}

/// The first password of a peer that is refused because of the limit. The others are only counted,
/// so that nobody can fill the log.
pub(crate) fn passwords_refused(peer: Peer, wait: Duration) {
    let seconds = wait.as_secs() + 1;
    warn!(target: TARGET, %peer, seconds, "too many wrong passwords: refusing all of them");
}

pub(crate) fn users_replaced(users: usize, disconnected: usize) {
    info!(target: TARGET, users, disconnected, "users replaced");
}

pub(crate) fn no_permission(peer: Peer, user: &str, command: Command) {
    warn!(target: TARGET, %peer, user, command = command.definition().name, "command without the right to it");
}

/// Commands that took longer than the limit. One is in the log at once. Others in the same second
/// are only counted: when the disk stalls, the commands of all connections are slow.
#[derive(Debug)]
pub(crate) struct SlowCommands {
    limit: Duration,
    state: Mutex<Slow>,
}

#[derive(Debug, Default)]
struct Slow {
    has_logged: bool,
    /// Commands that are only counted, and the longest time that one of them took.
    others: usize,
    longest: Duration,
}

impl SlowCommands {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Notes how long a command took.
    pub(crate) fn add(&self, peer: Peer, command: Command, calls: usize, took: Duration) {
        if took <= self.limit {
            return;
        }
        let mut slow = lock(&self.state);
        if slow.has_logged {
            slow.others += calls;
            slow.longest = slow.longest.max(took);
            return;
        }
        slow.has_logged = true;
        let command = command.definition().name;
        warn!(target: TARGET, %peer, command, calls, milliseconds = took.as_millis(), "slow command");
    }

    /// Logs how many were only counted. Called once a second.
    pub(crate) fn log_others(&self) {
        let Slow { others, longest, .. } = std::mem::take(&mut *lock(&self.state));
        if others > 0 {
            warn!(target: TARGET, others, milliseconds = longest.as_millis(), "slow commands");
        }
    }
}

/// A command that failed because of the disk or of damage.
pub(crate) fn failed(peer: Peer, command: Command, reason: &str) {
    error!(target: TARGET, %peer, command = command.definition().name, reason, "command failed");
}

pub(crate) fn refresh_failed(reason: &fpdb::Error) {
    warn!(target: TARGET, %reason, "cannot see what the writing process has written");
}

pub(crate) fn broke_off(peer: Peer, reason: &str) {
    info!(target: TARGET, %peer, reason, "connection ended");
}

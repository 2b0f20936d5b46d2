//! The arguments of `serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;

use fpdb_server::Options;

use crate::args::database::{self, NewDatabase};
use crate::args::numbers::parse_size;
use crate::args::suggested;
use crate::args::writing::WritingArgs;
use crate::cmd::serve::log::Level;

const EXAMPLE: &str = "\
Example:
  fpdb-tool serve crawl.fpdb --listen 127.0.0.1:6380
  redis-cli -p 6380 FP.ADDNX https://example.org/ 0x0123456789abcdef";

/// Serves a database to programs in any language, by the Redis protocol
///
/// Clients of Redis can insert and find documents: FP.ADDNX inserts a document unless a
/// near-duplicate exists, FP.UPSERT inserts or updates one, FP.QUERY and FP.MQUERY find
/// near-duplicates, FP.GET and FP.DEL find and remove documents by their keys, and FP.STATS
/// describes the database. docs/serve.md describes all commands and replies.
///
/// A write is acknowledged after it is synced. Writes that arrive together share a sync.
///
/// A public address requires a password. Connections are not encrypted: for that, run a TLS proxy
/// on the same machine. SIGTERM and Ctrl-C stop the server: it answers the commands that have
/// arrived, closes the database and exits with code 0. A second Ctrl-C ends it at once. That loses
/// nothing that was acknowledged.
///
/// A log of what happens without being requested is written to standard error: see --log.
///
/// With --json, prints the addresses as {"type":"listening","address":"127.0.0.1:6380",
/// "metrics":null} when it is ready.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database, created if missing, with names
    #[arg(value_name = "DB")]
    pub(super) path: PathBuf,

    #[command(flatten)]
    pub(super) new: NewDatabase,

    /// Recipe of a new database's fingerprints [default: `default`]
    #[arg(long, value_name = "NAME", value_parser = suggested::recipes(), hide_possible_values = true, help_heading = "A new database")]
    pub(super) recipe: Option<String>,

    /// Width of a new database's fingerprints in bits, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    pub(super) bits: Option<u32>,

    /// Only read the database, beside another process that writes to it. Clients see what that
    /// process has written up to a second ago
    #[arg(long, conflicts_with_all = ["recipe", "bits"])]
    pub(super) read_only: bool,

    /// The address to serve, or `unix:` and the path of a Unix socket. Port 0 means any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6380")]
    pub(super) listen: String,

    /// A file with passwords that clients must give with AUTH or HELLO. Its first line is the
    /// password of the user `default`, who may do everything. Each other line is a name, `read`,
    /// `write` or `admin`, and a password. On SIGHUP, it is read again
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,

    /// What the log on standard error has: this and everything more serious [default: info, or warn
    /// with --quiet]
    #[arg(long, value_name = "LEVEL")]
    pub(super) log: Option<Level>,

    /// Commands that take longer than this many milliseconds are in the log
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    slow_command: u64,

    /// The address at which to serve figures for Prometheus and the health of the server, by HTTP,
    /// without a password. They say nothing about single documents
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,

    /// The folder in which clients may write backups, with FP.BACKUP. Without it, they may not
    #[arg(long, value_name = "FOLDER")]
    backup_folder: Option<PathBuf>,

    /// The most connections at the same time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000),
        help_heading = "Limits"
    )]
    pub(super) max_connections: usize,

    /// The most wrong passwords in a minute from one address; further ones are refused without a
    /// look at them. 0 means any number
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Limits")]
    max_wrong_passwords: u32,

    /// The most bytes of one argument, such as a text
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "8MiB",
        value_parser = parse_limit,
        help_heading = "Limits"
    )]
    max_bulk: usize,

    /// The most bytes of one request
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "16MiB",
        value_parser = parse_limit,
        help_heading = "Limits"
    )]
    max_request: usize,

    /// Memory for requests of more than 16 KiB, of all connections together
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "256MiB",
        value_parser = parse_limit,
        help_heading = "Limits"
    )]
    request_memory: usize,

    /// Close connections that send nothing for this many seconds; 0 means never
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0,
        value_parser = parse_seconds(),
        help_heading = "Limits"
    )]
    timeout: u64,

    /// Close connections if a request is not complete after this many seconds, or the password is
    /// not given
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = parse_seconds().range(1..),
        help_heading = "Limits"
    )]
    request_timeout: u64,

    /// Close connections that do not read their replies for this many seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = parse_seconds().range(1..),
        help_heading = "Limits"
    )]
    write_timeout: u64,

    #[command(flatten)]
    pub(super) memory: WritingArgs,
}

impl Args {
    /// Returns what the server allows, apart from passwords.
    pub(super) fn options(&self, max_connections: usize) -> Options {
        let mut options = Options::default()
            .max_connections(max_connections)
            .max_bulk(self.max_bulk)
            .max_request(self.max_request)
            .request_memory(self.request_memory)
            .timeout(Duration::from_secs(self.timeout))
            .request_timeout(Duration::from_secs(self.request_timeout))
            .write_timeout(Duration::from_secs(self.write_timeout))
            .max_wrong_passwords(self.max_wrong_passwords)
            .slow_command(Duration::from_millis(self.slow_command));
        if let Some(address) = &self.metrics {
            options = options.metrics(address);
        }
        if let Some(folder) = &self.backup_folder {
            options = options.backup_folder(folder);
        }
        options
    }
}

/// Parses a limit in bytes. The upper bound keeps sums of limits far from overflow.
fn parse_limit(text: &str) -> Result<usize, String> {
    match parse_size(text)? {
        bytes if bytes < 1024 => Err("expected at least 1KiB".to_owned()),
        bytes if bytes > usize::MAX / 8 => Err("too large for this machine".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Parses a number of seconds of at most ten years.
fn parse_seconds() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(0..=10 * 365 * 86_400)
}

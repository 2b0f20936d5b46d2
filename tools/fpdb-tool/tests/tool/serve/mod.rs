//! `serve`, over real connections.

mod answers;
mod auth;
mod client;
mod documented;
mod durability;
#[cfg(target_os = "linux")]
mod full_disk;
mod limits;
mod metrics;

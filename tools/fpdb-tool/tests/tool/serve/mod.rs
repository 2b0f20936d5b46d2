//! `serve`, over real connections.

mod answers;
mod auth;
mod client;
mod documented;
mod durability;
mod limits;
mod metrics;

//! The models with loom's primitives.

pub mod primitives {
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub use loom::sync::{Arc, Condvar, Mutex, RwLock};
    pub use loom::thread::spawn;
}
#[path = "../../../src/db/group.rs"]
#[allow(dead_code, reason = "the models use a part")]
mod group;
#[path = "models.rs"]
pub mod models;
#[path = "wake.rs"]
mod wake;

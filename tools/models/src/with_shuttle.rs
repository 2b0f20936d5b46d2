//! The models with shuttle's primitives.

pub mod primitives {
    pub use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub use shuttle::sync::{Arc, Condvar, Mutex, RwLock};
    pub use shuttle::thread::spawn;
}
#[path = "../../../src/db/group.rs"]
#[allow(dead_code, reason = "the models use a part")]
mod group;
#[path = "models.rs"]
pub mod models;
#[path = "wake.rs"]
mod wake;

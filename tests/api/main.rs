//! Tests of the public interface.

mod background_failure;
mod backup;
mod bulk_load;
#[path = "../common/mod.rs"]
mod common;
mod concurrency;
mod counting;
mod document_space;
mod documents;
mod errors;
#[cfg(feature = "tracing")]
mod events;
mod fork;
mod full_disk;
mod given;
mod hostile;
mod identity;
mod in_memory;
mod index_memory;
mod limits;
mod little_memory;
mod load_space;
mod merge;
mod novelty;
mod orphans;
mod ownership;
#[cfg(target_os = "linux")]
mod page_cache;
mod pages;
mod progress;
mod query_stats;
mod reading;
#[cfg(target_os = "linux")]
mod real_disk;
#[cfg(feature = "text")]
mod recipe_names;
mod replaced;
mod segment_limit;
#[cfg(feature = "serde")]
mod serialize;
mod shared_space;
mod sketches;
mod truth;
mod upsert;
mod waiting;

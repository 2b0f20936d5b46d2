//! Calls that fail.

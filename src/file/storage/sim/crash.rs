//! A crash: what was pending, and what was kept of it.

use std::fmt::Write;
use std::sync::Arc;

use super::choices::Choice;
use super::pending::{Change, NameOp};
use super::variants::{Fill, PendingFile};
use super::world::Folders;

/// What is pending at a crash.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) at: usize,
    pub(super) operation: String,
    pub(super) seed: u64,
    pub(super) durable: Folders,
    /// The first digits of a choice are for these, the following for the files, one after another.
    pub(super) name_ops: Vec<NameOp>,
    pub(super) files: Vec<PendingFile>,
    /// The crash before this one, if there was one.
    pub(super) earlier: Option<Arc<Crash>>,
}

/// One crash and what it kept.
#[derive(Debug)]
pub(super) struct Crash {
    pub(super) scene: Arc<Scene>,
    pub(super) choice: Choice,
    pub(super) fill: Fill,
}

impl Crash {
    pub(super) fn describe(&self) -> String {
        let scene = &*self.scene;
        let mut text =
            scene.earlier.as_ref().map_or_else(String::new, |c| c.describe() + "; then ");
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for (op, &digit) in scene.name_ops.iter().zip(&self.choice) {
            if digit == 1 { &mut kept } else { &mut lost }.push(op.change.to_string());
        }
        let mut digits = &self.choice[scene.name_ops.len()..];
        for file in &scene.files {
            let (own, rest) = digits.split_at(file.digits());
            digits = rest;
            kept.push(format!("size {} of {}", file.sizes[usize::from(own[0])], file.name));
            lost.extend(file.lost(own).map(|hole| format!("bytes {hole:?} of {}", file.name)));
        }
        let _ = write!(
            text,
            "crash after operation {} ({}), seed {}: kept [{}], lost [{}], unwritten bytes are {:?}",
            scene.at,
            scene.operation,
            scene.seed,
            kept.join(", "),
            lost.join(", "),
            self.fill,
        );
        text
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::Folder => f.write_str("the folder"),
            Change::Link { name, .. } => write!(f, "create {name}"),
            Change::Move { from, to, .. } => write!(f, "rename {from} to {to}"),
            Change::Unlink { name } => write!(f, "remove {name}"),
        }
    }
}

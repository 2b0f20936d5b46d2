//! Programs that lack a call: syncs and renames that a crash treats as if they had not been made.

use super::Sim;

impl Sim {
    /// Describes every operation recorded so far, for example `create_root`, `create NAME`, `sync
    /// NAME` (with the name that the file was created under), `rename FROM to TO` or `sync_dir`.
    #[must_use]
    pub fn record(&self) -> Vec<String> {
        let world = self.world();
        world.log.iter().map(|op| op.describe(&world.files)).collect()
    }

    /// Treats operation number `n` of the [record](Sim::record), a sync or a rename, as if the
    /// program had not made that call. This can be set before or after the operation, and applies
    /// to later calls of [`crash_states`](Sim::crash_states). Other operations cannot be skipped.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::storage::{CrashLimits, Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.create_root()?;
    /// let file = sim.create("a.log")?;
    /// sim.sync_dir()?;
    /// file.append(b"one")?;
    /// file.sync()?;
    /// let is_lost = || {
    ///     let mut states = sim.crash_states(sim.operations(), CrashLimits::default());
    ///     states.any(|state| state.contents("a.log").as_deref() != Some(b"one"))
    /// };
    /// assert!(!is_lost());
    /// assert_eq!(sim.record()[sim.operations() - 1], "sync a.log");
    /// sim.skip_operation(sim.operations() - 1);
    /// assert!(is_lost());
    /// sim.skip_no_more();
    /// assert!(!is_lost());
    /// sim.skip_syncs("sync a.log");
    /// assert!(is_lost());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn skip_operation(&self, n: usize) {
        self.world().faults.skip(n);
    }

    /// Treats operation number `n` of the [record](Sim::record), a rename, as if the program had
    /// removed the file with the new name first, so that a crash can leave neither. Applies like
    /// [`skip_operation`](Sim::skip_operation).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::storage::{CrashLimits, Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.create_root()?;
    /// sim.set_contents("current", b"old");
    /// sim.set_contents("next", b"new");
    /// sim.rename("next", "current")?;
    /// let is_missing = || {
    ///     let mut states = sim.crash_states(sim.operations(), CrashLimits::default());
    ///     states.any(|state| state.contents("current").is_none())
    /// };
    /// assert!(!is_missing());
    /// sim.split_rename(sim.operations() - 1);
    /// assert!(is_missing());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn split_rename(&self, n: usize) {
        self.world().faults.split(n);
    }

    /// Does the same as [`skip_operation`](Sim::skip_operation) for all syncs whose description
    /// (see [`record`](Sim::record)) begins with `label`, including those made in the states after
    /// a crash.
    pub fn skip_syncs(&self, label: &str) {
        self.world().faults.skip_label(label);
    }

    /// Skips no more operations, and splits no more renames.
    pub fn skip_no_more(&self) {
        self.world().faults.unskip_all();
    }
}

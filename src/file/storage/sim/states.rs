//! The states that a crash can leave.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::Arc;

use super::Sim;
use super::choices::{Choice, Choices};
use super::crash::{Crash, Scene};
use super::faults::Faults;
use super::pending::{FileState, Pending};
use super::variants::{Fill, NameState, PendingFile, Variant};
use super::world::{FileId, SimFile, World};

/// Bytes of file variants that are kept for reuse.
const CACHE: usize = 16 << 20;

/// How many states of a crash are made where there are many possible ones.
///
/// # Examples
///
/// ```
/// use fpdb::storage::CrashLimits;
///
/// let quick = CrashLimits { exhaustive: 64, samples: 16, ..CrashLimits::default() };
/// assert_eq!(quick.sector, 512);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashLimits {
    /// If there are at most this many ways to keep or lose what is pending, all are tried (default
    /// 4096, which is 12 independent changes). Otherwise these are tried: no change, all changes,
    /// all but one, only one, every prefix of the changes to names, and the samples.
    pub exhaustive: usize,
    /// Number of random choices, if not all are tried. They keep 10, 50 or 90 percent (default 64).
    pub samples: usize,
    /// Seed of the random choices (default 0).
    pub seed: u64,
    /// Bytes that a disk writes all or nothing (default 512).
    pub sector: usize,
    /// Most parts, each of entire sectors, that an append is divided into (default 8). There is one
    /// more part if the append does not begin at a sector.
    pub pieces: usize,
}

impl Default for CrashLimits {
    fn default() -> Self {
        Self { exhaustive: 4096, samples: 64, seed: 0, sector: 512, pieces: 8 }
    }
}

impl Sim {
    /// Returns every state in which a crash after the first `at` operations could have left the
    /// files. Each state is a separate file system, at this folder, in which everything is durable
    /// and no lock is held.
    ///
    /// No two states are equal. [`CrashLimits`] decides which are made where there are too many.
    /// Making them takes time in proportion to `at`, to the bytes of files that were not entirely
    /// synced, and to the number of states.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::storage::{CrashLimits, Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.create_root()?;
    /// sim.create("a.log")?;
    /// // Without a sync of the folder, the file's name may be lost or kept.
    /// let states = sim.crash_states(sim.operations(), CrashLimits::default());
    /// let kept: Vec<bool> = states.map(|state| state.contents("a.log").is_some()).collect();
    /// assert!(kept.contains(&true) && kept.contains(&false));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn crash_states(&self, at: usize, limits: CrashLimits) -> CrashStates {
        CrashStates::new(&mut self.world(), self.root.clone(), self.crash.clone(), at, limits)
    }
}

/// A file that a crash may leave a name to.
#[derive(Debug)]
enum Part {
    Durable(SimFile),
    /// A position in [`Scene::files`].
    Pending(usize),
}

/// An iterator over the states after a crash. Made by [`Sim::crash_states`].
///
/// # Examples
///
/// ```
/// use fpdb::storage::{CrashLimits, CrashStates, Sim, Storage};
///
/// let sim = Sim::new();
/// sim.create_root()?;
/// let states: CrashStates = sim.crash_states(0, CrashLimits::default());
/// for state in states {
///     assert_eq!(state.list()?, None);
/// }
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug)]
pub struct CrashStates {
    scene: Arc<Scene>,
    root: Arc<Path>,
    parts: Vec<Part>,
    places: BTreeMap<FileId, usize>,
    choices: Choices,
    fills: &'static [Fill],
    /// The last choice, and the fills that are still to be tried with it.
    current: Option<(Choice, &'static [Fill])>,
    name_states: HashMap<Choice, Arc<NameState>>,
    variants: Vec<[HashMap<Choice, Variant>; 3]>,
    cached: usize,
    seen: HashSet<u64>,
    /// Ids given out so far, which a restarted process must not get again.
    ids: u64,
    free_space: u64,
    faults: Faults,
}

impl CrashStates {
    pub(super) fn new(
        world: &mut World,
        root: Arc<Path>,
        earlier: Option<Arc<Crash>>,
        at: usize,
        limits: CrashLimits,
    ) -> Self {
        let Pending { durable, name_ops, written } = Pending::after(world, at);
        let named = durable.values().flat_map(|names| names.values().copied());
        let reachable: BTreeSet<FileId> =
            named.chain(name_ops.iter().filter_map(|op| op.change.file())).collect();
        let (parts, files) = parts(world, &reachable, &written, limits);
        let radix = name_ops.iter().map(|_| 2).chain(files.iter().flat_map(PendingFile::radix));
        let choices = Choices::new(
            radix.collect(),
            name_ops.len(),
            limits.exhaustive,
            limits.samples,
            limits.seed,
        );
        let fills: &[Fill] = if files.iter().any(PendingFile::has_stale) {
            &[Fill::Zeros, Fill::Noise, Fill::Stale]
        } else {
            &[Fill::Zeros, Fill::Noise]
        };
        let last = at.min(world.log.len()).checked_sub(1);
        let operation =
            last.map_or_else(String::new, |last| world.log[last].describe(&world.files));
        let seed = limits.seed;
        Self {
            variants: files.iter().map(|_| Default::default()).collect(),
            scene: Arc::new(Scene { at, operation, seed, durable, name_ops, files, earlier }),
            root,
            parts,
            places: reachable.into_iter().zip(0..).collect(),
            choices,
            fills,
            current: None,
            name_states: HashMap::new(),
            cached: 0,
            seen: HashSet::new(),
            ids: world.ids,
            free_space: world.free_space,
            faults: world.faults.after_crash(),
        }
    }

    fn name_state(&mut self, choice: &Choice) -> Arc<NameState> {
        let scene = &self.scene;
        let digits = &choice[..scene.name_ops.len()];
        if let Some(state) = self.name_states.get(digits) {
            return state.clone();
        }
        let state = NameState::build(&scene.durable, &scene.name_ops, digits, &self.places);
        let state = Arc::new(state);
        self.name_states.insert(digits.to_vec(), state.clone());
        state
    }

    /// Returns the variant of every pending file.
    fn file_variants(&mut self, choice: &Choice, fill: Fill) -> Vec<Variant> {
        let mut digits = &choice[self.scene.name_ops.len()..];
        let mut variants = Vec::with_capacity(self.scene.files.len());
        for (file, cache) in self.scene.files.iter().zip(&mut self.variants) {
            let (own, rest) = digits.split_at(file.digits());
            digits = rest;
            let cache = &mut cache[fill as usize];
            variants.push(match cache.get(own) {
                Some(variant) => variant.clone(),
                None => {
                    let variant = file.build(own, fill);
                    if self.cached < CACHE {
                        self.cached += file.len();
                        cache.insert(own.to_vec(), variant.clone());
                    }
                    variant
                }
            });
        }
        variants
    }

    /// Returns the state of this choice, unless it was made before, and whether the fill matters.
    fn state(&mut self, choice: &Choice, fill: Fill) -> (Option<Arc<Sim>>, bool) {
        let names = self.name_state(choice);
        let variants = self.file_variants(choice, fill);
        let mut has_holes = false;
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(names.hash);
        for &place in &names.used {
            match self.parts[place] {
                Part::Durable(_) => hasher.write_usize(place),
                Part::Pending(file) => {
                    hasher.write_u64(variants[file].hash);
                    has_holes |= variants[file].has_holes;
                }
            }
        }
        if !self.seen.insert(hasher.finish()) {
            return (None, has_holes);
        }
        let files = self.parts.iter().map(|part| match part {
            Part::Durable(file) => file.clone(),
            Part::Pending(file) => {
                self.scene.files[*file].with_bytes(variants[*file].bytes.clone())
            }
        });
        let world = World {
            initial: names.folders.clone(),
            live: names.folders.clone(),
            files: files.collect(),
            ids: self.ids,
            free_space: self.free_space,
            faults: self.faults.clone(),
            ..World::default()
        };
        let crash = Crash { scene: self.scene.clone(), choice: choice.clone(), fill };
        (Some(Sim::in_world(world, self.root.clone(), Some(Arc::new(crash)))), has_holes)
    }
}

/// Returns all reachable files, and separately those that are pending.
fn parts(
    world: &mut World,
    reachable: &BTreeSet<FileId>,
    written: &BTreeMap<FileId, FileState>,
    limits: CrashLimits,
) -> (Vec<Part>, Vec<PendingFile>) {
    let (mut parts, mut files) = (Vec::new(), Vec::new());
    for &file in reachable {
        let SimFile { folder, name, .. } = &world.files[file];
        let (folder, name) = (folder.clone(), name.clone());
        let bytes = bytes_at(world, written, file);
        parts.push(match written.get(&file).filter(|state| !state.unsynced.is_empty()) {
            None => Part::Durable(SimFile::fixed(folder, name, bytes)),
            Some(state) => {
                let stale = world.predecessor(file).map(|old| bytes_at(world, written, old));
                let stale = stale.filter(|stale| !stale.is_empty());
                let (sector, pieces) = (limits.sector.max(1), limits.pieces.max(1));
                files.push(PendingFile::new(folder, name, bytes, stale, state, sector, pieces));
                Part::Pending(files.len() - 1)
            }
        });
    }
    (parts, files)
}

/// Returns the bytes of a file as the running process saw them at the time of the crash.
fn bytes_at(world: &mut World, written: &BTreeMap<FileId, FileState>, file: FileId) -> Arc<[u8]> {
    let now = world.files[file].bytes().len();
    world.snapshot(file, written.get(&file).map_or(now, |written| written.size))
}

impl Iterator for CrashStates {
    type Item = Arc<Sim>;

    fn next(&mut self) -> Option<Arc<Sim>> {
        loop {
            let (choice, fills) = match self.current.take() {
                Some(current) => current,
                None => (self.choices.next()?, self.fills),
            };
            let Some((&fill, rest)) = fills.split_first() else { continue };
            let (state, has_holes) = self.state(&choice, fill);
            if has_holes {
                self.current = Some((choice, rest));
            }
            if state.is_some() {
                return state;
            }
        }
    }
}

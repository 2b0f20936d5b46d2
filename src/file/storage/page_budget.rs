//! The limit for the memory that pages of files and copies of indexes take.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use super::available::Shared;
use super::page::PAGE;

/// The bytes that all databases of this process have set aside for files and have not used yet. The
/// system still counts them as available.
static PROMISED: AtomicU64 = AtomicU64::new(0);

/// By how many bytes pages grow before the budget checks again how much memory is available; a 64th
/// of the limit if that is more.
const LOOK_AFTER: u64 = 4 << 20;

/// How many bytes of memory the pages of a database's files and the copies of its indexes may take,
/// and how many the pages take.
///
/// # Examples
///
/// ```
/// let budget = fpdb::storage::PageBudget::new(1 << 30);
/// assert_eq!((budget.limit(), budget.used()), (1 << 30, 0));
/// ```
// There are two kinds of files. A file with memory set aside keeps all its pages. The pages of
// other files are *loose*: they are not removed one by one, but in generations. Once loose pages
// exceed the room for them, the next generation begins. The next operation then uses a version of
// the segments with empty memory for loose pages, and the old memory is freed after the last
// operation that uses it (`Current` in version.rs). Until then it counts, so that the next
// generations are shorter. But each has at least an eighth of the room, because nothing is gained
// by dropping few pages.
//
// A limit that nobody has set follows what is available. It is looked at when pages have grown,
// which they do only where a file is read, so no lookup of pages that are in memory waits for it.
#[derive(Debug)]
pub struct PageBudget {
    limit: AtomicU64,
    /// What the limit follows; `None` if the caller has set it.
    shared: Option<Shared>,
    /// The limit when the last generation began, or memory was last set aside.
    settled: AtomicU64,
    /// How many bytes pages have grown since the last look.
    grown: AtomicU64,
    /// Whether memory was released, so that none is set aside for files until pages have grown
    /// again.
    is_released: AtomicBool,
    /// The bytes of files with memory set aside, whether they have been read or not.
    set_aside: AtomicU64,
    /// How many of these bytes are not used yet.
    unread: AtomicU64,
    /// The bytes of loose pages, of all generations.
    loose: AtomicU64,
    /// The bytes of loose pages that were read in this generation.
    young: AtomicU64,
    generation: AtomicU64,
    /// The number of reads that queries and other callers have waited for.
    waits: AtomicU64,
    /// The bytes that copies of indexes take of files without memory set aside.
    copies: AtomicU64,
    /// The bytes of files that are being written and that the system is to keep.
    written: AtomicU64,
    /// [`PROMISED`], but for tests.
    promised: &'static AtomicU64,
}

/// Most of the memory that is available now.
impl Default for PageBudget {
    fn default() -> Self {
        Self::of_shared(Shared::of_process(), &PROMISED)
    }
}

impl PageBudget {
    /// Creates a budget of this many bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit: AtomicU64::new(limit),
            shared: None,
            settled: AtomicU64::new(limit),
            grown: AtomicU64::new(0),
            is_released: AtomicBool::new(false),
            set_aside: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            loose: AtomicU64::new(0),
            young: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            written: AtomicU64::new(0),
            promised: &PROMISED,
        }
    }

    /// Creates a budget whose limit follows what is available.
    fn of_shared(shared: Shared, promised: &'static AtomicU64) -> Self {
        let limit = shared.limit(0, promised.load(Relaxed));
        Self { shared: Some(shared), promised, ..Self::new(limit) }
    }

    /// Returns a budget without a limit, which all that use it share.
    pub(crate) fn unlimited() -> Arc<Self> {
        static UNLIMITED: LazyLock<Arc<PageBudget>> =
            LazyLock::new(|| Arc::new(PageBudget::new(u64::MAX)));
        UNLIMITED.clone()
    }

    /// Returns the limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Returns the bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.set_aside.load(Relaxed).saturating_add(self.loose.load(Relaxed))
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// Begins the next generation, without the pages of files whose memory was released.
    pub(crate) fn begin_generation(&self) {
        self.young.store(0, Relaxed);
        self.settled.store(self.limit(), Relaxed);
        self.generation.fetch_add(1, Relaxed);
    }

    /// Returns how many bytes loose pages may take: what nothing else takes, and at least a
    /// sixteenth of the limit.
    fn room_for_loose(&self) -> u64 {
        let others = self.set_aside.load(Relaxed).saturating_add(self.copies.load(Relaxed));
        self.limit().saturating_sub(others).max(self.limit() / 16)
    }

    /// Returns how many bytes copies of indexes may take if nobody has set another limit for them.
    pub(crate) fn most_copies(&self) -> u64 {
        self.limit() / 8 * 7
    }

    /// Sets how many bytes the copies of indexes take of files without memory set aside. The copies
    /// of other files take the place of pages.
    pub(crate) fn set_copies(&self, bytes: u64) {
        self.copies.store(bytes, Relaxed);
    }

    /// Counts a read that a query or another caller waits for, not one in the background.
    pub(crate) fn count_wait(&self) {
        self.waits.fetch_add(1, Relaxed);
    }

    /// Returns how many reads were [counted](Self::count_wait).
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Relaxed)
    }

    /// Counts a loose page.
    pub(crate) fn add_page(&self) {
        let loose = self.loose.fetch_add(PAGE as u64, Relaxed) + PAGE as u64;
        let young = self.young.fetch_add(PAGE as u64, Relaxed) + PAGE as u64;
        let room = self.room_for_loose();
        if loose > room && young > room / 8 {
            self.begin_generation();
        }
    }

    /// Counts bytes of a file that is being written, if there is room for them beside all pages and
    /// copies. Returns whether there is.
    pub(crate) fn keep_written(&self, bytes: u64) -> bool {
        let others = self.used().saturating_add(self.copies.load(Relaxed));
        let room = self.limit().saturating_sub(others);
        let fits = |written: u64| written.checked_add(bytes).filter(|&sum| sum <= room);
        self.written.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Ends counting what [`keep_written`](Self::keep_written) has counted.
    pub(super) fn end_written(&self, bytes: u64) {
        self.written.fetch_sub(bytes, Relaxed);
    }

    /// Notes that pages or copies have begun to take this many more bytes. From time to time, looks
    /// at how much memory is available.
    pub(crate) fn grow(&self, bytes: u64) {
        let most = LOOK_AFTER.max(self.limit() / 64);
        if self.grown.fetch_add(bytes, Relaxed) + bytes >= most
            && self.grown.swap(0, Relaxed) >= most
        {
            self.fit();
            if self.is_released.load(Relaxed) && !self.is_short() {
                self.is_released.store(false, Relaxed);
                self.begin_generation();
            }
        }
    }

    /// Sets the limit by how much memory is available. If pages take more, or if whole files may
    /// fit again, the next generation begins.
    pub(crate) fn fit(&self) {
        let Some(shared) = &self.shared else { return };
        let (unread, promised) = (self.unread.load(Relaxed), self.promised.load(Relaxed));
        let taken = self.used().saturating_add(self.copies.load(Relaxed));
        let held = taken.saturating_sub(unread);
        let limit = shared.limit(held, promised.saturating_sub(unread));
        self.limit.store(limit, Relaxed);
        let settled = self.settled.load(Relaxed);
        if limit < settled && taken > limit || limit.saturating_sub(settled) > limit / 8 {
            self.begin_generation();
        }
    }

    /// Returns whether the system has so little memory left that the limit goes down.
    fn is_short(&self) -> bool {
        self.shared.as_ref().is_some_and(Shared::is_short)
    }

    /// Begins the next generation, in which memory is set aside for no file until pages have grown
    /// again.
    pub(crate) fn release(&self) {
        self.fit();
        self.is_released.store(true, Relaxed);
        self.grown.store(0, Relaxed);
        self.begin_generation();
    }

    /// Counts loose pages that were dropped.
    pub(crate) fn drop_pages(&self, pages: usize) {
        self.loose.fetch_sub((pages * PAGE) as u64, Relaxed);
    }

    /// Sets memory aside for all pages of a file, if that leaves a sixteenth of the limit for loose
    /// pages. Returns whether it does.
    pub(crate) fn set_aside(&self, bytes: u64) -> bool {
        if self.is_released.load(Relaxed) {
            return false;
        }
        let most = self.most_fixed().saturating_sub(self.copies.load(Relaxed));
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= most);
        let is_set_aside = self.set_aside.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if is_set_aside {
            self.promised.fetch_add(bytes, Relaxed);
            self.unread.fetch_add(bytes, Relaxed);
            self.settled.fetch_max(self.limit(), Relaxed);
        }
        if is_set_aside && self.loose.load(Relaxed) > self.room_for_loose() {
            self.begin_generation();
        }
        is_set_aside
    }

    /// Counts memory that was set aside and is used now, or never will be.
    pub(crate) fn use_promised(&self, bytes: u64) {
        self.promised.fetch_sub(bytes, Relaxed);
        self.unread.fetch_sub(bytes, Relaxed);
    }

    /// Gives up memory that was set aside and is not promised any more.
    pub(crate) fn end_set_aside(&self, bytes: u64) {
        self.set_aside.fetch_sub(bytes, Relaxed);
    }

    /// Returns how many bytes files with memory set aside and copies may take together.
    pub(crate) fn most_fixed(&self) -> u64 {
        let limit = self.limit();
        limit - limit / 16
    }

    /// Returns whether there is room for this many more bytes, and as many again for others.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.limit() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u64 = PAGE as u64;

    #[test]
    fn generation_ends_when_its_pages_exceed_the_room_for_loose_pages() {
        let budget = PageBudget::new(100 * P);
        assert!(
            budget.set_aside(80 * P) && !budget.set_aside(14 * P) && !budget.set_aside(u64::MAX)
        );
        (0..20).for_each(|_| budget.add_page());
        assert_eq!((budget.generation(), budget.used()), (0, 100 * P));
        budget.add_page();
        assert_eq!(budget.generation(), 1);
        budget.drop_pages(21);
        (0..20).for_each(|_| budget.add_page());
        assert_eq!((budget.generation(), budget.used()), (1, 100 * P));
        budget.add_page();
        assert_eq!(budget.generation(), 2);
        budget.drop_pages(21);
        budget.end_set_aside(80 * P);
        assert!(budget.used() == 0 && budget.has_room(50 * P) && !budget.has_room(51 * P));
    }

    #[test]
    fn pages_that_are_still_in_use_make_the_next_generations_short() {
        let budget = PageBudget::new(64 * P);
        (0..65).for_each(|_| budget.add_page());
        assert_eq!(budget.generation(), 1);
        // Each of eight threads keeps the pages of a generation.
        for generation in 2..9 {
            (0..8).for_each(|_| budget.add_page());
            assert_eq!(budget.generation(), generation - 1);
            budget.add_page();
            assert_eq!(budget.generation(), generation);
        }
        assert_eq!(budget.used(), (65 + 7 * 9) * P);
        budget.drop_pages(65 + 7 * 9);
        (0..64).for_each(|_| budget.add_page());
        assert_eq!(budget.generation(), 8);
    }

    #[test]
    fn copies_take_the_room_of_pages_except_for_a_sixteenth() {
        let budget = PageBudget::new(160 * P);
        assert!(budget.set_aside(80 * P));
        budget.set_copies(20 * P);
        assert_eq!(budget.room_for_loose(), 60 * P);
        assert!(!budget.set_aside(51 * P) && budget.set_aside(50 * P));
        assert_eq!(budget.room_for_loose(), 10 * P);
        budget.set_copies(u64::MAX);
        assert_eq!(budget.room_for_loose(), 10 * P);
    }

    #[test]
    fn files_that_are_written_are_kept_in_the_room_that_pages_and_copies_leave() {
        let budget = PageBudget::new(160 * P);
        assert!(budget.set_aside(80 * P));
        budget.set_copies(20 * P);
        (0..10).for_each(|_| budget.add_page());
        assert!(budget.keep_written(30 * P) && !budget.keep_written(20 * P + 1));
        assert!(budget.keep_written(20 * P) && !budget.keep_written(1));
        budget.end_written(30 * P);
        assert!(budget.keep_written(30 * P) && !budget.keep_written(u64::MAX));
        assert!(!PageBudget::new(0).keep_written(1));
    }

    #[test]
    fn memory_that_is_set_aside_is_promised_until_it_is_used() {
        let promised: &'static AtomicU64 = Box::leak(Box::default());
        let of_limit = |limit| PageBudget { promised, ..PageBudget::new(limit) };
        let (one, another) = (of_limit(800), of_limit(800));
        assert!(one.set_aside(500) && another.set_aside(600) && !another.set_aside(200));
        assert_eq!(promised.load(Relaxed), 1100);
        one.use_promised(500);
        one.end_set_aside(500);
        assert_eq!(promised.load(Relaxed), 600);
    }

    #[test]
    fn memory_that_is_set_aside_ends_the_generation_if_loose_pages_take_its_room() {
        let budget = PageBudget::new(100 * P);
        (0..40).for_each(|_| budget.add_page());
        assert!(budget.set_aside(50 * P));
        assert_eq!(budget.generation(), 0);
        assert!(budget.set_aside(30 * P));
        assert_eq!(budget.generation(), 1);
    }

    /// What the tests say is left.
    static LEFT: AtomicU64 = AtomicU64::new(0);

    /// The limit is computed from what is held and left, with a reserve of 21 MiB of 100.
    #[test]
    fn limit_follows_what_is_available_when_pages_have_grown() {
        const MIB: u64 = 1 << 20;
        let set_left = |mib| LEFT.store(mib * MIB, Relaxed);
        let shared = Shared { total: 100 * MIB, left: || Some(LEFT.load(Relaxed)) };
        let promised: &'static AtomicU64 = Box::leak(Box::default());
        set_left(100);
        let budget = PageBudget::of_shared(shared, promised);
        let (limit, generation) = (|| budget.limit() / MIB, || budget.generation());
        let read = |mib| (0..mib * MIB / P).for_each(|_| budget.grow(P));
        assert_eq!(limit(), 70);
        assert!(budget.set_aside(60 * MIB));
        budget.use_promised(20 * MIB);
        // 20 MiB are held. Another program takes memory, and so would the rest of the file.
        set_left(11);
        read(3);
        assert_eq!((limit(), generation()), (70, 0), "it looks at that after 4 MiB");
        read(1);
        assert_eq!(
            (limit(), generation()),
            (10, 1),
            "it gives back what is missing in the reserve"
        );
        // Whoever drops the pages gives back what was set aside, read or not.
        budget.use_promised(40 * MIB);
        budget.end_set_aside(60 * MIB);
        set_left(31);
        read(4);
        assert_eq!((limit(), generation()), (10, 1), "nothing is held");
        assert!(budget.set_aside(9 * MIB) && !budget.set_aside(MIB));
        // The other program ends.
        set_left(91);
        read(4);
        assert_eq!((limit(), generation()), (70, 2), "files may be set aside again");
        assert!(budget.set_aside(50 * MIB));
        // What is promised to others is not available.
        promised.fetch_add(30 * MIB, Relaxed);
        read(4);
        assert_eq!(limit(), 40);
    }

    #[test]
    fn released_memory_is_set_aside_again_only_once_pages_have_grown() {
        let budget = PageBudget::new(100 * LOOK_AFTER);
        budget.release();
        assert_eq!((budget.generation(), budget.limit()), (1, 100 * LOOK_AFTER));
        assert!(!budget.set_aside(1));
        budget.grow(2 * LOOK_AFTER);
        assert_eq!(budget.generation(), 2);
        assert!(budget.set_aside(1));
        budget.grow(2 * LOOK_AFTER);
        assert_eq!(budget.generation(), 2);
    }
}

//! Options for how files are read, and for the memory that this takes.

use crate::db::options::Options;
use crate::fingerprint::Sketch;

impl<F> Options<F> {
    /// Sets how many bytes of memory copies of the tables' directories and filters may take.
    /// Queries use the copies, in pages of 2 MiB where the system has them, instead of the pages of
    /// the files. Segments of up to 2^18 fingerprints are also decoded: 9 bytes per fingerprint and
    /// table at 64 bits. That is done in the background after opening, a flush, a compaction or a
    /// bulk load, the largest segment first. Queries do not wait for it, but
    /// [`warm`](crate::Db::warm) does. A segment that does not fit has none, until the segments
    /// change next. With 0, nothing is loaded in the background, neither copies nor
    /// [pages](Self::page_memory), which is best for few queries. The copies count towards
    /// `page_memory`, but they may take more than that if this option says so. The copies of files
    /// for which memory is set aside need none in addition to that. Default: seven eighths of
    /// `page_memory`; not stored.
    pub fn index_memory(mut self, bytes: u64) -> Self {
        self.tuning.index_memory = Some(bytes);
        self
    }

    /// Sets how many bytes of memory the pages of files and the [copies](Self::index_memory) of
    /// directories and filters may take together.
    ///
    /// A page is read into memory when it is first used, is checked there, and stays. Fifteen
    /// sixteenths of the limit, less the copies, are set aside for entire files, as far as they
    /// fit. The background reads these from beginning to end, and so does
    /// [`warm`](crate::Db::warm). The system is asked to keep no second copy of them in its cache.
    ///
    /// The pages of other files share the rest. A query that begins when they take more than that
    /// drops them all, and then reads again what it needs, up to a few dozen pages at once. So the
    /// pages may exceed the limit by what the running queries read, and by an eighth of the rest
    /// for each thread that is in the middle of a query. A snapshot keeps the pages that were read
    /// through it until it is dropped: at most as many as the rest, and an eighth of that if older
    /// snapshots have as many. Iterators, flush, compaction, backup and `verify` read in parts, and
    /// keep at most a few MiB each in addition to this.
    ///
    /// Default: seven tenths of the machine's memory or of the lowest limit of the process's
    /// control groups, but no more than leaves three twentieths of all memory and 6 MiB available;
    /// at least a 64th of all memory. Where the system does not say, 1 GiB. Not stored. What is
    /// available is looked at when the database is opened, whenever pages have grown by a 64th of
    /// the limit or 4 MiB, after a flush, and by [`fit_memory`](crate::Db::fit_memory): if other
    /// programs need more, pages are dropped, and if they need less, pages may grow again. A
    /// program that takes much memory at once can still be ended by the system before that happens:
    /// set this option where a process must not have more, and in each of several processes that
    /// share a control group. A limit that is set stays as it is.
    pub fn page_memory(mut self, bytes: u64) -> Self {
        self.tuning.page_memory = Some(bytes);
        self
    }
}

impl Options<Sketch> {
    /// Sets how many pages of documents, of 4 KiB each, one query may read. A query whose bands
    /// lead to more fails with [`TooManyCandidates`](crate::ErrorKind::TooManyCandidates) before it
    /// reads any, and so does a conditional insert. A plain insert does not.
    ///
    /// Usually a band leads to a few documents. But millions of pages can share a template, and
    /// whoever knows the recipe can make any number of documents with the same band. Pairs, joins
    /// and clusters have no such bound. A query reads them in parts, and drops pages between these,
    /// so it takes no more memory than [`page_memory`](Self::page_memory) allows. Default: one page
    /// for each 64 bytes of `page_memory`, but at least 2^12 and at most 2^20; not stored.
    ///
    /// ```
    /// use fpdb::{ErrorKind, Options, Sketch, Within};
    /// let db = Options::sketches().candidate_pages(0).in_memory()?;
    /// db.insert(Sketch::ZERO, 1)?;
    /// db.flush()?;
    /// let error = db.query(Sketch::ZERO, Within::Rule).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TooManyCandidates);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn candidate_pages(mut self, pages: usize) -> Self {
        self.tuning.candidate_pages = Some(pages);
        self
    }
}

//! `--remove-lists`: what to remove, in the files that datatrove's MinhashDedupFilter reads.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use fpdb::{Cluster, DocId, Fingerprint};

/// The documents of all clusters.
#[derive(Default)]
pub(super) struct RemoveLists {
    documents: Vec<Document>,
    clusters: u32,
}

/// A document of a cluster. Ordered by its id: by rank, and then by the position in the rank's
/// input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Document {
    id: DocId,
    cluster: u32,
    size: u32,
    is_first: bool,
}

impl Document {
    /// Splits the id into the rank and the position.
    fn place(self) -> (u32, u32) {
        let [rank, position] = [self.id.0 >> 32, self.id.0 & u64::from(u32::MAX)];
        // Both are less than 2^32.
        (u32::try_from(rank).unwrap_or(u32::MAX), u32::try_from(position).unwrap_or(u32::MAX))
    }
}

impl RemoveLists {
    pub(super) fn add<F: Fingerprint>(&mut self, cluster: &Cluster<'_, F>) {
        let (number, first) = (self.clusters, cluster.first.id);
        let size = u32::try_from(cluster.members.len()).unwrap_or(u32::MAX);
        let document = |id| Document { id, cluster: number, size, is_first: id == first };
        self.documents.extend(cluster.members.iter().map(|entry| document(entry.id)));
        self.clusters = number.saturating_add(1);
    }

    /// Writes the files of all ranks to a new folder. After an error, there is no folder.
    pub(super) fn write(mut self, folder: &Path) -> Result<()> {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let temporary = tempfile::Builder::new().prefix("fpdb-tool-").tempdir_in(parent);
        let temporary =
            temporary.with_context(|| format!("cannot write to {}", parent.display()))?;
        self.documents.sort_unstable();
        if let Some(w) = self.documents.windows(2).find(|w| w[0].id == w[1].id) {
            bail!(
                "document {} has several fingerprints: lists for datatrove need one per document",
                w[0].id
            );
        }
        for rank in self.documents.chunk_by(|a, b| a.place().0 == b.place().0) {
            write_rank(temporary.path(), rank)?;
        }
        let named = |error| format!("cannot create {}: {error}", folder.display());
        fs::rename(temporary.path(), folder).map_err(|error| anyhow::anyhow!(named(error)))
    }
}

/// Writes the files of one rank. All numbers are little-endian, of 4 bytes: positions to remove;
/// each position with the number of its cluster; each with the size of its cluster.
fn write_rank(folder: &Path, documents: &[Document]) -> Result<()> {
    let Some(first) = documents.first() else { return Ok(()) };
    let (rank, _) = first.place();
    let removed = documents.iter().filter(|document| !document.is_first);
    write_file(folder, rank, "remove", removed.map(|document| vec![document.place().1]))?;
    let with = |number: fn(&Document) -> u32| {
        documents.iter().map(move |document| vec![document.place().1, number(document)])
    };
    write_file(folder, rank, "clusters", with(|document| document.cluster))?;
    write_file(folder, rank, "sizes", with(|document| document.size))
}

fn write_file(
    folder: &Path,
    rank: u32,
    extension: &str,
    records: impl Iterator<Item = Vec<u32>>,
) -> Result<()> {
    let path = folder.join(format!("{rank:06}.{extension}"));
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(&path)?);
        for number in records.flatten() {
            file.write_all(&number.to_le_bytes())?;
        }
        file.flush()?;
        file.get_ref().sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

//! Which document of a cluster is kept.

use anyhow::Result;
use clap::ValueEnum;
use fpdb::{Cluster, DocId, Entry, Fingerprint, Key, Snapshot};

/// `--keep`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The document with the lowest id
    First,
    /// The document with the latest stamp
    Newest,
}

impl Keep {
    /// Returns the member to keep: of several, the one with the lowest id. A member without a stamp
    /// comes last.
    pub(super) fn of<F: Fingerprint>(
        self,
        cluster: &Cluster<'_, F>,
        snapshot: &Snapshot<F>,
    ) -> Result<Entry<F>> {
        let mut kept = (None, cluster.first);
        if self == Self::Newest {
            for &member in cluster.members {
                let stamp = stamp(snapshot, member.id)?;
                if stamp > kept.0 {
                    kept = (stamp, member);
                }
            }
        }
        Ok(kept.1)
    }
}

fn stamp<F: Fingerprint>(snapshot: &Snapshot<F>, id: DocId) -> Result<Option<u64>> {
    let name = snapshot.name(id)?;
    let key = name.as_deref().map_or(Key::Id(id), Key::Name);
    Ok(snapshot.get(key)?.and_then(|document| document.stamp))
}

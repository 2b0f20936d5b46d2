//! Writes the seeds that are made from a new database to the corpora.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, name, bytes) in fpdb_fuzz::seeds() {
        std::fs::write(corpora.join(target).join(name), bytes)?;
    }
    Ok(())
}

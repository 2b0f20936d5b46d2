//! Progress bars, which are drawn on standard error if that is a terminal and `--quiet` is absent.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use fpdb::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Context;

/// Returns a bar over the bytes of input files, or a counter of bytes if their sizes are unknown.
/// [`count`] adds what was found in them.
pub(crate) fn over_files(context: &Context<'_>, files: &[PathBuf]) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    let sizes = files.iter().map(|file| std::fs::metadata(file).ok().filter(|m| m.is_file()));
    match sizes.map(|file| file.map(|m| m.len())).sum::<Option<u64>>() {
        Some(bytes) => ProgressBar::new(bytes).with_style(style(
            "{wide_bar} {percent:>3} %  {msg}{binary_bytes_per_sec}  {eta} left",
        )),
        None => {
            let template = "{spinner} {msg}{binary_bytes} read, {binary_bytes_per_sec}";
            let bar = ProgressBar::new_spinner().with_style(style(template));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }
    }
}

/// Shows how many documents were read so far, and how many of them were something.
pub(crate) fn count(bar: &ProgressBar, documents: u64, (number, what): (u64, &str)) {
    bar.set_message(format!("{documents} documents, {number} {what}  "));
}

/// Returns a bar for an operation of the library, which [`show`] moves.
pub(crate) fn of_operation(context: &Context<'_>) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::no_length();
    bar.set_style(style("{msg} {wide_bar} {percent:>3} %  {eta} left"));
    bar
}

/// Returns a function that shows the progress of an operation of the database on a bar.
pub(crate) fn on(
    bar: &ProgressBar,
) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static {
    let bar = bar.clone();
    move |progress| show(&bar, progress)
}

/// Shows the progress of an operation on a bar. Never cancels the operation.
fn show(bar: &ProgressBar, progress: Progress) -> ControlFlow<()> {
    if progress.done < bar.position() {
        // The speed of the last step says nothing about the next one.
        bar.reset_eta();
    }
    if let Some(total) = progress.total {
        bar.set_length(total);
    }
    bar.set_message(progress.phase.to_string());
    bar.set_position(progress.done);
    ControlFlow::Continue(())
}

fn is_wanted(context: &Context<'_>) -> bool {
    !context.quiet && std::io::stderr().is_terminal()
}

/// Returns the style of a template. A wrong template only makes the bar look different.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use fpdb::{Db, DocId, Entry};

    use super::*;

    #[test]
    fn the_bar_follows_an_operation_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::options().create(folder.path().join("db")).unwrap();
        let entries = (0..1000).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
        let loaded = db.bulk_load(entries).unwrap();
        assert_eq!(loaded.inserted, 1000);
        let bar = ProgressBar::hidden();
        let report = db.snapshot().on_progress(on(&bar)).verify(fpdb::VerifyLevel::Full).unwrap();
        assert!(report.errors.is_empty());
        assert!(bar.position() > 0);
        assert_eq!(Some(bar.position()), bar.length());
        assert!(!bar.message().is_empty());
    }
}

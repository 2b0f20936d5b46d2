//! Progress bars, which are drawn on standard error if that is a terminal and `--quiet` is absent.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Context;

/// Returns a bar over the bytes of input files, or a counter of bytes if their sizes are unknown.
pub(crate) fn over_files(context: &Context<'_>, files: &[PathBuf]) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    let sizes = files.iter().map(|file| std::fs::metadata(file).ok().filter(|m| m.is_file()));
    match sizes.map(|file| file.map(|m| m.len())).sum::<Option<u64>>() {
        Some(bytes) => ProgressBar::new(bytes)
            .with_style(style("{wide_bar} {percent:>3} %  {binary_bytes_per_sec}  {eta} left")),
        None => spinner("{spinner} {binary_bytes} read, {binary_bytes_per_sec}"),
    }
}

/// Returns a spinner for work of unknown length.
pub(crate) fn working(context: &Context<'_>, activity: &'static str) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    spinner("{spinner} {msg} {elapsed}").with_message(activity)
}

fn is_wanted(context: &Context<'_>) -> bool {
    !context.quiet && std::io::stderr().is_terminal()
}

fn spinner(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_style(style(template));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Returns the style of a template. A wrong template only makes the bar look different.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

//! The kinds of files of a database.

/// Returns what a file is by its name.
pub(super) fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("log") => "log",
        Some("ids") => "postings",
        Some("del") => "tombstones",
        Some("docs") => "documents",
        Some("spare") => "spare",
        Some(table) if table.starts_with('t') => "table",
        Some(table) if table.starts_with('k') => "keys",
        _ if name == "MANIFEST" || name == "MANIFEST.copy" => "manifest",
        _ => "other",
    }
}

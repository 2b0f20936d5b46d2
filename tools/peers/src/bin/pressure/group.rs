//! Control groups, which limit how much memory a process and its part of the page cache take.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

/// A group with a limit, below the group of this process. It is removed when it is dropped.
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// Creates a group whose processes may take this many bytes of memory, page cache included.
    pub fn create(bytes: u64) -> Result<Self> {
        let (parent, limit) = parent()?;
        let folder = parent.join(format!("fpdb-pressure-{}", std::process::id()));
        let reason = || {
            format!(
                "cannot create a control group in {}: run this as root, where control groups can be \
                 written, or use --no-groups",
                parent.display()
            )
        };
        fs::create_dir(&folder).with_context(reason)?;
        let group = Self { folder };
        fs::write(group.folder.join(limit), bytes.to_string()).with_context(reason)?;
        Ok(group)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The system takes a moment to notice that a process has ended.
        for _ in 0..200 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                _ => return,
            }
        }
        eprintln!("could not remove {}", self.folder.display());
    }
}

/// Moves this process into the group with this folder.
pub fn enter(folder: &Path) -> Result<()> {
    let file = folder.join("cgroup.procs");
    fs::write(&file, "0").with_context(|| format!("cannot enter {}", file.display()))
}

/// Returns the folder of this process's group, and the name of the file that has its limit: of
/// version 1 if that controls memory, otherwise of version 2.
fn parent() -> Result<(PathBuf, &'static str)> {
    let groups = fs::read_to_string("/proc/self/cgroup").context("no control groups")?;
    let find = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    if let Some(path) = find(&|names| names.split(',').any(|name| name == "memory")) {
        return Ok((Path::new("/sys/fs/cgroup/memory").join(path), "memory.limit_in_bytes"));
    }
    let path = find(&str::is_empty).context("no control groups that limit memory")?;
    let group = Path::new("/sys/fs/cgroup").join(path);
    // A group with processes cannot have limited groups below it, so these go beside it.
    let parent = group.parent().filter(|parent| parent.starts_with("/sys/fs/cgroup"));
    Ok((parent.map_or_else(|| group.clone(), Path::to_owned), "memory.max"))
}

//! How much memory the process may use.

#![cfg_attr(
    target_os = "linux",
    expect(clippy::disallowed_methods, reason = "reads what the system says about itself")
)]

use std::sync::OnceLock;

/// What is assumed where the system does not say.
const UNKNOWN: u64 = 4 << 30;

/// Returns the bytes of memory that the process may use: the least of the machine's memory and the
/// limits of the process's control groups. Where the system does not say, 4 GiB.
///
/// Compare it with the size of a database to choose its [`Access`](crate::Access).
///
/// # Examples
///
/// ```
/// assert!(fpdb::memory_limit() > 0);
/// ```
#[must_use]
pub fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| limits().min().unwrap_or(UNKNOWN))
}

#[cfg(target_os = "linux")]
fn limits() -> impl Iterator<Item = u64> {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let machine = machine_memory(&read("/proc/meminfo".to_owned()));
    let groups = group_files(&read("/proc/self/cgroup".to_owned()));
    let limits: Vec<u64> =
        groups.into_iter().filter_map(|path| read(path).trim().parse().ok()).collect();
    machine.into_iter().chain(limits)
}

#[cfg(not(target_os = "linux"))]
fn limits() -> impl Iterator<Item = u64> {
    std::iter::empty()
}

/// Returns the memory that `/proc/meminfo` reports.
#[cfg(any(test, target_os = "linux"))]
fn machine_memory(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse().ok().map(|kib: u64| kib << 10)
}

/// Returns the files that may hold a limit, given `/proc/self/cgroup`: the files of the process's
/// groups and of the groups that contain them.
#[cfg(any(test, target_os = "linux"))]
fn group_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            files.push(format!("{root}{path}/{file}"));
            let Some((parent, _)) = path.rsplit_once('/') else { break };
            path = parent;
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_machine_or_the_least_limit_of_a_group() {
        assert!(memory() > 1 << 20);
        assert_eq!(machine_memory("MemFree: 1 kB\nMemTotal:       16 kB\n"), Some(16 << 10));
        assert_eq!(machine_memory("no such line"), None);
        let files = group_files("0::/user/job\n5:cpu,memory:/x\n3:cpu:/y\n");
        let expected = [
            "/sys/fs/cgroup/user/job/memory.max",
            "/sys/fs/cgroup/user/memory.max",
            "/sys/fs/cgroup/memory.max",
            "/sys/fs/cgroup/memory/x/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        ];
        assert_eq!(files, expected);
    }
}

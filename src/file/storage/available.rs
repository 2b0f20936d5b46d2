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
pub(crate) fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| limits().min().unwrap_or(UNKNOWN))
}

/// Returns how many more bytes of memory the process can use now, including what the system can
/// free, such as its cache of files: the least of what the machine has and what the process's
/// control groups allow. `None` if the system does not say.
fn memory_now() -> Option<u64> {
    left().min()
}

/// Returns how many bytes copies of indexes may take by default where pages have no limit.
pub(super) fn default_for_copies() -> u64 {
    memory() / 10 * 6
}

/// The memory that pages and copies of indexes share with everything else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    /// The bytes that the process may use in all.
    pub(super) total: u64,
    /// How many more bytes the process can use now, as far as the system says.
    pub(super) left: fn() -> Option<u64>,
}

impl Shared {
    /// The memory of this process.
    pub(super) fn of_process() -> Self {
        Self { total: memory(), left: memory_now }
    }

    /// Returns how many bytes pages and copies may take if they take `held` now, and other
    /// databases of the process will take `promised` more: at most seven tenths of all, and so that
    /// the reserve is left.
    pub(super) fn limit(&self, held: u64, promised: u64) -> u64 {
        let Some(left) = (self.left)() else { return self.total / 4 };
        let most = held.saturating_add(left.saturating_sub(promised));
        (self.total / 10 * 7).min(most.saturating_sub(self.reserve())).max(self.total / 64)
    }

    /// Returns whether less than the reserve is left.
    pub(super) fn is_short(&self) -> bool {
        (self.left)().is_some_and(|left| left < self.reserve())
    }

    /// What is left for everything else that counts towards the limit of a control group: the
    /// memtable and what operations need, the pages of old versions that are still in use, the rest
    /// of the program, and what the system needs for the process. Without that, the system ended
    /// processes with eight threads.
    fn reserve(&self) -> u64 {
        // What the system needs for the threads and reads of a process does not depend on how much
        // memory there is.
        3 * (self.total / 20).saturating_add(2 << 20).min(self.total / 10)
    }
}

#[cfg(target_os = "linux")]
fn left() -> impl Iterator<Item = u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = kib_of("MemAvailable:", &read("/proc/meminfo"));
    let groups = group_files(&read("/proc/self/cgroup"));
    let groups: Vec<u64> = groups.iter().filter_map(|path| left_in_group(path, read)).collect();
    machine.into_iter().chain(groups)
}

#[cfg(not(target_os = "linux"))]
fn left() -> impl Iterator<Item = u64> {
    std::iter::empty()
}

/// Returns how much memory is left in the control group whose limit is in this file. The cache of
/// files counts as left, but for the files that are mapped: a program cannot run without its own
/// pages, and the system ends a process of the group before it has freed all of them. `read`
/// returns the contents of a file, or nothing.
#[cfg(any(test, target_os = "linux"))]
fn left_in_group(limit: &str, read: impl Fn(&str) -> String) -> Option<u64> {
    let number = |path: &str| read(path).trim().parse::<u64>().ok();
    let (folder, name) = limit.rsplit_once('/')?;
    let (used, cache, mapped) = match name {
        "memory.max" => ("memory.current", ["inactive_file", "active_file"], "file_mapped"),
        _ => (
            "memory.usage_in_bytes",
            ["total_inactive_file", "total_active_file"],
            "total_mapped_file",
        ),
    };
    let stat = read(&format!("{folder}/memory.stat"));
    let cached = |name: &str| -> u64 {
        let values = stat.lines().filter_map(|line| line.split_once(' '));
        values.filter(|(key, _)| *key == name).filter_map(|(_, n)| n.parse::<u64>().ok()).sum()
    };
    let used = number(&format!("{folder}/{used}"))?;
    let freed = cache.into_iter().map(cached).sum::<u64>().saturating_sub(cached(mapped));
    Some(number(limit)?.saturating_sub(used.saturating_sub(freed)))
}

#[cfg(target_os = "linux")]
fn limits() -> impl Iterator<Item = u64> {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let machine = kib_of("MemTotal:", &read("/proc/meminfo".to_owned()));
    let groups = group_files(&read("/proc/self/cgroup".to_owned()));
    let limits: Vec<u64> =
        groups.into_iter().filter_map(|path| read(path).trim().parse().ok()).collect();
    machine.into_iter().chain(limits)
}

#[cfg(not(target_os = "linux"))]
fn limits() -> impl Iterator<Item = u64> {
    std::iter::empty()
}

/// Returns an amount of memory that `/proc/meminfo` reports, in bytes.
#[cfg(any(test, target_os = "linux"))]
fn kib_of(name: &str, meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix(" kB")?.parse().ok().map(|kib: u64| kib << 10)
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
        assert_eq!(kib_of("MemTotal:", "MemFree: 1 kB\nMemTotal:       16 kB\n"), Some(16 << 10));
        assert_eq!(kib_of("MemTotal:", "no such line"), None);
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

    #[test]
    fn pages_take_most_of_the_memory_and_leave_three_twentieths_of_it() {
        let gib = |count: u64| count << 30;
        let rest = 3 * (gib(10) / 20 + (2 << 20));
        let limit =
            |left: fn() -> Option<u64>, held| Shared { total: gib(10), left }.limit(held, 0);
        assert_eq!(limit(|| Some(10 << 30), 0), gib(7));
        assert_eq!(limit(|| Some(5 << 30), 0), gib(5) - rest);
        assert_eq!(limit(|| Some(1 << 30), 0), gib(10) / 64, "some is always left");
        assert_eq!(limit(|| Some(1 << 30), gib(6)), gib(7) - rest, "some is given back");
        assert_eq!(limit(|| Some(4 << 30), gib(6)), gib(7), "what is held needs nothing more");
        let small = |left| Shared { total: 1000, left };
        assert_eq!(small(|| Some(900)).limit(0, 0), 600);
        assert_eq!(small(|| Some(900)).limit(0, 100), 500);
        assert_eq!(small(|| None).limit(0, 0), 250);
        assert!(small(|| Some(299)).is_short());
        assert!(!small(|| Some(300)).is_short() && !small(|| None).is_short());
    }

    #[test]
    fn what_is_left_of_a_group_is_its_limit_less_what_cannot_be_freed() {
        let file = |path: &str| -> String {
            match path {
                "/g/memory.max" | "/old/memory.limit_in_bytes" => "1000\n",
                "/g/memory.current" | "/old/memory.usage_in_bytes" => "700\n",
                "/g/memory.stat" => "anon 400\nfile_mapped 90\ninactive_file 200\nactive_file 50\n",
                "/old/memory.stat" => "total_mapped_file 20\ntotal_inactive_file 300\n",
                "/none/memory.max" => "max\n",
                _ => "",
            }
            .to_owned()
        };
        assert_eq!(left_in_group("/g/memory.max", file), Some(460));
        assert_eq!(left_in_group("/old/memory.limit_in_bytes", file), Some(580));
        assert_eq!(left_in_group("/none/memory.max", file), None);
        assert_eq!(left_in_group("/missing/memory.max", file), None);
        assert!(memory_now().is_none_or(|now| now > 0 && now <= memory()));
    }
}

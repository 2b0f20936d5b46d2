#!/usr/bin/env python3
"""Records every block that a file system writes, and checks the states that a crash could leave.

qemu-storage-daemon exports an image as a file, over FUSE, and logs every write to it in the format
of Linux's dm-log-writes. A loop device and a file system are put on that file, and a writer works
there. Each operation that it acknowledges is marked in the log by a write after the end of the file
system. Then images are made: all writes up to some flush, and of the later ones a random part, torn
at 512 bytes. Each is mounted, and must have every operation marked before that place. Run it as
root: tools/power/replay.py --states 500
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import common

SECTOR = 512
FLUSH, FUA, DISCARD = 1, 2, 4
# Space after the file system, for the marks.
MARKS = 1 << 20


class Export:
    """An image whose writes are logged."""

    def __init__(self, work, size):
        self.path = os.path.join(work, "export")
        self.log = os.path.join(work, "log")
        base = os.path.join(work, "base")
        for path, length in ((base, size + MARKS), (self.log, 0), (self.path, 0)):
            with open(path, "wb") as file:
                file.truncate(length)
        self.daemon = subprocess.Popen([
            "qemu-storage-daemon",
            "--blockdev", f"driver=file,node-name=f0,filename={base}",
            "--blockdev", "driver=raw,node-name=d0,file=f0",
            "--blockdev", f"driver=file,node-name=lf,filename={self.log}",
            "--blockdev", "driver=raw,node-name=l0,file=lf",
            "--blockdev", "driver=blklogwrites,node-name=lw,file=d0,log=l0,log-sector-size=512",
            "--export", f"type=fuse,id=e0,node-name=lw,mountpoint={self.path},writable=on",
        ])
        for _ in range(100):
            if os.path.getsize(self.path) == size + MARKS:
                break
            time.sleep(0.05)
        else:
            sys.exit("qemu-storage-daemon exports nothing")
        loop = common.run(
            "losetup", "-f", "--show", "--sizelimit", str(size), self.path,
            stdout=subprocess.PIPE, text=True,
        )
        self.loop = loop.stdout.strip()

    def close(self):
        common.run("losetup", "-d", self.loop)
        time.sleep(0.3)
        self.daemon.terminate()
        self.daemon.wait()


def record(program, name, seconds, unsynced, work):
    """Runs a writer on a new file system, and returns the path of the log."""
    make, options, size = common.FILE_SYSTEMS[name]
    export = Export(work, size)
    common.run(*make, export.loop)
    mounted = os.path.join(work, "mounted")
    os.makedirs(mounted, exist_ok=True)
    assert common.mount(export.loop, mounted, options)
    marks = os.open(export.path, os.O_WRONLY)
    # The log before this mark belongs to mkfs.
    os.pwrite(marks, struct.pack("<Q", 0).ljust(SECTOR, b"\0"), size)
    writer = common.start_writer(program, os.path.join(mounted, "db"), unsynced)
    end, last = time.time() + seconds, 0
    for line in writer.stdout:
        operations = common.acknowledged(line)
        if operations:
            os.pwrite(marks, struct.pack("<Q", operations).ljust(SECTOR, b"\0"), size)
            last = operations
        if time.time() > end:
            break
    os.close(marks)
    writer.kill()
    writer.wait()
    common.unmount(mounted)
    export.close()
    print(f"{name}: {last} operations recorded", flush=True)
    return export.log, size


def entries(path):
    """Returns the entries of a log: sector, flags and data."""
    found = []
    with open(path, "rb") as log:
        header = log.read(SECTOR)
        magic, version, count, sector = struct.unpack("<QQQI", header[:28])
        assert (magic, version, sector) == (0x6A736677736872, 1, SECTOR), "not a log of writes"
        for _ in range(count):
            start, sectors, flags, _ = struct.unpack("<QQQQ", log.read(SECTOR)[:32])
            data = b"" if flags & DISCARD else log.read(sectors * SECTOR)
            found.append((start, flags, data))
    return found


def apply(image, start, data):
    image.seek(start * SECTOR)
    image.write(data)


def state(image, pending, random):
    """Writes a random part of the pending writes, some of them torn."""
    share = random.choice((0.1, 0.5, 0.9, 1.0))
    for start, flags, data in pending:
        if flags & FUA or random.random() < share:
            apply(image, start, data)
        elif random.random() < 0.3:
            for at in range(0, len(data), SECTOR):
                if random.random() < share:
                    apply(image, start + at // SECTOR, data[at:at + SECTOR])


def replay(program, name, log, size, args, random, work):
    """Checks random states. Returns what is wrong with those that have losses."""
    _, options, _ = common.FILE_SYSTEMS[name]
    writes = entries(log)
    mark = size // SECTOR
    first = next(n for n, (start, _, _) in enumerate(writes) if start == mark)
    crashes = sorted(random.sample(range(first, len(writes) + 1), min(args.states, len(writes) - first)))
    durable, current = os.path.join(work, "durable"), os.path.join(work, "state")
    mounted, failures, operations, unmountable = os.path.join(work, "mounted"), [], 0, 0
    with open(durable, "wb") as file:
        file.truncate(size)
    pending, at = [], 0
    with open(durable, "r+b") as image:
        for crash in crashes:
            for start, flags, data in writes[at:crash]:
                if start == mark and data:
                    operations = struct.unpack("<Q", data[:8])[0]
                    continue
                if flags & FLUSH:
                    for write in pending:
                        apply(image, write[0], write[2])
                    pending = []
                if data:
                    pending.append((start, flags, data))
            at = crash
            image.flush()
            shutil.copy(durable, current)
            with open(current, "r+b") as copy:
                state(copy, pending, random)
            if not common.mount(current, mounted, ",".join(filter(None, ["loop", options]))):
                unmountable += 1
                continue
            problem = common.check(program, os.path.join(mounted, "db"), operations)
            common.unmount(mounted)
            if problem:
                failures.append(f"write {crash}, {operations} operations acknowledged:\n{problem}")
    if unmountable:
        # A torn superblock of a journal is the file system's own loss.
        print(f"{name}: {unmountable} states that the file system itself does not mount")
    return len(crashes) - unmountable, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=20, help="states per file system")
    parser.add_argument("--seconds", type=float, default=2, help="how long the writer works")
    args, random = common.arguments(parser)
    common.require("qemu-storage-daemon", "mkfs.ext4", "mkfs.xfs", "losetup", "cargo")
    program = common.driver()
    is_right = True
    for name in args.file_systems.split(","):
        with tempfile.TemporaryDirectory(dir=args.work) as work:
            log, size = record(program, name, args.seconds, args.unsynced, work)
            count, failures = replay(program, name, log, size, args, random, work)
        is_right &= common.report(name, count, "states", failures, args.unsynced)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()

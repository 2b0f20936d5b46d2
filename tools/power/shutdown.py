#!/usr/bin/env python3
"""Cuts the power of a mounted file system while a writer works, and checks what is left.

The ioctl of ext4 and XFS that shuts a file system down without writing its log is the cut. The
writer reports each acknowledged operation; after the next mount, all of them must be there. Run it
as root: tools/power/shutdown.py --cycles 300
"""

import argparse
import fcntl
import os
import struct
import sys
import tempfile
import threading

import common

# EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, and their flag "do not write the log".
SHUTDOWN = 0x8004587D
WITHOUT_LOG = 2


class Acknowledged(threading.Thread):
    """Reads the lines of a writer, until it ends."""

    def __init__(self, writer):
        super().__init__()
        self.writer, self.operations = writer, 0
        self.start()

    def run(self):
        for line in self.writer.stdout:
            self.operations = common.acknowledged(line) or self.operations


def cut(program, folder, mounted, seconds, unsynced):
    """Lets a writer work, and cuts the power. Returns how many operations were acknowledged."""
    writer = common.start_writer(program, folder, unsynced)
    lines = Acknowledged(writer)
    lines.join(seconds)
    handle = os.open(mounted, os.O_RDONLY)
    fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", WITHOUT_LOG))
    os.close(handle)
    writer.kill()
    writer.wait()
    lines.join()
    return lines.operations


def cycles(program, name, count, args, random, work):
    make, options, size = common.FILE_SYSTEMS[name]
    image, mounted = os.path.join(work, "image"), os.path.join(work, "mounted")
    os.makedirs(mounted, exist_ok=True)
    folder, failures, operations, unmountable = os.path.join(mounted, "db"), [], 0, 0
    for cycle in range(count):
        if not os.path.exists(image):
            with open(image, "wb") as file:
                file.truncate(size)
            common.run(*make, image)
        assert common.mount(image, mounted, ",".join(filter(None, ["loop", options])))
        operations = cut(program, folder, mounted, random.uniform(0.05, 0.8), args.unsynced) or operations
        common.unmount(mounted)
        if not common.mount(image, mounted, ",".join(filter(None, ["loop", options]))):
            # The file system's own loss: seen with fast_commit.
            unmountable, operations = unmountable + 1, 0
            os.remove(image)
            continue
        problem = common.check(program, folder, operations)
        common.unmount(mounted)
        if problem:
            failures.append(f"cycle {cycle}, {operations} operations acknowledged:\n{problem}")
            if args.unsynced:
                break
    if os.path.exists(image):
        os.remove(image)
    if unmountable:
        print(f"{name}: {unmountable} cuts after which the file system itself did not mount")
    print(f"{operations} operations acknowledged")
    return common.report(name, count - unmountable, "power cuts", failures, args.unsynced)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=5, help="power cuts per file system")
    args, random = common.arguments(parser)
    common.require("mkfs.ext4", "mkfs.xfs", "losetup", "cargo")
    program = common.driver()
    is_right = True
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        for name in args.file_systems.split(","):
            is_right &= cycles(program, name, args.cycles, args, random, work)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()

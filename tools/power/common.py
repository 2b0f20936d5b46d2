"""What both scripts need: the driver, mounts, and a clear line about what a machine lacks."""

import json
import os
import random
import shutil
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Name, mkfs command, mount options, bytes of the image.
FILE_SYSTEMS = {
    "ext4": (["mkfs.ext4", "-q", "-F", "-b", "4096"], "", 96 << 20),
    "ext4-1k": (["mkfs.ext4", "-q", "-F", "-b", "1024"], "", 96 << 20),
    "ext4-fast-commit": (["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "fast_commit"], "", 96 << 20),
    "xfs": (["mkfs.xfs", "-q", "-f"], "", 320 << 20),
}


def require(*tools):
    """Ends the program with status 77 if the machine lacks something."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if os.geteuid() != 0:
        missing.append("root")
    for device in ("/dev/loop-control", "/dev/fuse"):
        if not os.path.exists(device):
            missing.append(device)
    if missing:
        print("skipped: this machine lacks " + ", ".join(missing))
        sys.exit(77)


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def driver():
    """Builds the crash tests and returns their path. They include a writer and a checker."""
    command = ["cargo", "test", "--release", "--test", "crash", "--no-run", "--message-format=json"]
    if os.environ.get("FPDB_DRIVER"):
        return os.environ["FPDB_DRIVER"]
    output = run(*command, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "crash":
            return message["executable"]
    sys.exit("cargo did not name the program of the crash tests")


def start_writer(program, folder, unsynced):
    """Starts a writer. It prints a line after each operation that was acknowledged."""
    env = dict(os.environ, FPDB_CRASH_WRITER=folder)
    if unsynced:
        env["FPDB_CRASH_UNSYNCED"] = "1"
    return subprocess.Popen(
        [program, "--exact", "kill::writer", "--nocapture"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )


def acknowledged(line):
    """Returns the number of operations that this line of a writer acknowledges, or None."""
    _, found, number = line.rpartition("acknowledged ")
    return int(number) + 1 if found else None


def check(program, folder, operations):
    """Opens the database after a crash. Returns None if all is well, or what is wrong."""
    env = dict(os.environ, FPDB_CRASH_CHECKER=folder, FPDB_CRASH_ACKNOWLEDGED=str(operations))
    result = subprocess.run(
        [program, "--exact", "kill::checker", "--nocapture"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )
    return None if result.returncode == 0 else result.stdout


def mount(device, folder, options=""):
    """Returns whether the file system could be mounted."""
    command = ["mount"] + (["-o", options] if options else []) + [device, folder]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def unmount(folder):
    for _ in range(50):
        if subprocess.run(["umount", folder], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return
        time.sleep(0.1)
    sys.exit(f"cannot unmount {folder}")


def arguments(parser):
    parser.add_argument("--file-systems", default=",".join(FILE_SYSTEMS), help="separated by commas")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random choices")
    parser.add_argument("--work", default="/dev/shm", help="a folder with 2 GB of free space")
    parser.add_argument(
        "--unsynced", action="store_true",
        help="negative control: acknowledge without syncing; losses must be found",
    )
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    return args, random.Random(args.seed)


def report(name, count, what, failures, unsynced):
    print(f"{name}: {count} {what}, {len(failures)} with losses", flush=True)
    if failures and not unsynced:
        print(failures[0])
    return bool(failures) == unsynced

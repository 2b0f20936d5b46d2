"""fpdb-tool: how the check runs it, and how it talks to the tool's server."""

import json
import socket
import subprocess
import time
from pathlib import Path


class Tool:
    """Runs the program with a path of its own for each file of input."""

    def __init__(self, program, scratch):
        self.program = program
        self.scratch = Path(scratch)
        self.inputs = 0

    def run(self, *arguments):
        """Runs a command and returns what it prints."""
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"fpdb-tool {' '.join(map(str, arguments))}: {done.stderr.decode()}")
        return done.stdout.decode()

    def input(self, lines, ending="txt"):
        """A file with these lines."""
        self.inputs += 1
        path = self.scratch / f"input{self.inputs}.{ending}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def records(self, *arguments):
        """The records that a command prints with --json, without the summary."""
        lines = [json.loads(line) for line in self.run(*arguments, "--json").splitlines()]
        return [line for line in lines if line["type"] != "summary"]


class Server:
    """`fpdb-tool serve`, in a process of its own. To leave the `with` block kills it."""

    def __init__(self, tool, database, *options):
        self.path = tool.scratch / "server.sock"
        self.path.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [tool.program, "serve", str(database), "--listen", f"unix:{self.path}", "--quiet",
             *map(str, options)], stdout=subprocess.DEVNULL)
        self.connection = self.connect()
        self.replies = self.connection.makefile("rb")

    def connect(self):
        """Waits until the server listens."""
        while self.process.poll() is None:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self.path))
                return connection
            except OSError:
                connection.close()
                time.sleep(0.005)
        raise RuntimeError("the server ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.replies.close()
        self.connection.close()

    def send(self, commands):
        """Sends commands together, and waits for their replies."""
        self.connection.sendall(b"".join(encode(command) for command in commands))
        return [self.reply() for _ in commands]

    def reply(self):
        """The next reply: a number, bytes, None or a list."""
        line = self.replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-" or not line:
            raise RuntimeError(f"the server says {line!r}")
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest


def encode(command):
    """A command as the server expects it."""
    words = [str(word).encode() for word in command]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

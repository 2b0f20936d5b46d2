"""Tests `fpdb-tool serve` with clients of Redis: redis-py, redis-cli and redis-benchmark.

    python redis_clients.py target/debug/fpdb-tool

Needs the package `redis`. Without redis-cli or redis-benchmark, says so and skips their tests.
"""

import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import redis

PASSWORD = "correct horse"


class Server:
    """A server for a new database with names, on a free port."""

    def __init__(self, tool, folder, *options):
        db = folder / "db"
        subprocess.run([tool, "create", db, "--ids", "names", "--recipe", "default", "-q"], check=True)
        self.process = subprocess.Popen(
            [tool, "serve", db, "--listen", "127.0.0.1:0", "--json", *options], stdout=subprocess.PIPE
        )
        address = json.loads(self.process.stdout.readline())["address"]
        self.port = int(address.rsplit(":", 1)[1])

    def client(self, **options):
        return redis.Redis(port=self.port, decode_responses=True, socket_timeout=60, **options)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
            self.process.wait()
            return
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.process.returncode


def redis_py(server, protocol):
    """Every command, one by one and pipelined, from several threads of one connection pool."""
    db = server.client(protocol=protocol, client_name="crawler")
    prefix = f"https://{protocol}.example/"
    base = 0x0F0F << (16 * protocol)
    assert db.ping() is True
    assert db.echo("text") == "text"
    assert db.client_getname() == "crawler"
    assert any(client["name"] == "crawler" for client in db.client_list())
    assert db.info()["redis_mode"] == "standalone"

    assert list(db.info("server"))[0] == "fpdb_version" and "entries" not in db.info("server")
    commands = db.command()
    assert set(commands["fp.addnx"]["flags"]) == {"write"}, commands
    assert db.command_count() == len(commands) == len(db.command_list())

    run = db.execute_command
    fingerprint = f"0x{base:016x}"
    assert run("FP.ADDNX", prefix + "a", fingerprint) == ["inserted"]
    duplicate = ["duplicate", prefix + "a", 1, fingerprint]
    assert run("FP.ADDNX", prefix + "b", hex(base ^ 1)) == duplicate
    text = f"Trains of line {protocol} leave for the airport every ten minutes, until midnight. " * 3
    assert run("FP.ADDNX", prefix + "c", "TEXT", text) == ["inserted"]
    assert run("FP.ADDNX", prefix + "d", "TEXT", text.upper())[:2] == ["duplicate", prefix + "c"]
    assert run("FP.ADDNX", prefix + "e", "TEXT", "") == ["too-short"]
    assert run("FP.QUERY", hex(base ^ 3), 2) == [[prefix + "a", 2, fingerprint]]
    assert run("FP.MQUERY", 0, fingerprint, "0x5555") == [[[prefix + "a", 0, fingerprint]], []]
    assert run("FP.UPSERT", prefix + "a", fingerprint) == ["unchanged"]
    found = run("FP.GET", prefix + "a")
    found = found if protocol == 3 else dict(zip(found[::2], found[1::2]))
    assert found["fingerprint"] == fingerprint and found["stamp"] is None, found
    assert run("FP.GET", prefix + "missing") is None
    assert run("FP.DEL", prefix + "a") == 1
    assert run("FP.DEL", prefix + "a") == 0
    stats = run("FP.STATS")
    assert (isinstance(stats, dict) if protocol == 3 else "entries" in stats), stats
    for command in (["FP.ADDNX", "key"], ["FP.ADDNX", "key", "12"], ["SET", "a", "b"]):
        try:
            run(*command)
        except redis.ResponseError:
            continue
        raise AssertionError(f"{command} is no error")

    # By default, a pipeline is a transaction.
    pipeline = db.pipeline()
    pipeline.execute_command("FP.ADDNX", prefix + "f", hex(base ^ 0xFF00))
    pipeline.execute_command("FP.ADDNX", prefix + "g", hex(base ^ 0xFF01))
    pipeline.execute_command("FP.ADDNX", prefix + "h", "12")
    replies = pipeline.execute(raise_on_error=False)
    assert replies[0] == ["inserted"] and replies[1][:3] == ["duplicate", prefix + "f", 1], replies
    assert isinstance(replies[2], redis.ResponseError), replies
    pipeline.execute_command("FP.ADDNX", prefix + "i", hex(base ^ 0xFFFF0000))
    pipeline.execute_command("FP.NOTHING")
    try:
        raise AssertionError(f"{pipeline.execute()} is no error")
    except redis.ResponseError as error:
        assert "unknown command" in str(error), error
    assert run("FP.GET", prefix + "i") is None

    def add(thread):
        pipeline = db.pipeline(transaction=False)
        for at, number in enumerate(numbers):
            pipeline.execute_command("FP.ADDNX", f"{prefix}{thread}/{at}", hex(number))
        replies[thread] = pipeline.execute()

    source = random.Random(protocol)
    numbers = [source.getrandbits(64) for _ in range(500)]
    replies = {}
    threads = [threading.Thread(target=add, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    inserted = [sum(replies[thread][at] == ["inserted"] for thread in replies) for at in range(500)]
    assert len(replies) == 4 and inserted == [1] * 500, inserted
    db.close()


def password(tool, folder):
    """The password at connect, in both protocols."""
    file = folder / "password"
    file.write_text(PASSWORD + "\n")
    with Server(tool, folder, "--password-file", file) as server:
        for protocol in (2, 3):
            assert server.client(protocol=protocol, password=PASSWORD).ping() is True
            assert server.client(protocol=protocol, username="default", password=PASSWORD).ping() is True
            for wrong in ({}, {"password": "wrong"}):
                try:
                    server.client(protocol=protocol, **wrong).ping()
                except (redis.AuthenticationError, redis.ResponseError):
                    continue
                raise AssertionError(f"{wrong} was accepted")


def redis_cli(server):
    """Output of redis-cli with both protocols, also in a session as a person has it."""

    def run(*args, stdin=None):
        command = ["redis-cli", "-p", str(server.port), *args]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()

    assert run("PING") == "PONG"
    assert run("FP.ADDNX", "https://cli.example/", "0xff00ff00ff00ff00") == "inserted"
    assert run("FP.ADDNX", "x", "0xff00ff00ff00ff01").split("\n")[:3] == ["duplicate", "https://cli.example/", "1"]
    assert '"fingerprint"' in run("-3", "--no-raw", "FP.GET", "https://cli.example/")
    assert run("FP.NOTHING").startswith("ERR unknown command")
    assert run(stdin="PING\nECHO 'a b'\nFP.GET nothing\n").split("\n")[:2] == ["PONG", "a b"]
    lines = "".join(f"FP.ADDNX pipe{at} {at * 0x9E3779B97F4A7C15 % 2**64:#x}\n" for at in range(1000))
    assert "errors: 0, replies: 1000" in run("--pipe", stdin=lines.replace("\n", "\r\n"))


def redis_benchmark(server):
    """Many connections, plain and pipelined, without an error."""
    for pipelined in ("1", "20"):
        command = ["redis-benchmark", "-p", str(server.port), "-c", "50", "-n", "20000", "-P", pipelined]
        command += ["-r", "1000000000000", "-q", "FP.ADDNX", "__rand_int__", "0x0000__rand_int__"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert "requests per second" in done.stdout and "ERR" not in done.stdout + done.stderr, done
        result = [line for line in done.stdout.replace("\r", "\n").split("\n") if "per second" in line][-1]
        print("redis-benchmark, pipelined by", pipelined + ":", result.split(":")[-1].strip())


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder, Server(tool, pathlib.Path(folder)) as server:
        for protocol in (2, 3):
            redis_py(server, protocol)
        for program, test in (("redis-cli", redis_cli), ("redis-benchmark", redis_benchmark)):
            if shutil.which(program):
                test(server)
            else:
                print(f"skipped: {program} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        password(tool, pathlib.Path(folder))
    print("clients of Redis: all passed, redis-py", redis.__version__)


if __name__ == "__main__":
    main()

"""Changes bytes of databases. The reader must report damage, and never give a wrong answer."""

from corpus.copy import Copy
from fpdb_reader.conventions import Damage, InUse, OtherVersion
from fpdb_reader.database import Database
from fpdb_reader.header import SIZE, numbered

REFUSALS = (Damage, InUse, OtherVersion)


def check_changed_bytes(folder, rng, count):
    """Changes one byte `count` times, and sees that the reader notices."""
    allowed = allowed_states(Database(folder))
    for _ in range(count):
        path = random_file(folder, rng)
        original = path.read_bytes()
        at = rng.randrange(len(original))
        changed = bytearray(original)
        change(changed, at, rng)
        path.write_bytes(changed)
        try:
            state = state_of(Database(folder))
        except REFUSALS:
            continue
        finally:
            path.write_bytes(original)
        # Only what may be a torn tail is left out without an error.
        if path.suffix != ".log" or state not in allowed:
            raise AssertionError(f"byte {at} of {path.name} was changed, and the answer is wrong")


def random_file(folder, rng):
    """A file that has bytes which the manifest covers."""
    paths = [path for path in sorted(folder.iterdir())
             if path.name == "MANIFEST" or numbered(path.name) is not None]
    return rng.choice(paths)


def state_of(database):
    """All entries and documents."""
    return set(database.entries), dict(database.documents)


def allowed_states(database):
    """The states after each commit of the logs."""
    database.read_segments()
    states = [state_of(database)]
    for log in database.logs:
        for commit in log.durable():
            database.apply_commit(commit, log.where)
            states.append(state_of(database))
    return states


def sealed_changes(folder, rng, count):
    """Changes one byte and all checksums that cover it, `count` times.

    Yields, while the change is there, the file, and what the reader finds: a state, or an error.
    """
    originals = {path: path.read_bytes() for path in folder.iterdir()}
    for _ in range(count):
        path, copy = random_file(folder, rng), Copy(folder)
        change_part(copy, path.name, rng)
        copy.write(folder)
        try:
            outcome = state_of(Database(folder))
        except REFUSALS as error:
            outcome = error
        try:
            yield path, outcome
        finally:
            for name, data in originals.items():
                name.write_bytes(data)


def change_part(copy, name, rng):
    """Changes a byte of a file in memory."""
    if rng.random() < 0.1:
        change(copy.header(name), rng.choice([*range(8, 12), *range(16, 60)]), rng)
    elif name == "MANIFEST":
        fields = copy.manifest.fields
        field = rng.choices([*fields], [len(data) for data in fields.values()])[0]
        fields[field] = bytearray(fields[field])
        change(fields[field], rng.randrange(len(fields[field])), rng)
    elif name.endswith(".log"):
        change_frame(rng.choice(copy.log(name).frames), rng)
    else:
        paged = copy.paged(name)
        if paged.meta and (len(paged.body) == SIZE or rng.random() < 0.4):
            change(paged.meta, rng.randrange(len(paged.meta)), rng)
        else:
            change(paged.body, rng.randrange(SIZE, len(paged.body)), rng)


def change_frame(frame, rng):
    """Changes a byte of a frame of a log."""
    sizes = {"kind": 1, "flags": 1, "count": 2, "sequence": 8, "durable": 8}
    field = rng.choice([*sizes, *("payload",) * bool(frame.payload)])
    if field == "payload":
        return change(frame.payload, rng.randrange(len(frame.payload)), rng)
    data = bytearray(getattr(frame, field).to_bytes(sizes[field], "little"))
    change(data, rng.randrange(len(data)), rng)
    setattr(frame, field, int.from_bytes(data, "little"))


def change(data, at, rng):
    """Changes a byte: often in one bit."""
    data[at] ^= rng.choice((1 << rng.randrange(8), rng.randrange(1, 256)))

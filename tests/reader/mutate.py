"""Changes bytes of databases. The reader must report damage, and never give a wrong answer."""

from fpdb_reader.conventions import PAGE, Damage, InUse, OtherVersion, crc32, u64
from fpdb_reader.database import Database
from fpdb_reader.header import SIZE, numbered
from fpdb_reader.paged import SUMS_PER_PAGE, TRAILER

REFUSALS = (Damage, InUse, OtherVersion)


def check_changed_bytes(folder, rng, count):
    """Changes one byte `count` times, and sees that the reader notices."""
    allowed = allowed_states(Database(folder))
    for _ in range(count):
        path = random_file(folder, rng)
        original = path.read_bytes()
        at = rng.randrange(len(original))
        changed = bytearray(original)
        changed[at] ^= rng.randrange(1, 256)
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

    Yields, while the change is there, the file, the offset, and what the reader finds: a state, or an error.
    """
    manifest = folder / "MANIFEST"
    sealed_manifest = manifest.read_bytes()
    for _ in range(count):
        path = random_file(folder, rng)
        original = path.read_bytes()
        changed, at = change_sealed(path, original, rng)
        path.write_bytes(changed)
        if path != manifest:
            manifest.write_bytes(name_checksum(sealed_manifest, original, changed))
        try:
            outcome = state_of(Database(folder))
        except REFUSALS as error:
            outcome = error
        try:
            yield path, at, outcome
        finally:
            path.write_bytes(original)
            manifest.write_bytes(sealed_manifest)


def change_sealed(path, original, rng):
    """Changes a byte, and the checksums in the same file that cover it."""
    data = bytearray(original)
    in_header = rng.random() < 0.1
    if in_header:
        at = rng.choice([*range(8, 12), *range(16, 60)])
        data[at] ^= change(rng)
        data[12:16] = checksum(data[:12])
        data[60:64] = checksum(data[:60])
    if path.name == "MANIFEST":
        if not in_header:
            at = rng.randrange(SIZE, len(data) - 4)
            data[at] ^= change(rng)
        data[-4:] = checksum(data[:-4])
    elif path.suffix == ".log":
        if not in_header:
            at = seal_frame(data, rng)
    else:
        body = int.from_bytes(data[-TRAILER:-TRAILER + 8], "little")
        meta = int.from_bytes(data[-TRAILER + 8:-TRAILER + 12], "little")
        if not in_header:
            at = place_in(body, len(data) - TRAILER - meta, meta, rng)
            data[at] ^= change(rng)
        seal_paged(data, body, meta)
    return bytes(data), at


def place_in(body, meta_at, meta, rng):
    """A place in the body or the meta of a paged file."""
    if meta and (body == SIZE or rng.random() < 0.4):
        return meta_at + rng.randrange(meta)
    return rng.randrange(SIZE, body)


def change(rng):
    """How a byte changes: often in one bit."""
    return rng.choice((1 << rng.randrange(8), rng.randrange(1, 256)))


def checksum(*parts):
    """The four bytes of a checksum."""
    return crc32(*parts).to_bytes(4, "little")


def seal_frame(data, rng):
    """Changes a byte of a random frame of a log and its checksum; returns where."""
    frames = []
    at = SIZE
    while at + 28 <= len(data):
        length = int.from_bytes(data[at:at + 4], "little")
        if length < 28 or at + length > len(data):
            break
        frames.append((at, at + length))
        at += length
    start, end = rng.choice(frames)
    at = rng.randrange(start + 4, end - 4)
    data[at] ^= change(rng)
    data[end - 4:end] = checksum(data[16:56], u64(start), data[start:end - 4])
    return at


def seal_paged(data, body, meta):
    """Computes the page sums and the footer checksum of a paged file again."""
    identity = bytes(data[16:56])
    pages = [data[at:min(at + PAGE, body)] for at in range(0, body, PAGE)]
    sums = [checksum(identity, u64(index), page) for index, page in enumerate(pages)]
    at = body
    for index, first in enumerate(range(0, len(sums), SUMS_PER_PAGE)):
        page = b"".join(sums[first:first + SUMS_PER_PAGE])
        page += checksum(identity, u64(2**63 + index), page)
        data[at:at + len(page)] = page
        at += len(page)
    end = len(data) - TRAILER
    data[end + 12:end + 16] = checksum(identity, u64(2**64 - 1), data[end - meta:end + 12])


def name_checksum(manifest, original, changed):
    """The manifest with the new checksum of a file."""
    data = bytearray(manifest)
    old = len(original).to_bytes(8, "little") + checksum(original)
    at = data.find(old)
    if at >= 0:  # A log has no checksum in the manifest.
        data[at + 8:at + 12] = checksum(changed)
    data[-4:] = checksum(data[:-4])
    return bytes(data)

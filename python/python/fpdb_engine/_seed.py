"""Seeds of hashes."""

from __future__ import annotations

import secrets


def random_seed() -> int:
    """Returns a number of 64 bits that nobody can predict, so that nobody can choose texts with equal hashes."""
    return secrets.randbits(64)

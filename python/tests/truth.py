"""Brute-force answers, and data with neighbours at every distance in every part of a fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def random_fingerprint(rng: np.random.Generator, bits: int) -> int:
    return int.from_bytes(rng.bytes(bits // 8), "little")


def flip(fingerprint: int, positions: Iterable[int]) -> int:
    for position in positions:
        fingerprint ^= 1 << int(position)
    return fingerprint


def planted(rng: np.random.Generator, bits: int, k: int, centres: int) -> list[int]:
    """Returns fingerprints around centres: at each distance from 0 to k + 1, with the errors within
    one eighth of the bits, and spread over all of them."""
    found = []
    for _ in range(centres):
        centre = random_fingerprint(rng, bits)
        found.append(centre)
        for distance in range(k + 2):
            for region in range(8):
                positions = rng.choice(bits // 8, min(distance, bits // 8), replace=False)
                found.append(flip(centre, positions + region * (bits // 8)))
            found.append(flip(centre, rng.choice(bits, distance, replace=False)))
    return found


def crowd(rng: np.random.Generator, bits: int, size: int) -> list[int]:
    """Returns fingerprints that share all but 12 bits, and some of them are equal."""
    centre = random_fingerprint(rng, bits)
    return [flip(centre, rng.choice(12, rng.integers(0, 5), replace=False)) for _ in range(size)]


def distance(a: int, b: int) -> int:
    return (a ^ b).bit_count()


def near(entries: Sequence[tuple[int, int]], query: int, k: int) -> list[tuple[int, int, int]]:
    """Returns (distance, fingerprint, id) of each entry within k bits, sorted."""
    found = [(distance(fingerprint, query), fingerprint, id) for fingerprint, id in entries]
    return sorted(match for match in found if match[0] <= k)


def pairs(entries: Sequence[tuple[int, int]], k: int) -> dict[tuple[int, int], int]:
    """Returns the distance of each pair of ids within k bits, the lower id first."""
    found = {}
    for at, (a, id_a) in enumerate(entries):
        for b, id_b in entries[at + 1 :]:
            if distance(a, b) <= k:
                found[min(id_a, id_b), max(id_a, id_b)] = distance(a, b)
    return found


def batch(fingerprints: Sequence[int], bits: int) -> np.ndarray:
    """Returns fingerprints as an array."""
    if bits == 64:
        return np.array(fingerprints, np.uint64)
    mask = (1 << 64) - 1
    halves = [(f >> 64, f & mask) for f in fingerprints]
    return np.array(halves, np.uint64).reshape(-1, 2)

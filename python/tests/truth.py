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


Rule = tuple[int, int, int]
"""How many bands a sketch has, of how many minima each consists, and how many minima of sketches that match differ.
The sketches of a test that share a band have the same parities, so these do not matter."""


def changed(rng: np.random.Generator, sketch: bytes, minima: Iterable[int]) -> bytes:
    """Returns a sketch with other bits in these minima."""
    planes = [int.from_bytes(sketch[at : at + 16], "little") for at in range(0, 96, 16)]
    for minimum in minima:
        bits = int(rng.integers(1, 64))
        planes = [plane ^ (bits >> at & 1) << int(minimum) for at, plane in enumerate(planes)]
    return b"".join(plane.to_bytes(16, "little") for plane in planes) + sketch[96:]


def planted_sketches(rng: np.random.Generator, rule: Rule, centres: int) -> list[bytes]:
    """Returns sketches around centres: at each distance up to beyond the rule's, of which some share every band,
    some only the last, and some none."""
    bands, minima, most = rule
    found = []
    for _ in range(centres):
        centre = rng.bytes(228)
        found.append(centre)
        one_of_each = [8 * band + int(rng.integers(minima)) for band in range(bands)]
        in_no_band = [at for at in range(128) if at % 8 >= minima or at >= 8 * bands]
        for distance in range(most + 3):
            places = [rng.choice(128, distance, replace=False).tolist()]
            places.append(rng.choice(in_no_band, min(distance, len(in_no_band)), replace=False).tolist())
            for first in (one_of_each, one_of_each[:-1]):
                places.append([*first, *in_no_band][:distance])
            found += [changed(rng, centre, at) for at in places]
    return found


def minima_of(sketches: Sequence[bytes]) -> np.ndarray:
    """Returns the 128 minima of each sketch, bit by bit."""
    planes = np.frombuffer(b"".join(sketch[:96] for sketch in sketches), np.uint8).reshape(-1, 6, 16)
    bits = np.unpackbits(planes, axis=2, bitorder="little")
    return (bits << np.arange(6, dtype=np.uint8)[:, None]).sum(axis=1, dtype=np.uint8)


def distances(a: Sequence[bytes], b: Sequence[bytes], rule: Rule | None = None) -> np.ndarray:
    """Returns the number of minima in which each of some sketches differs from each of others; 255 for those
    that do not match by the rule."""
    equal = minima_of(a)[:, None] == minima_of(b)[None]
    found = 128 - equal.sum(axis=2)
    if rule is not None:
        bands, minima, most = rule
        shared = [equal[:, :, 8 * band : 8 * band + minima].all(axis=2) for band in range(bands)]
        found[~np.any(shared, axis=0) | (found > most)] = 255
    return found

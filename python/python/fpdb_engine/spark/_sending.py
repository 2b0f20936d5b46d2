"""What is sent to which task, and which task reports what it finds.

Each fingerprint is sent to some tasks, which are numbered: the first, the second and so on. Any two that are to
be compared have a number at which their tasks are the same. There may be several: the task at the lowest of these
numbers reports them; of sketches, at the number of the first band that they share.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ._arrow import Words

MAX_TASKS = 1 << 16
Tasks = npt.NDArray[np.uint16]


def task_of(values: Words, number: int, tasks: int) -> Tasks:
    """Returns the task that these values choose, which are those of the given number."""
    # Multiplication distributes neighbouring values over the tasks. Overflow is intended.
    spread = (values + np.uint64(number << 20)) * np.uint64(0x9E3779B97F4A7C15)
    return ((spread >> np.uint64(40)) % np.uint64(tasks)).astype(np.uint16)


def copies(chosen: list[Tasks]) -> tuple[npt.NDArray[np.int64], Tasks]:
    """Returns the positions of the fingerprints to send and the tasks to send them to, ordered by task.
    A fingerprint is sent to a task once, even if it is one of its tasks several times."""
    positions, receivers = [], []
    for number, receiver in enumerate(chosen):
        is_first = np.ones(len(receiver), np.bool_)
        for earlier in chosen[:number]:
            is_first &= earlier != receiver
        position = np.flatnonzero(is_first)
        positions.append(position)
        receivers.append(receiver[position])
    all_positions, all_receivers = np.concatenate(positions), np.concatenate(receivers)
    order = np.argsort(all_receivers, kind="stable")
    return all_positions[order], all_receivers[order]


@lru_cache(maxsize=4)
def partition_keys(tasks: int) -> npt.NDArray[np.int32]:
    """Returns a number for each task by which Apache Spark gives each task a partition of its own, if it has as many
    partitions: Spark hashes the numbers. By the numbers of the tasks, a third of the partitions would be empty, and
    others would have several tasks."""
    keys = np.full(tasks, -1, np.int32)
    first, step = 0, 4 * tasks
    while (keys < 0).any():
        numbers = np.arange(first, first + step, dtype=np.int32)
        # The lowest number comes last, and so stays.
        keys_of_part = np.full(tasks, -1, np.int32)
        keys_of_part[murmur3(numbers)[::-1] % tasks] = numbers[::-1]
        keys = np.where(keys < 0, keys_of_part, keys)
        first += step
    return keys


def murmur3(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Returns Spark's hash of numbers: Murmur3, 32 bits, with the seed 42."""
    def rotated(values: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
        return values << np.uint32(bits) | values >> np.uint32(32 - bits)

    # Overflow is intended.
    mixed = rotated(numbers.view(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = rotated(mixed ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(numbers.itemsize)
    for shift, factor in [(16, 0x85EBCA6B), (13, 0xC2B2AE35)]:
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(factor)
    return (mixed ^ mixed >> np.uint32(16)).view(np.int32)


def reporters(a: list[Tasks], b: list[Tasks]) -> Tasks:
    """Returns the task that reports each pair of fingerprints, from the tasks of each side."""
    reporter = np.zeros(len(a[0]), np.uint16)
    for of_a, of_b in zip(reversed(a), reversed(b)):
        reporter = np.where(of_a == of_b, of_a, reporter)
    return reporter

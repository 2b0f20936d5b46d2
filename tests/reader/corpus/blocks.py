"""Writes blocks."""

from .numbers import u16


def differences(fingerprints):
    """The leading difference of each neighbours."""
    return [(before ^ after).bit_length() - 1 for before, after in zip(fingerprints, fingerprints[1:])]


def codewords(lengths):
    """The codeword of each h that has one, as a string of bits."""
    words, next_word, before = {}, 0, 0
    for length, h in sorted((length, h) for h, length in enumerate(lengths) if length):
        next_word <<= length - before
        words[h] = f"{next_word:0{length}b}"
        next_word, before = next_word + 1, length
    return words


def block(fingerprints, bits, size, words):
    """A block with these codewords."""
    leading = differences(fingerprints)
    codes = "".join(words[h] for h in leading)
    remaining = ""
    for h, following, fingerprint in zip(leading, leading[1:] + [bits], fingerprints[1:]):
        below = f"{fingerprint & (1 << h) - 1:0{h}b}" if h else ""
        if following < h:
            below = below[:h - 1 - following] + below[h - following:]
        remaining = below + remaining
    head = u16(len(fingerprints)) + fingerprints[0].to_bytes(bits // 8, "little")
    free = 8 * (size - len(head))
    assert len(codes) + len(remaining) <= free, "the fingerprints do not fit"
    stream = codes + "0" * (free - len(codes) - len(remaining)) + remaining
    return head + int(stream, 2).to_bytes(size - len(head), "big")

"""XXH3-64 with a seed, the hash of the key filter. It is specified by xxHash 0.8, not by our document."""

MASK = 2**64 - 1
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25


def xxh3_64(data, seed):
    """The hash of the bytes."""
    if len(data) <= 16:
        return hash_short(data, seed)
    if len(data) <= 128:
        return hash_medium(data, seed)
    if len(data) <= 240:
        return hash_longer(data, seed)
    return hash_long(data, seeded_secret(seed))


def seeded_secret(seed):
    """The secret for long inputs: the seed is added to it and subtracted from it, 8 bytes each in turn."""
    numbers = (read64(SECRET, at) + (seed if at % 16 == 0 else -seed) & MASK for at in range(0, len(SECRET), 8))
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def read32(data, at):
    """Four bytes as a number."""
    return int.from_bytes(data[at:at + 4], "little")


def read64(data, at):
    """Eight bytes as a number."""
    return int.from_bytes(data[at:at + 8], "little")


def fold(a, b):
    """The halves of a product, combined."""
    product = a * b
    return (product ^ product >> 64) & MASK


def avalanche(h):
    """Mixes the bits of a result."""
    h = (h ^ h >> 37) * MX1 & MASK
    return h ^ h >> 32


def avalanche_xxh64(h):
    """Mixes the bits of a result, in the way of XXH64."""
    h = (h ^ h >> 33) * P64_2 & MASK
    h = (h ^ h >> 29) * P64_3 & MASK
    return h ^ h >> 32


def byteswap(value, size):
    """A number of `size` bytes with its bytes in reverse order."""
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def hash_short(data, seed):
    """0 to 16 bytes."""
    size = len(data)
    if size == 0:
        return avalanche_xxh64(seed ^ read64(SECRET, 56) ^ read64(SECRET, 64))
    if size < 4:
        combined = data[0] << 16 | data[size // 2] << 24 | data[-1] | size << 8
        return avalanche_xxh64(combined ^ (read32(SECRET, 0) ^ read32(SECRET, 4)) + seed & MASK)
    if size <= 8:
        value = read32(data, size - 4) + (read32(data, 0) << 32)
        mixed_seed = seed ^ byteswap(seed & 0xFFFFFFFF, 4) << 32
        h = value ^ (read64(SECRET, 8) ^ read64(SECRET, 16)) - mixed_seed & MASK
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * MX2 & MASK
        h = (h ^ (h >> 35) + size) * MX2 & MASK
        return h ^ h >> 28
    low = read64(data, 0) ^ (read64(SECRET, 24) ^ read64(SECRET, 32)) + seed & MASK
    high = read64(data, size - 8) ^ (read64(SECRET, 40) ^ read64(SECRET, 48)) - seed & MASK
    return avalanche(size + byteswap(low, 8) + high + fold(low, high) & MASK)


def rotl(value, count):
    """64 bits, rotated left."""
    return (value << count | value >> 64 - count) & MASK


def mix16(data, at, secret, seed):
    """Combines 16 bytes with 16 bytes of the secret and the seed."""
    low = read64(data, at) ^ read64(SECRET, secret) + seed & MASK
    return fold(low, read64(data, at + 8) ^ read64(SECRET, secret + 8) - seed & MASK)


def hash_medium(data, seed):
    """17 to 128 bytes."""
    size = len(data)
    total = size * P64_1
    for i in range((size - 1) // 32, -1, -1):
        total += mix16(data, 16 * i, 32 * i, seed) + mix16(data, size - 16 * (i + 1), 32 * i + 16, seed)
    return avalanche(total & MASK)


def hash_longer(data, seed):
    """129 to 240 bytes."""
    size = len(data)
    total = size * P64_1 + sum(mix16(data, 16 * i, 16 * i, seed) for i in range(8))
    total = avalanche(total & MASK)
    total += sum(mix16(data, 16 * i, 16 * (i - 8) + 3, seed) for i in range(8, size // 16))
    total += mix16(data, size - 16, 136 - 17, seed)
    return avalanche(total & MASK)


def hash_long(data, secret):
    """More than 240 bytes, in stripes of 64 bytes; 16 stripes are a block."""
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    stripes = (len(data) - 1) // 64
    for stripe in range(stripes):
        accumulate(lanes, data, 64 * stripe, secret, 8 * (stripe % 16))
        if stripe % 16 == 15:
            scramble(lanes, secret)
    accumulate(lanes, data, len(data) - 64, secret, 192 - 64 - 7)
    total = len(data) * P64_1
    for i in range(0, 8, 2):
        total += fold(lanes[i] ^ read64(secret, 11 + 8 * i), lanes[i + 1] ^ read64(secret, 19 + 8 * i))
    return avalanche(total & MASK)


def accumulate(lanes, data, at, secret, offset):
    """Adds a stripe to the lanes."""
    for i in range(8):
        value = read64(data, at + 8 * i)
        key = value ^ read64(secret, offset + 8 * i)
        lanes[i ^ 1] = lanes[i ^ 1] + value & MASK
        lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & MASK


def scramble(lanes, secret):
    """Mixes the lanes at the end of a block."""
    for i, lane in enumerate(lanes):
        lanes[i] = (lane ^ lane >> 47 ^ read64(secret, 128 + 8 * i)) * P32_1 & MASK

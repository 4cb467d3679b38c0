"""The checksums of SST blocks, compiled by numba.

A checksum covers a block and the byte behind it, its compression type. A CRC-32C is masked:
rotated right by 15, plus a constant. Of XXH3 it is the lower half of the block's hash, without a
seed, into which the type is mixed.

RocksDB: ``ComputeBuiltinChecksum``; xxHash: ``XXH3_64bits``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import load_native_unsigned_int

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_CHECKSUM = 0
CRC32C = 1
XXH3 = 4

_WORD = np.uint64(0xFFFFFFFF)
_CRC_MASK = np.uint64(0xA282EAD8)
_TYPE_FACTOR = np.uint64(0x6B9083D9)


def _crc_tables() -> NDArray[np.uint64]:
    """Table i holds the CRC-32C of each byte with i zero bytes behind it."""
    polynomial, low_bit, low_byte = np.uint64(0x82F63B78), np.uint64(1), np.uint64(0xFF)
    table = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        table = (table >> low_bit) ^ (table & low_bit) * polynomial
    tables = [table]
    for _ in range(7):
        tables.append(table[tables[-1] & low_byte] ^ (tables[-1] >> np.uint64(8)))
    return np.stack(tables)


_CRC = _crc_tables()

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
# The u64, little endian, at each of its bytes.
_KEYS = np.array([int.from_bytes(_SECRET[at : at + 8], "little") for at in range(185)], np.uint64)
_SECRET_SIZE = 192

_P32_1 = np.uint64(0x9E3779B1)
_P32_2 = np.uint64(0x85EBCA77)
_P32_3 = np.uint64(0xC2B2AE3D)
_P64_1 = np.uint64(0x9E3779B185EBCA87)
_P64_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P64_3 = np.uint64(0x165667B19E3779F9)
_P64_4 = np.uint64(0x85EBCA77C2B2AE63)
_P64_5 = np.uint64(0x27D4EB2F165667C5)
_AVALANCHE_FACTOR = np.uint64(0x165667919E3779F9)
_SHORT_FACTOR = np.uint64(0x9FB21C651E98DF25)

_LANES = 8
_STRIPE = 64
_STRIPES = 16
_LONG_BLOCK = _STRIPE * _STRIPES


@light_entry(lambda _, starts, ends, __: int((ends - starts).sum()))
def first_damaged(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    checksum_type: int,
) -> int:
    """The first of the blocks whose checksum is wrong; -1 if all are right."""
    lanes = np.empty(_LANES, np.uint64)
    for index in range(len(starts)):
        start, end = starts[index], ends[index]
        if checksum_type == CRC32C:
            computed = masked_crc32c(data, start, end + 1)
        elif checksum_type == XXH3:
            computed = xxh3(data, start, end, lanes) & _WORD
            computed ^= np.uint64(data[end]) * _TYPE_FACTOR & _WORD
        else:
            return -1
        if computed != read32(data, end + 1):
            return index
    return -1


@part
def masked_crc32c(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """The masked CRC-32C, eight bytes at a time."""
    crc = _WORD
    position = start
    while position + 8 <= end:
        low = crc ^ read32(data, position)
        high = read32(data, position + 4)
        crc = np.uint64(0)
        for index in range(4):
            shift = np.uint64(8 * index)
            crc ^= _CRC[7 - index, (low >> shift) & np.uint64(0xFF)]
            crc ^= _CRC[3 - index, (high >> shift) & np.uint64(0xFF)]
        position += 8
    while position < end:
        crc = _CRC[0, (crc ^ np.uint64(data[position])) & np.uint64(0xFF)] ^ (crc >> np.uint64(8))
        position += 1
    crc ^= _WORD
    return ((crc >> np.uint64(15) | crc << np.uint64(17)) + _CRC_MASK) & _WORD


@part
def read32(data: NDArray[np.uint8], at: int) -> np.uint64:
    """A u32, little endian."""
    return np.uint64(load_native_unsigned_int(data.ctypes.data + at))


@part
def read64(data: NDArray[np.uint8], at: int) -> np.uint64:
    """A u64, little endian."""
    return read32(data, at) | read32(data, at + 4) << np.uint64(32)


@part
def swapped(value: np.uint64) -> np.uint64:
    """The bytes in reverse order."""
    reverse = np.uint64(0)
    for _ in range(8):
        reverse = reverse << np.uint64(8) | value & np.uint64(0xFF)
        value >>= np.uint64(8)
    return reverse


@part
def rotated(value: np.uint64, bits: int) -> np.uint64:
    """Rotated left."""
    return value << np.uint64(bits) | value >> np.uint64(64 - bits)


@part
def folded_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """The two halves of the product of 128 bits, xored."""
    half = np.uint64(32)
    a_low, a_high = a & _WORD, a >> half
    b_low, b_high = b & _WORD, b >> half
    low, middle = a_low * b_low, a_high * b_low
    cross = (low >> half) + (middle & _WORD) + a_low * b_high
    upper = (middle >> half) + (cross >> half) + a_high * b_high
    return upper ^ (cross << half | low & _WORD)


@part
def avalanche(value: np.uint64) -> np.uint64:
    """The last step of most lengths."""
    value = (value ^ value >> np.uint64(37)) * _AVALANCHE_FACTOR
    return value ^ value >> np.uint64(32)


@part
def xxh64_avalanche(value: np.uint64) -> np.uint64:
    """The last step of the shortest lengths."""
    value = (value ^ value >> np.uint64(33)) * _P64_2
    value = (value ^ value >> np.uint64(29)) * _P64_3
    return value ^ value >> np.uint64(32)


@part
def mixed(data: NDArray[np.uint8], at: int, secret: int) -> np.uint64:
    """16 bytes, mixed with as many of the secret."""
    return folded_product(
        read64(data, at) ^ _KEYS[secret],
        read64(data, at + 8) ^ _KEYS[secret + 8],
    )


@part
def xxh3(data: NDArray[np.uint8], start: int, end: int, lanes: NDArray[np.uint64]) -> np.uint64:
    """The hash of some bytes; the algorithm depends on their number."""
    size = end - start
    if size > 240:
        return _xxh3_long(data, start, end, lanes)
    if size > 128:
        return _xxh3_240(data, start, end)
    if size > 16:
        return _xxh3_128(data, start, end)
    return _xxh3_16(data, start, end)


@part
def _xxh3_16(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    size = end - start
    if size > 8:
        low = read64(data, start) ^ _KEYS[24] ^ _KEYS[32]
        high = read64(data, end - 8) ^ _KEYS[40] ^ _KEYS[48]
        return avalanche(np.uint64(size) + swapped(low) + high + folded_product(low, high))
    if size > 3:
        value = read32(data, end - 4) + (read32(data, start) << np.uint64(32))
        value ^= _KEYS[8] ^ _KEYS[16]
        value = (value ^ rotated(value, 49) ^ rotated(value, 24)) * _SHORT_FACTOR
        value = (value ^ (value >> np.uint64(35)) + np.uint64(size)) * _SHORT_FACTOR
        return np.uint64(value ^ value >> np.uint64(28))
    if size > 0:
        value = np.uint64(data[start]) << np.uint64(16) | np.uint64(size) << np.uint64(8)
        value |= np.uint64(data[start + size // 2]) << np.uint64(24) | np.uint64(data[end - 1])
        return xxh64_avalanche(value ^ (_KEYS[0] ^ _KEYS[4]) & _WORD)
    return xxh64_avalanche(_KEYS[56] ^ _KEYS[64])


@part
def _xxh3_128(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    size = end - start
    value = np.uint64(size) * _P64_1
    for pair in range((size - 1) // 32 + 1):
        value += mixed(data, start + 16 * pair, 32 * pair)
        value += mixed(data, end - 16 * pair - 16, 32 * pair + 16)
    return avalanche(value)


@part
def _xxh3_240(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    size = end - start
    value = np.uint64(size) * _P64_1
    for index in range(8):
        value += mixed(data, start + 16 * index, 16 * index)
    value = avalanche(value)
    for index in range(8, size // 16):
        value += mixed(data, start + 16 * index, 16 * (index - 8) + 3)
    return avalanche(value + mixed(data, end - 16, 136 - 17))


@part
def _xxh3_long(
    data: NDArray[np.uint8], start: int, end: int, lanes: NDArray[np.uint64]
) -> np.uint64:
    lanes[0], lanes[1], lanes[2], lanes[3] = _P32_3, _P64_1, _P64_2, _P64_3
    lanes[4], lanes[5], lanes[6], lanes[7] = _P64_4, _P32_2, _P64_5, _P32_1
    stripes = (end - start - 1) // _STRIPE
    for stripe in range(stripes):
        _accumulate(data, start + stripe * _STRIPE, 8 * (stripe % _STRIPES), lanes)
        if stripe % _STRIPES == _STRIPES - 1:
            _scramble(lanes)
    _accumulate(data, end - _STRIPE, _SECRET_SIZE - _STRIPE - 7, lanes)
    value = np.uint64(end - start) * _P64_1
    for pair in range(4):
        value += folded_product(
            lanes[2 * pair] ^ _KEYS[11 + 16 * pair],
            lanes[2 * pair + 1] ^ _KEYS[19 + 16 * pair],
        )
    return avalanche(value)


@part
def _accumulate(data: NDArray[np.uint8], at: int, secret: int, lanes: NDArray[np.uint64]) -> None:
    for lane in range(_LANES):
        value = read64(data, at + 8 * lane)
        keyed = value ^ _KEYS[secret + 8 * lane]
        lanes[lane ^ 1] += value
        lanes[lane] += (keyed & _WORD) * (keyed >> np.uint64(32))


@part
def _scramble(lanes: NDArray[np.uint64]) -> None:
    for lane in range(_LANES):
        value = lanes[lane]
        value ^= value >> np.uint64(47) ^ _KEYS[_SECRET_SIZE - _STRIPE + 8 * lane]
        lanes[lane] = value * _P32_1

#!/usr/bin/env python3
"""Reads `.hapax` files, version 1. Written from FORMAT.md, and from nothing of the library.

    read-hapax.py [--secret HEX] FILE < keys      one text a line; prints 1 (maybe) or 0 (no) for each

It reads every byte, checks all that FORMAT.md tells a reader to check, and is slow. Needs `xxhash`.
"""

import argparse
import hashlib
import math
import struct
import sys

import xxhash

MASK = (1 << 64) - 1
M1, M2, M3 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
PROBE = 0xD1342543DE82EF95
LANES = [
    0x6A09E667, 0xBB67AE85, 0x3C6EF373, 0xA54FF53B, 0x510E527F, 0x9B05688D, 0x1F83D9AB, 0x5BE0CD19,
]
XXH3, UNIFORM, SIPHASH = 1, 2, 3
BLOOM, COUNTING, CUCKOO, BLOCKED, FUSE, WORD, RETIRING, WINDOW, REPLAY = 1, 2, 3, 4, 5, 6, 7, 64, 65
PARAMS, BODY, PROVENANCE, WINDOW_STATE, COUNTS, SHARDS, EPOCHS = 1, 2, 3, 4, 5, 6, 7


class Refused(Exception):
    """The bytes are not a whole, undamaged file of a known version."""


def need(condition, reason):
    if not condition:
        raise Refused(reason)


# --- 5. From a key to an answer ---------------------------------------------------------------------


def rotate(x, by):
    return (x << by | x >> (64 - by)) & MASK


def siphash_1_3_128(secret, data):
    """First and second word of the output."""
    k0, k1 = struct.unpack("<QQ", secret)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count):
        v0, v1, v2, v3 = v
        for _ in range(count):
            v0 = (v0 + v1) & MASK
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 = (v2 + v3) & MASK
            v3 = rotate(v3, 16) ^ v2
            v0 = (v0 + v3) & MASK
            v3 = rotate(v3, 21) ^ v0
            v2 = (v2 + v1) & MASK
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)
        v[:] = v0, v1, v2, v3

    whole = len(data) // 8 * 8
    last = data[whole:].ljust(7, b"\0") + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", data[:whole] + last):
        v[3] ^= word
        rounds(1)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(3)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(3)
    return first, v[0] ^ v[1] ^ v[2] ^ v[3]


def key_hash(function, seed, data):
    """hi and lo of canonical bytes; `seed` is a number, or the secret key."""
    if function == XXH3:
        digest = xxhash.xxh3_128_intdigest(data, seed=seed)
        return digest >> 64, digest & MASK
    if function == UNIFORM:
        return struct.unpack(">QQ", data)
    lo, hi = siphash_1_3_128(seed, data)
    return hi, lo


def fold(x, y):
    product = x * y
    return product >> 64 ^ product & MASK


def split(z):
    z = (z ^ z >> 30) * M2 & MASK
    z = (z ^ z >> 27) * M3 & MASK
    return z ^ z >> 31


def mix(hi, lo, salt):
    r1, r2 = split((salt + M1) & MASK), split((salt + 2 * M1) & MASK)
    a = lo ^ fold(hi ^ r1, M1)
    return a, hi ^ fold(a ^ r2, M2)


def reduce(w, n):
    return w * n >> 64


class Filter:
    """Params and body, and shards or epochs if it has them."""

    def __init__(self, params, body, shards, epochs):
        need(len(params) == 64, "params are not 64 bytes")
        (self.kind, self.policy, reserved_1, self.per_key, self.counter_bits, reserved_2, self.salt,
         self.capacity, self.len, self.first, self.second, reserved_3) = struct.unpack("<HBBIIIQQQQQQ", params)
        need((reserved_1, reserved_2, reserved_3) == (0, 0, 0), "reserved bytes in the params")
        need(BLOOM <= self.kind <= RETIRING, "kind of filter")
        need((shards is not None) == (self.kind == FUSE), "shards")
        need((epochs is not None) == (self.kind == RETIRING), "epochs")
        need(self.policy in (0, 1), "policy")
        need(self.capacity >= 1, "capacity")
        self.size = len(body)
        self.bits = int.from_bytes(body, "little")
        if self.kind != COUNTING:
            need(self.counter_bits == 0 or self.kind == RETIRING, "reserved bytes in the params")
            need(self.second == 0, "reserved bytes in the params")
        if self.kind == RETIRING:
            self.check_retiring(epochs)
        elif self.kind == CUCKOO:
            self.check_cuckoo()
        elif self.kind == FUSE:
            self.read_shards(shards)
        else:
            self.check_array()

    def check_array(self):
        need(1 <= self.per_key <= {WORD: 10, BLOCKED: 24}.get(self.kind, 64), "probes")
        need(self.size >= 8, "length of the body")
        need(self.kind != BLOCKED or self.size % 64 == 0, "length of the body")
        if self.kind == COUNTING:
            need(self.counter_bits in (4, 8), "counter bits")
        self.cell_bits = self.counter_bits or 1
        self.cells = 8 * self.size // self.cell_bits
        cells = [self.cell(p) for p in range(self.cells)]
        need(sum(cell != 0 for cell in cells) == self.first, "cells in use")
        if self.kind == COUNTING:
            full = (1 << self.cell_bits) - 1
            need(sum(cell == full for cell in cells) == self.second, "full counters")

    def check_cuckoo(self):
        need(4 <= self.per_key <= 32, "fingerprint bits")
        need(self.first >= 1, "buckets")
        used = 4 * self.per_key * self.first
        need(self.size == 8 * (-(-used // 64) + 2), "length of the body")
        need(self.bits >> used == 0, "bits after the last bucket")
        occupied = sum(slot != 0 for bucket in range(self.first) for slot in self.bucket(bucket))
        need(occupied == self.len, "occupied slots")

    def read_shards(self, rows):
        f = self.per_key
        need(4 <= f <= 32, "fingerprint bits")
        need(self.policy == 0 and self.first == 0, "policy and reserved bytes in the params")
        need(len(rows) % 16 == 0, "length of the shards")
        self.shards, words = [], 0
        for keys, segments, start, log2, attempt, reserved in struct.iter_unpack("<IIHBBI", rows):
            need(reserved == 0, "reserved bytes in the shards")
            need(segments >= 1 and log2 <= 18 and attempt <= 63, "shard")
            cells = (segments + 2) << log2
            need(cells < 1 << 32 and 1 <= keys <= cells, "shard")
            need(start > self.shards[-1][0] if self.shards else start == 0, "first prefix of a shard")
            self.shards.append((start, attempt, keys, segments, log2, 64 * words))
            size = 8 * -(-cells * f // 512)
            used = 64 * words + cells * f
            words += size
            need((self.bits & (1 << 64 * words) - 1) >> used == 0, "bits after the last cell of a shard")
        need(self.size == 8 * words, "length of the body")
        keys = sum(shard[2] for shard in self.shards)
        need(self.len == keys and self.capacity == max(keys, 1), "keys and capacity")

    def contains_fuse(self, hi, lo):
        f = self.per_key
        shards = [shard for shard in self.shards if shard[0] <= hi >> 48]
        if not shards:
            return False
        _, attempt, _, segments, log2, start = shards[-1]
        a, b = mix(hi, lo, (self.salt + (attempt << 56)) & MASK)
        length = 1 << log2
        first = reduce(a, segments * length)
        second = (first + length) ^ (a >> 18) % length
        third = (first + 2 * length) ^ a % length
        found = 0
        for cell in (first, second, third):
            found ^= self.bits >> start + cell * f & (1 << f) - 1
        return found == b >> 64 - f

    def check_retiring(self, epochs):
        f, t = self.per_key, self.counter_bits
        need(4 <= f <= 63 and 1 <= t <= 8 and 8 <= f + t <= 64, "bits in a slot")
        need(self.first >= 2 and self.first % 2 == 0, "buckets")
        used = 4 * (f + t) * self.first
        need(self.size == 8 * (-(-used // 64) + 2), "length of the body")
        need(self.bits >> used == 0, "bits after the last bucket")
        need(len(epochs) == 32 + 8 * 2**t, "length of the epochs")
        self.current, self.oldest, swept, most, advance, on_hit, reserved = struct.unpack("<QQQIBBH", epochs[:32])
        need(self.current <= 1 << 62, "current epoch")
        need(1 <= most < 2**t, "live epochs")
        need(0 <= self.current - self.oldest < most, "oldest epoch")
        need(swept <= self.first, "swept buckets")
        need(advance in (0, 1) and on_hit in (0, 1) and reserved == 0, "options of the epochs")
        need(advance == 0 or self.capacity >= most, "capacity")
        counts, live = [0] * 2**t, 0
        for bucket in range(self.first):
            for fingerprint, tag in self.tagged(bucket):
                if fingerprint:
                    counts[tag] += 1
                    live += self.live(tag)
                    need(bucket >= swept or tag != (self.current + 1) % 2**t, "swept bucket")
        need(struct.unpack("<%dQ" % 2**t, epochs[32:]) == tuple(counts), "slots of each tag")
        need(live == self.len, "live slots")

    def tagged(self, b):
        f, t = self.per_key, self.counter_bits
        slots = [self.bits >> (4 * b + s) * (f + t) for s in range(4)]
        return [(slot & (1 << f) - 1, slot >> f & (1 << t) - 1) for slot in slots]

    def live(self, tag):
        return any(epoch % 2**self.counter_bits == tag for epoch in range(self.oldest, self.current + 1))

    def cell(self, p):
        return self.bits >> p * self.cell_bits & (1 << self.cell_bits) - 1

    def bucket(self, b):
        f = self.per_key
        return [self.bits >> (4 * b + s) * f & (1 << f) - 1 for s in range(4)]

    def built(self):
        buckets = self.first if self.kind in (CUCKOO, RETIRING) else 0
        return self.kind, self.policy, self.per_key, self.counter_bits, self.capacity, buckets, self.size

    def contains(self, hi, lo):
        if self.kind == FUSE:
            return self.contains_fuse(hi, lo)
        a, b = mix(hi, lo, self.salt)
        if self.kind in (CUCKOO, RETIRING):
            fingerprint = reduce(b, (1 << self.per_key) - 1) + 1
            first = reduce(a, self.first)
            t = fingerprint * M1 & MASK
            r = reduce((t ^ t >> 32) * M2 & MASK, self.first)
            if self.first % 2 == 0:
                r |= 1
            second = (r - first) % self.first
            if self.kind == CUCKOO:
                return fingerprint in self.bucket(first) + self.bucket(second)
            slots = self.tagged(first) + self.tagged(second)
            return any(slot == fingerprint and self.live(tag) for slot, tag in slots)
        if self.kind == WORD:
            word = self.bits >> 64 * reduce(a, self.size // 8)
            x, chosen = b, set()
            for last in range(64 - self.per_key, 64):
                bit, x = reduce(x, last + 1), x * (last + 1) & MASK
                chosen.add(last if bit in chosen else bit)
            return all(word >> bit & 1 for bit in chosen)
        if self.kind == BLOCKED:
            line = self.bits >> 512 * reduce(a, self.size // 64)
            return all(line >> p & 1 for p in self.places(b))
        for i in range(self.per_key):
            word = a if i % 2 == 0 else a >> 32 | a << 32 & MASK
            if self.cell(reduce(word, self.cells)) == 0:
                return False
            if i % 2 == 1:
                a, b = b, (a * PROBE + b) & MASK
        return True

    def places(self, b):
        remixed = b * M1 & MASK
        words = [b & 0xffffffff, b >> 32, remixed >> 16 & 0xffffffff]
        full, lanes = divmod(self.per_key, 8)
        sets = [s for s in range(256) if s.bit_count() == lanes]
        choice = (b if full == 0 else remixed) >> 48
        chosen = sets[choice * len(sets) >> 16]
        for i in range(full + (lanes > 0)):
            for lane in range(8):
                if i < full or chosen >> lane & 1:
                    product = words[i] * LANES[lane] & 0xffffffff
                    yield 256 * (product >> 31) + 32 * lane + (product >> 26 & 31)


# --- 1. Layout, 2. Sections, 3. What a reader must do -----------------------------------------------


class File:
    """A checked file."""

    def __init__(self, data):
        need(data[:8] == b"\x89HAPAX\r\n", "not a .hapax file")
        need(len(data) >= 64, "truncated")
        (version, self.kind, count, length, self.function, self.digest, reserved_1, self.seed,
         reserved_2, table_checksum, checksum) = struct.unpack("<HHIQBB6sQQQQ", data[8:64])
        need(version <= 1, "newer version")
        need(xxhash.xxh3_64_intdigest(data[:56]) == checksum, "checksum of the header")
        need(version == 1, "version 0")
        need(BLOOM <= self.kind <= RETIRING or self.kind in (WINDOW, REPLAY), "kind")
        need(1 <= count <= 64, "number of sections")
        need(reserved_1 == bytes(6) and reserved_2 == 0, "reserved bytes in the header")
        need(self.function in (XXH3, UNIFORM, SIPHASH), "hash function")
        need(self.digest <= (2 if self.function == UNIFORM else 0), "digest")
        need(self.function != UNIFORM or self.seed == 0, "seed of a uniform filter")
        need(len(data) == length, "file length")
        table = data[64:64 + 32 * count]
        need(xxhash.xxh3_64_intdigest(table) == table_checksum, "checksum of the section table")

        sections, end = [], 64 + 32 * count
        for row in struct.iter_unpack("<HHIQQQ", table):
            kind, index, reserved, offset, size, checksum = row
            need(PARAMS <= kind <= EPOCHS, "section type")
            need(reserved == 0, "reserved bytes in the table")
            need(offset == -(-end // 64) * 64, "section offset")
            need(size % 8 == 0 if kind == BODY else size <= 1 << 20, "section length")
            need(not any(data[end:offset]), "padding")
            end = offset + size
            section = data[offset:end]
            need(len(section) == size, "section length")
            need(xxhash.xxh3_64_intdigest(section) == checksum, "checksum of a section")
            sections.append((kind, index, section))
        trailer = -(-end // 64) * 64
        need(length == trailer + 16, "file length")
        need(not any(data[end:trailer]), "padding")
        need(data[trailer:] == b"HAPAXEND" + data[56:64], "trailer")
        self.read_sections(sections)

    def read_sections(self, sections):
        one = [(PARAMS, 0), (BODY, 0)]
        two = one + [(PARAMS, 1), (BODY, 1), (WINDOW_STATE, 0)]
        shapes = {FUSE: [one + [(SHARDS, 0)]], WINDOW: [two], REPLAY: [one, two]}.get(self.kind, [one])
        end = [(COUNTS, 0)] * (self.kind == REPLAY) + [(PROVENANCE, 0)]
        ids = [(kind, index) for kind, index, _ in sections]
        # Epochs follow the body that they belong to, and nothing else.
        for at, (kind, index) in enumerate(ids):
            need(kind != EPOCHS or at > 0 and ids[at - 1] == (BODY, index), "epochs")
        plain = [id for id in ids if id[0] != EPOCHS]
        need(plain in [shape + end for shape in shapes], "sections of this kind")
        content = {(kind, index): section for kind, index, section in sections}

        self.filters = [
            Filter(content[PARAMS, i], content[BODY, i], content.get((SHARDS, i)), content.get((EPOCHS, i)))
            for i in range(2)
            if (BODY, i) in content
        ]
        if self.kind < WINDOW:
            need(self.filters[0].kind == self.kind, "kind in the params")
        if (WINDOW_STATE, 0) in content:
            need(len(content[WINDOW_STATE, 0]) == 16, "length of the window section")
            self.generation, salt = struct.unpack("<QQ", content[WINDOW_STATE, 0])
            current, previous = self.filters
            need(current.salt == (salt + self.generation) & MASK, "salt")
            need(previous.salt == (salt + self.generation - 1) & MASK, "salt")
            need(current.built() == previous.built(), "generations built alike")
        if self.kind == REPLAY:
            need(len(content[COUNTS, 0]) == 24, "length of the counts section")
            self.passed, self.dropped, self.estimated_lost = struct.unpack("<QQd", content[COUNTS, 0])
            need(self.estimated_lost >= 0 and math.isfinite(self.estimated_lost), "estimate")
        self.read_provenance(content[PROVENANCE, 0])

    def read_provenance(self, data):
        need(len(data) >= 56, "length of the provenance")
        self.rows = struct.unpack("<QQQQQ", data[:40])
        self.set_digest = int.from_bytes(data[40:56], "little")
        self.texts, at = [], 56
        for _ in range(4):
            need(at + 4 <= len(data), "length of the provenance")
            (size,) = struct.unpack("<I", data[at:at + 4])
            text = data[at + 4:at + 4 + size]
            need(size <= 65536 and len(text) == size, "length of a text")
            try:
                self.texts.append(text.decode())
            except UnicodeDecodeError:
                raise Refused("a text is not UTF-8") from None
            at += 4 + size
        need(at == len(data), "bytes after the provenance")

    def hash(self, text, secret=None):
        """hi and lo of a text, as this file hashes it."""
        if self.function == XXH3:
            return key_hash(XXH3, self.seed, text.encode())
        if self.function == SIPHASH:
            need(secret is not None, "this filter is keyed, and its secret key was not given")
            need(key_hash(SIPHASH, secret, b"hapax key id")[0] == self.seed, "another secret key")
            return key_hash(SIPHASH, secret, text.encode())
        if self.digest == 1:
            return key_hash(UNIFORM, 0, hashlib.sha1(text.encode()).digest()[:16])
        need(self.digest == 2, "the digest of the keys is not specified")
        return key_hash(UNIFORM, 0, hashlib.new("md4", text.encode("utf-16-le")).digest())

    def contains(self, hi, lo):
        return any(filter.contains(hi, lo) for filter in self.filters)


def main():
    parser = argparse.ArgumentParser(description="Ask a .hapax file for the texts on standard input.")
    parser.add_argument("--secret", type=bytes.fromhex, help="the secret key, 32 hexadecimal digits")
    parser.add_argument("file")
    arguments = parser.parse_args()
    try:
        with open(arguments.file, "rb") as data:
            file = File(data.read())
        for line in sys.stdin:
            print(int(file.contains(*file.hash(line.rstrip("\n"), arguments.secret))))
    except Refused as reason:
        sys.exit(f"{arguments.file}: {reason}")


if __name__ == "__main__":
    main()

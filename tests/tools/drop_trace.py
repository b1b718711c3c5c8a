# SPDX-License-Identifier: BSD-2-Clause
"""drop_trace.py IN OUT SEED: a perf.data without some ranges of its AUX data.

Each buffer loses a few ranges of bytes, whose places and sizes follow from SEED,
as when a reader does not keep up: what is left keeps the offsets that it had in
the buffer.  Prints how many bytes are gone."""
import random
import struct
import sys

AUXTRACE, HEADER, FLAGS = 71, 48, 72


def lossy(payload, offset, rng):
    """[(offset, bytes)] that are left of one AUXTRACE record."""
    cuts = []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(payload) + 1) & ~7  # records are multiples of eight bytes
        cuts.append((at, min(len(payload), at + rng.choice((8, 16, 40, 304, 3000, len(payload))))))
    left, at = [], 0
    for start, end in sorted(cuts):
        if start > at:
            left.append((offset + at, payload[at:start]))
        at = max(at, end)
    if at < len(payload):
        left.append((offset + at, payload[at:]))
    return left


def main():
    data, rng = open(sys.argv[1], "rb").read(), random.Random(int(sys.argv[3]))
    start, size = struct.unpack_from("<QQ", data, 40)
    out, at, end, gone = bytearray(), start, start + size, 0
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        record, at = data[at:at + length], at + length
        if kind != AUXTRACE:
            out += record
            continue
        bytes_, offset = struct.unpack_from("<QQ", record, 8)
        payload, at = data[at:at + bytes_], at + bytes_
        pieces = lossy(payload, offset, rng)
        for piece_offset, piece in pieces:
            head = bytearray(record)
            struct.pack_into("<QQ", head, 8, len(piece), piece_offset)
            out += head + piece
        gone += bytes_ - sum(len(p) for _, p in pieces)
    head, tail = bytearray(data[:start]), bytearray(data[end:])
    struct.pack_into("<Q", head, HEADER, len(out))
    features = sum(bin(b).count("1") for b in data[FLAGS:FLAGS + 32])
    for i in range(features if tail else 0):
        (where,) = struct.unpack_from("<Q", tail, 16 * i)
        struct.pack_into("<Q", tail, 16 * i, where + len(out) - size)
    open(sys.argv[2], "wb").write(head + out + tail)
    print(gone)


main()

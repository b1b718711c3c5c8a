# SPDX-License-Identifier: BSD-2-Clause
# Makes a large capture out of a small one: a perf.data file with the same records,
# then more of them.
#	grow.py IN OUT trace BYTES   its largest stretch of trace over and over, BYTES in all
#	grow.py IN OUT maps N        N mappings of its last executable file, each somewhere else
import struct, sys

MMAP2, AUXTRACE, FINISHED = 10, 71, 68


def records(data):
    at = 0
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        body = struct.unpack_from("<Q", data, at + 8)[0] if kind == AUXTRACE else 0
        yield kind, at, size, body
        at += size + body


def more_trace(data, want):
    traces = [r for r in records(data) if r[0] == AUXTRACE]
    _, at, size, body = max(traces, key=lambda r: r[3])
    _, ref, idx, tid = struct.unpack_from("<QQII", data, at + 16)
    mine = [r for r in traces if struct.unpack_from("<II", data, r[1] + 32) == (idx, tid)]
    offset = max(struct.unpack_from("<Q", data, r[1] + 16)[0] + r[3] for r in mine)
    total = sum(r[3] for r in traces)
    while total < want:
        ref += 1
        head = bytearray(data[at:at + size])
        struct.pack_into("<QQ", head, 16, offset, ref)
        yield bytes(head)
        yield data[at + size:at + size + body]
        offset += body
        total += body


def more_maps(data, n):
    maps = [r for r in records(data) if r[0] == MMAP2 and data[r[1] + 64:r[1] + 65] != b"/"]
    _, at, size, _ = maps[-1]
    for k in range(n):
        rec = bytearray(data[at:at + size])
        struct.pack_into("<QQ", rec, 16, 0x200000000000 + k * 7919 % n * 0x3000, 0x2000)
        yield bytes(rec)


def main():
    source = open(sys.argv[1], "rb").read()
    magic, size, attr_size, attrs, attrs_n, at, n = struct.unpack_from("<8sQQQQQQ", source, 0)
    features = bin(int.from_bytes(source[72:104], "little")).count("1")
    data, table = source[at:at + n], source[at + n:]
    grow = more_trace if sys.argv[3] == "trace" else more_maps
    with open(sys.argv[2], "wb") as out:
        out.write(source[:at])
        out.write(data)
        added = 0
        for part in grow(data, int(sys.argv[4])):
            out.write(part)
            added += len(part)
        table = bytearray(table)
        for k in range(features):
            where = struct.unpack_from("<Q", table, 16 * k)[0]
            struct.pack_into("<Q", table, 16 * k, where + added)
        out.write(table)
        out.seek(48)
        out.write(struct.pack("<Q", n + added))


main()

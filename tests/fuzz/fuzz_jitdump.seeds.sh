# SPDX-License-Identifier: BSD-2-Clause
# fuzz_jitdump.seeds.sh FOLDER: a jitdump with one record of each kind, and a map of names.
python3 - "$1" <<'PY'
import struct
import sys

def record(kind, body):
    return struct.pack("<IIQ", kind, 16 + len(body), kind) + body

def lines(addr, *entries):
    return struct.pack("<QQ", addr, len(entries)) + b"".join(
        struct.pack("<QII", a, n, 0) + f + b"\0" for a, n, f in entries)

dump = struct.pack("<6I2Q", 0x4a695444, 1, 40, 62, 0, 7, 1, 1)
dump += record(2, lines(0x1000, (0x1000, 1, b"a.c"), (0x1001, 2, b"\xff")))
dump += record(0, struct.pack("<II4Q", 7, 8, 0x1000, 0x1000, 2, 1) + b"f\0" + b"\x90\xc3")
dump += record(1, struct.pack("<II5Q", 7, 8, 0x2000, 0x1000, 0x2000, 2, 1))
dump += record(4, struct.pack("<3Q", 0, 0, 0)) + record(3, b"")
open(sys.argv[1] + "/jitdump", "wb").write(dump)
open(sys.argv[1] + "/map", "w").write("1000 10 one\n0x1000 0x20 two\n3000 5 a b\n")
PY

# SPDX-License-Identifier: BSD-2-Clause
# fuzz_kcore.seeds.sh FOLDER: a core of two segments.
python3 - "$1" <<'PY'
import struct
import sys

head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
head += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
for addr in (0xffffffff81000000, 0xffffffffc0000000):
    head += struct.pack("<IIQQQQQQ", 1, 7, 176, addr, 0, 16, 16, 4096)
open(sys.argv[1] + "/core", "wb").write(head + b"\x90" * 16)
PY

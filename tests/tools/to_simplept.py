# SPDX-License-Identifier: BSD-2-Clause
"""to_simplept.py PREFIX (DATA MAPS)...: recordings as a capture of simple-pt.

Each recording of a program with one thread is a process of the capture: its trace
stands in PREFIX.3 behind that of the one before, led in by a PSB whose PIP packet names
page tables.  MAPS is what `hwtrace info --maps` lists of DATA.  The first one's code
was mapped before the trace began."""
import re
import struct
import sys

AUXTRACE = 71
PSB, PSBEND = b"\x02\x82" * 8, b"\x02\x23"
MAP = re.compile(r"  (\d+) pid (\d+) ([0-9a-f]+)-([0-9a-f]+) pgoff ([0-9a-f]+) x\S+ (/\S+)$")


def trace(path):
    data, out = open(path, "rb").read(), b""
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        at += length
        if kind == AUXTRACE:
            (n,) = struct.unpack_from("<Q", data, at - length + 8)
            out += data[at:at + n]
            at += n
    return out


prefix, recordings = sys.argv[1], sys.argv[2:]
later, before, cpu3 = [], [], b""
for i in range(len(recordings) // 2):
    cr3 = 0x12345000 + 0x2000 * i
    cpu3 += PSB + b"\x02\x43" + struct.pack("<Q", cr3 >> 5 << 1)[:6] + PSBEND + trace(recordings[2 * i])
    for line in open(recordings[2 * i + 1]):
        m = MAP.match(line)
        if not m:
            continue
        start, stop, off = (int(m[k], 16) for k in (3, 4, 5))
        if i == 0:
            before.append("0.0 %s %x %x %08x %d \t%s" % (m[2], cr3, start, off, stop - start, m[6]))
        else:
            later.append("%.6f %s %x %x %d %x\t%s" % (77.25, m[2], cr3, start, off, stop - start, m[6]))
open(prefix + ".3", "wb").write(cpu3)
open(prefix + ".10", "wb").write(b"")
with open(prefix + ".sideband", "w") as f:
    f.write("meta family 6\nmeta model 94\nmeta stepping 3\nmeta mtc_freq 4\nmeta nom_freq 25\n")
    f.write("meta tsc_ratio 2 216\nmeta max_leaf 20\n")
    f.write("".join(s + "\n" for s in later + before))

# SPDX-License-Identifier: BSD-2-Clause
"""check_afl.py MAP MODULE BASE: the map of edges of one thread, made once more
from its instructions in order, which come on standard input as hwtrace script
-F ip,dso,disasm prints them.  MODULE is the base name of the one that is
covered, BASE what it was moved by."""
import re
import sys

got, module, base = open(sys.argv[1], "rb").read(), sys.argv[2], int(sys.argv[3], 0)
h = 0x811c9dc5
for c in module.encode():
    h = (h ^ c) * 0x01000193 & 0xffffffff
row = re.compile(r" *([0-9a-f]+) \((.*?)\)\s+(?:(?:rep|repz|repnz|lock|bnd|notrack|data16)\w* )*(\w+)")
want, before, starts = bytearray(65536), 0, True
for line in sys.stdin:
    address, path, mnemonic = row.match(line).groups()
    if starts and path.rsplit("/", 1)[-1] == module:
        at = int(address, 16) - base
        number = (at >> 4 ^ at << 8 ^ h ^ h >> 16) & 0xffff
        want[number ^ before] = min(255, want[number ^ before] + 1)
        before = number >> 1
    starts = mnemonic.startswith(("j", "call", "ret", "loop", "syscall"))
print(sum(map(bool, want)), "edges", sum(want), "times")
if bytes(want) != got or not any(want):
    bad = [i for i in range(65536) if want[i] != got[i]]
    print(len(bad), "counters differ, as", [(i, want[i], got[i]) for i in bad[:5]])
    sys.exit(1)

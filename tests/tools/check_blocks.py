#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_blocks.py ADDRESSES MODULE BASE V2 V3 BLOCKS EZCOV

Read drcov of both versions, module+offset and EZCOV by their own rules.  Each
holds exactly the addresses of MODULE (loaded at BASE) in the list ADDRESSES.
"""
import re
import struct
import sys


def drcov(path):
    """[(module, vaddr, size)]"""
    data = open(path, "rb").read()
    text, _, rest = data.partition(b"BB Table: ")
    count, _, table = rest.partition(b" bbs\n")
    rows = text.decode().splitlines()
    version = int(re.fullmatch(r"DRCOV VERSION: (\d)", rows[0])[1])
    assert rows[1] == "DRCOV FLAVOR: drcov-64"
    table_version, n = map(int, re.fullmatch(r"Module Table: version (\d), count (\d+)", rows[2]).groups())
    assert table_version == {2: 2, 3: 5}[version]
    names = [x.strip() for x in rows[3].removeprefix("Columns: ").split(",")]
    modules = [dict(zip(names, (x.strip() for x in r.split(",", len(names) - 1)))) for r in rows[4:]]
    assert len(modules) == n and [int(m["id"]) for m in modules] == list(range(n))
    assert len(table) == 8 * int(count)
    out = []
    for start, size, module in struct.iter_unpack("<IHH", table):
        m = modules[module]
        first = int(m["base" if version == 2 else "start"], 16)
        assert 0 < size and first + start + size <= int(m["end"], 16), "a block outside of its row"
        out.append((m["path"], first + start, size))
    return out


def spread(blocks, module):
    return {a for m, start, size in blocks if m == module for a in range(start, start + size)}


addresses, module, base, v2, v3, blocks, ezcov = sys.argv[1:8]
base = int(base, 16)
ran = sorted({int(x, 16) for x in open(addresses)})
two, three = drcov(v2), drcov(v3)
bytes2, bytes3 = spread(two, module), spread(three, module)
assert two and bytes2 == bytes3, "the versions differ"
missing = [a for a in ran if a not in bytes2]
assert not missing, f"ran, but in no block: {len(missing)}, first {missing[0]:#x}"
starts = {a for m, a, _ in two if m == module}
# A block begins where an instruction ran, unless it is the rest of one that was split.
parts = {a + s for m, a, s in two if s == 65535}
extra = [a for a in starts if a not in set(ran) and a not in parts]
assert not extra, f"a block where nothing ran: {extra[0]:#x}"
# Between two instructions that ran there is none that did not: 15 bytes is the longest.
gaps = sorted(bytes2)
lone = [a for a in gaps if not any(a - k in set(ran) for k in range(15))] if len(gaps) < 20000 else []
assert not lone, f"covered, but far from all that ran: {lone[0]:#x}"
short = module.rsplit("/", 1)[-1]
offsets = {int(x.rsplit("+", 1)[1], 16) + base for x in open(blocks) if x.startswith(short + "+0x")}
assert offsets == {a for a in starts if a not in parts} | (offsets & parts), "module+offset differs"
rows = open(ezcov).read().splitlines()
assert rows[0] == "EZCOV VERSION: 1"
ez = [re.fullmatch(r"0x([0-9a-f]{8,}), +(\d+), \[  \]", r).groups() for r in rows[1:]]
assert {a for s, n in ez for a in range(int(s, 16), int(s, 16) + int(n))} == bytes2, "EZCOV differs"
print(f"{len(ran)} instructions in {len(two)} blocks, {len(bytes2)} bytes")

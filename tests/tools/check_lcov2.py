#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_lcov2.py REPORT.info REPORT.lcov2

The tracefile in the dialect of lcov 2 follows its grammar, has the lines of the
older dialect, and is consistent as lcov 2 demands: a function is hit if and only
if a line of its range is, a line with branches if and only if a branch of it was
reached; a name stands once a file.
"""
import re
import sys

GRAMMAR = [r"TN:", r"SF:.+", r"FNL:\d+,\d+,\d+", r"FNA:\d+,\d+,.+", r"FN[FH]:\d+", r"BRDA:\d+,\d+,\d+,(-|\d+)",
           r"BR[FH]:\d+", r"DA:\d+,\d+", r"L[FH]:\d+", r"end_of_record"]
bad = 0


def wrong(text):
    global bad
    bad += 1
    print(text)


def records(path):
    rec = {}
    for row in open(path):
        row = row.rstrip("\n")
        if row == "end_of_record":
            yield rec
            rec = {}
        else:
            key, _, value = row.partition(":")
            rec.setdefault(key, []).append(value)


def check(rec):
    name = rec["SF"][0]
    lines = {int(n): int(c) for n, c in (x.split(",") for x in rec.get("DA", []))}
    ranges, hit, names = {}, {}, []
    for x in rec.get("FNL", []):
        index, first, last = map(int, x.split(","))
        if index in ranges or first in (r[0] for r in ranges.values()) or last < first:
            wrong(f"{name}: FNL:{x}")
        ranges[index] = (first, last)
    for x in rec.get("FNA", []):
        index, count, alias = x.split(",", 2)
        hit[int(index)] = hit.get(int(index), False) or int(count) > 0
        names.append((alias, int(count) > 0))
    if set(hit) != set(ranges) or len({n for n, _ in names}) != len(names):
        wrong(f"{name}: FNA and FNL do not fit together")
    if [int(rec["FNF"][0]), int(rec["FNH"][0])] != [len(names), sum(h for _, h in names)]:
        wrong(f"{name}: FNF, FNH")
    for index, (first, last) in ranges.items():
        if not any(first <= n <= last for n in lines):
            wrong(f"{name}: function at {first}-{last} has no line")
        if hit.get(index) != any(c for n, c in lines.items() if first <= n <= last):
            wrong(f"{name}: function at {first}-{last}: hit is {hit.get(index)}, its lines say otherwise")
    branches = {}
    for x in rec.get("BRDA", []):
        line, _, _, taken = x.split(",")
        branches.setdefault(int(line), []).append(taken)
    for line, taken in branches.items():
        if line not in lines or (lines[line] > 0) != any(t not in ("-", "0") for t in taken):
            wrong(f"{name}: line {line}: count {lines.get(line)}, branches {taken}")
    return len(names), len(branches)


for row in open(sys.argv[2]):
    if not any(re.fullmatch(g, row.rstrip("\n")) for g in GRAMMAR):
        wrong("not in the grammar: " + row.rstrip("\n"))
old = {r["SF"][0]: r.get("DA") for r in records(sys.argv[1])}
new = {r["SF"][0]: r.get("DA") for r in records(sys.argv[2])}
if old != new:
    wrong("files and lines differ from the older dialect's")
total = [check(r) for r in records(sys.argv[2])]
print(f"{len(total)} files, {sum(t[0] for t in total)} functions, {sum(t[1] for t in total)} lines with branches")
sys.exit(1 if bad or not total else 0)

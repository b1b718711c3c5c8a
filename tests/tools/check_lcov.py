#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_lcov.py REPORT.json REPORT.info

The lcov tracefile is consistent in itself (each sum is that of its rows, files
and lines in order) and says what the JSON report says.
"""
import json
import sys

sums = {"lines": [0, 0], "functions": [0, 0], "branches": [0, 0]}
bad = 0


def wrong(text):
    global bad
    bad += 1
    print(text)


def check_record(rec):
    """One file: a dict of lists of fields, by keyword."""
    name = rec["SF"][0]
    lines = [(int(n), int(c)) for n, c in (x.split(",")[:2] for x in rec.get("DA", []))]
    if lines != sorted(set(lines)) or len({n for n, _ in lines}) != len(lines):
        wrong(f"{name}: lines out of order or twice")
    defined = [x.split(",", 1)[1] for x in rec.get("FN", [])]
    calls = [x.split(",", 1) for x in rec.get("FNDA", [])]
    if defined != [n for _, n in calls]:
        wrong(f"{name}: FN and FNDA differ")
    branches = [x.split(",") for x in rec.get("BRDA", [])]
    if len({tuple(b[:3]) for b in branches}) != len(branches):
        wrong(f"{name}: a branch twice")
    known = {n for n, _ in lines}
    for b in branches:
        if int(b[0]) not in known:
            wrong(f"{name}: branch of line {b[0]}, which has no count")
    found = {
        "lines": (len(lines), sum(c > 0 for _, c in lines), "LF", "LH"),
        "functions": (len(calls), sum(int(c) > 0 for c, _ in calls), "FNF", "FNH"),
        "branches": (len(branches), sum(b[3] not in ("-", "0") for b in branches), "BRF", "BRH"),
    }
    for kind, (total, hit, f, h) in found.items():
        if total and (int(rec[f][0]), int(rec[h][0])) != (total, hit):
            wrong(f"{name}: {f}, {h} are not the sum of the rows")
        sums[kind][0] += total
        sums[kind][1] += hit


def main():
    report = json.load(open(sys.argv[1]))
    rec, files = {}, []
    for row in open(sys.argv[2]):
        row = row.strip()
        if row == "end_of_record":
            files.append(rec["SF"][0])
            check_record(rec)
            rec = {}
        else:
            key, _, value = row.partition(":")
            rec.setdefault(key, []).append(value)
    if files != sorted(files) or files != [f["path"] for f in report["files"]]:
        wrong("the files are not those of the JSON report, in order")
    placed = [f for f in report["functions"] if "file" in f and f["line"]]
    want = {
        "lines": [report["totals"]["lines"]["all"], report["totals"]["lines"]["hit"]],
        "functions": [len(placed), sum(f["state"] == "hit" for f in placed)],
    }
    for kind, w in want.items():
        if sums[kind] != w:
            wrong(f"{kind}: JSON has {w}, lcov {sums[kind]}")
    outcomes = [n for f in report["files"] for l in f["lines"] for b in l.get("branches", [])
                for n in (b["taken"], b["not_taken"])]
    if sums["branches"] != [len(outcomes), sum(n > 0 for n in outcomes)]:
        wrong(f"branches: lcov {sums['branches']}")
    print(f"{len(files)} files, {sums}")
    sys.exit(1 if bad or not files else 0)


main()

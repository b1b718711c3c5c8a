#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare_gcov.py SOURCE.gcov OURS.info SOURCE [EXPLAINED]

Compare the lines that gcov counted with ours, of the same source and the same
run.  Differences that follow from what the two look at (gcov: the compiler's
statements; hwtrace: the instructions that are left of them) are told by these
rules and nothing else:

  head    gcov counts a function at the line of its name, the line table at its "{"
  brace   "}" has instructions (the epilogue, a jump), but is no statement
  jump    "break;", "return;", "continue;", "goto x;" and labels that became the
          target or the fall-through of another jump have no instruction of their own

EXPLAINED holds more, one a line: KIND<TAB>LINE<TAB>REASON with KIND hit, count,
missing or extra.  An explanation that explains nothing is a failure as well.
"""
import re
import sys


def gcov_lines(path):
    out = {}
    for row in open(path):
        parts = row.split(":", 2)
        if len(parts) < 3 or not parts[1].strip().isdigit():
            continue
        count, line = parts[0].strip(), parts[1].strip()
        # Of a template the sum comes first, then each of its instances.
        if count == "-" or line == "0" or int(line) in out:
            continue
        count = count.rstrip("*")
        out[int(line)] = 0 if count in ("#####", "=====") else int(count)
    return out


def our_lines(path, source):
    out, inside = {}, False
    for row in open(path):
        row = row.strip()
        if row.startswith("SF:"):
            inside = row.endswith("/" + source.rsplit("/", 1)[-1])
        elif inside and row.startswith("DA:"):
            line, count = row[3:].split(",")[:2]
            out[int(line)] = int(count)
    return out


def rule(line, text, want, got):
    """The rule that makes this difference rightful, or None."""
    here = text[line - 1].strip()
    after = text[line].strip() if line < len(text) else ""
    if line not in got:
        if after == "{" and line + 1 in got and (got[line + 1] > 0) == (want[line] > 0):
            return "head"
        if re.fullmatch(r"(break|return|continue|goto \w+);|(case .*|default|\w+):", here):
            return "jump"
    if line not in want:
        if here == "{" and line - 1 in want:
            return "head"
        if here == "}":
            return "brace"
    return None


def main():
    gcov, info, source = sys.argv[1:4]
    explained = {}
    if len(sys.argv) > 4:
        for row in open(sys.argv[4]):
            if row.strip() and not row.startswith("#"):
                kind, line, reason = row.rstrip("\n").split("\t")
                explained[(kind, int(line))] = reason
    want, got = gcov_lines(gcov), our_lines(info, source)
    text = open(source).read().split("\n")
    both = hits = counts = bad = 0
    for line in sorted(set(want) | set(got)):
        if line in want and line in got:
            both += 1
            kind = None
            if (want[line] > 0) != (got[line] > 0):
                kind = "hit"
            else:
                hits += 1
                counts += want[line] == got[line]
                if want[line] != got[line]:
                    kind = "count"
        elif rule(line, text, want, got):
            continue
        else:
            kind = "missing" if line in want else "extra"
        if kind and not explained.pop((kind, line), None):
            bad += 1
            print(f"{kind}: line {line}: gcov {want.get(line, '-')}, ours {got.get(line, '-')}: {text[line - 1]}")
    for kind, line in explained:
        bad += 1
        print(f"explained but not so: {kind} {line}")
    print(f"{both} lines in both: {hits} agree on hit or miss, {counts} on the count; {bad} differences unexplained")
    sys.exit(1 if bad or not both else 0)


main()

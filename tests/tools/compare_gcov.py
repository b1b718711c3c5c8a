#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare_gcov.py GCOV.json OURS.json PROGRAM [--explained FILE] [--agree PERCENT] [--optimised PERCENT]

Compare the lines that gcov counted (`gcov -i -t`, one JSON object a file) with
ours, of the same source and the same run.  gcov looks at the compiler's
statements, hwtrace at the instructions that are left of them; what differs for
that is told by these rules and nothing else.  Which lines of PROGRAM have an
instruction, objdump says.

  no code  gcov counts a line that no instruction is left of: a label, a jump that
           became another one's target, a head whose code stands at its "{"
  head     ours is the "{" behind a head that gcov counts at the function's name,
           and both were entered
  brace    "}" has instructions, but is no statement
  jump     in both, but what led to it goes on to its target without it

--explained has more, one a line: KIND<TAB>FILE:LINE<TAB>REASON with KIND hit, count,
missing or extra.  An explanation that explains nothing is a failure as well.
--agree: so many per cent of hits and of counts agree, and no count is explained; else each.
--optimised: PROGRAM was optimised, gcov's was not.  Of the lines that both have,
so many per cent agree on hit or miss; those that do not are listed.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

JUMP = r"(\w+:\s*)?(break|return|continue|goto \w+);"
LABEL = r"(} )?(case .*|default|\w+):.*|vmcase\(.*"


def gcov_lines(path):
    """Counts and first lines of functions, by file and line."""
    lines, heads = collections.defaultdict(dict), collections.defaultdict(dict)
    for row in open(path):
        unit = json.loads(row)
        for file in unit["files"]:
            name = os.path.normpath(os.path.join(unit["current_working_directory"], file["file"]))
            if name.startswith("/usr/"):
                continue
            # Instances of a template, and headers in several units, each tell the line again.
            for line in file["lines"]:
                n = line["line_number"]
                lines[name][n] = lines[name].get(n, 0) + line["count"]
            for f in file["functions"]:
                heads[name][f["start_line"]] = heads[name].get(f["start_line"], 0) + f["execution_count"]
    return lines, heads


def our_lines(path):
    return {f["path"]: {l["line"]: l["count"] for l in f["lines"]} for f in json.load(open(path))["files"]}


def code_lines(program):
    """(base name, line) of each row of the line table that owns instructions."""
    out, last = set(), None
    table = subprocess.run(["objdump", "--dwarf=decodedline", program], check=True, capture_output=True, text=True)
    for row in table.stdout.split("\n"):
        m = re.match(r"(\S+)\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b", row)
        if not m:
            continue
        at = int(m.group(3), 16)
        if last and last[2] < at:
            out.add(last[:2])
        last = (m.group(1), int(m.group(2)), at) if m.group(2) != "-" else None
    return out


class File:
    def __init__(self, name, want, heads, got, code):
        self.name, self.want, self.heads, self.got = os.path.basename(name), want, heads, got
        self.code = code
        self.text = open(name).read().split("\n")

    def here(self, line):
        return self.text[line - 1].strip()

    def head_of(self, line):
        """First line of the function whose "{" is the end of `line`, None if it is none's."""
        before = [n for n in self.heads if n < line]
        if not before or not self.here(line).endswith("{"):
            return None
        first = max(before)
        between = [n for n in self.want if first < n < line]
        return None if between else first

    def missing(self, line):
        if (self.name, line) in self.code:
            return None
        here = self.here(line)
        kind = "a head" if line in self.heads else "a label" if re.fullmatch(LABEL, here) else \
            "a jump" if re.match(JUMP, here) else "else"
        return "no code: " + kind

    def extra(self, line):
        if (self.name, line) not in self.code:
            return None
        if self.here(line) == "}":
            return "brace"
        first = self.head_of(line)
        if first is not None and first not in self.got and (self.heads[first] > 0) == (self.got[line] > 0):
            return "head"
        return None

    def hit(self, line):
        return "jump" if not self.got[line] and re.match(JUMP, self.here(line)) else None


def compare(files, explained, all_counts, tally):
    bad = 0
    for f in files:
        for line in sorted(set(f.want) | set(f.got)):
            kind = why = None
            if line not in f.got:
                kind, why = "missing", f.missing(line)
            elif line not in f.want:
                kind, why = "extra", f.extra(line)
            else:
                tally["both"] += 1
                tally["counts"] += f.want[line] == f.got[line]
                tally["hits"] += (f.want[line] > 0) == (f.got[line] > 0)
                if (f.want[line] > 0) != (f.got[line] > 0):
                    kind, why = "hit", f.hit(line)
                elif f.want[line] != f.got[line] and all_counts:
                    kind = "count"
            told = kind and explained.pop((kind, f"{f.name}:{line}"), None)
            why = told or why
            if kind and why:
                tally[kind, why] += 1
            elif kind:
                bad += 1
                print(f"{kind}: {f.name}:{line}: gcov {f.want.get(line, '-')}, ours {f.got.get(line, '-')}: "
                      f"{f.here(line)}")
    for kind, place in explained:
        bad += 1
        print(f"explained but not so: {kind} {place}")
    return bad


def compare_optimised(files, percent):
    both = agree = 0
    wrong = {False: [], True: []}
    for f in files:
        for line in sorted(set(f.want) & set(f.got)):
            both += 1
            if (f.want[line] > 0) == (f.got[line] > 0):
                agree += 1
            else:
                wrong[f.got[line] > 0].append(f"{f.name}:{line}: {f.here(line)}")
    everything = sum(len(f.want) for f in files)
    for hit, rows in wrong.items():
        for row in rows:
            print(("hit, but did not run: " if hit else "ran, but not hit: ") + row)
    print(f"{both} of {everything} lines are left: {100 * agree / both:.2f} % agree; "
          f"{len(wrong[True])} hit that did not run, {len(wrong[False])} not hit that ran")
    return 100 * agree < percent * both


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gcov")
    p.add_argument("ours")
    p.add_argument("program")
    p.add_argument("--explained")
    p.add_argument("--agree", type=float)
    p.add_argument("--optimised", type=float)
    args = p.parse_args()
    want, heads = gcov_lines(args.gcov)
    got, code = our_lines(args.ours), code_lines(args.program)
    files = [File(name, want[name], heads[name], got.get(name, {}), code) for name in sorted(set(want) | set(got))]
    if not any(f.want and f.got for f in files):
        sys.exit("no file is in both")
    if args.optimised is not None:
        sys.exit(compare_optimised(files, args.optimised))
    explained = {}
    for row in open(args.explained) if args.explained else []:
        kind, place, reason = row.rstrip("\n").split("\t")
        explained[(kind, place)] = reason
    tally = collections.Counter()
    bad = compare(files, explained, args.agree is None, tally)
    for key, n in sorted((k, n) for k, n in tally.items() if isinstance(k, tuple)):
        print(f"  {n} {key[0]}: {key[1]}")
    both, hits, counts = tally["both"], tally["hits"], tally["counts"]
    print(f"{both} lines in both: {hits} agree on hit or miss ({100 * hits / both:.2f} %), {counts} on the count "
          f"({100 * counts / both:.2f} %); {bad} differences unexplained")
    sys.exit(bool(bad) or 100 * min(hits, counts) < (args.agree or 0) * both)


main()

# SPDX-License-Identifier: BSD-2-Clause
"""check_blocks_calls.py PROGRAM REPORT EXECUTED FUNCTION...: basic blocks and
calls of functions as objdump shows them, against the JSON report.  EXECUTED has
the addresses of the instructions that ran, one a line, as objdump numbers them."""
import json
import re
import subprocess
import sys

program, report, executed, functions = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
ran = {int(l, 16) for l in open(executed) if l.strip()}
got = {f["name"]: f["totals"] for f in json.load(open(report))["functions"]}
calls_told = {int(c["address"], 16): c for c in json.load(open(report))["calls"]}
bad = 0
for name in functions:
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=" + name, program],
                          capture_output=True, text=True, check=True).stdout
    insns = [(int(m[1], 16), m[2], m[3]) for m in re.finditer(r"^ +([0-9a-f]+):\t(\S+) *(.*)$", text, re.M)]
    leads, calls = {insns[0][0]}, []
    for k, (at, what, args) in enumerate(insns):
        after = insns[k + 1][0] if k + 1 < len(insns) else None
        target = re.match(r"([0-9a-f]+) <", args)
        if what.startswith(("j", "loop")) and target:
            leads.add(int(target[1], 16))
        if what.startswith(("j", "loop", "ret", "notrack")) and after:
            leads.add(after)
        if "call" in what + args:
            calls.append(at)
    # Where tables lead to is not in the listing: of what was seen the report tells.
    for c in calls_told.values():
        if c["kind"] == "indirect jump":
            leads |= {int(t["address"], 16) for t in c["targets"]}
    starts = [at for at, _, _ in insns if at in leads]
    want = {"blocks": (len(starts), sum(at in ran for at in starts)), "calls": (len(calls), sum(at in ran for at in calls))}
    for kind, (all_, hit) in want.items():
        t = got[name][kind]
        if (t["all"], t["hit"]) != (all_, hit):
            bad += 1
            print(name, kind, "wanted", hit, "of", all_, "got", t)
    if set(calls) - set(calls_told):
        bad += 1
        print(name, "calls that are not told:", [hex(c) for c in set(calls) - set(calls_told)])
    print(name, want)
sys.exit(bad > 0)

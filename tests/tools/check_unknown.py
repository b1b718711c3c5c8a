# SPDX-License-Identifier: BSD-2-Clause
"""check_unknown.py WHOLE PART [GLOB]: two JSON reports of one program that ran
twice the same way, PART of a recording that saw less of it.  Nothing that WHOLE
hit may be missed in PART: hit with the same count or less, or unknown.  What
PART misses WHOLE misses.  Prints how many things of PART were hit, missed and
unknown.  With a GLOB of functions: all of these, and nothing else, are known."""
import fnmatch
import json
import sys


def things(path):
    """(kind, place...) -> (state, count)"""
    r = json.load(open(path))
    out = {}
    def branch(b, place):
        for way in ("taken", "not_taken"):
            if way in b:
                doubt = b.get("lost") or b.get("unrecorded")
                out[("outcome", place, b["address"], way)] = (
                    "hit" if b[way] else "unknown" if doubt else "not hit", b[way])
    for f in r["files"]:
        for l in f["lines"]:
            out[("line", f["path"], l["line"])] = (l["state"], l["count"])
            for b in l.get("branches", []):
                branch(b, (f["path"], l["line"]))
    for b in r["other_branches"]:
        branch(b, r["modules"][b["module"]]["path"])
    for f in r["functions"]:
        out[("function", f["name"], r["modules"][f["module"]]["path"], f["address"])] = (f["state"], f["entries"])
    return out, r


whole, _ = things(sys.argv[1])
part, report = things(sys.argv[2])
bad = []
for key in sorted(set(whole) | set(part), key=str):
    a, b = whole.get(key), part.get(key)
    if a is None or b is None:
        bad.append((key, a, b, "is in one only"))
    elif b[0] == "hit" and (a[0] != "hit" or b[1] > a[1]):
        bad.append((key, a, b, "is hit more often than it ran"))
    elif b[0] == "not hit" and a[0] != "not hit":
        bad.append((key, a, b, "is missed in silence"))
    elif b[0] == "unknown" and b[1]:
        bad.append((key, a, b, "ran and is unknown"))
if len(sys.argv) > 3:
    for f in report["functions"]:
        inside = fnmatch.fnmatch(f["name"], sys.argv[3])
        if inside != (f["state"] != "unknown"):
            bad.append((f["name"], f["state"], inside, "known or unknown against the limit"))
for b in bad[:20]:
    print(*b)
states = [s for s, _ in part.values()]
print(*(states.count(s) for s in ("hit", "not hit", "unknown")))
sys.exit(bool(bad) or not part)

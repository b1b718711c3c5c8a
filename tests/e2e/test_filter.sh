# SPDX-License-Identifier: BSD-2-Clause
# Filters: what they let pass adds up to the same slice of all there is, in every
# command and by each engine; with a kept index of times as without; no filter
# drops a gap.
. tests/lib.sh
. tests/tools/flow_capture.sh
if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip "filters" "the software trace unit is not usable here"
	exit 0
fi
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$programs/slices" >/dev/null 2>&1
cat >"$tmp/slices.py" <<'P'
"""All the trace as lines, and slices of it: by --time in its three forms, by thread, by process, by name."""
import json, random, subprocess, sys

tool, engine, data = sys.argv[1:4]

def run(command, *args):
    r = subprocess.run([tool, command, "-i", data, "--engine", engine, *args], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, (args, r.stderr)
    assert r.stderr.endswith("lost: nothing\n"), (args, r.stderr)
    return r.stdout

def script(*args):
    rows = []
    for line in run("script", "--itrace=b", "-F", "pid,tid,time,ip", "--ns", *args).splitlines():
        ids, time, ip = line.split()
        pid, tid = ids.split("/")
        s, ns = time.rstrip(":").split(".")
        rows.append((int(pid), int(tid), int(s) * 10**9 + int(ns), ip))
    return rows

def by_thread(rows):
    out = {}
    for r in rows:
        out.setdefault(r[1], []).append(r)
    return out

def same(name, got, want):
    assert by_thread(got) == by_thread(want), "%s: %d lines, wanted %d" % (name, len(got), len(want))

def seconds(ns):
    return "%d.%09d" % divmod(ns, 10**9)

def totals(*args):
    """Instructions and branches of each stream that `info` decodes."""
    return {s["tid"]: (s["instructions"], s["branches"])
            for s in json.loads(run("info", "--decode", "--json", *args))["streams"] if "instructions" in s}

def add(a, b):
    return {k: tuple(x + y for x, y in zip(a.get(k, (0, 0)), b.get(k, (0, 0)))) for k in a.keys() | b.keys()}

everything = script()
threads, pids = by_thread(everything), {r[0] for r in everything}
assert len(threads) == 3 and len(pids) == 2, (threads.keys(), pids)
whole = totals()
times = sorted({r[2] for r in everything})
first, last = times[0], times[-1]
rng = random.Random(4)
cuts = [times[len(times) // 2], times[len(times) * 5 // 6], rng.randrange(first, last)]
for a in cuts:
    b = min(last, a + rng.randrange((last - first) // 3))
    want = [r for r in everything if a <= r[2] <= b]
    same("absolute", script("--time", seconds(a) + "," + seconds(b)), want)
    same("open end", script("--time", seconds(a) + ","), [r for r in everything if r[2] >= a])
    # The slices before and behind a cut are the whole.
    before, behind = ["--time", "," + seconds(a)], ["--time", seconds(a + 1) + ","]
    same("before and behind", script(*before) + script(*behind), everything)
    assert add(totals(*before), totals(*behind)) == whole, a
same("all in per cent", script("--time", "0%,100%"), everything)
assert totals("--time", "0%,100%") == whole
# A quarter, as per cent and from the start: where the trace begins is the first time that it tells.
tsc = [int(l.split()[-1], 16) for l in subprocess.run([tool, "packets", "-i", data], stdout=subprocess.PIPE,
       stderr=subprocess.DEVNULL, text=True).stdout.splitlines() if l.split()[1:2] != ["stream"] and " TSC " in l]
clock = json.loads(run("info", "--decode", "--json"))["clock"]
def ns(t):
    return (clock["zero"] + (t >> clock["shift"]) * clock["mult"] +
            ((t & ((1 << clock["shift"]) - 1)) * clock["mult"] >> clock["shift"])) & (2**64 - 1)
lo, hi = ns(min(tsc)), ns(max(tsc))
want = [r for r in everything if lo + (hi - lo) // 4 <= r[2] <= lo + (hi - lo) // 2]
assert want
same("per cent", script("--time", "25%,50%"), want)
same("from the start", script("--time", "+%s,+%s" % (seconds((hi - lo) // 4), seconds((hi - lo) // 2))), want)

for tid in threads:
    same("tid", script("--tid", str(tid)), threads[tid])
    assert totals("--tid", str(tid)) == {tid: whole[tid]}
for pid in pids:
    same("pid", script("--pid", str(pid)), [r for r in everything if r[0] == pid])
    assert totals("--pid", str(pid)) == {t: whole[t] for t in threads if threads[t][0][0] == pid}
same("comm", script("--comm", "slices"), everything)
P
for engine in $engines; do
	python3 "$tmp/slices.py" "$hwtrace" "$engine" "$tmp/data" 2>"$tmp/py" && pass "slices add up by $engine" ||
		fail "slices add up by $engine" "$(tail -n 3 "$tmp/py")"
done

# Coverage of two slices that touch is that of the whole.
cover() { "$hwtrace" coverage -i "$tmp/data" --json "$@" >/dev/null 2>"$tmp/err"; }
cover "$tmp/whole.json"
cut=$("$hwtrace" script -i "$tmp/data" --itrace=b -F time --ns 2>/dev/null | sort | awk '{ t[NR] = $1 } END { print t[int(NR / 2)] }')
cut=${cut%:}
cover "$tmp/a.json" --time ",$cut"
cover "$tmp/b.json" --time "$(python3 -c "import decimal; print(decimal.Decimal('$cut') + decimal.Decimal('0.000000001'))"),"
"$hwtrace" merge "$tmp/a.json" "$tmp/b.json" --json "$tmp/both.json" >/dev/null 2>&1
python3 - "$tmp/whole.json" "$tmp/a.json" "$tmp/both.json" <<'P' && pass "coverage of slices adds up" || fail "coverage of slices adds up"
import json, sys
def counts(path):
    r = json.load(open(path))
    return [(l["line"], l["count"]) for f in r["files"] for l in f["lines"]]
whole, part, both = map(counts, sys.argv[1:])
assert whole == both, (whole, both)
assert part != whole and len(part) == len(whole) > 15
P
tids=$("$hwtrace" info "$tmp/data" 2>/dev/null | sed -n 's/^  [0-9]* *pid [0-9]* tid \([0-9]*\) .*/\1/p')
set --
for t in $tids; do
	cover "$tmp/tid.$t.json" --tid "$t" && set -- "$@" "$tmp/tid.$t.json"
done
"$hwtrace" merge "$@" --json "$tmp/both.json" >/dev/null 2>&1
python3 - "$tmp/whole.json" "$tmp/both.json" <<'P' && pass "coverage of threads adds up" || fail "coverage of threads adds up"
import json, sys
a, b = ([(l["line"], l["count"]) for f in json.load(open(p))["files"] for l in f["lines"]] for p in sys.argv[1:])
assert a == b and len(a) > 15, (a, b)
P

# Functions and files.
rows() { "$hwtrace" script -i "$tmp/data" --itrace=b -F ip,sym,addr "$@" 2>"$tmp/err"; }
rows >"$tmp/all"
rows --sym odd >"$tmp/got"
awk '$2 == "odd" || $5 == "odd"' "$tmp/all" >"$tmp/want"
[ -s "$tmp/want" ] && same "--sym" "$tmp/want" "$tmp/got" || fail "--sym" "$(head -n 3 "$tmp/all")"
rows --sym nothing >"$tmp/got"
grep -q '^hwtrace: warning: --sym nothing: no function of this name ran' "$tmp/err" && [ ! -s "$tmp/got" ] &&
	pass "--sym of no function is told" || fail "--sym of no function is told" "$(cat "$tmp/err")"

# What --time takes.
for bad in '' , 5,3 50%,20% 1,x +,+ 101% 1%2; do
	"$hwtrace" script -i "$tmp/data" --time "$bad" >/dev/null 2>"$tmp/err"
	[ $? -eq 64 ] && grep -q -- '--time takes' "$tmp/err" && pass "--time '$bad'" || fail "--time '$bad'" "$(cat "$tmp/err")"
done
flow_capture "$tmp" || fail "make the capture" "gcc failed"
"$hwtrace" script --pt "$tmp/pt" --pages "$tmp/code" --map "$tmp/map" --time 10% >/dev/null 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'tells no time' "$tmp/err" && pass "per cent of no time" || fail "per cent of no time" "$(cat "$tmp/err")"

# A gap passes each filter but that of a time which it cannot have touched.
python3 - "$tmp/data" "$tmp/gap.data" <<'P' >"$tmp/at"
import sys
data = bytearray(open(sys.argv[1], "rb").read())
psb = b"\x02\x82" * 8
at = len(data) // 2
for _ in range(2):
    at = data.index(psb, at + 16)
data[at + 64:at + 200] = b"\xff" * 136
open(sys.argv[2], "wb").write(data)
P
gap() { "$hwtrace" script -i "$tmp/gap.data" --itrace=be "$@" >"$tmp/got" 2>"$tmp/err"; }
gap --ns
lost=$(tail -n 1 "$tmp/err") places=$(grep -c ' lost: ' "$tmp/got")
[ "$lost" != "lost: nothing" ] && [ "$places" -gt 0 ] && pass "a damaged capture" || fail "a damaged capture" "$lost"
gapped=$(awk '/ lost: / { print $2; exit }' "$tmp/got") # the column of tid
"$hwtrace" info -i "$tmp/gap.data" --losses --json >"$tmp/json" 2>/dev/null
span=$(python3 -c "
import json
l = json.load(open('$tmp/json'))['losses']
s = lambda ns: '%d.%09d' % divmod(ns, 10**9)
print(s(min(x['ns_from'] for x in l) - 1), s(max(x['ns_to'] for x in l) + 1), s((l[0]['ns_from'] + l[0]['ns_to']) // 2))")
keeps() { # NAME OPTION...: all places are told
	_name=$1
	shift
	gap "$@"
	[ "$(tail -n 1 "$tmp/err")" = "$lost" ] && [ "$(grep -c ' lost: ' "$tmp/got")" = "$places" ] && pass "$_name" ||
		fail "$_name" "$(tail -n 1 "$tmp/err")"
}
keeps "a gap passes --tid" --tid "$gapped"
keeps "a gap passes --comm" --comm nobody
keeps "a gap passes --dso" --dso nothing
keeps "a gap passes --sym" --sym nothing
set -- $span
keeps "a gap passes the time that it was in" --time "$1,$2"
gap --time "$3,$3"
grep -q ' lost: ' "$tmp/got" && pass "a gap passes a time inside it" || fail "a gap passes a time inside it" "$(cat "$tmp/err")"
gap --time ",$1"
tail -n 1 "$tmp/err" | grep -qx 'lost: nothing' && pass "not the time before" || fail "not the time before" "$(cat "$tmp/err")"

# The index of times is kept when asked for, used while it holds, and changes no answer.
slice() { "$hwtrace" script -i "$tmp/data" --itrace=i1i -F tid,time,ip --ns --time 60%,80% 2>/dev/null; }
slice >"$tmp/want"
[ -s "$tmp/want" ] && [ ! -e "$tmp/data.seek" ] && pass "none is made unasked" || fail "none is made unasked" "$(ls "$tmp")"
"$hwtrace" info -i "$tmp/data" --index >/dev/null 2>"$tmp/err"
[ -s "$tmp/data.seek" ] && pass "info --index makes it" || fail "info --index makes it" "$(cat "$tmp/err")"
slice >"$tmp/got"
same "the same with it" "$tmp/want" "$tmp/got"
cp -p "$tmp/data.seek" "$tmp/seek.good"
python3 -c "
data = bytearray(open('$tmp/data.seek', 'rb').read())
data[200] ^= 1
open('$tmp/data.seek', 'wb').write(data)"
slice >"$tmp/got"
same "the same when it is damaged" "$tmp/want" "$tmp/got"
head -c 100 "$tmp/seek.good" >"$tmp/data.seek"
slice >"$tmp/got"
same "the same when it is cut" "$tmp/want" "$tmp/got"
cp -p "$tmp/data" "$tmp/older"
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$programs/slices" >/dev/null 2>&1
slice >"$tmp/want"
cp -p "$tmp/seek.good" "$tmp/data.seek"
slice >"$tmp/got"
same "the same when it is of another capture" "$tmp/want" "$tmp/got"
echo mine >"$tmp/data.seek"
"$hwtrace" info -i "$tmp/data" --index >/dev/null 2>"$tmp/err"
[ $? -eq 1 ] && [ "$(cat "$tmp/data.seek")" = mine ] && pass "a file of others stays" || fail "a file of others stays" "$(cat "$tmp/err")"

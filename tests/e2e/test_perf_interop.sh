#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# perf reads what `hwtrace record` wrote, and decodes it to the same lines as
# `hwtrace script`: every instruction, every branch, of threads, fork, exec and dlopen.
. tests/lib.sh

if ! command -v perf >/dev/null; then
	skip perf-interop "perf is not installed"
	exit 0
fi
if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip perf-interop "the software trace unit is not usable here"
	exit 0
fi

# against_perf NAME: $tmp/NAME.data decoded by both
against_perf() {
	_d=$tmp/$1.data
	for _o in "i1i -F tid,ip" "b -F ip,addr,flags"; do
		_n=$1-${_o%% *}
		# $_o is two words and more, on purpose
		perf script -i "$_d" --itrace=$_o >"$tmp/perf.txt" 2>"$tmp/perf.err"
		"$hwtrace" script -i "$_d" --itrace=$_o >"$tmp/ours.txt" 2>"$tmp/ours.err"
		if [ ! -s "$tmp/perf.txt" ]; then
			fail "$_n" "perf gives nothing: $(head -n 3 "$tmp/perf.err")"
		else
			same "$_n" "$tmp/perf.txt" "$tmp/ours.txt"
		fi
	done
	perf script -i "$_d" --itrace=e -F tid,ip >"$tmp/errors.txt" 2>/dev/null
	if [ -s "$tmp/errors.txt" ]; then
		fail "$1-no-errors" "perf could not decode: $(head -n 2 "$tmp/errors.txt")"
	else
		pass "$1-no-errors"
	fi
}

# record_it NAME PROGRAM...: into $tmp/NAME.data
record_it() {
	_name=$1
	shift
	if ! "$hwtrace" record -q --backend qemu -o "$tmp/$_name.data" -- "$@" >"$tmp/out.txt" 2>"$tmp/err.txt"; then
		fail "$_name" "recording failed: $(cat "$tmp/err.txt")"
		return 1
	fi
}

for p in static recursion longjump threads forkexec dlopen; do
	record_it "$p" "$programs/$p" && against_perf "$p"
done
record_it true /bin/true && against_perf true

# -- the records, the build-ids and the header, as perf lists them ------------
data=$tmp/forkexec.data
perf report -D -i "$data" 2>/dev/null | grep -o 'PERF_RECORD_.*' >"$tmp/dump.txt"
"$hwtrace" info --json -i "$data" >"$tmp/info.json" 2>/dev/null
python3 - "$tmp/dump.txt" "$tmp/info.json" >"$tmp/agree.txt" 2>&1 <<'PY' && pass dump-agrees || fail dump-agrees "$(cat "$tmp/agree.txt")"
import json, re, sys
dump = open(sys.argv[1]).read()
info = json.load(open(sys.argv[2]))
pieces = re.findall(r"^PERF_RECORD_AUXTRACE size: (\S+)  offset: (\S+)  ref: \S+  idx: (\d+)  tid: (\d+)", dump, re.M)
streams = {}
for size, offset, idx, tid in pieces:
    s = streams.setdefault(int(idx), [int(tid), 0])
    assert int(offset, 16) == s[1], "an offset that does not follow"
    s[1] += int(size, 16)
ours = [[s["tid"], s["bytes"]] for s in info["streams"]]
assert [streams[i] for i in sorted(streams)] == ours, (streams, ours)
for kind, name in (("MMAP2", "mmap"), ("COMM", "comm"), ("FORK", "fork"), ("EXIT", "exit"), ("ITRACE_START", "itrace_start")):
    n = len(re.findall(r"^PERF_RECORD_%s\b" % kind, dump, re.M))
    assert n == info["records"].get(name, 0), (kind, n, info["records"])
PY
perf buildid-list -i "$data" 2>/dev/null | sed '$a\' | sort >"$tmp/ids.txt"
cut -d' ' -f2 "$tmp/ids.txt" | while read -r f; do
	echo "$(readelf -n "$f" 2>/dev/null | sed -n 's/^ *Build ID: *//p') $f"
done | sort >"$tmp/true-ids.txt"
if [ "$(wc -l <"$tmp/ids.txt")" -lt 3 ]; then
	fail build-ids "perf lists $(cat "$tmp/ids.txt")"
else
	same build-ids "$tmp/true-ids.txt" "$tmp/ids.txt"
fi
perf report --header-only -i "$data" >"$tmp/header.txt" 2>&1
check header-names-software grep -q '^# cpudesc : software trace unit (qemu): branches exact, times emulated' "$tmp/header.txt"
check header-cmdline grep -q '^# cmdline : .*record .*forkexec' "$tmp/header.txt"

# -- what perf itself records here: zstd-compressed, and through a pipe -----------
# same_counts NAME FILE: records by kind as perf counts them; $2 may be read from a pipe
same_counts() {
	perf report -D -i "$2" 2>/dev/null | grep -oE 'PERF_RECORD_(MMAP2?|COMM|EXIT|FORK|SAMPLE)\b' |
	    sed 's/MMAP2/MMAP/' | sort | uniq -c | awk '{ print tolower(substr($2, 13)), $1 }' >"$tmp/want.txt"
	"$hwtrace" info --json -i - <"$2" 2>"$tmp/err.txt" | python3 -c 'import json, sys
i = json.load(sys.stdin)
assert not i["truncated"] and not i["damaged_records"]
print("\n".join("%s %d" % kv for kv in sorted(i["records"].items()) if kv[0] != "other"))' >"$tmp/got.txt" 2>>"$tmp/err.txt"
	if grep -q '^sample' "$tmp/want.txt"; then
		same "$1" "$tmp/want.txt" "$tmp/got.txt"
	else
		fail "$1" "perf lists nothing of $2"
	fi
}
work='for i in 1 2 3 4 5; do ls -R /usr/lib/python3 >/dev/null 2>&1; done'
if perf record -q -z -F 2000 -e cpu-clock:u -o "$tmp/z.data" -- sh -c "$work" >"$tmp/out.txt" 2>&1 &&
    perf record -q -F 2000 -e cpu-clock:u -o - -- sh -c "$work" >"$tmp/pipe.data" 2>/dev/null; then
	check compressed-is-compressed sh -c "perf report --header-only -i '$tmp/z.data' 2>/dev/null | grep -q 'compressed : Zstd'"
	same_counts compressed-by-perf "$tmp/z.data"
	same_counts pipe-of-perf "$tmp/pipe.data"
else
	skip perf-records "perf may not record here: $(head -n 1 "$tmp/out.txt")"
fi

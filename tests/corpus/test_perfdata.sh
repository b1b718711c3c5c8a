# SPDX-License-Identifier: BSD-2-Clause
# perf.data files that others recorded: what is in them, counted (see the corpus's README).
. tests/lib.sh

[ -d "$CORPUS/perfdata" ] || { skip corpus_perfdata "there is no folder $CORPUS/perfdata"; exit 0; }

# holds FILE NAME EXPRESSION: a Python expression over the object `i` of `hwtrace info --json`.
holds()
{
	_n=$(basename "$1" .data).$2
	"$hwtrace" info --json -i "$CORPUS/$1" >"$tmp/info.json" 2>"$tmp/info.err"
	if python3 -c 'import json,sys; i = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' \
	    "$tmp/info.json" "$3" 2>"$tmp/py.err"; then
		pass "$_n"
	else
		fail "$_n" "$3: $(cat "$tmp/py.err" "$tmp/info.err")"
	fi
}
whole='not i["truncated"] and i["damaged_records"] == 0'
records='sorted((k, v) for k, v in i["records"].items() if k != "other")'
streams='[(s["cpu"], s["tid"], s["bytes"]) for s in i["streams"]]'

f=perfdata/intel_pt-kernel-4.14.perf.data
holds $f whole "$whole"
holds $f records "$records == [('aux', 10), ('comm', 3), ('exit', 1), ('itrace_start', 2), ('mmap', 66), ('sample', 15), ('switch', 152)]"
holds $f streams "$streams == [(0, -1, 12240), (3, -1, 137728)]"
holds $f clock "i['clock'] == {'shift': 31, 'mult': 1789569706, 'zero': 18446744041015200657}"
holds $f who "i['cpuid'] == 'GenuineIntel,6,78,3' and i['per_cpu'] and i['source'] == 'Intel PT' and not i['software']"
"$hwtrace" packets --summary -i "$CORPUS/$f" 2>/dev/null | awk '$1 != "PAD" && $1 != "all" { print $1, $2 }' >"$tmp/got"
cat >"$tmp/want" <<'END'
PSB 10
PSBEND 10
TNT 69516
TIP 12039
TIP.PGE 10
TIP.PGD 10
FUP 149
PIP 441
MODE.Exec 18
MODE.TSX 16
CBR 24
TSC 24
MTC 2802
TMA 24
END
same intel_pt-kernel-4.14.packets "$tmp/want" "$tmp/got"
# perf itself, record for record, where it is there
if command -v perf >/dev/null; then
	perf report -D -i "$CORPUS/$f" 2>/dev/null | grep -o 'PERF_RECORD_\(MMAP2*\|COMM\|EXIT\|SWITCH_CPU_WIDE\|AUX\|ITRACE_START\|SAMPLE\)\b' |
	    sed 's/MMAP2/MMAP/' | sort | uniq -c | awk '{ print $2, $1 }' >"$tmp/want"
	python3 -c 'import json,sys
names = {"aux": "AUX", "comm": "COMM", "exit": "EXIT", "itrace_start": "ITRACE_START", "mmap": "MMAP",
         "sample": "SAMPLE", "switch": "SWITCH_CPU_WIDE"}
r = json.load(open(sys.argv[1]))["records"]
print("\n".join("PERF_RECORD_%s %d" % (names[k], v) for k, v in sorted(r.items()) if k in names))' \
	    "$tmp/info.json" | sort >"$tmp/got"
	same intel_pt-kernel-4.14.as-perf "$tmp/want" "$tmp/got"
else
	skip intel_pt-kernel-4.14.as-perf "perf is not installed"
fi

f=perfdata/simpleperf-etm.perf.data
holds $f whole "$whole"
holds $f streams "$streams == [(7, -1, 384)] and i['source'] == 'CoreSight' and i['arch'] == 'AArch64'"
holds $f records "$records == [('aux', 4), ('comm', 2), ('exit', 1), ('itrace_start', 2), ('mmap', 59)]"

# AUX records whose bytes are not in the file: two streams without a byte, and a chunk that tells of the loss.
f=perfdata/simpleperf-etm-missing-aux.perf.data
holds $f whole "$whole"
holds $f streams "$streams == [(4, -1, 0), (7, -1, 0)] and all(s['chunks'] == 1 for s in i['streams'])"

f=lbr/autofdo-test.perf.data
holds $f whole "$whole"
holds $f records "$records == [('comm', 2), ('exit', 2), ('mmap', 33), ('sample', 9232)]"
f=lbr/branch-4.14.perf.data
holds $f records "$records == [('comm', 3), ('exit', 1), ('mmap', 31), ('sample', 13)]"
f=lbr/callgraph_and_branch-3.8.perf.data
holds $f records "$records == [('comm', 229), ('exit', 4), ('fork', 1), ('mmap', 1793), ('sample', 1856)]"
# attributes larger than perf 6.1 knows, which it refuses
f=lbr/simpleperf/perf_lbr.data
holds $f records "$whole and $records == [('comm', 2), ('mmap', 80), ('sample', 19)]"

# Cut anywhere: no crash, and what is left is read or refused in one line.
f=$CORPUS/perfdata/intel_pt-kernel-4.14.perf.data
size=$(wc -c <"$f")
bad=0 cut=1
while [ "$cut" -lt "$size" ]; do
	head -c "$cut" "$f" >"$tmp/cut.data"
	"$hwtrace" info -i "$tmp/cut.data" >"$tmp/out" 2>"$tmp/err"
	[ $? -lt 126 ] || bad=$((bad + 1))
	cut=$((cut + 3581))
done
if [ $bad -eq 0 ]; then pass intel_pt-kernel-4.14.cut; else fail intel_pt-kernel-4.14.cut "$bad crashes"; fi

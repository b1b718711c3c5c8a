# SPDX-License-Identifier: BSD-2-Clause
# LLDB's trace bundles: the figures of the corpus's README, and an error that names the field for each bad one.
. tests/lib.sh

lldb=$CORPUS/lldb
[ -d "$lldb" ] || { skip corpus_lldb "there is no folder $lldb"; exit 0; }

figures()
{
	"$hwtrace" info --json --decode --engine native -i "$1" 2>/dev/null |
	    python3 -c 'import json, sys
print(*("%d:%d:%d" % (s["cpu"], s["instructions"], s["branches"]) for s in json.load(sys.stdin)["streams"]))'
}
check "one thread" test "$(figures "$lldb/intelpt-trace/trace.json")" = "-1:21:6"
check "two threads" test "$(figures "$lldb/intelpt-trace/trace_2threads.json")" = "-1:21:6 -1:21:6"
for t in trace trace_with_string_numbers; do
	check "by CPU, $t" test "$(figures "$lldb/intelpt-multi-core-trace/$t.json")" = "45:61825:24730 51:19521:7809"
done
check "the folder alone" test "$(figures "$lldb/intelpt-multi-core-trace")" = "45:61825:24730 51:19521:7809"

"$hwtrace" packets --summary -i "$lldb/intelpt-trace" 2>/dev/null |
    awk '$1 == "all" { n += $2 } $1 == "PAD" { n -= $2 } END { print n }' >"$tmp/got"
check "25 packets" test "$(cat "$tmp/got")" = 25
# taken branches; both files are found by what the bundle says of them
"$hwtrace" script --itrace=b -F ip -i "$lldb/intelpt-trace" 2>/dev/null | awk '$1 ~ /^40052d$|^40051f$/ { print $1 }' |
    uniq -c | awk '{ print $2, $1 }' >"$tmp/got"
printf '40051f 1\n40052d 4\n' >"$tmp/want"
same "branches" "$tmp/want" "$tmp/got"
# threads, by the context switches of their CPUs
"$hwtrace" script --itrace=i1i -F tid -i "$lldb/intelpt-multi-core-trace" 2>/dev/null | sort | uniq -c |
    awk '{ print $2, $1 }' >"$tmp/got"
printf '3497496 19521\n3497497 61825\n' >"$tmp/want"
same "instructions of threads" "$tmp/want" "$tmp/got"
"$hwtrace" script --itrace=i1i -F ip --tid 3497497 -i "$lldb/intelpt-multi-core-trace" 2>/dev/null | sort -u >"$tmp/got"
check "five distinct ones" test "$(wc -l <"$tmp/got")" = 5

# bad FILE FIELD: refused in one line that names the field
bad()
{
	"$hwtrace" info -i "$lldb/$1" >"$tmp/out" 2>"$tmp/err"
	if [ $? -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] && grep -qF ": $2: " "$tmp/err"; then
		pass "$1"
	else
		fail "$1" "$(cat "$tmp/err")"
	fi
}
bad intelpt-trace/trace_bad.json 'processes[0]'
bad intelpt-trace/trace_bad2.json cpuInfo.family
bad intelpt-trace/trace_bad3.json 'processes[1].pid'
bad intelpt-trace/trace_bad4.json cpuInfo.family
bad intelpt-trace/trace_bad5.json 'processes[0].modules[0].loadAddress'
bad intelpt-trace/trace_bad_image.json 'processes[0].modules[0].loadAddress'
bad intelpt-trace/trace_wrong_cpu.json cpuInfo.family
# Threads that ran are missing in the list: told, and decoded all the same.
f=$lldb/intelpt-multi-core-trace/trace_missing_threads.json
check "trace_missing_threads" test "$(figures "$f")" = "45:61825:24730 51:19521:7809"
"$hwtrace" info -i "$f" >"$tmp/out" 2>"$tmp/err"
check "trace_missing_threads is told" grep -q 'processes.threads: thread 349749[67] of process 3497234 ran' "$tmp/err"

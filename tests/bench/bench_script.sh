# SPDX-License-Identifier: BSD-2-Clause
# Every branch as a line of text: CPU time of perf over ours, the same file, the
# same lines, both to nowhere.
. tests/bench/lib.sh
command -v perf >/dev/null || die "perf is not installed"

text 3000 >"$tmp/text"
record "$tmp/t.data" gzip -9 -c "$tmp/text"
perf script -i "$tmp/t.data" --itrace=b 2>/dev/null | sed 's/^ *//; s/ *$//' >"$tmp/perf"
"$hwtrace" script -i "$tmp/t.data" --itrace=b 2>/dev/null | sed 's/^ *//; s/ *$//' >"$tmp/ours"
[ "$(wc -l <"$tmp/perf")" -eq "$(wc -l <"$tmp/ours")" ] ||
	die "perf prints $(wc -l <"$tmp/perf") lines, ours are $(wc -l <"$tmp/ours")"
versus "perf script -i $tmp/t.data --itrace=b" "$hwtrace script -i $tmp/t.data --itrace=b"
row script.vs_perf "$cpu_a" "$cpu_b"
row script.million_lines_a_second "$(wc -l <"$tmp/ours")" "$(awk -v c="$cpu_b" 'BEGIN { print c * 1e6 }')"

# SPDX-License-Identifier: BSD-2-Clause
# The native Intel PT engine against libipt's block decoder and a bare lexer of
# the same bytes: CPU time of whole processes in turn, medians of ROUNDS.  The
# edges that both engines give must add up to the same sum.
# Rows with "short": the same branches as processors write them, in TNT packets of
# up to six outcomes with each target in its place.
# TRACES (default: gzip sort python) chooses.
set -u
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
hwtrace=$PWD/$BUILD/bin/hwtrace
bench=$PWD/$BUILD/tests/bench/bench_pt
LC_ALL=C
export LC_ALL

awk 'BEGIN { x = 42; for (i = 0; i < 6000; i++) { x = (x * 1103515245 + 12345) % 2147483648;
	printf "%d %x line %d\n", x, x * 7, x % 1000 } }' >"$tmp/text"
cat >"$tmp/job.py" <<'PY'
import json, re
d = {}
for i in range(2500):
    w = "%x" % (i * 7919 % 65537)
    d.setdefault(w[:2], []).append(w)
t = json.loads(json.dumps(d))
print(sum(len(re.findall("a[0-9]", x)) for v in t.values() for x in v))
PY

command_of() {
	case $1 in
	gzip) echo "gzip -9 -c $tmp/text" ;;
	sort) echo "sort --parallel=1 $tmp/text" ;;
	python) echo "python3 -S $tmp/job.py" ;;
	*) echo "$1" ;;
	esac
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# time_of MODE DIR: median CPU seconds; the last line of output stays in $tmp/last
time_of() {
	: >"$tmp/times"
	for _r in $(seq "$ROUNDS"); do
		"$bench" "$1" "$2" >"$tmp/last" || exit 1
		cut -f1 "$tmp/last" >>"$tmp/times"
	done
	median <"$tmp/times"
}
row() { awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%s\t%.3f\n", n, a / b }'; }

# The checked engines agree: branches, sum of the edges, no gaps.
agree() { # DIR
	"$bench" count "$1" | cut -f2- >"$tmp/a"
	"$bench" events "$1" | cut -f2- >"$tmp/b"
	"$bench" reference "$1" | cut -f2- >"$tmp/c"
	cmp -s "$tmp/a" "$tmp/b" && cmp -s "$tmp/a" "$tmp/c" && grep -q '	0$' "$tmp/a" || {
		echo "the engines differ on $1:" >&2
		cat "$tmp/a" "$tmp/b" "$tmp/c" >&2
		exit 1
	}
}

for trace in ${TRACES:-gzip sort python}; do
	for form in rc nrc; do
		opt=
		[ $form = rc ] || opt=--no-return-compression
		# shellcheck disable=SC2046,SC2086
		"$hwtrace" record -q $opt -o "$tmp/t.data" -- $(command_of "$trace") >/dev/null </dev/null || exit 1
		mkdir -p "$tmp/once" "$tmp/hot"
		"$bench" prepare "$tmp/t.data" "$tmp/once" 1
		"$bench" prepare "$tmp/t.data" "$tmp/hot" 8
		agree "$tmp/once"
		blocks=$(time_of blocks "$tmp/hot")
		lexer=$(time_of lexer "$tmp/hot")
		count=$(time_of count "$tmp/hot")
		branches=$(cut -f2 "$tmp/last")
		events=$(time_of events "$tmp/hot")
		row "pt.count.$form.$trace.vs_ipt_blk" "$blocks" "$count"
		row "pt.count.$form.$trace.vs_lexer" "$lexer" "$count"
		row "pt.events.$form.$trace.vs_ipt_blk" "$blocks" "$events"
		row "pt.count.$form.$trace.million_a_second" "$branches" "$(awk -v c="$count" 'BEGIN { print c * 1e6 }')"
		"$bench" short "$tmp/hot" $form
		lexer=$(time_of lexer "$tmp/hot")
		count=$(time_of count "$tmp/hot")
		row "pt.count.$form.$trace.short_vs_ipt_blk" "$(time_of blocks "$tmp/hot")" "$count"
		row "pt.count.$form.$trace.short_vs_lexer" "$lexer" "$count"
		[ $form = nrc ] || row "pt.count.cold.rc.$trace.vs_ipt_blk" "$(time_of blocks "$tmp/once")" \
			"$(time_of count "$tmp/once")"
	done
	"$hwtrace" record -q --cyc -o "$tmp/t.data" -- $(command_of "$trace") >/dev/null </dev/null || exit 1
	"$bench" prepare "$tmp/t.data" "$tmp/hot" 8
	row "pt.count.rc.$trace.timed_vs_lexer" "$(time_of lexer "$tmp/hot")" "$(time_of timed "$tmp/hot")"
done

# SPDX-License-Identifier: BSD-2-Clause
# The native Intel PT engine against libipt's block decoder and a bare lexer of
# the same bytes: CPU time of whole processes in turn, medians of ROUNDS.  The
# edges that both engines give must add up to the same sum.
# Rows with "short": the same branches as processors write them, in TNT packets of
# up to six outcomes with each target in its place.
# TRACES (default: gzip sort python) chooses.
# Counting by two threads against one: seconds on the clock.
# Memory: anonymous, of the counting engine, at its highest.
# TRACES (default: gzip sort python) chooses; OTHERS (cc1 sqlite cjpeg) are programs
# that no rule was made on, without a bar.
. tests/bench/lib.sh
bench=$PWD/$BUILD/tests/bench/bench_pt

# So much that eight times the trace is 50 MB and more.
text 24000 >"$tmp/text"
text 80000 >"$tmp/lines"
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
	sort) echo "sort --parallel=1 $tmp/lines" ;;
	python) echo "python3 -S $tmp/job.py" ;;
	cc1) echo "$(gcc -print-prog-name=cc1) -quiet -O2 -o /dev/null $tmp/words.i" ;;
	sqlite) echo "sqlite3 -init $tmp/job.sql :memory: .quit" ;;
	cjpeg) echo "cjpeg -quality 80 -outfile /dev/null $tmp/image.ppm" ;;
	*) echo "$1" ;;
	esac
}
gcc -E -o "$tmp/words.i" samples/words.c || exit 1
awk 'BEGIN { print "P3 320 240 255"; for (y = 0; y < 240; y++) for (x = 0; x < 320; x++)
	print (x * y) % 256, (x + 2 * y) % 256, (x * x + y) % 251 }' >"$tmp/image.ppm"
cat >"$tmp/job.sql" <<'SQL'
create table t (a integer primary key, b integer, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000)
insert into t select i, i * 7919 % 4001, hex(i * 31) from n;
create index tb on t (b);
select count(*), sum(x.a) from t x join t y on x.b = y.a where x.c like '%A%' group by x.b % 17 order by 2;
SQL
# time_of MODE DIR: median CPU seconds; the last line of output stays in $tmp/last
time_of() {
	: >"$tmp/times"
	for _r in $(seq "$ROUNDS"); do
		"$bench" "$1" "$2" >"$tmp/last" || exit 1
		cut -f1 "$tmp/last" >>"$tmp/times"
	done
	median <"$tmp/times"
}

# Wall time says what is gained where two processors are free, CPU time what it costs anywhere.
two_workers() {
	"$bench" prepare "$tmp/t.data" "$tmp/large" "$((60000000 / $(stat -c %s "$tmp/t.data") + 1))"
	"$bench" one "$tmp/large" | cut -f2- >"$tmp/a"
	"$bench" two "$tmp/large" | cut -f2- >"$tmp/b"
	cmp -s "$tmp/a" "$tmp/b" || die "two workers count otherwise than one: $(cat "$tmp/a" "$tmp/b")"
	row "pt.count.two_workers.$trace" "$(time_of one "$tmp/large")" "$(time_of two "$tmp/large")"
	versus "$bench one $tmp/large" "$bench two $tmp/large"
	row "pt.count.two_workers.$trace.cpu" "$cpu_b" "$cpu_a"
}

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

for trace in ${TRACES-gzip sort python} ${OTHERS-cc1 sqlite cjpeg}; do
	# shellcheck disable=SC2046
	set -- $(command_of "$trace")
	command -v "$1" >/dev/null || { echo "$1 is not installed: no rows of $trace" >&2; continue; }
	for form in rc nrc; do
		opt=
		[ $form = rc ] || opt=--no-return-compression
		# shellcheck disable=SC2046,SC2086
		"$hwtrace" record -q $opt -o "$tmp/t.data" -- $(command_of "$trace") >/dev/null </dev/null || exit 1
		mkdir -p "$tmp/once" "$tmp/hot" "$tmp/large"
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
		[ $form = nrc ] || two_workers
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

# Memory must not grow with the trace.
"$hwtrace" record -q -o "$tmp/t.data" -- $(command_of gzip) >/dev/null </dev/null || exit 1
size=$(stat -c %s "$tmp/t.data")
"$bench" prepare "$tmp/t.data" "$tmp/once" "$((20000000 / size + 1))"
"$bench" prepare "$tmp/t.data" "$tmp/hot" "$((2000000000 / size + 1))"
"$bench" memory "$tmp/once" >"$tmp/last" && small=$(tail -n 1 "$tmp/last")
"$bench" memory "$tmp/hot" >"$tmp/last" && large=$(tail -n 1 "$tmp/last")
value pt.memory.2gb_mb "$large"
row pt.memory.2gb_vs_20mb "$large" "$small"

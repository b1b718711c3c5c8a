# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of real processors: every executed instruction, counted by address,
# against what others found in the same bytes (see the corpus's README).
. tests/lib.sh

pt=$CORPUS/pt
[ -d "$pt" ] || { skip corpus_pt "there is no folder $pt"; exit 0; }
count=$BUILD/tests/corpus/ptcount

# run ENGINE CASE: decode a case; figures in $tmp/CASE.ENGINE.figures, counts in .cov.
run()
{
	if [ -f "$pt/$2/pages.bin.xz" ]; then
		[ -f "$tmp/$2.pages" ] || xz -dc "$pt/$2/pages.bin.xz" >"$tmp/$2.pages"
		_map=$pt/$2/pages.tsv
	else
		[ -f "$tmp/$2.pages" ] || cp "$pt/$2/hello" "$tmp/$2.pages"
		printf '0x401000 0x27 0x1000\n' >"$tmp/$2.map"
		_map=$tmp/$2.map
	fi
	timeout 120 "$count" "$1" "$pt/$2/pt.bin" "$tmp/$2.pages" "$_map" \
		>"$tmp/$2.$1.cov" 2>"$tmp/$2.$1.figures"
}
# figure ENGINE CASE NAME
figure() { sed -n "s/^$3 //p" "$tmp/$2.$1.figures"; }
# is ENGINE CASE NAME VALUE
is()
{
	_got=$(figure "$1" "$2" "$3")
	if [ "$_got" = "$4" ]; then
		pass "$2.$1.$3"
	else
		fail "$2.$1.$3" "wanted $4, got $_got"
	fi
}
# exact ENGINE CASE INSTRUCTIONS UNIQUE BRANCHES: nothing lost, everything equal.
exact()
{
	run "$1" "$2"
	is "$1" "$2" instructions "$3"
	is "$1" "$2" unique "$4"
	is "$1" "$2" branches "$5"
	is "$1" "$2" gaps 0
	is "$1" "$2" bad_blocks 0
	is "$1" "$2" decoded "$(wc -c <"$pt/$2/pt.bin")"
	for _want in "$pt/$2/expect/insncov.txt.gz" "$pt/$2/ref/insncov.txt.gz"; do
		[ -f "$_want" ] || continue
		gzip -dc "$_want" | LC_ALL=C sort >"$tmp/want"
		LC_ALL=C sort "$tmp/$2.$1.cov" >"$tmp/got"
		same "$2.$1.insncov" "$tmp/want" "$tmp/got"
	done
}
# loses CASE INSTRUCTIONS: this libipt loses the end of the trace, and it must be told.
loses()
{
	run libipt "$1"
	_gaps=$(figure libipt "$1" gaps)
	_sum=$(($(figure libipt "$1" decoded) + $(figure libipt "$1" skipped)))
	[ "$_gaps" -gt 0 ] && pass "$1.libipt.gap_told" || fail "$1.libipt.gap_told" "$_gaps gaps"
	is libipt "$1" bytes "$_sum"
	[ "$(figure libipt "$1" instructions)" -lt "$2" ] && pass "$1.libipt.less" ||
		fail "$1.libipt.less" "more instructions than ran"
	# What it did give is no other code than what ran.
	gzip -dc "$pt/$1/expect/insncov.txt.gz" | cut -d' ' -f1 | LC_ALL=C sort >"$tmp/want"
	cut -d' ' -f1 "$tmp/$1.libipt.cov" | LC_ALL=C sort >"$tmp/got"
	LC_ALL=C comm -13 "$tmp/want" "$tmp/got" >"$tmp/extra"
	[ ! -s "$tmp/extra" ] && pass "$1.libipt.nothing_else" ||
		fail "$1.libipt.nothing_else" "$(wc -l <"$tmp/extra") addresses that never ran"
}

for engine in $engines; do
	exact $engine griffin-hello 147458 8806 30819
	exact $engine kafl-foo 117967 9093 29225
	exact $engine drpt2trace-simple 8 8 2
done

reference "what libipt loses" && {
loses griffin-ovf-01-ben 176141
loses griffin-ovf-01-poc 106077
loses griffin-uaf-01-poc 177122
loses griffin-df-01-poc 175875
loses griffin-cve-2018-12327-ben 917903
}

exact native griffin-ovf-01-ben 176141 9865 39886
exact native griffin-ovf-01-poc 106077 7636 20143
exact native griffin-uaf-01-poc 177122 10003 40117
exact native griffin-df-01-poc 175875 9660 39806
exact native griffin-cve-2018-12327-ben 917903 20022 193758

# Versions of libipt differ here: judged by libxdc's edges, and the packets (docs/DIFFERENCES.md).
for engine in $engines; do
	run $engine kafl-Unzip
	is $engine kafl-Unzip instructions 149576
	is $engine kafl-Unzip unique 2697
	is $engine kafl-Unzip gaps 0
	is $engine kafl-Unzip decoded 16896
done

# edges CASE ENGINE: "what libxdc has more, what we have more" of the ordered edges
edges()
{
	xz -dc "$pt/$1/expect/edges.txt.xz" >"$tmp/xdc"
	"$count" -e "$2" "$pt/$1/pt.bin" "$tmp/$1.pages" "$pt/$1/pages.tsv" >"$tmp/edges" 2>"$tmp/err"
	diff "$tmp/xdc" "$tmp/edges" >"$tmp/diff"
	echo "$(grep -c '^<' "$tmp/diff"), $(grep -c '^>' "$tmp/diff")"
}
for engine in $engines; do
	_got=$(edges kafl-Unzip $engine)
	# A return at a PSB whose FUP libxdc takes for a target; a place that tracing went off at.
	printf '%s\n' '< 4192f6->4192e6' '< ffffffff81a01e90->ffffffffffffffff' '> 411a2b->ffffffffffffffff' >"$tmp/want"
	grep '^[<>]' "$tmp/diff" >"$tmp/got"
	same "kafl-Unzip.$engine.edges as libxdc ($(wc -l <"$tmp/edges") of them)" "$tmp/want" "$tmp/got"
	_got=$(edges kafl-foo $engine)
	[ "$_got" = "20, 12" ] && pass "kafl-foo.$engine.edges as libxdc" || fail "kafl-foo.$engine.edges as libxdc" "$_got differ"
done

# Pages are missing on purpose here: what lies there is named, the rest goes on.
reference "kafl-dyn_test by libipt" && {
run libipt kafl-dyn_test
is libipt kafl-dyn_test instructions 731
is libipt kafl-dyn_test unique 657
is libipt kafl-dyn_test gaps 21
}
run native kafl-dyn_test
is native kafl-dyn_test instructions 997
is native kafl-dyn_test unique 807
is native kafl-dyn_test gaps 22
is native kafl-dyn_test bytes $(($(figure native kafl-dyn_test decoded) + $(figure native kafl-dyn_test skipped)))
# Wherever libipt's other version got, we were too.
gzip -dc "$pt/kafl-dyn_test/expect/insncov.txt.gz" | cut -d' ' -f1 | LC_ALL=C sort >"$tmp/want"
cut -d' ' -f1 "$tmp/kafl-dyn_test.native.cov" | LC_ALL=C sort >"$tmp/got"
[ -z "$(LC_ALL=C comm -23 "$tmp/want" "$tmp/got")" ] && pass "kafl-dyn_test.native.no_less" ||
	fail "kafl-dyn_test.native.no_less" "$(LC_ALL=C comm -23 "$tmp/want" "$tmp/got" | wc -l) addresses are lacking"

# Range by range, where both decode all.
reference "the corpus by hwtrace verify" || exit 0
for c in griffin-hello kafl-foo kafl-Unzip drpt2trace-simple; do
	_map=$pt/$c/pages.tsv
	[ -f "$_map" ] || _map=$tmp/$c.map
	"$hwtrace" verify --pt "$pt/$c/pt.bin" --pages "$tmp/$c.pages" --map "$_map" >"$tmp/out" 2>"$tmp/err"
	_rc=$?
	grep -q ', 0 gaps: equal$' "$tmp/out" && [ $_rc -eq 0 ] && pass "$c.verify" || fail "$c.verify" "$(head -n 6 "$tmp/out" "$tmp/err")"
done
for c in griffin-ovf-01-ben griffin-ovf-01-poc griffin-uaf-01-poc griffin-df-01-poc griffin-cve-2018-12327-ben; do
	"$hwtrace" verify --pt "$pt/$c/pt.bin" --pages "$tmp/$c.pages" --map "$pt/$c/pages.tsv" >"$tmp/out" 2>"$tmp/err"
	# The first difference is libipt's loss, and shown with its packets.
	sed -n '4p' "$tmp/out" | grep -q '^  libipt  gap at offset .*trace does not fit' && grep -q '^packets from' "$tmp/out" &&
		grep -A8 '^packets from' "$tmp/out" | grep -q 'TIP\|TNT' &&
		pass "$c.verify shows the loss" || fail "$c.verify shows the loss" "$(head -n 12 "$tmp/out")"
done

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

# Pages are missing on purpose here: what lies there is named, the rest goes on.
run libipt kafl-dyn_test
is libipt kafl-dyn_test instructions 731
is libipt kafl-dyn_test unique 657
is libipt kafl-dyn_test gaps 21
run libipt kafl-Unzip
is libipt kafl-Unzip instructions 149576
is libipt kafl-Unzip unique 2697

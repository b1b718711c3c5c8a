# SPDX-License-Identifier: BSD-2-Clause
# Coverage of a raw capture of real hardware: the numbers of instructions, all
# and distinct, that its README states (counted by another version of libipt).
. tests/lib.sh

case=$CORPUS/pt/griffin-hello
xz -dkc "$case/pages.bin.xz" >"$tmp/pages"
for engine in $engines; do
	"$hwtrace" coverage --engine $engine --pt "$case/pt.bin" --pages "$tmp/pages" --map "$case/pages.tsv" \
		--json "$tmp/json" -o "$tmp/report" 2>"$tmp/err"
	got=$(python3 -c "
import json
r = json.load(open('$tmp/json'))
print(sum(m['executed'] for m in r['modules']), r['totals']['instructions']['hit'],
      sum(f['totals']['branches']['hit'] > 0 for f in r['functions']), r['unresolved_instructions'], r['gaps'])")
	[ "$got" = "147458 8806 1 0 0" ] && pass "coverage of griffin-hello, $engine" ||
		fail "coverage of griffin-hello, $engine" "got $got"
done
# the program alone, by its symbols: what insncov says of each of them
"$hwtrace" coverage --module '*/main.elf' --json "$tmp/json" -o "$tmp/report" --pt "$case/pt.bin" \
	--pages "$tmp/pages" --map "$case/pages.tsv" --elf "$case/main.elf@0x555555554000" 2>"$tmp/err"
nm -S --defined-only "$case/main.elf" | awk '$3 ~ /[tT]/ && NF == 4 { print $1, $2, $4 }' >"$tmp/symbols"
python3 - "$tmp/symbols" "$case/expect/insncov.txt.gz" >"$tmp/want" <<'EOF'
import gzip, sys
ran = [int(l.split()[0], 16) - 0x555555554000 for l in gzip.open(sys.argv[2], 'rt')]
for l in open(sys.argv[1]):
    start, size, name = l.split()
    start, size = int(start, 16), int(size, 16)
    print(name, sum(start <= a < start + size for a in ran))
EOF
python3 - "$tmp/json" "$tmp/symbols" >"$tmp/got" <<'EOF'
import json, sys
hit = {f['name']: f['totals']['instructions']['hit'] for f in json.load(open(sys.argv[1]))['functions']}
for l in open(sys.argv[2]):
    name = l.split()[2]
    print(name, hit[name])
EOF
check "main ran" grep -q '^main [1-9]' "$tmp/want"
same "instructions of each function" "$tmp/want" "$tmp/got"

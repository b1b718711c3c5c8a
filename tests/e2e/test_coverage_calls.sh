# SPDX-License-Identifier: BSD-2-Clause
# Calls, jumps through tables and basic blocks: beside what the source says, and
# what objdump lists.
. tests/lib.sh

check_calls=$PWD/tests/tools/check_blocks_calls.py
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cov() { "$hwtrace" coverage "$@"; }
field() { python3 -c "import json; r = json.load(open('$1')); print($2)"; }
cd "$tmp" || exit 1
cat >sites.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
static int one(int x) { return x + 1; }
static int two(int x) { return x * 2; }
static int three(int x) { return x - 3; }
int (*table[])(int) = { one, two, three };
static int pick(int x)
{
	switch (x) {
	case 0: return 12;
	case 1: return 7;
	case 2: return x * 9;
	case 3: return 3;
	case 4: return x + one(x);
	case 5: return 99 ^ x;
	case 6: return 5 - x;
	default: return -1;
	}
}
int main(int argc, char **argv)
{
	int s = 0;
	for (int i = 0; i < 5; i++)
		s += table[i & 1](i) + pick(i % 3);
	if (argc > 2)
		printf("%d %s\n", three(s), argv[1]);
	int (*plug)(int) = (int (*)(int))dlsym(dlopen(argv[1], RTLD_NOW), "plug");
	return plug(s) + plug(1) == 0;
}
C
printf 'int plug(int x)\n{\n\treturn x + 1;\n}\n' >plug.c
gcc -O0 -g -shared -fPIC -o plug.so plug.c && gcc -O0 -g -fcf-protection=none -no-pie -o sites sites.c -ldl
cov --trace data --json json --sqlite db --calls -- ./sites ./plug.so >got 2>err
is "status" 0 $?
sed -n '/^sites.c:[0-9]*: /,$p' got | sed 's/ 0x[0-9a-f]*: /: /' >plain
# Targets of the table as lines.
grep -E '^    to 0x' got | sed 's/^    to \(0x[0-9a-f]*\): /\1 /' | while read -r a n; do
	echo "$(addr2line -e sites "$a" | sed 's/.*://; s/ .*//') $n"
done >lines
printf '10 2\n11 2\n12 1\n' >want
same "the jump through the table went to three cases, as often as the source says" want lines
grep -v '^    to: ' plain >named
cat >want <<'W'
sites.c:9: pick: indirect jump: 5
sites.c:14: pick: call of one: not executed
sites.c:24: main: indirect call: 5
    to one: 3
    to two: 2
sites.c:24: main: call of pick: 5
sites.c:26: main: call of three: not executed
sites.c:26: main: call of printf@plt: not executed
sites.c:27: main: call of dlopen@plt: 1
sites.c:27: main: call of dlsym@plt: 1
sites.c:28: main: indirect call: 1
    to plug in plug.so: 1
sites.c:28: main: indirect call: 1
    to plug in plug.so: 1
W
same "each call and what it reached, word for word" want named
"$hwtrace" script -F ip,dso --itrace=i1i data 2>/dev/null | awk '/\/sites\)/ { print $1 }' | sort -u >executed
check "blocks and calls are those of objdump" python3 "$check_calls" sites json executed one two three pick main
is "all kinds add up to the totals" True "$(field json "all(sum(f['totals'][k][x] for f in r['functions']) == r['totals'][k][x] for k in ('calls', 'blocks') for x in ('all', 'hit', 'unknown'))")"
is "the database has the calls" "$(field json "len(r['calls'])")" "$(sqlite3 db 'SELECT count(*) FROM calls')"
is "and the targets" "$(field json "sum(t['count'] for c in r['calls'] for t in c.get('targets', []))")" "$(sqlite3 db 'SELECT sum(count) FROM targets')"
is "by module" "2" "$(sqlite3 db "SELECT sum(count) FROM targets WHERE to_module LIKE '%/plug.so' AND name = 'plug'")"

# -- threads that decode, captures that add up
cov --jobs 1 --json jobs1 -o table data 2>/dev/null && cov --jobs 3 --json jobs3 -o table data 2>/dev/null
same "by one thread and by three" jobs1 jobs3
"$hwtrace" record -q --psb-period 256 -o threads.data -- "$programs/threads" >/dev/null 2>&1
cov --jobs 1 --all-modules --json jobs1 -o table threads.data 2>/dev/null
cov --jobs 3 --all-modules --json jobs3 -o table threads.data 2>/dev/null
same "a threaded program with its libraries" jobs1 jobs3
check "and it has targets in other modules" python3 -c "
import json; r = json.load(open('jobs1'))
assert any(t.get('module', -1) not in (-1, c['module']) for c in r['calls'] for t in c.get('targets', []))"
"$hwtrace" record -q -o data2 -- ./sites ./plug.so more >/dev/null 2>&1
cov --json sum -o table data data2 2>/dev/null
is "two captures add up" "10 [6, 4] hit" "$(field sum "[(c['count'], [t['count'] for t in c['targets']]) for c in r['calls'] if c['kind'] == 'indirect call'][0]" | tr -d '(),' | sed 's/\[6 4\]/[6, 4]/') $(field sum "[c['state'] for c in r['calls'] if c.get('name') == 'three'][0]")"

# -- what was not recorded
"$hwtrace" record -q --module plug.so -o part.data -- ./sites ./plug.so 2>/dev/null
cov --json part --calls part.data >got 2>/dev/null
is "calls that were not recorded are unknown" "unknown" "$(field part "' '.join(sorted({c['state'] for c in r['calls']}))")"
is "blocks too" "$(field json "r['totals']['blocks']['all']") 1" "$(field part "r['totals']['blocks']['all']") $(field part "r['totals']['blocks']['all'] - r['totals']['blocks']['unknown']")"
check "the list says so" grep -q 'call of pick: unknown' got

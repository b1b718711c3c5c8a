# SPDX-License-Identifier: BSD-2-Clause
# The third state: what a recording left out is unknown, never missed.  Truth is
# a recording of the same run that left nothing out.
. tests/lib.sh

check_unknown=$PWD/tests/tools/check_unknown.py
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
field() { python3 -c "import json; r = json.load(open('$1')); print($2)"; }
cd "$tmp" || exit 1
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
static int twice(int x)
{
	if (x > 100)
		return 0;
	return 2 * x;
}
static int unused(int x)
{
	return x ? twice(x) : 1;
}
int main(int argc, char **argv)
{
	void *h = dlopen(argv[1], RTLD_NOW);
	int (*plug)(int) = h ? (int (*)(int))dlsym(h, "plug") : 0, sum = 0;
	for (int i = 0; i < 4; i++)
		sum += plug ? plug(twice(i)) : 0;
	if (sum > 1000)
		sum = unused(sum);
	return argc > 2 ? unused(sum) : 0;
}
C
cat >plug.c <<'C'
static int never(int x)
{
	return x * 7;
}
int plug(int x)
{
	return x > 50 ? never(x) : x + 1;
}
C
gcc -O0 -g -shared -fPIC -o plug.so plug.c && gcc -O0 -g -o host host.c -ldl
cov() { "$hwtrace" coverage --json "$1.json" --lcov "$1.info" -o "$1.txt" "$1.data" 2>"$1.err"; }
"$hwtrace" record -q -o whole.data -- ./host ./plug.so && cov whole
is "the whole has hits and misses" "0" "$(field whole.json "r['totals']['lines']['unknown']")"

for backend in qemu ptrace; do
	# The whole runs under both alike: it does not depend on time or addresses.
	for limit in "--module plug.so" "--module host" "--module */plug.s?" "--module libc.so*" "--filter plug@./plug.so" \
	             "--filter twice@host" "--filter main+0x30@host"; do
		"$hwtrace" record -q -b $backend -o part.data $limit -- ./host ./plug.so 2>record.err
		cov part
		check "$backend $limit: nothing that ran is missed" python3 "$check_unknown" whole.json part.json
	done
done
# Ranges that begin in the middle of straight code, which the block before runs into.
gcc -O0 -g -no-pie -o fixed host.c -ldl
"$hwtrace" record -q -o whole2.data -- ./fixed ./plug.so && cov whole2
end=$(nm fixed | awk '/ _fini$/ { print "0x" $1 }')
objdump -d --disassemble=main fixed | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' | awk 'NR % 4 == 2' >starts
n=0
while read -r start; do
	"$hwtrace" record -q -o part.data --filter "0x$start-$end" -- ./fixed ./plug.so 2>record.err && cov part &&
		python3 "$check_unknown" whole2.json part.json >>ranges && n=$((n + 1))
done <starts
is "ranges from any instruction on: nothing that ran is missed" "$(wc -l <starts)" "$n"
is "and something is known in each" 0 "$(grep -c '^0 ' ranges)"
# limit GLOB: functions matching GLOB are known, the others are not
known() { # NAME LIMIT GLOB
	"$hwtrace" record -q -o part.data $2 -- ./host ./plug.so 2>record.err
	cov part
	check "$1" python3 "$check_unknown" whole.json part.json "$3"
}
known "one function is known" "--filter plug@./plug.so" plug
known "of one module both are known" "--module plug.so" '[pn][le]*'
is "what it did not run is missed" "not hit" "$(field part.json "[f['state'] for f in r['functions'] if f['name'] == 'never'][0]")"
known "two limits: either lets in" "--module plug.so --filter twice@host" '[pnt][lew]*'
known "the first bytes of a function make it hit" "--filter twice+4@host" twice
cp part.json half.json
is "no function is missed for that" "" "$(field half.json "' '.join(f['name'] for f in r['functions'] if f['state'] == 'not hit')")"

# -- how it is told
known "for the words" "--module plug.so" '[pn][le]*'
is "the table counts it" 1 "$(grep -c '^total .*unknown: [1-9][0-9]* lines' part.txt)"
check "stderr says what is unknown and why" grep -q "warning: 1[0-9] lines, [0-9]* branch outcomes and 3 functions are unknown: neither hit nor missed, since they were not recorded" part.err
check "and that lcov cannot say it" grep -q "part.info: leaves out what is unknown" part.err
is "lcov has no line of it" "" "$(sed -n '/host.c/,/end_of/p' part.info | grep -E '^(DA|BRDA|FN|FNDA):')"
"$hwtrace" coverage --uncovered part.data >got 2>/dev/null
check "the list names it" grep -Eq '^host.c:4-8: unknown, not recorded$' got
"$hwtrace" coverage --source part.data 2>/dev/null | sed -n '/host.c$/,/plug.c$/p' >got
is "the source shows it" 0 "$(grep -c '#####' got)"
check "as unknown" grep -q '?????:    5:' got
"$hwtrace" annotate main part.data >got 2>/dev/null
check "annotate says it" grep -q "^main .*: unknown whether it ran" got
is "of each instruction" 0 "$(grep -c '#####' got)"
"$hwtrace" coverage --fail-under-line 99 -o table part.data 2>err
is "thresholds are of what is known: something of the plugin is missed" 2 $?
"$hwtrace" coverage --module host --fail-under-line 1 -o table part.data 2>err
is "nothing known is nothing shown" 2 $?

# -- merge: what did not look is silent
merge() { "$hwtrace" merge -o table --json - "$@" 2>err; }
"$hwtrace" record -q -o plug.data --module plug.so -- ./host ./plug.so 2>record.err && cov plug
"$hwtrace" record -q -o main.data --module host -- ./host ./plug.so 2>record.err && cov main
merge plug.json main.json >sum.json
merge whole.json >one.json
things() { python3 -c "
import json; r = json.load(open('$1'))
for f in r['files']:
    for l in f['lines']: print(f['path'], l['line'], l['state'], l['count'], [(b['taken'], b['not_taken']) for b in l.get('branches', [])])
for f in r['functions']: print(f['name'], f['state'], f['entries'])"; }
things one.json >want && things sum.json >got
same "two parts are the whole" want got
merge main.json plug.json | grep -v '\.json"\|\.data"' >b && grep -v '\.json"\|\.data"' sum.json >a
same "in either order" a b
merge plug.json half.json >part1.json && merge main.json part1.json | grep -v '\.json"\|\.data"' >b
merge main.json half.json >part1.json && merge part1.json plug.json | grep -v '\.json"\|\.data"' >a
same "in steps" a b
"$hwtrace" coverage --json both.json -o table plug.data main.data 2>/dev/null
things both.json >got
same "coverage of both is the whole" want got
merge plug.data main.data >sum.json && things sum.json >got
same "merge of both captures is the whole" want got
merge plug.json half.json >part1.json
is "what neither looked at stays unknown" unknown "$(field part1.json "[f['state'] for f in r['functions'] if f['name'] == 'main'][0]")"
rm -f db && "$hwtrace" coverage -o table --append db plug.data 2>/dev/null
is "the database knows it" unknown "$(sqlite3 db "SELECT state FROM functions_run WHERE name = 'main'")"
"$hwtrace" coverage -o table --append db main.data 2>/dev/null
is "two runs in it are the whole" "hit not hit not hit" "$(sqlite3 db "SELECT state FROM functions_run WHERE name IN ('main', 'unused', 'never') ORDER BY name" | xargs)"
is "by line" "$(grep -c 'not hit' want)" "$(sqlite3 db "SELECT (SELECT count(*) FROM lines WHERE state = 'not hit') + (SELECT count(*) FROM functions_run WHERE state = 'not hit')")"
is "nothing is left unknown" 0 "$(sqlite3 db "SELECT count(*) FROM lines WHERE state = 'unknown'")"

# -- diff: what one does not know is no difference
"$hwtrace" diff plug.json whole.json >got 2>err
is "no line is reached by one alone" "0 0" "$(awk '/^lines/ { print $4, $5 }' got)"
check "unknown ones are marked" grep -q '^host.c:.*(in the other: unknown)$' got
check "and counted apart" grep -q "functions that one reached are unknown in the other" err

# -- loss beats a miss, not being looked at does not
cat >lost.py <<'P'
import json
r = json.load(open("whole.json"))
for f in r["files"]:
    for l in f["lines"]:
        if l["state"] == "not hit":
            l["state"] = "unknown"
json.dump(r, open("lost.json", "w"))
P
python3 lost.py && merge lost.json whole.json >sum.json
is "lost in one run, missed in the other: unknown" "$(field whole.json "sum(l['state'] == 'not hit' for f in r['files'] for l in f['lines'])")" "$(field sum.json "r['totals']['lines']['unknown']")"

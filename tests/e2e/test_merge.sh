# SPDX-License-Identifier: BSD-2-Clause
# hwtrace merge: captures, reports and lcov tracefiles, in any order and in
# steps; against lcov's own adding.
. tests/lib.sh

merge() { "$hwtrace" merge "$@"; }
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cd "$tmp" || exit 1
cat >shop.cpp <<'C'
#include <cstdlib>
namespace shop {
struct till {
	int add(int a) { return a > 2 ? a : 0; }
	int idle(int x) { return x + 3; }
};
}
static int twice(int x)
{
	return 2 * x;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	shop::till t;
	for (int i = 0; i < n; i++)
		sum += twice(t.add(i));
	if (sum > 100)
		sum = t.idle(sum);
	return sum < 0;
}
C
g++ -O1 -g -fno-inline -o shop shop.cpp
for n in 1 2 3; do
	"$hwtrace" coverage --trace $n.data --json $n.json --lcov $n.info -o $n.txt -- ./shop $((n * 6)) 2>/dev/null
done
strip -o bare shop
for n in 1 2; do "$hwtrace" coverage --trace bare$n.data --json bare$n.json -o report -- ./bare $((n * 6)) 2>/dev/null; done

# -- one report is itself
merge --lcov one.info -o one.txt 1.json 2>err
same "merge of one report: the same lines, branches and functions" 1.info one.info
merge --lcov one.info -o one.txt 1.info 2>err
same "merge of one tracefile: the same tracefile" 1.info one.info
merge --lcov2 one.info2 -o one.txt 1.json 2>err && merge --lcov one.info -o one.txt one.info2 2>err
same "merge of one in the dialect of lcov 2" 1.info one.info
is "nothing is said" "" "$(cat err)"

# -- any order, and steps
all() { merge -o /dev/null --json - "$@" 2>/dev/null; }
all 1.json 2.json 3.json bare1.json bare2.json >want
all bare2.json 3.json 1.json bare1.json 2.json >got
same "five reports in another order" want got
all 1.json bare2.json >part1 && all 3.json 2.json bare1.json >part2 && all part2 part1 >got
same "five reports in steps" want got
all 1.data 2.data 3.data bare1.data bare2.data >got
sed 's/\.data"/.json"/' got | grep -v '"software\|captures\|\.json"\|\.data"' >got.plain
grep -v '"software\|captures\|\.json"\|\.data"' want >want.plain
same "their captures give the same" want.plain got.plain
is "sources are listed" "5" "$(all 1.data 2.data 3.data bare1.data bare2.data | grep -c '\.data"')"
all 1.info 2.json 3.info >want && all 3.info 1.info >part1 && all 2.json part1 >got
same "tracefiles and reports in steps" want got
"$hwtrace" coverage --lcov sum.info -o sum.txt 1.data 2.data 3.data 2>/dev/null
merge --lcov got.info -o got.txt 1.data 2.json 3.data 2>/dev/null
same "captures added as coverage adds them" sum.info got.info

# -- lcov adds the same
lcov -q --rc lcov_branch_coverage=1 -a 1.info -a 2.info -a 3.info -o theirs >/dev/null 2>&1
merge --lcov ours -o ours.txt 1.info 2.info 3.info 2>/dev/null
for f in theirs ours; do grep -E '^(DA|FNDA|FN|BRDA|LF|LH|FNF|FNH|BRF|BRH):' $f | sort >$f.sorted; done
same "lcov adds up to the same" theirs.sorted ours.sorted

# -- instrumented builds
mkdir gcov && (cd gcov && g++ -O0 -g --coverage -o prog ../shop.cpp && ./prog 60 &&
	lcov -q -c -d . --rc lcov_branch_coverage=1 -o ../gcov.info) >gcov.log 2>&1
"$hwtrace" coverage --lcov plain.info -o report -- ./shop 6 2>/dev/null
merge --lcov both.info -o both.txt plain.info gcov.info 2>err
sed -n '/shop.cpp/,/end_of/p' both.info >both.shop
line=$(grep -n 'return x + 3' shop.cpp | cut -d: -f1)
check "a line that the instrumented run alone reached" grep -q "^DA:$line,1$" both.shop
line=$(grep -n 'return 2 \* x' shop.cpp | cut -d: -f1)
check "a line that both reached" grep -q "^DA:$line,66$" both.shop
is "a function stands once" 1 "$(grep -c '^FN:.*,_ZN4shop4till3addEi$' both.shop)"
check "lcov reads the sum" lcov --rc lcov_branch_coverage=1 --summary both.info

# -- loss stays what it is
size=$(wc -c <3.data)
head -c $((size * 6 / 10)) 3.data >cut.data
"$hwtrace" coverage --json cut.json -o report cut.data 2>/dev/null
field() { python3 -c "import json; r = json.load(open('$1')); print($2)"; }
merge --json both.json -o report cut.json 1.json 2>err
is "a line is unknown only when no run hit it" True "$(python3 -c "
import json
def lines(p): return {(f['path'], l['line']): l['state'] for f in json.load(open(p))['files'] for l in f['lines']}
a, b, s = lines('cut.json'), lines('1.json'), lines('both.json')
rank = {'not hit': 0, 'unknown': 1, 'hit': 2}
print(all(rank[s[k]] == max(rank[x.get(k, 'not hit')] for x in (a, b)) for k in s) and set(s) == set(a) | set(b))")"

# -- what is no report
printf '{ "format": "other" }' >bad.json
merge bad.json >out 2>err
is "another tool's JSON" 1 $?
check "is told" grep -q "not a report of hwtrace" err
for cut in 10 500 2000; do
	head -c $cut 1.json >cut.json && merge cut.json >out 2>err
	is "JSON cut at $cut" 1 $?
	head -c $((cut / 8)) 1.info >cut.info && merge cut.info >out 2>err
	is "a tracefile cut at $((cut / 8))" 1 $?
done
printf 'TN:\nSF:/a.c\nDA:x,1\nend_of_record\n' >bad.info
merge bad.info >out 2>err
check "a bad tracefile is told by line" grep -q "bad.info:3: DA is a line number and a count" err
merge >out 2>err
is "no file" 64 $?
# Each number of a report replaced by what does not fit: told or taken, never a crash.
HW=$hwtrace python3 - 1.json <<'P'
import json, random, subprocess, sys, os
text = open(sys.argv[1]).read()
random.seed(1)
import re
spots = [m.span(1) for m in re.finditer(r'": ?("?[^\[{,\n]+"?)', text)]
bad = 0
for i in range(60):
    a, b = random.choice(spots)
    new = text[:a] + random.choice(["-1", "99999999999", "18446744073709551615", "null", '"x"', "[]", "{}", "1e400", "true"]) + text[b:]
    open("mutant.json", "w").write(new)
    rc = subprocess.run([os.environ["HW"], "merge", "mutant.json", "-o", "report", "--lcov", "m.info", "--json", "m.json"], capture_output=True)
    if rc.returncode not in (0, 1) or (rc.returncode == 1 and not rc.stderr):
        bad += 1
        print(rc.returncode, text[a - 30:b], new[a - 30:a + 30], rc.stderr[-300:])
print(("not ok" if bad else "ok") + " reports with a value replaced" + (": see above" if bad else ""))
P

# -- what is read is not written to
cp 1.json kept.json
cp 1.data kept.data
spared() { # NAME WHAT COMMAND...
	name=$1 what=$2
	shift 2
	"$hwtrace" "$@" >out 2>err
	is "$name: status" 1 $?
	says "$name: told" ": is $what itself; name another file with -" err
	same "$name: the report is kept" 1.json kept.json
	same "$name: the capture is kept" 1.data kept.data
}
spared "merge onto a capture" "the capture" merge -o kept.data kept.data
spared "merge onto one of two" "one of the inputs" merge --lcov kept.json 2.json kept.json
spared "merge appends to one of two" "one of the inputs" merge --append ./kept.json 2.json kept.json
spared "diff onto one of two" "one of the inputs" diff -o kept.json 2.json kept.json
spared "diff onto its patch" "one of the inputs" \
	diff -o kept.json --diff-file kept.json 1.json 2.json
spared "annotate onto the capture" "the capture" annotate -o kept.data main kept.data

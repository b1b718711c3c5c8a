# SPDX-License-Identifier: BSD-2-Clause
# Formats of the coverage report, each read by its real consumer where Debian
# has one, else by a reader of the format's own rules.
. tests/lib.sh

top=$PWD
cov() { "$hwtrace" coverage "$@"; }
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
sql() { sqlite3 "$1" "$2" | tr '\n' ' ' | sed 's/ $//'; }

mkdir "$tmp/src" && cd "$tmp/src" || exit 1
cat >little.c <<'C'
#include <stdlib.h>
static int twice(int x)
{
	return 2 * x;
}
static int unused(int x)
{
	return x + 1;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	for (int i = 0; i < n; i++)
		sum += twice(i);
	if (sum > 1000)
		sum = unused(sum);
	return sum < 0;
}
C
gcc -O0 -g -fcf-protection=none -no-pie -o little little.c
cov --trace data -o report --json json --lcov info --lcov2 info2 --gcovr-json gcovr --cobertura cov.xml --sqlite db \
	--drcov drcov --drcov3 drcov3 --blocks blocks --ezcov ezcov -- ./little >out 2>err
is "all formats at once" 0 $?
is "nothing is complained of" "" "$(grep warning err)"

# -- Cobertura
check "cobertura: valid" xmllint --noout --nonet --dtdvalid "$top/tests/data/cobertura.dtd" cov.xml
x() { xmllint --nonet --xpath "$1" cov.xml 2>/dev/null; }
is "cobertura: lines" "10/14" "$(x 'string(/coverage/@lines-covered)')/$(x 'string(/coverage/@lines-valid)')"
is "cobertura: branches" "4/6" "$(x 'string(/coverage/@branches-covered)')/$(x 'string(/coverage/@branches-valid)')"
is "cobertura: a file is named from its source folder" "little.c" "$(x 'string(//class/@filename)')"
is "cobertura: a line with a branch" "50% (1/2)" "$(x 'string(//class/lines/line[@number=15]/@condition-coverage)')"
is "cobertura: a function" "5" "$(x 'string(//method[@name="twice"]/lines/line/@hits)')"
is "cobertura: equal bytes at a fixed time" "$(SOURCE_DATE_EPOCH=1 cov --cobertura - data 2>/dev/null | cksum)" \
	"$(SOURCE_DATE_EPOCH=1 cov --cobertura - data 2>/dev/null | cksum)"
if command -v diff-cover >/dev/null; then
	(git init -q -b main . && git config user.email a@b && git config user.name t &&
		sed '/unused/,/^}/d' little.c >old.c && cp little.c new.c && cp old.c little.c && git add little.c &&
		git commit -qm one && cp new.c little.c && git checkout -qb more && git commit -qam two) >git.log 2>&1
	diff-cover cov.xml --compare-branch main >diff.txt 2>diff.err
	check "diff-cover reads the Cobertura file" grep -q "Missing lines 7-9,16" diff.txt
	diff-cover info --compare-branch main >diff2.txt 2>diff.err
	check "and the lcov file, which says the same" cmp diff.txt diff2.txt
else
	skip "diff-cover" "diff-cover is not installed"
fi

# -- gcovr
check "gcovr reads its JSON" gcovr -r . -a gcovr --json-summary summary
is "gcovr: lines, branches, functions" "10/14 4/6 2/3" "$(python3 -c "
import json; s = json.load(open('summary'))
print(*(f\"{s[k + '_covered']}/{s[k + '_total']}\" for k in ('line', 'branch', 'function')))")"
mkdir gcov && (cd gcov && gcc -O0 -g --coverage -o prog ../little.c && ./prog 50) >/dev/null 2>&1
(cd gcov && gcovr -r .. --json ../theirs .) >/dev/null 2>&1
check "gcovr merges it with its own" gcovr -r . -a gcovr -a theirs --json merged
is "gcovr: counts of both add up" "55 True" "$(python3 -c "
import json; f = json.load(open('merged'))['files'][0]
n = {l['line_number']: l['count'] for l in f['lines']}
print(n[4], n[8] == 1)" 2>&1 | tail -n 1)"

# -- SQLite
is "sqlite: lines" "hit|10 not hit|4" "$(sql db "SELECT state, count(*) FROM lines GROUP BY state ORDER BY state")"
is "sqlite: lines that did not run" "7 8 9 16" "$(sql db "SELECT line FROM lines WHERE state = 'not hit' ORDER BY line")"
is "sqlite: functions" "main|1|hit twice|5|hit unused|0|not hit" "$(sql db "SELECT name, entries, state FROM functions_run ORDER BY name")"
is "sqlite: branches" "12|1|0 13|5|1 15|1|0" "$(sql db "SELECT line, taken, not_taken FROM branches WHERE path LIKE '%little.c' ORDER BY line")"
is "sqlite: no broken references" "" "$(sql db "PRAGMA foreign_key_check; PRAGMA integrity_check" | grep -v '^ok$')"
cov --sqlite - data >out 2>err
is "sqlite: not to standard output" 1 $?
cov --sqlite /nonexistent/db data -o report >out 2>err
is "sqlite: a folder that is not there" 1 $?
for i in 1 2 3 4; do cov --append all -o "report$i" -- ./little >/dev/null 2>"err$i" & done
wait
is "append: four at once" "4 40" "$(sql all "SELECT count(*) FROM runs") $(sql all "SELECT count(*) FROM line_counts WHERE state = 'hit'")"
is "append: counts add up" "20" "$(sql all "SELECT count FROM lines WHERE line = 4")"
is "append: things stand once" "1 3" "$(sql all "SELECT count(*) FROM files") $(sql all "SELECT count(*) FROM functions")"
is "append: what never ran in any run" "7 8 9 16" "$(sql all "SELECT line FROM lines WHERE state = 'not hit' ORDER BY line")"

# -- blocks: against the addresses that ran
run() { # NAME PROGRAM: addresses of its own module, from 0x400000
	"$hwtrace" script -i data --itrace=i1i -F ip,dso 2>/dev/null | sed -n "s,^ *\([0-9a-f]*\) *($2)\$,\1,p" | sort -u >addresses
	check "$1: blocks of four formats are what ran" python3 "$top/tests/tools/check_blocks.py" addresses "$2" 400000 \
		drcov drcov3 blocks ezcov
	sed 's/^/    /' "$tmp/.check"
}
run "a small program" "$tmp/src/little"
cov --trace data -o report --drcov drcov --drcov3 drcov3 --blocks blocks --ezcov ezcov -- "$programs/longblock" 2>/dev/null
run "a block of 70,000 bytes" "$programs/longblock"
cov --all-modules --ezcov ezcov2 -o report data 2>err
is "ezcov: one module only" 1 $?
check "ezcov: and that is told" grep -q "one module" err
cov --all-modules --drcov all2 --drcov3 all3 --blocks allblocks -o report data 2>err
is "drcov of all modules" 0 $?
check "drcov: the C library is a module" grep -aq "libc.so.6" all2
check "drcov3: with several segments" [ "$(grep -ac 'libc.so.6' all3)" -gt 2 ]

# -- lcov 2, of a large program too
check "lcov2: grammar and consistency" python3 "$top/tests/tools/check_lcov2.py" info info2
cov --lcov info --lcov2 info2 --cobertura cov.xml --gcovr-json gcovr -o report -- "$hwtrace" script -i data >/dev/null 2>err
check "lcov2: of a large program" python3 "$top/tests/tools/check_lcov2.py" info info2
sed 's/^/    /' "$tmp/.check"
check "cobertura: valid of a large program" xmllint --noout --nonet --dtdvalid "$top/tests/data/cobertura.dtd" cov.xml
check "gcovr: of a large program" gcovr -r / -f '.*' -a gcovr --json-summary summary
is "gcovr and lcov count the same lines" "$(grep -c '^DA:' info)" \
	"$(python3 -c "import json; print(json.load(open('summary'))['line_total'])")"
if [ -n "${LCOV2:-}" ]; then
	check "lcov 2 reads it without a word" sh -c \
		"perl '$LCOV2/bin/lcov' --branch-coverage --summary info2 2>&1 | grep -q 'no messages were reported'"
else
	skip "lcov 2 itself" "LCOV2=DIR names no lcov 2"
fi

# SPDX-License-Identifier: BSD-2-Clause
# Marks in the source as gcovr and geninfo obey them, mapped sources, and
# thresholds with gcovr's exit statuses.
. tests/lib.sh

cov() { "$hwtrace" coverage "$@"; }
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
mkdir "$tmp/build" && cd "$tmp/build" || exit 1
cat >marks.c <<'C'
#include <stdlib.h>
static int one(int x)
{
	if (x > 5)		/* LCOV_EXCL_LINE */
		return 1;	/* GCOV_EXCL_LINE */
	return 0;
}
/* LCOV_EXCL_START */
static int two(int x)
{
	return x > 2 ? 2 : 3;
}
/* LCOV_EXCL_STOP */
static int three(int x)
{
	if (x == 77)	/* LCOV_EXCL_BR_LINE */
		return 4;
	/* LCOV_EXCL_BR_START */
	if (x == 78)
		return 5;
	/* LCOV_EXCL_BR_STOP */
	if (x == 79)
		return 6;
	return 7;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	return one(n) + two(n) + three(n) == 10 ? 0 : n == 1 ? 0 : 3;
}
C
gcc -O0 -g -fcf-protection=none -o marks marks.c
cov --trace data --lcov info --gcovr-json ours --json json -o report -- ./marks 2>err
rows() { grep -E "^$1:" "$2" | sed 's/,[0-9-]*$//; s/^[A-Z]*://' | cut -d, -f1 | sort -n | uniq | tr '\n' ' '; }
mkdir gcov && (cd gcov && gcc -O0 -g --coverage -o prog ../marks.c && ./prog && lcov -q -c -d . --rc lcov_branch_coverage=1 -o ../theirs) >gcov.log 2>&1
# gcov counts a function at its name, the line table at the brace: both are taken out here.
line() { grep -n "$1" marks.c | cut -d: -f1 | head -n 1; }
is "branches that are left are those of geninfo" "$(rows BRDA theirs)" "$(rows BRDA info)"
rows DA theirs | tr ' ' '\n' >want && rows DA info | tr ' ' '\n' >got
is "lines that geninfo takes out are out" "" "$(sort got want | uniq -u | while read -r n; do sed -n "${n}p" marks.c | grep -vE '^[{}]$|^(static )?int |GCOV_'; done)"
is "and what gcovr takes out" "" "$(grep "^DA:$(line GCOV_EXCL_LINE)," info)"
is "a function that is marked is out" "" "$(grep two info)"
is "its instructions too" True "$(python3 -c "
import json; r = json.load(open('json'))
print(sum(f['totals']['instructions']['all'] for f in r['files']) == r['totals']['instructions']['all'])")"
cov --no-markers --lcov all -o report data 2>/dev/null
check "--no-markers counts them" grep -q "FN:.*,two" all
sed 's/LCOV_EXCL_STOP/stop/' marks.c >x.c && mv x.c marks.c
cov --lcov cut -o report data 2>err
check "a range without end is told" grep -q "marks.c:$(line LCOV_EXCL_START): a range of marks without EXCL_STOP" err
is "and reaches to the end" "" "$(grep -E ',(main|three)$' cut)"

# -- sources that moved
mkdir "$tmp/moved" && cp marks.c "$tmp/moved/"
cov --source-map "$tmp/build=$tmp/moved" --lcov moved.info -o report data 2>/dev/null
is "--source-map" "SF:$tmp/moved/marks.c" "$(grep ^SF moved.info)"
cov --source-map "$tmp/buil=/x" --lcov moved.info -o report data 2>/dev/null
is "--source-map is by folders" "SF:$tmp/build/marks.c" "$(grep ^SF moved.info)"
cov --source-map "$tmp/build/=$tmp/moved" --source "$tmp/build/data" 2>/dev/null >out
check "the source is read there" grep -q "moved/marks.c" out
cov --source-map x data >out 2>err
is "--source-map without =" 64 $?
"$hwtrace" merge --source-map "$tmp/build=/elsewhere" --lcov m.info -o report info json 2>/dev/null
is "of reports, too" "SF:/elsewhere/marks.c" "$(grep ^SF m.info)"

# -- thresholds, beside gcovr's
cp "$tmp/moved/marks.c" . && cov --no-markers --gcovr-json ours -o report data 2>/dev/null
for t in "0 0" "99 0" "0 99" "99 99"; do
	set -- $t
	gcovr -r . -a ours --fail-under-line "$1" --fail-under-branch "$2" -o gcovr.out >/dev/null 2>&1
	want=$?
	cov --no-markers --fail-under-line "$1" --fail-under-branch "$2" -o report data 2>err
	is "status of lines $1, branches $2 is gcovr's" "$want" $?
done
check "what was missed is told" grep -q "% of lines ran ([0-9]* of [0-9]*), which is less than 99%" err
cov --fail-under-line 100 --fail-under-branch 100 --fail-under-function 100 --no-markers -o report -- ./marks 2>err
is "all three add up" 6 $?
gcc -O0 -g -Wno-unused-function -o more -x c - <<'C'
static int idle(void) { return 1; }
int main(void) { return 0; }
C
cov --fail-under-function 60 --trace more.data -o report -- ./more 2>err
is "functions" 16 $?
cov --fail-under-function 50 --fail-under-branch 100 -o report more.data 2>err
is "half of them is half; no branches are in order" 0 $?
cov --fail-under-line 101 data >out 2>err
is "no percentage" 64 $?
cov --fail-under-line x data >out 2>err
is "no number" 64 $?
./marks 3
want=$?
cov --fail-under-line 100 -o report -- ./marks 3 2>err
is "the program's own status comes first" "$want" $?
"$hwtrace" merge --fail-under-function 60 -o report more.data 2>err
is "merge has them too" 16 $?

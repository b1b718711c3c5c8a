# SPDX-License-Identifier: BSD-2-Clause
# hwtrace diff: what another run reached, of lines, of stripped programs, of the
# lines that a patch adds.
. tests/lib.sh

is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cd "$tmp" || exit 1
cat >old.c <<'C'
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	return sum < 0;
}
C
cat >little.c <<'C'
#include <stdlib.h>
static int unused(int x)
{
	return x + 1;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	if (sum > 1000)
		sum = unused(sum);
	if (sum == 3)
		sum = 4;
	return sum < 0;
}
C
gcc -O0 -g -fcf-protection=none -o little little.c
"$hwtrace" coverage --trace a.data --json a.json --lcov a.info -o report -- ./little 2>/dev/null
"$hwtrace" coverage --trace b.data --json b.json --lcov b.info -o report -- ./little 200 2>/dev/null
"$hwtrace" diff a.json b.json >got 2>err
is "status" 0 $?
cat >want <<'EOF'
reached by b.json alone:
little.c:3-5: lines
little.c:8: branch 1 of 1 not taken
little.c:11: branch 1 of 1 not taken
little.c:12: line
little.c:2: function unused

reached by a.json alone:
little.c:8: branch 1 of 1 taken
little.c:11: branch 1 of 1 taken

                         A               B     A alone     B alone
lines                 8/13           12/13           0           4
branches               5/8             5/8           2           2
functions              1/2             2/2           0           1
EOF
same "two reports, word for word" want got
"$hwtrace" diff a.data b.data 2>/dev/null | sed 's/\.data/.json/' >got
same "two captures" want got
"$hwtrace" diff a.json a.data >got 2>/dev/null
is "a run differs in nothing from itself" "" "$(grep -E '^little|[1-9]  *[0-9]*$' got | grep -v '/')"
"$hwtrace" merge --json sum.json -o report a.json b.json 2>/dev/null
"$hwtrace" diff sum.json b.json >got 2>/dev/null
is "nothing is in a part that is not in the sum" "0 0 0" "$(awk 'NF == 5 && /^(lines|branches|functions)/ { print $5 }' got | tr '\n' ' ' | sed 's/ $//')"

# -- new code
diff -u old.c little.c | sed 's,^--- old.c,--- a/little.c,; s,^+++ little.c,+++ b/little.c,' >patch
"$hwtrace" diff --diff-file patch a.json b.json >got 2>err
cat >want <<'EOF'
reached by b.json alone:
little.c:3-5: lines
little.c:12: line
little.c:11: branch 1 of 1 not taken
little.c:2: function unused

reached by a.json alone:
little.c:11: branch 1 of 1 taken

new code                 A               B     A alone     B alone
lines                  2/7             6/7           0           4
branches               2/4             2/4           1           1
functions              0/1             1/1           0           1
EOF
sort want >want.sorted && sort got >got.sorted
same "only lines of the patch" want.sorted got.sorted
if command -v diff-cover >/dev/null; then
	(git init -q -b main . && git config user.email a@b && git config user.name t && cp little.c new.c &&
		cp old.c little.c && git add little.c && git commit -qm one && git checkout -qb more &&
		cp new.c little.c && git commit -qam two) >git.log 2>&1
	diff-cover b.info --compare-branch main >theirs 2>theirs.err
	is "diff-cover counts the same new lines" "$(sed -n 's/^Total: *\([0-9]*\) lines.*/\1/p; s/^Missing: *\([0-9]*\) line.*/\1/p' theirs | tr '\n' ' ')" \
		"$(awk '/^lines/ { split($3, p, "/"); print p[2], p[2] - p[1], "" }' got)"
else
	skip "diff-cover" "diff-cover is not installed"
fi
"$hwtrace" diff --diff-file patch --fail-under-line 90 a.json b.json >got 2>err
is "a threshold for the new code" 2 $?
"$hwtrace" diff --diff-file patch --fail-under-line 85 a.json b.json >got 2>err
is "that is met" 0 $?
"$hwtrace" diff --diff-file - a.json b.json <patch >got.stdin 2>err
"$hwtrace" diff --diff-file patch a.json b.json >got 2>err
same "a patch on standard input" got got.stdin
head -n 6 patch >cut.patch
"$hwtrace" diff --diff-file cut.patch a.json b.json >got 2>err
is "a patch that was cut" 1 $?
check "is told by line" grep -q "cut.patch:6: the patch ends in the middle of a hunk" err
"$hwtrace" diff --diff-file little.c a.json b.json >got 2>err
is "a file that is no patch" 1 $?

# -- stripped programs
seq 20 >numbers
for n in 1 2; do
	"$hwtrace" coverage --trace sort$n.data --json sort$n.json -o report -- sort $([ $n = 2 ] && echo -n -r) numbers >/dev/null 2>&1
done
"$hwtrace" diff sort1.json sort2.json >got 2>err
check "other options of sort reach more branches" grep -Eq '/sort: branch 0x[0-9a-f]+ taken' got
check "and more functions" grep -Eq '/sort: function sort\+0x' got
is "the sum is what is listed" "$(sed -n '/sort2/,/^$/p' got | grep -c ' branch ')" "$(awk '/^branches/ { print $5 }' got)"
"$hwtrace" diff a.json >got 2>err
is "one file is too few" 64 $?

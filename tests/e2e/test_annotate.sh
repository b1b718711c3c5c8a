# SPDX-License-Identifier: BSD-2-Clause
# hwtrace annotate: the instructions of objdump, each with the times that it ran
# in the trace; source lines; both ways of a branch; cold and inlined code.
. tests/lib.sh

is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cd "$tmp" || exit 1
cat >little.c <<'C'
#include <stdlib.h>
static int twice(int x)
{
	return 2 * x;
}
static inline int small(int x)
{
	if (x == 3)
		return 30;
	return x;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	for (int i = 0; i < n; i++)
		sum += twice(i) + small(i);
	if (__builtin_expect(sum > 1000, 0))
		abort();
	return sum < 0;
}
C
# each LEVEL: counts of main() against the trace, addresses against objdump
each() {
	gcc "$1" -g -fcf-protection=none -no-pie -o "p$1" little.c
	"$hwtrace" coverage --trace data -o report -- "./p$1" 2>/dev/null
	"$hwtrace" annotate main data >got 2>err
	is "$1: status" 0 $?
	sed -n 's/^ *\([0-9#]*\)  *\([0-9a-f]\{4,\}\):  [a-z].*/\2 \1/p' got | sort >ours
	objdump -d --no-show-raw-insn "p$1" | sed -n '/<main\(\.cold\)\{0,1\}>:$/,/^$/p' >dump
	sed -n 's/^ *\([0-9a-f]*\):.*/\1/p' dump | sort >theirs
	sed -n '/nop\|xchg *%ax,%ax/s/^ *\([0-9a-f]*\):.*/\1/p' dump | sort >padding
	cut -d' ' -f1 ours >addresses
	is "$1: each instruction is objdump's" "" "$(comm -23 addresses theirs)"
	is "$1: and none but padding is missing" "" "$(comm -13 addresses theirs | comm -23 - padding)"
	"$hwtrace" script -i data --itrace=i1i -F ip 2>/dev/null | sed 's/ //g' | sort | uniq -c | awk '{ print $2, $1 }' | sort >ran
	join -a 1 addresses ran | awk '{ print $1, (NF > 1 ? $2 : "#####") }' >want
	same "$1: each count is that of the trace" want ours
}
each -O0
check "a source line with its count" grep -qxF "           6:   15:	for (int i = 0; i < n; i++)" got
check "a line that did not run" grep -qxF "       #####:   18:		abort();" got
check "both ways of a branch" grep -q "jl 0x[0-9a-f]*  \[taken 5, not taken 1\]$" got
check "the head" grep -q '^main (p-O0, 0x4[0-9a-f]*): entries 1$' got
"$hwtrace" annotate 'tw*' data >got 2>err
check "by a pattern" grep -q '^twice (p-O0' got
address=$(nm p-O0 | sed -n 's/^0*\([0-9a-f]*\) . twice$/0x\1/p')
"$hwtrace" annotate "$address" data >got2 2>err
same "by address" got got2
each -O2
check "the cold part is there, too" grep -q "another part of it" got
"$hwtrace" annotate small data >got 2>err
check "an inlined function is told" grep -q "1 of its 1 copies are inlined" got
strip -o bare p-O0
"$hwtrace" coverage --trace bare.data -o report -- ./bare 2>/dev/null
"$hwtrace" annotate "$address" bare.data >got 2>err
check "a stripped program by address" grep -q "^bare+$address (bare" got
check "with counts" grep -q '^ *5  ' got
"$hwtrace" annotate nothing data >out 2>err
is "no such function" 1 $?
check "is told" grep -q "no function 'nothing'" err
"$hwtrace" annotate >out 2>err
is "no function named" 64 $?
size=$(wc -c <data)
head -c $((size * 6 / 10)) data >cut.data
"$hwtrace" annotate main cut.data >got 2>err
check "no crash on a cut capture" [ $? -le 1 ]

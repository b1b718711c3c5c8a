# SPDX-License-Identifier: BSD-2-Clause
# The map of edges, made a second time from the instructions in order.
. tests/lib.sh

check_afl=$PWD/tests/tools/check_afl.py
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cov() { "$hwtrace" coverage "$@"; }
edges() { tr -d '\000' <"$1" | wc -c; }
cd "$tmp" || exit 1
cat >maze.c <<'C'
#include <stdlib.h>
static int step(int x, int n)
{
	switch (x) {
	case 1: return 2;
	case 2: return n > 3 ? 3 : 1;
	case 3: return n * 2;
	case 4: return 9;
	case 5: return abs(n);
	default: return x - 1;
	}
}
int main(int argc, char **argv)
{
	int at = 7, n = argc > 1 ? atoi(argv[1]) : 400;
	for (int i = 0; i < n; i++)
		at = step(at, i % 7);
	return at > 100;
}
C
gcc -O1 -g -static -o maze maze.c && gcc -O1 -g -o pie maze.c
cov --module maze --trace data --afl-map map -o table -- ./maze 2>err
is "status" 0 $?
is "size" 65536 "$(wc -c <map)"
"$hwtrace" script --itrace=i1i -F ip,dso,disasm data 2>/dev/null >insns
check "a static program: each counter" python3 "$check_afl" map maze 0 <insns
cov --module pie --trace data --afl-map map -o table -- ./pie 2>err
"$hwtrace" script --itrace=i1i -F ip,dso,disasm data 2>/dev/null >insns
# Where it was loaded: main in the trace and in the file.
main=$(nm pie | awk '$3 == "main" { print "0x" $1 }')
seen=$("$hwtrace" script --itrace=i1i -F ip,sym data 2>/dev/null | awk '$2 == "main" { print "0x" $1; exit }')
check "one that is loaded anywhere, beside its libraries" python3 "$check_afl" map pie "$((seen - main))" <insns
cov --module pie --afl-map map2 -o table -b ptrace -- ./pie 2>err
same "the same map whatever records" map map2
cov --module pie --afl-map map2 -o table -- ./pie 3 2>err
is "another input takes other ways" 1 "$(cmp -s map map2; echo $?)"
is "fewer of them" 1 "$(($(edges map2) < $(edges map)))"
cov --module pie --afl-map - data 2>err >out
same "to standard output" map out
cov --json json -o table data 2>/dev/null && "$hwtrace" merge --afl-map x json >out 2>err
is "reports have no order" 1 $?
check "which is told" grep -q "a map of edges needs the captures" err
cov --afl-map /dev/full -o table data 2>err
is "a full disk" 1 $?

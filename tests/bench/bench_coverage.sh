# SPDX-License-Identifier: BSD-2-Clause
# From a capture to lines: reading line tables, with functions and what was inlined
# into them, against a bare loop over libdw's line tables (ours over libdw's: the
# less the better); coverage as lcov against perf that tells the line of each branch
# (perf over ours).
. tests/bench/lib.sh
command -v perf >/dev/null || die "perf is not installed"

lines=$PWD/$BUILD/tests/bench/bench_lines
files="$hwtrace $BUILD/tests/bench/bench_pt"
versus "$lines ours $files" "$lines libdw $files"
row coverage.lines.vs_libdw "$cpu_a" "$cpu_b"

# The same on 100 MB of debug information: one unit many times (the linker puts strings together).
awk 'BEGIN {
	print "struct s { int a, b, c; };"
	for (i = 0; i < 1000; i++) {
		printf "static inline int in%d(struct s *p, int x)\n{\n\tint y = p->a + x;\n\tif (y > %d)\n\t\treturn y * x;\n\treturn p->c;\n}\n", i, i
		printf "static __attribute__((noinline)) int f%d(struct s *p, int n)\n{\n\tint sum = 0;\n", i
		printf "\tfor (int i = 0; i < n; i++) {\n\t\tint k = p->b * i;\n\t\tsum += in%d(p, k) + in%d(p, i);\n\t}\n", i, i
		printf "\tif (sum < n)\n\t\tsum += in%d(p, sum);\n\treturn sum;\n}\n", int(i / 2)
	}
	print "int unit(struct s *p)\n{\n\tint sum = 0;"
	for (i = 0; i < 1000; i++)
		printf "\tsum += f%d(p, sum);\n", i
	print "\treturn sum;\n}"
}' >"$tmp/unit.c"
echo 'int main(void) { return 0; }' >"$tmp/main.c"
gcc -O2 -g -c -o "$tmp/unit.o" "$tmp/unit.c" || die "the large program does not build"
one=$(size -A "$tmp/unit.o" | awk '/^\.debug/ { n += $2 } END { print n }')
for i in $(seq $((115000000 / one + 1))); do
	objcopy --redefine-sym unit=unit_$i "$tmp/unit.o" "$tmp/u$i.o"
done
gcc -o "$tmp/large" "$tmp/main.c" "$tmp"/u[0-9]*.o && rm -f "$tmp"/u*.o
[ "$(size -A "$tmp/large" | awk '/^\.debug/ { n += $2 } END { print n }')" -ge 100000000 ] || die "it is not large"
versus "$lines ours $tmp/large" "$lines libdw $tmp/large"
row coverage.lines.100mb.vs_libdw "$cpu_a" "$cpu_b"

record "$tmp/t.data" "$BUILD/samples/words" <README.md
[ "$("$hwtrace" coverage -i "$tmp/t.data" --lcov - 2>/dev/null | grep -c '^DA:.*[1-9]$')" -gt 10 ] ||
	die "the sample has no lines that ran"
ROUNDS=1
versus "perf script -i $tmp/t.data --itrace=b -F +srcline" "$hwtrace coverage -j 1 -i $tmp/t.data --lcov -"
row coverage.vs_perf_srcline "$cpu_a" "$cpu_b"

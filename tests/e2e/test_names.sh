# SPDX-License-Identifier: BSD-2-Clause
# Names of C++ functions: in the script as perf prints them, in coverage as
# nm prints them; and as they are in the file when asked for.
. tests/lib.sh

cat >"$tmp/shop.cpp" <<'C'
#include <string>
#include <vector>
namespace shop {
template <class T> struct basket {
	std::vector<T> all;
	void add(const T &t) { all.push_back(t); }
};
struct till {
	int operator()(int a, const char *b) const { return a + (b ? 1 : 0); }
	int idle(unsigned long long x) { return (int)x + 3; }
	~till();
};
till::~till() {}
}
int main(int argc, char **argv)
{
	shop::basket<std::string> b;
	shop::till t;
	auto plus = [&](int x) { return x + argc; };
	b.add("a");
	if (argc > 3)
		return t.idle(4);
	return t(1, argv[0]) + plus(1) == 4 ? 0 : 1;
}
C
g++ -O0 -g -o "$tmp/shop" "$tmp/shop.cpp" || { fail "names" "the program does not build"; exit 0; }
"$hwtrace" coverage --trace "$tmp/data" --json "$tmp/json" -o "$tmp/report" -- "$tmp/shop" 2>/dev/null
check "a C++ program" [ $? = 0 ]

# Functions of the program's own by linkage name -> full name, against nm's.
python3 - "$tmp/json" >"$tmp/ours" <<'P'
import json, sys
for f in json.load(open(sys.argv[1]))["functions"]:
    if "linkage_name" in f:
        print(f["linkage_name"], f["full_name"])
P
nm -C --no-sort "$tmp/shop" | sed 's/^[0-9a-f]* *[A-Za-z] //' >"$tmp/plain"
nm --no-sort "$tmp/shop" | sed 's/.* //' | paste -d ' ' - "$tmp/plain" | sort -u >"$tmp/all"
sort -u "$tmp/ours" | grep -v 'C4E\|D4E' | awk 'NR == FNR { has[$1] = 1; next } $1 in has' "$tmp/all" - >"$tmp/got"
awk 'NR == FNR { want[$1] = 1; next } $1 in want' "$tmp/got" "$tmp/all" >"$tmp/want"
check "some names are compared" [ "$(wc -l <"$tmp/got")" -ge 3 ]
same "full names as nm demangles them" "$tmp/want" "$tmp/got"
check "the table shows them" grep -q '^shop::till::operator()(int, char const\*) const ' "$tmp/report"
check "a function that did not run, too" grep -q '^shop::till::idle(unsigned long long) ' "$tmp/report"

if ! command -v perf >/dev/null; then
	skip "names as perf prints them" "perf is not installed"
	exit 0
fi
for how in "" --no-demangle; do
	perf script -i "$tmp/data" --itrace=b -F ip,sym,dso $how 2>/dev/null | grep 'shop)$' >"$tmp/perf"
	"$hwtrace" script -i "$tmp/data" --itrace=b -F ip,sym,dso $how 2>/dev/null | grep 'shop)$' >"$tmp/ours"
	check "there are names${how:+ with $how}" grep -q "$([ "$how" ] && echo _ZNK4shop4tillclEiPKc || echo 'shop::till::operator()')" "$tmp/perf"
	# perf gives the linkage stubs other names.
	awk 'NR == FNR { want[FNR] = $0; n = FNR; next }
	     /@plt|\[unknown\]|\.plt/ || want[FNR] ~ /@plt|\[unknown\]|\.plt/ { next }
	     { if (want[FNR] == $0) equal++; else { bad++; if (bad < 5) print want[FNR] "\n  here: " $0 } }
	     END { exit !(n == FNR && equal && !bad) }' "$tmp/perf" "$tmp/ours" >"$tmp/out" &&
		pass "names as perf prints them${how:+ with $how}" ||
		{ fail "names as perf prints them${how:+ with $how}" "see below"; sed 's/^/    /' "$tmp/out"; }
done

# Functions that no line declares, as in Go and with -gline-tables-only: one, however many
# copies there are and wherever these begin; left out with the file that their code is in.
cat >"$tmp/grow.h" <<'C'
static inline int grow(int x)
{
	if (x > 100)
		abort();
	return twice(x * x + 7);
}
C
cat >"$tmp/undeclared.c" <<'C'
#include <stdlib.h>
__attribute__((noinline)) static int twice(int x)
{
	return x * 2;
}
#include "grow.h"
int main(int argc, char **argv)
{
	volatile int a = argc;
	a = grow(a);
	return grow(3) == a ? grow(a) : 0;
}
C
clang -O2 -gline-tables-only -o "$tmp/undeclared" "$tmp/undeclared.c"
"$hwtrace" coverage --lcov "$tmp/lcov" --trace "$tmp/undeclared.data" -- "$tmp/undeclared" >/dev/null 2>&1
check "a function without a declaration: its first line, once" \
	test "$(grep '^FN:.*grow' "$tmp/lcov")" = "FN:3,grow"
"$hwtrace" coverage --exclude grow.h --functions "$tmp/undeclared.data" >"$tmp/functions" 2>/dev/null
check "and left out with its file" test "$(grep -c grow "$tmp/functions")$(grep -c main "$tmp/functions")" = 01

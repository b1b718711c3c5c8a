# SPDX-License-Identifier: BSD-2-Clause
# Split debug information: the report is that of the same program with all of it
# in one file; what is missing is told.
. tests/lib.sh

is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cd "$tmp" || exit 1
cat >a.c <<'C'
int two(int);
static inline __attribute__((always_inline)) int one(int x)
{
	return x + 1;
}
int main(int argc, char **argv)
{
	int s = one(argc);
	if (argc > 4)
		s = two(s);
	return s == 7;
}
C
cat >b.c <<'C'
static int twice(int x)
{
	return x * 2;
}
int two(int x)
{
	return twice(x) + 3;
}
C
gcc -O1 -g -o plain a.c b.c && "$hwtrace" coverage --lcov want -o table -- ./plain 2>err
check "the inlined function is in the whole" grep -q '^FN:.*,one$' want
for v in 4 5; do
	gcc -O1 -g -gdwarf-$v -gsplit-dwarf -c a.c b.c && gcc -o split a.o b.o
	"$hwtrace" coverage --trace data --lcov got -o table -- ./split 2>err
	same "DWARF $v: lines, branches and functions of the .dwo files" want got
	is "DWARF $v: nothing is told" "lost: nothing" "$(grep -v recorded err)"
	rm b.dwo
	"$hwtrace" coverage --lcov got -o table data 2>err
	check "DWARF $v: one that is gone is told" grep -q "split: the split debug information of 1 of its units was not found" err
	is "DWARF $v: lines are still known" "$(grep -c '^DA:' want)" "$(grep -c '^DA:' got)"
	check "DWARF $v: and its functions by symbol" grep -q '^FN.*,two$' got
	rm a.dwo
	"$hwtrace" coverage --json json -o table data 2>err
	is "DWARF $v: both" 2 "$(python3 -c "import json; print([m['split_missing'] for m in json.load(open('json'))['modules'] if m['path'].endswith('/split')][0])")"
done

# Packages.  GNU's dwp of Debian 12 ends in a crash with GCC's DWARF 5, and LLVM's does not end.
package() { # COMPILER VERSION PACKER
	name="$1, DWARF $2, $3"
	rm -f ./*.dwo ./*.dwp
	$1 -O1 -g -o plain a.c b.c && "$hwtrace" coverage --lcov want -o table -- ./plain 2>err
	$1 -O1 -g -gdwarf-$2 -gsplit-dwarf -c a.c b.c && $1 -o split a.o b.o
	"$hwtrace" record -q -o data -- ./split
	$3 -e split -o split.dwp 2>err || fail "$name: packed" "$(cat err)"
	rm ./*.dwo
	"$hwtrace" coverage --lcov got -o table data 2>err
	same "$name: lines, branches and functions of the package" want got
	check "$name: those that are inlined, too" grep -q '^FN:.*,one$' got
	is "$name: nothing is told" "lost: nothing" "$(grep -v recorded err)"
	at=$(readelf -SW split.dwp | sed -n 's/.*\.debug_info\.dwo *PROGBITS *[0-9a-f]* *\([0-9a-f]*\) .*/\1/p')
	printf '\377\377\377\177' | dd of=split.dwp bs=1 seek=$((0x$at)) conv=notrunc 2>err
	"$hwtrace" coverage --lcov got -o table data 2>err
	is "$name: a unit that is longer than the package: status" 0 $?
	check "$name: and told" grep -q "split: the split debug information of 1 of its units was not found" err
	head -c $(($(wc -c <split.dwp) * 2 / 3)) split.dwp >cut && mv cut split.dwp
	"$hwtrace" coverage --lcov got -o table data 2>err
	is "$name: cut: status" 0 $?
	check "$name: cut: told" grep -q "split: the split debug information of 2 of its units was not found" err
}
package gcc 4 dwp
package clang 4 llvm-dwp
package clang 5 llvm-dwp

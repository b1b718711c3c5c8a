# SPDX-License-Identifier: BSD-2-Clause
# hwtrace coverage end to end: kinds of programs, several processes and
# captures, formats by their own readers, exit statuses, loss.
. tests/lib.sh

cov() { "$hwtrace" coverage "$@"; }
# field FILE EXPRESSION: of a JSON report, by python
field() { python3 -c "import json; r = json.load(open('$1')); print($2)"; }
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}

cat >"$tmp/little.c" <<'C'
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
	return sum == 20 ? 0 : 3;
}
C
gcc -O0 -g -fcf-protection=none -o "$tmp/little" "$tmp/little.c"

# -- the report, word for word
cov --trace "$tmp/little.data" -o "$tmp/report" --json "$tmp/json" --lcov "$tmp/info" -- "$tmp/little" >"$tmp/out" 2>"$tmp/err"
is "status of a program that went well" 0 $?
is "the program's standard output is its own" "" "$(cat "$tmp/out")"
check "software recording is told" grep -q "branches exact, times emulated" "$tmp/report" "$tmp/err"
check "no loss is told" grep -qx "lost: nothing" "$tmp/err"
cat >"$tmp/want" <<EOF
TN:
SF:$tmp/little.c
FN:2,twice
FN:6,unused
FN:10,main
FNDA:5,twice
FNDA:0,unused
FNDA:1,main
FNF:3
FNH:2
BRDA:12,0,0,1
BRDA:12,0,1,0
BRDA:13,0,0,5
BRDA:13,0,1,1
BRDA:15,0,0,1
BRDA:15,0,1,0
BRDA:17,0,0,0
BRDA:17,0,1,1
BRF:8
BRH:5
DA:3,5
DA:4,5
DA:5,5
DA:7,0
DA:8,0
DA:9,0
DA:11,1
DA:12,1
DA:13,6
DA:14,5
DA:15,1
DA:16,0
DA:17,1
DA:18,1
LF:14
LH:10
end_of_record
EOF
same "lcov tracefile, word for word" "$tmp/want" "$tmp/info"
(cd "$tmp" && cov --uncovered little.data) >"$tmp/got" 2>/dev/null
addresses='s/(0x[0-9a-f]*)/(ADDRESS)/'
sed "$addresses" "$tmp/got" >"$tmp/got.plain"
cat >"$tmp/want" <<'EOF'
little.c:7-9: not executed
little.c:16: not executed
little.c:12: branch 1 of 1 (ADDRESS) always taken
little.c:15: branch 1 of 1 (ADDRESS) always taken
little.c:17: branch 1 of 1 (ADDRESS) never taken
EOF
same "list of what did not run" "$tmp/want" "$tmp/got.plain"
(cd "$tmp" && cov --source little.data) 2>/dev/null >"$tmp/got"
check "source: a line that ran" grep -qF "           6:   13:	for (int i = 0; i < n; i++)" "$tmp/got"
check "source: a line that did not" grep -qF "       #####:   16:		sum = unused(sum);" "$tmp/got"
check "source: a line without code" grep -qF "           -:    1:#include <stdlib.h>" "$tmp/got"
check "source: a branch" grep -qF "branch 1: taken 5, not taken 1" "$tmp/got"

# -- the table and JSON say the same, and lcov's own readers do
check "lcov reads the tracefile" lcov --rc lcov_branch_coverage=1 --summary "$tmp/info"
cp "$tmp/.check" "$tmp/summary"
check "lcov counts the same lines" grep -q "10 of 14 lines" "$tmp/summary"
check "lcov counts the same branches" grep -q "5 of 8 branches" "$tmp/summary"
check "lcov counts the same functions" grep -q "2 of 3 functions" "$tmp/summary"
check "genhtml makes a report" genhtml --branch-coverage -q -o "$tmp/html" "$tmp/info"
is "genhtml warns of nothing" "" "$(cat "$tmp/.check")"
check "the table has the same lines" grep -Eq '^total +10/14 +71\.4% +5/8 +62\.5% +2/3 +66\.7%' "$tmp/report"
is "JSON: lines" "10 14 0" "$(field "$tmp/json" "*[r['totals']['lines'][k] for k in ('hit', 'all', 'unknown')]")"
is "JSON: entries of twice" 5 "$(field "$tmp/json" "[f['entries'] for f in r['functions'] if f['name'] == 'twice'][0]")"
is "JSON: files sum up to the total" True "$(field "$tmp/json" "sum(f['totals']['lines']['hit'] for f in r['files']) == r['totals']['lines']['hit']")"

# -- statuses
cov -o "$tmp/report" -- "$tmp/little" 7 >"$tmp/out" 2>"$tmp/err"
is "a program's own status is passed on" 3 $?
check "and told" grep -q "ended with status 3" "$tmp/err"
cov -o "$tmp/report" -- sh -c 'kill -TERM $$' >"$tmp/out" 2>"$tmp/err"
is "death by a signal gives 128 + its number" 143 $?
cov -- "$tmp/no-such-program" >"$tmp/out" 2>&1
is "a program that is not there" 127 $?
(cd "$tmp" && cov -- ./nope >out 2>err)
is "and told in plain words" "hwtrace: ./nope: No such file or directory" "$(cat "$tmp/err")"
cov "$tmp/no-such-file" >"$tmp/out" 2>&1
is "a capture that is not there" 1 $?
cov --trace x "$tmp/little.data" >"$tmp/out" 2>&1
is "options of a command without a command" 64 $?
is "nothing is left behind in TMPDIR" 0 "$(mkdir "$tmp/t"; TMPDIR=$tmp/t cov -o "$tmp/report" -- "$tmp/little" >/dev/null 2>&1; ls "$tmp/t" | wc -l)"

# -- what is read is not written to, by whatever name
cp "$tmp/little.data" "$tmp/kept.data"
ln -s kept.data "$tmp/soft" && ln "$tmp/kept.data" "$tmp/hard"
spared() { # OPTION OUT ARGUMENT...
	option=$1 out=$2
	shift 2
	cov "$option" "$out" "$@" >"$tmp/out" 2>"$tmp/err"
	is "$option is not the capture: status" 1 $?
	want="hwtrace: $out: is the capture itself; name another file with $option"
	is "$option is not the capture: told" "$want" "$(cat "$tmp/err" "$tmp/out")"
	same "$option is not the capture: kept" "$tmp/little.data" "$tmp/kept.data"
}
outputs=$(cov --help | sed -n 's/^  .*--\([a-z0-9-]*\) \(FILE\|DB\|DIR\)  .*/\1/p' |
	grep -vx 'input\|pt\|pages\|map\|symfs\|trace\|output')
is "options that write" 13 "$(echo $outputs | wc -w)"
for option in $outputs; do
	spared "--$option" "$tmp/kept.data" "$tmp/kept.data"
done
spared -o "$tmp/kept.data" "$tmp/kept.data"
spared -o "$tmp/soft" -i "$tmp/kept.data"
spared --lcov "$tmp/hard" "$tmp/soft"
cov -o "$tmp/kept.data" - <"$tmp/kept.data" >"$tmp/out" 2>"$tmp/err"
is "a capture through standard input" 1 $?
same "is kept" "$tmp/little.data" "$tmp/kept.data"
cov --json "$tmp/kept.data" "$tmp/little.data" "$tmp/kept.data" >"$tmp/out" 2>"$tmp/err"
is "one of two captures" 1 $?
same "is kept too" "$tmp/little.data" "$tmp/kept.data"
cov --trace "$tmp/new.data" -o "$tmp/new.data" -- touch "$tmp/ran" >"$tmp/out" 2>"$tmp/err"
is "nor is the trace of a command" 1 $?
check "which does not run for it" test ! -e "$tmp/ran"
cov -o "$tmp/kept.data" --pt "$tmp/little.data" --elf "$tmp/kept.data@0x1000" >"$tmp/out" 2>&1
is "nor is a part of a raw capture" 1 $?
same "is kept as well" "$tmp/little.data" "$tmp/kept.data"

cov -o /dev/full "$tmp/little.data" >"$tmp/out" 2>"$tmp/err"
is "a full disk" 1 $?
check "and told" grep -q "/dev/full: cannot be written: No space left" "$tmp/err"
cov --lcov /dev/full -o "$tmp/report" "$tmp/little.data" 2>/dev/null
is "a full disk for the tracefile" 1 $?
cov --module 'no-such-*' "$tmp/little.data" >"$tmp/out" 2>"$tmp/err"
is "no module that matches" 1 $?
cp "$tmp/little" "$tmp/gone"
cov --trace "$tmp/gone.data" -o "$tmp/report" -- "$tmp/gone" 2>/dev/null
rm "$tmp/gone"
cov "$tmp/gone.data" >"$tmp/out" 2>"$tmp/err"
is "a program that went away" 1 $?
check "is named" grep -q "gone (build-id .*was not found" "$tmp/err"
cp "$tmp/little.c" "$tmp/gone.c" && echo 'int more;' >>"$tmp/gone.c" && gcc -O1 -g -o "$tmp/gone" "$tmp/gone.c"
cov "$tmp/gone.data" >"$tmp/out" 2>"$tmp/err"
is "a program that was built anew" 1 $?
check "is told" grep -q "not the file that ran" "$tmp/err"
check "is no coverage" grep -q "^total  *-  *-  *-  *- *$" "$tmp/out"

# -- several captures add up, in any order
cov --trace "$tmp/more.data" -o "$tmp/report" -- "$tmp/little" 50 >/dev/null 2>&1
cov --lcov "$tmp/ab" -o "$tmp/ab.txt" "$tmp/little.data" "$tmp/more.data" 2>/dev/null
cov --lcov "$tmp/ba" -o "$tmp/ba.txt" "$tmp/more.data" "$tmp/little.data" 2>/dev/null
same "two captures in either order" "$tmp/ab" "$tmp/ba"
same "and their tables" "$tmp/ab.txt" "$tmp/ba.txt"
check "their counts add up" grep -qx "DA:4,55" "$tmp/ab"
check "what the second alone reached is hit" grep -qx "DA:8,1" "$tmp/ab"

# -- several processes
printf '%s; %s 3; (%s 2 & wait)\nexit 0\n' "$tmp/little" "$tmp/little" "$tmp/little" >"$tmp/run.sh"
cov --lcov "$tmp/procs" -o "$tmp/report" -- sh "$tmp/run.sh" >/dev/null 2>&1
check "three processes of a script" grep -qx "DA:4,10" "$tmp/procs"
check "entries of main" grep -qx "FNDA:3,main" "$tmp/procs"
is "the shell is not part of the report" 1 "$(grep -c ^SF: "$tmp/procs")"

# -- static, stripped, separate debug file, optimised
gcc -O0 -g -fcf-protection=none -static -o "$tmp/static" "$tmp/little.c"
cov --lcov "$tmp/static.info" -o "$tmp/report" -- "$tmp/static" >/dev/null 2>&1
same "a static program: the same lines, and no line of the C library" "$tmp/info" "$tmp/static.info"
gcc -O0 -g -fcf-protection=none -no-pie -o "$tmp/nopie" "$tmp/little.c"
cov --lcov "$tmp/nopie.info" -o "$tmp/report" -- "$tmp/nopie" >/dev/null 2>&1
same "a program at a fixed address" "$tmp/info" "$tmp/nopie.info"

objcopy --only-keep-debug "$tmp/little" "$tmp/apart.debug"
(cd "$tmp" && strip -o apart little && objcopy --add-gnu-debuglink=apart.debug apart)
cov --lcov "$tmp/apart.info" -o "$tmp/report" -- "$tmp/apart" >/dev/null 2>&1
same "debug information in a file of its own" "$tmp/info" "$tmp/apart.info"

strip -o "$tmp/stripped" "$tmp/little"
cov --json "$tmp/stripped.json" -o "$tmp/report" -- "$tmp/stripped" >/dev/null 2>"$tmp/err"
check "a stripped program is covered by its unwind tables" grep -q "unwind tables" "$tmp/report"
field "$tmp/json" "'\n'.join(sorted(f['address'] + ' ' + f['state'] + ' ' + str(f['totals']['instructions']['hit']) + '/' + str(f['totals']['instructions']['all']) for f in r['functions']))" >"$tmp/want"
field "$tmp/stripped.json" "'\n'.join(sorted(f['address'] + ' ' + f['state'] + ' ' + str(f['totals']['instructions']['hit']) + '/' + str(f['totals']['instructions']['all']) for f in r['functions']))" >"$tmp/got.all"
grep -xFf "$tmp/want" "$tmp/got.all" >"$tmp/got"
same "its functions ran as those of the same program with symbols" "$tmp/want" "$tmp/got"

cat >"$tmp/fast.c" <<'C'
static volatile int sink;
static inline void put(int x)
{
	if (x == 3)
		sink = 33;
	sink = x;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 4 * argc; i++)
		put(i);
	if (argc > 5)
		put(argc);
	return 0;
}
C
gcc -O2 -g -o "$tmp/fast" "$tmp/fast.c"
cov --json "$tmp/fast.json" --lcov "$tmp/fast.info" -o "$tmp/report" -- "$tmp/fast" >/dev/null 2>&1
put="[f for f in r['functions'] if f['name'] == 'put'][0]"
is "an inlined function is found in its copies" "hit 2 2" "$(field "$tmp/fast.json" "$put['state'], $put['copies'], $put['inlined']" | tr -d "(),'")"
check "a line in an inlined function" grep -qx "DA:5,1" "$tmp/fast.info"

# -- a program of many files: hwtrace itself
cov --json "$tmp/self.json" --lcov "$tmp/self.info" -o "$tmp/report" -- "$hwtrace" list >/dev/null 2>"$tmp/err"
is "a large program" 0 $?
check "lcov and JSON say the same of a large program" python3 tests/tools/check_lcov.py "$tmp/self.json" "$tmp/self.info"
check "and of a small one" python3 tests/tools/check_lcov.py "$tmp/json" "$tmp/info"
check "lcov reads it" lcov --rc lcov_branch_coverage=1 --summary "$tmp/self.info"
check "genhtml makes its report" genhtml --branch-coverage -q -o "$tmp/html-self" "$tmp/self.info"
is "genhtml warns of nothing there" "" "$(cat "$tmp/.check")"

# -- dlopen
printf '%s\n' 'int plug(int x)' '{' '	if (x > 1)' '		return 7;' '	return 0;' '}' >"$tmp/plug.c"
printf '%s\n' 'int idle(void)' '{' '	return 1;' '}' >"$tmp/idle.c"
cat >"$tmp/host.c" <<'C'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *idle = dlopen(argv[2], RTLD_NOW), *h = dlopen(argv[1], RTLD_NOW);
	int (*plug)(int) = h ? (int (*)(int))dlsym(h, "plug") : 0;
	int rc = plug && idle ? plug(argc) : 1;
	dlclose(h);
	return rc == 7 ? 0 : 1;
}
C
gcc -O0 -g -shared -fPIC -o "$tmp/plug.so" "$tmp/plug.c" && gcc -O0 -g -shared -fPIC -o "$tmp/idle.so" "$tmp/idle.c" &&
	gcc -O0 -g -o "$tmp/host" "$tmp/host.c" -ldl
cov --lcov "$tmp/dl.info" -o "$tmp/report" -- "$tmp/host" "$tmp/plug.so" "$tmp/idle.so" >/dev/null 2>"$tmp/err"
is "dlopen: status" 0 $?
is "dlopen: three files" 3 "$(grep -c ^SF: "$tmp/dl.info")"
sed -n '/plug.c/,/end_of/p' "$tmp/dl.info" >"$tmp/plug.info"
check "dlopen: a line of the plugin" grep -qx "DA:4,1" "$tmp/plug.info"
check "dlopen: a line that it left out" grep -qx "DA:5,0" "$tmp/plug.info"
check "dlopen: a library that was loaded only" grep -qx "FNDA:0,idle" "$tmp/dl.info"

# -- choice
cov --module 'libc.so*' --json "$tmp/libc.json" -o "$tmp/report" "$tmp/little.data" 2>/dev/null
is "a module by name" "True" "$(field "$tmp/libc.json" "[m['path'] for m in r['modules'] if m['covered']][0].endswith('libc.so.6')")"
check "a library's functions by symbol" grep -q "atoi\|__libc_start_main" "$tmp/report"
cov --exclude '*/little.c' --lcov "$tmp/none" -o "$tmp/report" "$tmp/little.data" 2>"$tmp/err"
is "a source left out" 0 "$(grep -c ^SF: "$tmp/none")"
check "an empty tracefile is told" grep -q "lcov file is empty" "$tmp/err"

# -- loss: what is cut off is told, and no line is invented
size=$(wc -c <"$tmp/more.data")
head -c $((size * 7 / 10)) "$tmp/more.data" >"$tmp/cut.data"
cov --lcov "$tmp/cut.info" -o "$tmp/report" "$tmp/cut.data" 2>"$tmp/err"
is "a cut capture is read" 0 $?
check "and its loss is told" grep -q "^lost: .*cut" "$tmp/err"
cov --fail-on-loss -o "$tmp/report" "$tmp/cut.data" 2>/dev/null
is "--fail-on-loss" 65 $?
cov --fail-on-loss -o "$tmp/report" "$tmp/more.data" 2>/dev/null
is "--fail-on-loss without loss" 0 $?
cov --lcov "$tmp/more.info" -o "$tmp/report" "$tmp/more.data" 2>/dev/null
sed -n 's/^DA:\([0-9]*\),[1-9].*/\1/p' "$tmp/cut.info" >"$tmp/cut.hit"
sed -n 's/^DA:\([0-9]*\),[1-9].*/\1/p' "$tmp/more.info" >"$tmp/more.hit"
is "no line is hit that was not" "" "$(grep -vxFf "$tmp/more.hit" "$tmp/cut.hit")"

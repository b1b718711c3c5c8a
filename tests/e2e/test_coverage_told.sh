# SPDX-License-Identifier: BSD-2-Clause
# What a report says beside its figures, and what it refuses; optimised lines
# beside gcov's.
. tests/lib.sh

hoist=$PWD/tests/programs/hoist.c
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
cov() { "$hwtrace" coverage "$@"; }
field() { python3 -c "import json; r = json.load(open('$1')); print($2)"; }
cd "$tmp" || exit 1
cat >quick.S <<'S'
	.text
	.globl quick
	.type quick, @function
quick:	mov %edi, %eax
	ret
	.size quick, . - quick
	.section .note.GNU-stack, "", @progbits
S
cat >two.c <<'C'
int quick(int);
static int unused(int x)
{
	return x + 1;
}
static int unused2(int x)
{
	return x + 2;
}
int main(int argc, char **argv)
{
	if (argc > 1)
		return unused(argc) + unused2(argc);
#ifdef EXTRA
	if (argc > 7)
		return 9;
#endif
	return quick(0);
}
C
gcc -c quick.S && gcc -O0 -g -o one two.c quick.o && gcc -O0 -g -DEXTRA -o other two.c quick.o

# -- a command of its own has no capture that anyone knows of
cov --json json -- ./one >out 2>err
is "the scratch file is named nowhere" "" "$(grep -h 'perf\.data' out err json)"
is "the label stands once" 1 "$(cat out err | grep -c 'times emulated')"
is "the report names the command" "./one" "$(field json "' '.join(r['captures'])")"
cov --json json2 -o table -- ./one >/dev/null 2>&1
same "the same run gives the same bytes" json json2
cov --trace kept.data --json json -o table -- ./one 2>err
is "a capture that was kept is named" "kept.data" "$(field json "' '.join(r['captures'])")"

# -- what did not run, function by function, binary by binary
cov --uncovered -- sh -c "./one; ./other" >got 2>err
cat >want <<'W'
two.c:3-5: not executed
two.c:7-9: not executed
two.c:13: not executed
two.c:16: not executed
two.c:12: branch 1 of 1 (one ADDRESS) always taken
two.c:15: branch 1 of 1 (other ADDRESS) always taken
W
sed 's/0x[0-9a-f]*/ADDRESS/' got >plain
same "ranges end with their function, branches of two builds name theirs" want plain

# -- functions without lines
cov -o table kept.data 2>err
check "functions without lines are told" \
	grep -q "/one: 1 function without line information is left out, quick among them; --all-functions" err
is "and are not in the table" 0 "$(grep -c quick table)"
cov --all-functions -o table kept.data 2>err
is "--all-functions has them" 1 "$(grep -c '^quick ' table)"
is "and nothing is told of them" 0 "$(grep -c 'left out' err)"
gcc -O0 -g -o plain_c -x c - <<'C'
int main(void) { return 0; }
C
cov -o table -- ./plain_c 2>err
is "what the compiler adds to each program is not told" "lost: nothing" "$(cat err)"

# -- choices
cov --functions --uncovered kept.data >got 2>/dev/null
check "--functions --uncovered: the table" grep -q '^unused  two.c:2' got
check "--functions --uncovered: the list" grep -q '^two.c:3-5: not executed' got
check "--functions --uncovered: the modules" grep -q '^one: functions found by' got
cov --source --files kept.data >got 2>/dev/null
check "--source --files: both" sh -c "grep -q '#####:    4:' got && grep -q '^total ' got"
cov --include nosuch.c kept.data >got 2>err
is "--include that nothing matches: status" 1 $?
check "and told" grep -q "no source file matches --include" err
strip -o stripped one && cov --trace stripped.data -o table -- ./stripped 2>/dev/null
cov --source stripped.data >got 2>err
is "--source without lines: status" 1 $?
check "and told" grep -q "no module of the report has line information" err
cov --source --module one kept.data >got 2>err
is "--source with lines: status" 0 $?

# -- programs that went away
cp one gone && "$hwtrace" record -q -o gone.data -- ./gone && rm gone
cov gone.data >got 2>err
check "a missing program is the cause of what follows" grep -q "code is missing, and what returns into it cannot be followed" err
check "and is named" grep -q "gone (build-id [0-9a-f]*) was not found" err
cov gone.data >got 2>err
is "nothing is left to report on: status" 1 $?
check "and told" grep -q '^hwtrace: no file of the program was found as it was recorded$' err
"$hwtrace" merge --json gone.json gone.data >got 2>err
is "merge of nothing: status" 1 $?
check "and told" grep -q '^hwtrace: no file of the program was found as it was recorded$' err
"$hwtrace" merge gone.json >got 2>err
is "merge of a report on nothing: status" 1 $?
"$hwtrace" merge gone.data kept.data >got 2>err
is "merge with one that was found: status" 0 $?
check "the other is named" grep -q '^hwtrace: warning: .*/gone: not covered: .* was not found' err
"$hwtrace" diff kept.data gone.data >got 2>err
is "diff with nothing: status" 1 $?
check "and told" grep -q '^hwtrace: no file of the program was found as it was recorded$' err
(ulimit -n 4; exec "$hwtrace" coverage --all-modules kept.data) >table 2>err
check "too few descriptors are not a file that is missing" sh -c "grep -q 'not covered: .* cannot be opened: too many open files; raise the limit that ulimit -n shows$' err && ! grep -q 'was not found' err"
cov kept.data 2>&1 >/dev/null | grep -c "code is missing" >got
is "of nothing else that is said" 0 "$(cat got)"

# -- a file that ends before the program began
"$hwtrace" record -q -o whole.data -- ./one
size=$(wc -c <whole.data)
for part in 40 60 80; do
	head -c $((size * part / 100)) whole.data >cut.data
	cov --json cut.json -o table cut.data 2>err || continue
	is "cut at $part %: nothing is missed" 0 "$(field cut.json "sum(l['state'] == 'not hit' for f in r['files'] for l in f['lines'])")"
	check "cut at $part %: told" grep -q "^lost: .*cut" err
done
is "the last cut still has lines" 0 "$(field cut.json "int(not r['totals']['lines']['all'])")"

# -- optimised code: what did not run is not hit through parts of it that were moved
mkdir gcov && (cd gcov && gcc -O0 --coverage -o prog "$hoist" && ./prog && gcov -t prog*.gcda >../hoist.gcov) >/dev/null 2>&1
sed -n 's/^ *#####: *\([0-9]*\):.*/\1/p' hoist.gcov | sort >missed
is "gcov knows lines that did not run" 1 "$(($(wc -l <missed) > 3))"
for o in gcc\ -O0 gcc\ -O1 gcc\ -O2 gcc\ -O3 gcc\ -Os clang\ -O0 clang\ -O2; do
	$o -g -o hoist "$hoist" && cov --lcov info -o table -- ./hoist 2>/dev/null
	sed -n 's/^DA:\([0-9]*\),[1-9].*/\1/p' info | sort >hit
	is "$o: no line is hit that did not run" "" "$(comm -12 missed hit | xargs)"
	is "$o: most lines are there" 1 "$(($(grep -c ^DA: info) > 17))"
done

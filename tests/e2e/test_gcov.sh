# SPDX-License-Identifier: BSD-2-Clause
# Lines of an uninstrumented program against gcov's of the same source, built
# with --coverage and run alike.  What differs rightfully is explained: by the
# rules in tests/tools/compare_gcov.py, and line by line here.
. tests/lib.sh

top=$PWD
: >"$tmp/nothing"

# against NAME SOURCE EXPLAINED ARGUMENT...
against() {
	name=$1 source=$2 explained=$3 dir=$tmp/$1
	shift 3
	case $source in /*) ;; *) source=$top/$source ;; esac
	mkdir -p "$dir/gcov"
	if ! gcc -O0 -g -o "$dir/plain" "$source" || ! gcc -O0 -g --coverage -o "$dir/gcov/prog" "$source"; then
		fail "gcov: $name" "the program does not build"
		return
	fi
	(cd "$dir/gcov" && { ./prog "$@" >../want.out 2>/dev/null; echo $? >../want.rc; gcov -i -t prog-*.gcda >../want.json; })
	"$hwtrace" coverage -o "$dir/report" --json "$dir/got.json" \
		-- "$dir/plain" "$@" >"$dir/out" 2>"$dir/err"
	echo $? >"$dir/rc"
	same "gcov: $name: the program's output" "$dir/want.out" "$dir/out"
	same "gcov: $name: its status" "$dir/want.rc" "$dir/rc"
	check "gcov: $name: nothing was lost" grep -qx "lost: nothing" "$dir/err"
	check "gcov: $name: lines agree" python3 tests/tools/compare_gcov.py \
		"$dir/want.json" "$dir/got.json" "$dir/plain" --explained "$explained"
	sed -n 's/^\([0-9]* lines in both.*\)/    \1/p' "$tmp/.check"
}

printf 'The quick brown fox\njumps over the lazy dog\nthe end\n' >"$tmp/text"
against words samples/wordcount.c "$tmp/nothing" "$tmp/text"
against words-options samples/wordcount.c "$tmp/nothing" -i -n 3 "$tmp/text" "$tmp/text"
against words-usage samples/wordcount.c "$tmp/nothing" -x
against words-missing samples/wordcount.c "$tmp/nothing" "$tmp/no-such-file"

# setjmp() returns a second time; gcov counts the ways that lead to the line.
n=$(grep -n 'setjmp(env)' tests/programs/covercase.c | cut -d: -f1)
printf 'count\tcovercase.c:%s\tsetjmp returns twice\n' "$n" >"$tmp/twice"
against shapes-0 tests/programs/covercase.c "$tmp/twice"
against shapes-3 tests/programs/covercase.c "$tmp/twice" 3
against shapes-9 tests/programs/covercase.c "$tmp/twice" 9 again

# What the manual names: a conditional on two lines, and what a handler breaks off.
cat >"$tmp/jumps.c" <<'C'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;
static volatile int zero, caught;

static void
on_signal(int sig)
{
	caught++;
	siglongjmp(back, sig);
}

static int
pick(int n)
{
	int two = n & 1 ? n + 10 /* both */
	                : n - 10;
	return two;
}

int
main(void)
{
	volatile int sum = 0;

	signal(SIGFPE, on_signal);
	for (int i = 0; i < 7; i++)
		sum += pick(i);
	for (volatile int i = 0; i < 3; i++) { /* again */
		if (sigsetjmp(back, 1) == 0) {
			sum++;
			sum /= zero;
			sum++; /* never */
		}
		sum += i; /* behind */
	}
	printf("%d %d\n", sum, caught);
	return 0;
}
C
while read -r kind mark reason; do
	printf '%s\tjumps.c:%s\t%s\n' "$kind" "$(grep -n "/\* $mark \*/" "$tmp/jumps.c" | cut -d: -f1)" "$reason"
done >"$tmp/exceptions" <<'EOF'
count both gcov adds up both lines of the expression
count again gcov counts twice behind the siglongjmp
hit never gcov takes what the signal broke off for finished
count behind gcov counts twice behind the siglongjmp
EOF
against jumps "$tmp/jumps.c" "$tmp/exceptions"

# A loop in one line, whose condition comes behind its body in the code and is told
# apart from it only: the line ran although the body never did.  And returns whose
# one instruction is a NOP behind a jump.
cat >"$tmp/loops.c" <<'C'
#include <stdlib.h>
#define NEED(n) do { while (bits < (n)) do { if (!have--) goto end; bits += 8; } while (0); } while (0)
static void clear(int *p)
{
	if (!p)
		return;
	if (*p != 1 && *p != 2)
		return;
	*p = 0;
}
int main(int argc, char **argv)
{
	int bits = atoi(argv[1]), n = 0, have = argc, one = 1;
	clear(&one);
	while (n < 4) {
		NEED(3);
		n++;
		bits -= 2;
	}
end:
	return bits == 200;
}
C
against loops-none "$tmp/loops.c" "$tmp/nothing" 100
against loops-some "$tmp/loops.c" "$tmp/nothing" 1

# LLVM does not mark rows that go on with the line before them.
clang -O0 -g -o "$tmp/loops" "$tmp/loops.c"
"$hwtrace" coverage -o "$tmp/report" --lcov "$tmp/info" -- "$tmp/loops" 100 >/dev/null 2>&1
check "clang: the loop that ends at once ran" grep -q '^DA:16,4$' "$tmp/info"

# Optimised: a function that was inlined wherever it is called was entered all the same.
cat >"$tmp/heads.c" <<'C'
#include <stdio.h>
int squared(int x) {
	printf("%d\n", x);
	return x * x + 7;
}
int never(int x) {
	printf("%d\n", x);
	return x * x + 9;
}
int main(int argc, char **argv) {
	volatile int n = argc;
	return squared(n) > 99 ? never(n) : squared(n + 1) & 1;
}
C
gcc -O2 -g -o "$tmp/heads" "$tmp/heads.c"
"$hwtrace" coverage -o "$tmp/report" --lcov "$tmp/info" -- "$tmp/heads" >/dev/null 2>&1
check "heads: of a function that was inlined" grep -q '^DA:2,2$' "$tmp/info"
check "heads: of one that did not run" grep -q '^DA:6,0$' "$tmp/info"

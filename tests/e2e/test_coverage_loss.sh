# SPDX-License-Identifier: BSD-2-Clause
# Trace that was lost, at random places: whatever ran and is not seen any more is
# unknown, never missed, and nothing is hit that did not run.
. tests/lib.sh

check_unknown=$PWD/tests/tools/check_unknown.py drop=$PWD/tests/tools/drop_trace.py
cd "$tmp" || exit 1
cat >deep.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int parse(const char *s)
{
	int n = 0;
	for (; *s; s++) {
		switch (*s) {
		case 'a': n += 1; break;
		case 'b': n += 2; break;
		case 'c': n *= 3; break;
		case 'd': n -= 4; break;
		case 'e': n ^= 5; break;
		default:
			if (*s >= '0' && *s <= '9')
				n += *s - '0';
			else
				return -1;
		}
	}
	return n;
}
static int order(const void *a, const void *b)
{
	return parse(*(char *const *)a) - parse(*(char *const *)b);
}
static int once(int depth)
{
	return depth > 0 ? once(depth - 1) + depth % 3 : 1;
}
static void late(const char *s)
{
	if (strlen(s) > 3)
		puts(s);
}
int main(int argc, char **argv)
{
	char *words[] = { "ab1", "cad", "e9", "bbbb", "dcba", "a", "zz", "1234" };
	int sum = once(12);
	qsort(words, 8, sizeof(*words), order);
	for (int i = 0; i < 8; i++)
		sum += parse(words[i]);
	late(words[7]);
	if (argc > 1)
		late("never");
	return sum == 0;
}
C
gcc -O0 -g -o deep0 deep.c && gcc -O2 -g -o deep2 deep.c
# property NAME SEEDS MODULE COMMAND...: of each seed's losses the report is true to the whole.
property() {
	name=$1 seeds=$2 module=$3
	shift 3
	"$hwtrace" record -q --psb-period 256 -o whole.data -- "$@" >/dev/null 2>record.err
	"$hwtrace" coverage --module "$module" --json whole.json -o table whole.data 2>err
	check "$name: the whole lost nothing" grep -qx 'lost: nothing' err
	good=0 told=0 unknown=0
	for seed in $(seq "$seeds"); do
		gone=$(python3 "$drop" whole.data part.data "$seed")
		"$hwtrace" coverage --module "$module" --json part.json -o table part.data 2>err
		python3 "$check_unknown" whole.json part.json >said && good=$((good + 1)) || { echo "seed $seed"; cat said; }
		[ "$gone" -gt 0 ] && grep -q '^lost: [^n]' err && told=$((told + 1))
		[ "$gone" -gt 0 ] || told=$((told + 1))
		[ "$(tail -n 1 said | awk '{ print ($1 > 0 && $3 > 0) }')" = 1 ] && unknown=$((unknown + 1))
	done
	[ "$good" = "$seeds" ] && pass "$name: nothing that ran is missed" || fail "$name: nothing that ran is missed" "$good of $seeds"
	[ "$told" = "$seeds" ] && pass "$name: each loss is told" || fail "$name: each loss is told" "$told of $seeds"
	[ "$unknown" -gt 0 ] && pass "$name: something is seen, something unknown" || fail "$name: something is seen, something unknown" "never"
	# And files that end early, anywhere.
	size=$(wc -c <whole.data) good=0
	for seed in $(seq "$seeds"); do
		head -c $((size * (2 * seed - 1) / (2 * seeds))) whole.data >part.data
		"$hwtrace" coverage --module "$module" --json part.json -o table part.data 2>err || { good=$((good + 1)); continue; }
		python3 "$check_unknown" whole.json part.json >said && good=$((good + 1)) || { echo "cut $seed"; cat said; }
	done
	[ "$good" = "$seeds" ] && pass "$name: of a file that was cut neither" || fail "$name: of a file that was cut neither" "$good of $seeds"
}
property plain 12 deep0 ./deep0
property optimised 12 deep2 ./deep2
property threads 8 threads "$programs/threads"
property processes 8 deep0 sh -c './deep0; ./deep0 x & ./deep0; wait'

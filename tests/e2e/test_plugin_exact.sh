# SPDX-License-Identifier: BSD-2-Clause
# The software trace unit tells exactly what QEMU's own log says was executed:
# every instruction, in order.  The decoder here is libipt alone (tests/tools/ptwalk).
. tests/lib.sh
reference plugin_exact || exit 0

tools=$PWD/$BUILD/tests/tools
plugin=$PWD/$BUILD/lib/hwtrace/hwtrace-qemu.so

# record DIR [OPTION...] -- PROGRAM ARG... : its output goes to DIR.out, its status is kept
record() {
	_dir=$1
	shift
	_opts=
	while [ "$1" != -- ]; do _opts="$_opts $1"; shift; done
	shift
	env -i setarch -R "$tools/shmdump" $_opts "$_dir" "$plugin" qemu-x86_64 -seed 1 "$@" \
		>"$_dir.out" 2>"$_dir.err"
}

# exact NAME [OPTION...] -- PROGRAM ARG... : one process, one thread
exact() {
	_name=$1
	shift
	_all="$*"
	record "$tmp/t" "$@"
	_status=$?
	while [ "$1" != -- ]; do shift; done
	shift
	sh tests/tools/truth.sh "$tmp/truth.out" "$@" >"$tmp/truth" 2>"$tmp/truth.err"
	if ! "$tools/ptwalk" "$tmp/t/sideband.txt" "$tmp"/t/*.pt >"$tmp/ips" 2>"$tmp/walk.err"; then
		fail "$_name" "$(cat "$tmp/walk.err"; grep gap: "$tmp/ips" | head -n 3)"
	elif grep -q '^note' "$tmp/t.err"; then
		fail "$_name" "$(cat "$tmp/t.err")"
	elif ! [ -s "$tmp/truth" ] || ! cmp -s "$tmp/truth" "$tmp/ips"; then
		fail "$_name" "$(cmp "$tmp/truth" "$tmp/ips" 2>&1): truth $(wc -l <"$tmp/truth"), decoded $(wc -l <"$tmp/ips"); status $_status"
		diff "$tmp/truth" "$tmp/ips" | head -n 8
	elif ! cmp -s "$tmp/t.out" "$tmp/truth.out"; then
		fail "$_name" "the program's output differs"
	else
		pass "$_name"
	fi
	rm -rf "$tmp/t"
}

exact "hello" -- "$samples/hello"
exact "hello, returns not compressed" -r -- "$samples/hello"
exact "hello, cycles" -c -- "$samples/hello"
exact "hello, a PSB every 256 bytes, the least ring" -p 256 -s 65536 -- "$samples/hello"
exact "static" -- "$programs/static"
exact "/bin/true" -- /bin/true
exact "qsort callbacks" -- "$samples/words"
exact "jump tables" -- "$samples/machine"
exact "recursion" -- "$programs/recursion"
exact "recursion, many PSB" -p 128 -- "$programs/recursion"
exact "longjmp" -- "$programs/longjump"
exact "faults" -- "$programs/segv"
exact "string instructions" -- "$programs/string"
exact "self-modifying code" -- "$programs/selfmod"
exact "unwinding" -- "$programs/unwind"
exact "dlopen and dlclose" -- "$programs/dlopen" "$programs/module"
for how in abort segv jump ill trap div self; do
	exact "death by $how" -- "$programs/abort" $how
done

# same_run NAME [OPTION...] -- PROGRAM ARG... : threads and signals come when they come, so the log is
# that of the recorded run itself.
same_run() {
	_name=$1
	shift
	_opts=
	while [ "$1" != -- ]; do _opts="$_opts $1"; shift; done
	shift
	"$tools/shmdump" -f $_opts "$tmp/t" "$plugin" qemu-x86_64 -strace -d tid,nochain,exec,in_asm \
		-D "$tmp/log.%d" "$@" >"$tmp/t.out" 2>"$tmp/t.err"
	_logs=
	for _l in "$tmp"/log.*; do _logs="$_logs -i $_l"; done
	_bad=
	for _pt in "$tmp"/t/*.pt; do
		_tid=${_pt##*-}
		_tid=${_tid%.pt}
		"$tools/ptwalk" "$tmp/t/sideband.txt" "$_pt" >"$tmp/ips" 2>"$tmp/walk.err" || _bad="$_bad $(cat "$tmp/walk.err")"
		"$tools/truth" $_logs <"$tmp/log.$_tid" >"$tmp/truth"
		[ -s "$tmp/ips" ] && cmp -s "$tmp/ips" "$tmp/truth" || _bad="$_bad thread $_tid: $(cmp "$tmp/ips" "$tmp/truth" 2>&1)"
	done
	if [ -n "$_bad" ] || grep -q '^note' "$tmp/t.err"; then
		fail "$_name" "$_bad $(cat "$tmp/t.err")"
	else
		pass "$_name"
	fi
	rm -rf "$tmp/t" "$tmp"/log.*
}

same_run "alarms" -- "$programs/alarm"
same_run "four threads" -- "$programs/threads"
same_run "four threads, many PSB, the least rings" -p 256 -s 65536 -- "$programs/threads"

# Real programs, millions of instructions.
awk 'BEGIN { x = 42; for (i = 0; i < 2500; i++) { x = (x * 1103515245 + 12345) % 2147483648; print x, x % 997, "line" } }' \
	>"$tmp/text"
same_run "gzip" -- /usr/bin/gzip -9 -c "$tmp/text"
same_run "sort" -- /usr/bin/sort --parallel=1 "$tmp/text"
same_run "sort with threads" -- /usr/bin/sort --parallel=2 -S 1M "$tmp/text" "$tmp/text"
same_run "python3" -- /usr/bin/python3 -S -c 'print(sorted(map(str, range(300))))'

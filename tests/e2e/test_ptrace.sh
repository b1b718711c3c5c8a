#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The ptrace backend: exact against a stepper of its own, unseen by the program.
. tests/lib.sh
top=$PWD
cd "$tmp" || exit 1

if ! "$hwtrace" list | grep -q '^ptrace *yes'; then
	skip ptrace "$("$hwtrace" check 2>&1 | grep -A1 ptrace | tail -n 1)"
	exit 0
fi
rec() { "$hwtrace" record --backend ptrace -o out.data "$@"; }
# ips TID FILE: what the thread executed, by the engine $engine
ips() { "$hwtrace" script --engine "$engine" -i "$2" --tid "$1" --itrace=i1i -F ip 2>>loss.txt | tr -d ' '; }
# The thread of the program itself is the first of the process that was started.
first_tid() { "$hwtrace" info "$1" 2>/dev/null | awk '$1 == "pid" && $3 == "tid" && !t { t = $4 } END { print t }'; }
lossless() { grep -q '^lost: nothing' loss.txt && ! grep '^lost: [^n]' loss.txt; }

# -- every instruction ------------------------------------------------------------
# One stack and one vdso address, so that two runs are alike.
fixed() { setarch -R "$@"; }
# exact NAME PROGRAM [ARG...]: status and output as without us, instructions as stepped
exact() {
	_name=$1
	shift
	fixed "$programs/stepper" truth.txt "$@" >want.txt
	_want=$?
	fixed "$hwtrace" record -q --backend ptrace -o out.data "$@" >got.txt 2>err.txt
	_got=$?
	same "$_name-output" want.txt got.txt
	[ $_got -eq $_want ] && pass "$_name-status" || fail "$_name-status" "$_got, not $_want: $(cat err.txt)"
}
decodes() { # decodes NAME: what was recorded last is what was stepped last
	for engine in $engines; do
		ips "$(first_tid out.data)" out.data >ips.txt
		same "$1-$engine" truth.txt ips.txt
		check "$1-$engine-lossless" lossless
	done
}
build_static() { ${CC:-gcc} -w -static -O1 -o "$1" "$top/tests/programs/$1.c"; }
exact signals "$programs/signals" self
decodes signals
for p in longjump selfmod string abort; do
	build_static $p || { fail "$p" "not built"; continue; }
	exact $p ./$p
	decodes $p
done
exact retpoline "$programs/retpoline"
decodes retpoline
exact i386 "$programs/i386"
decodes i386

# The same instructions without compressed returns, with cycles, with many PSBs.
for how in --no-return-compression --cyc '--psb-period 64'; do
	fixed "$programs/stepper" truth.txt ./longjump >want.txt
	fixed "$hwtrace" record -q --backend ptrace -o out.data $how ./longjump >got.txt 2>err.txt
	decodes "longjump$(echo "$how" | tr -d ' ')"
done

# -- what the program sees ------------------------------------------------------------
# unseen NAME PROGRAM [ARG...]: prints and ends as without us
unseen() {
	_name=$1
	shift
	"$@" >want.txt
	_want=$?
	timeout 120 "$hwtrace" record --backend ptrace -o out.data "$@" >got.txt 2>err.txt
	_got=$?
	same "$_name-output" want.txt got.txt
	[ $_got -eq $_want ] && pass "$_name-status" || fail "$_name-status" "$_got, not $_want: $(cat err.txt)"
	engine=native
	"$hwtrace" script --engine native -i out.data --itrace=e >/dev/null 2>loss.txt
	check "$_name-lossless" lossless
}
unseen trap-users "$programs/traps"
# Who sets the trap flag gets all traps of its own, and none of ours.
unseen trap-flag "$programs/trapflag"
unseen trap-flag-i386 "$programs/trapflag32"
unseen signals-from-others "$programs/signals"
unseen vsyscall "$programs/vsyscall"
unseen threads "$programs/workers" "$programs/i386"
"$hwtrace" info out.data >info.txt 2>&1
[ "$(grep -c 'worker$' info.txt)" -eq 4 ] && pass thread-names || fail thread-names "$(cat info.txt)"
for s in 9 11 15 6; do
	cat >kill.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) { (void)argc; return kill(getpid(), atoi(argv[1])); }
C
	[ -x kill ] || ${CC:-gcc} -w -static -o kill kill.c
	rec ./kill $s >/dev/null 2>&1
	_rc=$?
	[ $_rc -eq $((128 + s)) ] && pass "killed-by-$s" || fail "killed-by-$s" "status $_rc"
done
rec ./no-such-program >/dev/null 2>&1
[ $? -eq 127 ] && pass not-found || fail not-found "$?"
: >plain
rec ./plain >/dev/null 2>&1
[ $? -eq 126 ] && pass not-executable || fail not-executable "$?"

# -- parts ------------------------------------------------------------------------------
rec --no-inherit "$programs/workers" "$programs/i386" >got.txt 2>err.txt
says no-inherit 'backend ptrace, 1 process, 9 threads' err.txt
"$programs/workers" "$programs/i386" >want.txt
same no-inherit-output want.txt got.txt
rec --overwrite 512 --psb-period 64 ./string >/dev/null 2>err.txt
says overwrite '[1-9][0-9]* bytes lost' err.txt

# -- attach -------------------------------------------------------------------------------
mkfifo in
"$programs/attached" <in >out.txt &
pid=$!
exec 3>in
wait_for ready out.txt
"$hwtrace" record --backend ptrace -o attach.data -p $pid 2>err.txt &
recorder=$!
# All three are traced, and the recorder has worked for half a second.
work() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' /proc/$1/stat 2>/dev/null; }
traced() { grep -l "TracerPid:[^0-9]*$recorder\$" /proc/$pid/task/*/status 2>/dev/null | wc -l; }
while running $recorder && { [ "$(traced)" -ne 3 ] || [ "$(work $recorder)" -lt 50 ]; }; do
	sleep 0.1
done
kill -TERM $recorder
wait $recorder
_rc=$?
[ $_rc -eq 0 ] && pass attach-status || fail attach-status "$_rc: $(cat err.txt)"
says attach-threads '1 process, 3 threads' err.txt
grep -q 'TracerPid:[^0-9]*0$' /proc/$pid/status && pass detached || fail detached "$(grep Tracer /proc/$pid/status)"
taskset -p $pid >/dev/null 2>&1 && [ "$(grep Cpus_allowed: /proc/$pid/task/*/status | awk '{ print $2 }' | sort -u)" = "$(grep Cpus_allowed: /proc/$$/status | awk '{ print $2 }')" ] && pass detached-cpus || fail detached-cpus
exec 3>&-
wait $pid
_rc=$?
[ $_rc -eq 6 ] && pass attach-runs-on || fail attach-runs-on "status $_rc"
says attach-alive alive out.txt
grep disturbed out.txt && fail attach-undisturbed "a call ended with EINTR" || pass attach-undisturbed
"$hwtrace" script -i attach.data --itrace=e >/dev/null 2>loss.txt
check attach-lossless lossless
"$hwtrace" record --backend ptrace -o none.data -p 999999999 2>err.txt
[ $? -eq 125 ] && pass attach-nobody || fail attach-nobody "$(cat err.txt)"

# -- a recorder that is killed -----------------------------------------------------------
listener=$tmp/listener
${CC:-gcc} -w -static -o "$listener" "$top/tests/programs/listener.c"
# killed PROGRAM: runs with descriptor 3 as its input, and lost its recorder; its number is $pid
killed() {
	rm -f in
	mkfifo in
	"$1" <in >out.txt &
	pid=$!
	exec 3>in
	wait_for ready out.txt
	"$hwtrace" record --backend ptrace -o killed.data -p $pid 2>err.txt &
	recorder=$!
	while running $recorder && { ! grep -q "TracerPid:[^0-9]*$recorder\$" /proc/$pid/status || ! asleep $pid; }; do
		sleep 0.05
	done
	kill -KILL $recorder
	wait $recorder 2>/dev/null
}
# In a system call, and three times in a row.
asleep() {
	for _look in 1 2 3; do
		grep -qs '^State:.S' /proc/$1/status || return 1
		sleep 0.02
	done
}
stopped() { grep -lqs '^State:.[tT]' /proc/$pid/task/*/status; }
killed "$listener"
echo hello >&3
wait_for 'line hello' out.txt && pass killed-in-a-call || fail killed-in-a-call "$(cat out.txt /proc/$pid/status)"
echo end >&3
exec 3>&-
wait $pid
_rc=$?
[ $_rc -eq 4 ] && pass killed-runs-on || fail killed-runs-on "status $_rc"
check killed-file "$hwtrace" info killed.data
# Threads that compute are in the middle of a step: the process may end of it, but not stand still.
killed "$programs/attached"
i=0
while stopped && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
stopped && fail killed-not-stopped "$(grep State: /proc/$pid/task/*/status)" || pass killed-not-stopped
exec 3>&-
wait $pid 2>/dev/null

# -- on a terminal ------------------------------------------------------------------------
ctrl_c ptrace "$listener"
job_control ptrace "$listener"

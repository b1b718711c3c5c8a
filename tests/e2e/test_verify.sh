# SPDX-License-Identifier: BSD-2-Clause
# Both engines give the same ranges, with every way of recording; and where they
# do not, the first difference is shown.
. tests/lib.sh
reference verify || exit 0

data=$tmp/t.data

# equal NAME RECORD-OPTIONS -- COMMAND
equal() {
	_name=$1
	shift
	if ! "$hwtrace" record -q -o "$data" "$@" </dev/null >/dev/null 2>"$tmp/err"; then
		: # the programs here end in every way there is
	fi
	"$hwtrace" verify "$data" >"$tmp/out" 2>>"$tmp/err"
	_rc=$?
	_bad=$(grep -vc ' ranges, [0-9]* instructions, 0 gaps: equal$' "$tmp/out")
	if [ $_rc -eq 0 ] && [ -s "$tmp/out" ] && [ "$_bad" -eq 0 ]; then
		pass "$_name"
	else
		fail "$_name" "exit $_rc, $_bad streams not equal or not whole"
		head -n 20 "$tmp/out" "$tmp/err" | sed 's/^/    /'
	fi
}

p=$programs
equal "true" -- /bin/true
for prog in longjump recursion segv selfmod string signals threads forkexec traps unwind abort alarm; do
	[ -x "$p/$prog" ] || continue
	equal "$prog" -- "$p/$prog"
done
equal "no return compression" --no-return-compression -- "$p/recursion"
equal "cycle packets" --cyc -- "$p/recursion"
equal "PSB every 256 bytes" --psb-period 256 -- "$p/recursion"
equal "PSB every 256 bytes, cycle packets, signals" --psb-period 256 --cyc -- "$p/signals"
equal "PSB every 256 bytes, threads" --psb-period 256 --no-return-compression -- "$p/threads"
equal "one module only" --module recursion -- "$p/recursion"
seq 300 | sort -R --random-source="$hwtrace" >"$tmp/in"
equal "sort" -- sort "$tmp/in"
head -c 60000 "$hwtrace" >"$tmp/bytes"
equal "gzip" -- gzip -c "$tmp/bytes"

# One thread runs one program after the other: the last block of each before the next one's code.
cat >"$tmp/execs.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/*
 * execs [PROGRAM [PROGRAM]]: becomes the next program, after a child that does.  execl() counts
 * its arguments: several outcomes in one packet, and no other packet behind it.
 */
int main(int argc, char **argv)
{
	if (argc < 2)
		return 0;
	if (getenv("FORK") && fork() == 0)
		return execl(argv[1], argv[1], argv[2], NULL);
	while (wait(NULL) > 0)
		;
	return execl(argv[1], argv[1], argv[2], NULL);
}
C
for how in static pie; do
	${CC:-gcc} -w -O1 -$how -o "$tmp/$how" "$tmp/execs.c" || fail "execs $how" "not built"
done
${CC:-gcc} -w -O2 -static -o "$tmp/static2" "$tmp/execs.c"
if "$hwtrace" list | grep -q '^ptrace *yes'; then
	equal "exec, static to dynamic, by single-step" --backend ptrace -- "$tmp/static" "$tmp/pie"
	equal "exec, dynamic to static, by single-step" --backend ptrace -- "$tmp/pie" "$tmp/static"
	equal "exec at the same addresses, by single-step" --backend ptrace -- "$tmp/static" "$tmp/static2" "$tmp/static"
	export FORK=1
	equal "fork and exec, by single-step" --psb-period 256 --backend ptrace -- "$tmp/static" "$tmp/static2"
	unset FORK
else
	skip "exec, by single-step" "no such backend here"
fi
equal "exec, static to dynamic" -- "$tmp/static" "$tmp/pie" "$tmp/static2"
equal "exec at the same addresses" -- setarch -R "$tmp/pie" "$tmp/static" "$tmp/static2"
equal "fork and exec of a shell" --psb-period 256 -- sh -c '/bin/true; exec /bin/true'

# In front of a loss the reference goes on as far as the code alone leads (docs/DIFFERENCES.md).
"$hwtrace" record -q -o "$data" -- sort "$tmp/in" >/dev/null
size=$(stat -c %s "$data")
bad=
for i in $(seq 20 40); do
	head -c $((size * i / 42 + i)) "$data" >"$tmp/cut"
	"$hwtrace" verify "$tmp/cut" >"$tmp/out" 2>"$tmp/err" && grep -q '^lost: .*file cut short' "$tmp/err" ||
		bad="$bad $i"
done
[ -z "$bad" ] && pass "files that were cut" || fail "files that were cut" "parts of 42:$bad"

# A difference is shown, and what was lost behind it counts: the reference takes no TIP.PGD while
# tracing is off (docs/DIFFERENCES.md), and an overflow comes later.
cat >"$tmp/raw.py" <<'PY'
import sys
def address(opcode, ip): return bytes([opcode | 3 << 5]) + ip.to_bytes(6, "little")
psb = b"\x02\x82" * 8 + b"\x99\x01" + b"\x02\x23"
on = address(0x11, 0x1000)
run = b"\x0e\x04" # taken twice, not taken
off = b"\x01"
twice = psb + on + run + off + off + on + run + off
lost = psb + on + run + b"\x02\xf3" + address(0x1d, 0x1000) + run + off
filler = (psb + on + run + off) * 30
open(sys.argv[1] + "/pt", "wb").write(filler + twice + lost)
open(sys.argv[1] + "/code", "wb").write(b"\x75\xfe\x0f\x05".ljust(4096, b"\x90"))
open(sys.argv[1] + "/map", "w").write("0x1000\t4096\t0\n")
PY
python3 "$tmp/raw.py" "$tmp"
"$hwtrace" verify --pt "$tmp/pt" --pages "$tmp/code" --map "$tmp/map" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && pass "a difference" || fail "a difference" "$(cat "$tmp/out" "$tmp/err")"
says "the place of the difference" '^stream 0: the engines differ after 96 ranges' "$tmp/out"
awk '/TIP.PGD/ && last { found = 1 } { last = /TIP.PGD/ } END { exit !found }' "$tmp/out" &&
	pass "the packets of the difference" || fail "the packets of the difference" "$(cat "$tmp/out")"
says "what was lost behind it" '^lost: overflow (1 place' "$tmp/err"

"$hwtrace" verify --engine native --against native "$data" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 64 ] && [ ! -s "$tmp/out" ] && pass "an engine against itself is refused" ||
	fail "an engine against itself is refused" "$(cat "$tmp/out" "$tmp/err")"
"$hwtrace" verify --engine libipt "$data" >"$tmp/out" 2>"$tmp/err" && pass "the reference against the other" ||
	fail "the reference against the other" "$(cat "$tmp/out" "$tmp/err")"
"$hwtrace" verify --against stack "$data" >/dev/null 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'engine stack does not decode Intel PT' "$tmp/err" &&
	pass "an engine for another source" || fail "an engine for another source" "$(cat "$tmp/err")"
"$hwtrace" verify --against none "$data" >/dev/null 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'no decode engine named "none"' "$tmp/err" &&
	pass "an engine that is not there" || fail "an engine that is not there" "$(cat "$tmp/err")"

# SPDX-License-Identifier: BSD-2-Clause
# Code that a program made while it ran: decoded from its jitdump alone it is what QEMU's
# log says that ran, and has the names and lines that the program gave it, as with perf.
. tests/lib.sh

truth=$PWD/$BUILD/tests/tools/truth
tools=$PWD/tests/tools
jit=$programs/jit

# script FILE OPTION... : decoded, losses to $tmp/err
script() {
	_f=$1
	shift
	"$hwtrace" script -i "$_f" "$@" 2>"$tmp/err"
}
# names FILE: names of the instructions of code that was made, how often each
names() { script "$1" --itrace=i1i -F ip,sym,dso | awk '/\.(dump|map)\)/ { print $2 }' | uniq -c; }

# What the program does: see tests/programs/jit.c.  `first` with n runs 2 + 3 * n instructions.
cat >"$tmp/names.want" <<'EOT'
     32 first
      1 second
     17 first
      3 second
     17 first
      3 second
     17 first
      2 second
      4 early
      3 late
      4 moved
EOT

# exact NAME BACKEND CLOCK [rwx]: without the bytes that were recorded, from the jitdump
exact() {
	_name=$1 _backend=$2
	shift 2
	rm -rf "$tmp/jit" "$tmp/log"* && mkdir "$tmp/jit"
	QEMU_LOG=nochain,exec,in_asm QEMU_STRACE=1 QEMU_SINGLESTEP=1 QEMU_LOG_FILENAME=$tmp/log \
		"$hwtrace" record --backend "$_backend" -o "$tmp/all.data" -- "$jit" "$1" "$tmp/jit" ${2:-} \
		>"$tmp/out" 2>"$tmp/err" || { fail "$_name" "$(cat "$tmp/err")"; return; }
	_gone=$(python3 "$tools/drop_code.py" "$tmp/all.data" "$tmp/t.data")
	[ "$_gone" -ge 5 ] || fail "$_name: the recorder's own bytes are gone" "$_gone records"
	if [ "$_backend" = qemu ]; then
		"$truth" <"$tmp/log" | sed 's/^0x//' >"$tmp/want"
	else
		script "$tmp/all.data" --itrace=i1i -F ip | sed 's/^ *//' >"$tmp/want"
	fi
	for _e in $engines; do
		script "$tmp/t.data" --engine "$_e" --itrace=i1i -F ip | sed 's/^ *//' >"$tmp/got"
		same "$_name, $_e" "$tmp/want" "$tmp/got"
		says "$_name, $_e: nothing is lost" '^lost: nothing' "$tmp/err"
	done
	names "$tmp/t.data" >"$tmp/names"
	same "$_name: names" "$tmp/names.want" "$tmp/names"
}

exact "written or run, ticks" qemu tsc
# Of another clock the times are of no use; what replaced other code cannot be told from it.
says "a program's own clock is told of" 'another clock' /dev/stdin <<EOT
$("$hwtrace" record -q -o "$tmp/mono.data" -- "$jit" mono "$tmp/jit" >"$tmp/out" 2>&1
"$hwtrace" info --losses -i "$tmp/mono.data" 2>&1)
EOT
exact "single-stepped, CLOCK_MONOTONIC" ptrace mono
exact "written and run at once, ticks" qemu tsc rwx

# -- perf, with what it makes of the jitdump ----------------------------------------
if command -v perf >/dev/null; then
	# perf inject stumbles over features of the file that it does not know: without ours
	python3 - "$tmp/t.data" "$tmp/plain.data" <<'PY'
import sys
d = bytearray(open(sys.argv[1], "rb").read())
d[72 + 250 // 8] &= ~(1 << 250 % 8)
open(sys.argv[2], "wb").write(d)
PY
	perf inject --jit -i "$tmp/plain.data" -o "$tmp/perf.data" >"$tmp/perf.err" 2>&1
	perf script -i "$tmp/perf.data" --itrace=i1ie -F ip,sym,symoff,dso 2>>"$tmp/perf.err" |
		awk '/jitted/ { print $1, $2 }' >"$tmp/want"
	script "$tmp/t.data" --itrace=i1i -F ip,sym,symoff,dso | awk '/\.dump/ { print $1, $2 }' >"$tmp/got"
	if [ -s "$tmp/want" ]; then
		same "as perf inject --jit has it" "$tmp/want" "$tmp/got"
	else
		fail "as perf inject --jit has it" "$(cat "$tmp/perf.err")"
	fi
else
	skip "as perf inject --jit has it" "perf is not installed"
fi

# -- coverage and calls ---------------------------------------------------------------
"$hwtrace" coverage -i "$tmp/t.data" --all-functions --lcov "$tmp/lcov" >"$tmp/report" 2>"$tmp/err"
sed -n '/^SF:.*made.js/,/^end_of_record/p' "$tmp/lcov" | grep -e ^DA -e ^FNDA -e ^BRDA | sort >"$tmp/got"
cat >"$tmp/want" <<'EOT'
BRDA:12,0,0,21
BRDA:12,0,1,4
DA:10,4
DA:11,25
DA:12,25
DA:13,4
DA:20,3
DA:21,3
DA:22,3
FNDA:3,second
FNDA:4,first
EOT
same "coverage: lines, functions, branches" "$tmp/want" "$tmp/got"
awk '$2 ~ /jit-[0-9]*\.dump/ { print $1, $3 }' "$tmp/report" | sort >"$tmp/got"
printf 'early 2\nlate 1\nmoved 2\n' >"$tmp/want"
same "coverage: functions without lines" "$tmp/want" "$tmp/got"
script "$tmp/t.data" --call-trace | sed -n 's/.* \(first\|second\|early\|late\|moved\) .*/\1/p' >"$tmp/got"
printf '%s\n' first second first second first second first early early late moved moved >"$tmp/want"
same "calls" "$tmp/want" "$tmp/got"

"$hwtrace" info -i "$tmp/t.data" --sym first >"$tmp/got" 2>/dev/null
says "info: what ran in a function" ' 83 instructions' "$tmp/got"

# -- it goes with the capture ---------------------------------------------------------
script "$tmp/t.data" --itrace=b -F ip,sym,addr,dso >"$tmp/want"
check "archive" "$hwtrace" archive -i "$tmp/t.data" -o "$tmp/t.tar.zst"
mkdir "$tmp/else" && mv "$tmp/jit" "$tmp/else/jit"
script "$tmp/t.tar.zst" --itrace=b -F ip,sym,addr,dso >"$tmp/got"
same "an archive has the jitdump" "$tmp/want" "$tmp/got"
script "$tmp/t.data" >/dev/null
says "without it code is missing" '^lost: .*missing code' "$tmp/err"
"$hwtrace" info --losses -i "$tmp/t.data" >"$tmp/got" 2>/dev/null
says "and which file is told" 'missing code.*jit-[0-9]*.dump.* was not found' "$tmp/got"
mkdir -p "$tmp/root$tmp" && cp -r "$tmp/else/jit" "$tmp/root$tmp/jit"
script "$tmp/t.data" --symfs "$tmp/root" --itrace=b -F ip,sym,addr,dso >"$tmp/got"
same "--symfs has the jitdump" "$tmp/want" "$tmp/got"
dump=$(ls "$tmp/root$tmp/jit/"*.dump)
head -c $(($(wc -c <"$dump") - 10)) "$dump" >"$tmp/cut" && cp "$tmp/cut" "$dump"
script "$tmp/t.data" --symfs "$tmp/root" >/dev/null
says "one that is cut is a loss" '^lost: .*damaged records' "$tmp/err"

# -- names alone ----------------------------------------------------------------------
"$hwtrace" record -q -o "$tmp/m.data" -- "$jit" map "$tmp" >"$tmp/out" 2>"$tmp/err"
map=$(head -n 1 "$tmp/out")
# Of two names for one place the file tells the later one alone.
sed 's/  4 early/  4 late/' "$tmp/names.want" | awk '$2 == last { n += $1; next } last { printf "%7d %s\n", n, last }
	{ last = $2; n = $1 } END { printf "%7d %s\n", n, last }' >"$tmp/want"
names "$tmp/m.data" >"$tmp/got"
same "names of perf's map" "$tmp/want" "$tmp/got"
check "archive with perf's map" "$hwtrace" archive -i "$tmp/m.data" -o "$tmp/m.tar.zst"
"$hwtrace" coverage -i "$tmp/m.data" >"$tmp/report" 2>/dev/null
awk '$2 ~ /^\/tmp\/perf-/ { print $1, $3 }' "$tmp/report" | sort >"$tmp/got"
printf 'first 4\nlate 3\nmoved 1\nmoved 1\nsecond 3\n' >"$tmp/want.cov"
same "coverage with perf's map" "$tmp/want.cov" "$tmp/got"
python3 "$tools/drop_code.py" "$tmp/m.data" "$tmp/md.data" >/dev/null
"$hwtrace" info --losses -i "$tmp/md.data" >"$tmp/got" 2>/dev/null
says "without the bytes it is [jit]'s" 'missing code.*\[jit\]: /tmp/perf-' "$tmp/got"
case $map in
/tmp/perf-[0-9]*.map) rm -f "$map" ;;
*) fail "where perf's map is" "$map" ;;
esac
names "$tmp/m.tar.zst" >"$tmp/got"
same "an archive has perf's map" "$tmp/want" "$tmp/got"

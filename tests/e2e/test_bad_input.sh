# SPDX-License-Identifier: BSD-2-Clause
# What is wrong with the input is said in one line that names the file, and
# where it helps the offset and the field; the exit status is 1, or 64 for a
# wrong command line.
. tests/lib.sh
. tests/tools/flow_capture.sh
flow_capture "$tmp" || { fail "make the capture" "gcc failed"; exit 0; }

# bad NAME STATUS PATTERN COMMAND ARGUMENTS...: one line on stderr that has PATTERN, nothing on stdout.
bad() {
	_name=$1 _status=$2 _pattern=$3
	shift 3
	"$hwtrace" "$@" >"$tmp/out" 2>"$tmp/err"
	_got=$?
	if [ $_got -ne "$_status" ]; then
		fail "$_name" "exit status $_got: $(cat "$tmp/err")"
	elif [ -s "$tmp/out" ]; then
		fail "$_name" "it printed $(head -n 1 "$tmp/out")"
	elif [ "$(grep -vc 'times emulated' "$tmp/err")" -ne 1 ]; then
		fail "$_name" "not one line: $(cat "$tmp/err")"
	elif ! grep -q -e "$_pattern" "$tmp/err"; then
		fail "$_name" "$(cat "$tmp/err")"
	else
		pass "$_name"
	fi
}

head -c 3000 "$hwtrace" >"$tmp/elf"
: >"$tmp/empty"
printf 'hello, world\n' >"$tmp/text"
for c in script packets info; do
	bad "$c: no such file" 1 "$tmp/none: no such file; make one with 'hwtrace record" $c -i "$tmp/none"
	bad "$c: an unknown file" 1 "$tmp/text: .*magic.*" $c -i "$tmp/text"
	bad "$c: an ELF file" 1 "$tmp/elf: .*" $c "$tmp/elf"
	bad "$c: an empty file" 1 "$tmp/empty: .*" $c -i "$tmp/empty"
	bad "$c: a folder" 1 "$tmp: .*" $c -i "$tmp"
	bad "$c: a missing part" 1 "$tmp/none: " $c --pt "$tmp/none" --pages "$tmp/code" --map "$tmp/map"
	printf '0x401000 zzz 0\n' >"$tmp/map2"
	bad "$c: a bad map" 1 "$tmp/map2: " $c --pt "$tmp/pt" --pages "$tmp/code" --map "$tmp/map2"
	bad "$c: pages without a map" 64 'go together' $c --pt "$tmp/pt" --pages "$tmp/code"
	bad "$c: pages without trace" 64 'name its trace bytes' $c --pages "$tmp/code" --map "$tmp/map"
	bad "$c: two captures" 64 too\ many $c "$tmp/a" "$tmp/b"
	bad "$c: an operand and -i" 64 'one capture' $c -i "$tmp/a" "$tmp/b"
	bad "$c: an unknown option" 64 'unknown option' $c --frobnicate
	bad "$c: an unknown engine" 64 "engine named 'abacus'" $c --engine abacus -i "$tmp/text"
done
if [ "$(id -u)" != 0 ]; then
	cp "$tmp/text" "$tmp/locked" && chmod 0 "$tmp/locked"
	bad "no permission" 1 "$tmp/locked: .*[Pp]ermission" script -i "$tmp/locked"
fi
bad "an unknown field" 64 "no field 'colour'" script -i "$tmp/text" -F ip,colour
bad "an unknown letter" 64 "there is no 'k'" script -i "$tmp/text" --itrace=k
bad "a letter of perf's" 64 "'l' (last branch stacks) is not supported" script -i "$tmp/text" --itrace=bl
bad "a period of time" 64 "not supported, count instructions" script -i "$tmp/text" --itrace=i1us
bad "a bad list" 64 "tid takes numbers" script -i "$tmp/text" --tid 1,x
bad "a bad time" 64 "time takes START,STOP" script -i "$tmp/text" --time 5,3
bad "an ELF file without its base" 64 "FILE@BASE" script --pt "$tmp/pt" --elf "$tmp/flow"
bad "two styles" 64 "exclude each other" script -i "$tmp/text" --json --call-trace

if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip "cut and changed recordings" "the software trace unit is not usable here"
	exit 0
fi
cp "$programs/longjump" "$tmp/prog"
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$tmp/prog" >/dev/null 2>&1
"$hwtrace" script -i "$tmp/data" --itrace=b -F ip >"$tmp/whole" 2>/dev/null
bad "a thread that is not there" 1 'its one stream is not of a thread' script -i "$tmp/data" --tid 1

bad "a filter that this capture cannot answer" 1 'streams are of threads, not of CPUs' script -i "$tmp/data" --cpu 0
bad "two reports in one file" 64 'two reports cannot go to the same place' coverage --lcov - --json - "$tmp/data"
bad "a report over another" 64 'two reports cannot go to the same place' coverage --lcov "$tmp/x" -o "$tmp/x" "$tmp/data"

# What could not be printed is an error, whoever prints.
wrong=
for c in --help --version "record --help" list check "completion bash" "completion zsh" \
    "script -i $tmp/data" "packets -i $tmp/data" "info -i $tmp/data" "coverage $tmp/data" "verify -i $tmp/data"; do
	"$hwtrace" $c >/dev/full 2>"$tmp/err"
	[ $? -eq 1 ] && [ "$(grep -c 'standard output' "$tmp/err")" -eq 1 ] || wrong="$wrong $c;"
done
[ -z "$wrong" ] && pass "a full disk for standard output" || fail "a full disk for standard output" "$wrong"

# A cut file is read up to the cut, and the cut is told as a loss: at every 97th byte.
size=$(wc -c <"$tmp/data") n=0 wrong=
for cut in $(seq 1 97 "$size"); do
	head -c "$cut" "$tmp/data" >"$tmp/cut"
	"$hwtrace" script -i "$tmp/cut" --itrace=b -F ip --fail-on-loss >"$tmp/out" 2>"$tmp/err"
	case $? in
	0) wrong="$wrong $cut(no loss)" ;;
	1) [ -s "$tmp/err" ] || wrong="$wrong $cut(silent)" ;;
	65) head -c "$(wc -c <"$tmp/out")" "$tmp/whole" | cmp -s - "$tmp/out" || wrong="$wrong $cut(other lines)" ;;
	*) wrong="$wrong $cut(crash)" ;;
	esac
	n=$((n + 1))
done
[ -z "$wrong" ] && pass "a recording cut at $n places" || fail "a recording cut at $n places" "$wrong"

# Another program under the same name: code changed, named, and --ignore-build-id takes it all the same.
cp "$programs/segv" "$tmp/prog"
"$hwtrace" script -i "$tmp/data" --itrace=e --fail-on-loss >"$tmp/out" 2>"$tmp/err"
[ $? -eq 65 ] && grep -q 'lost: code changed since recording' "$tmp/err" && pass "a changed program is a loss" ||
    fail "a changed program is a loss" "$(cat "$tmp/err")"
grep -q "$tmp/prog" "$tmp/out" && pass "the changed program is named" || fail "the changed program is named" "$(head -n 3 "$tmp/out")"
rm "$tmp/prog"
"$hwtrace" script -i "$tmp/data" --itrace=e --fail-on-loss >"$tmp/out" 2>"$tmp/err"
[ $? -eq 65 ] && grep -q 'lost: missing code' "$tmp/err" && pass "a missing program is a loss" ||
    fail "a missing program is a loss" "$(cat "$tmp/err")"

# What has no end is read to a bound, and refused in one line.
for what in "info -i /dev/zero" "info --pt /dev/zero" "info -i -" "packets -i -"; do
	# shellcheck disable=SC2086
	(ulimit -v 4000000; timeout 60 "$hwtrace" $what </dev/zero >"$tmp/out" 2>"$tmp/err")
	[ $? -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && pass "no end: $what" || fail "no end: $what" "$(head -n 3 "$tmp/err")"
done
(ulimit -v 4000000; yes | timeout 60 "$hwtrace" info -i - >"$tmp/out" 2>"$tmp/err")
[ $? -eq 1 ] && grep -q 'no capture that hwtrace knows' "$tmp/err" && pass "no end of a pipe" || fail "no end of a pipe" "$(cat "$tmp/err")"

# Two captures in one file: the first is read, the other one told.
"$hwtrace" record --backend qemu -q -o "$tmp/one" -- "$programs/segv" >/dev/null 2>&1
cat "$tmp/one" "$tmp/one" >"$tmp/two"
"$hwtrace" script -i "$tmp/one" >"$tmp/want" 2>/dev/null
"$hwtrace" script -i "$tmp/two" >"$tmp/got" 2>"$tmp/err"
same "two captures in one file read as the first" "$tmp/want" "$tmp/got"
grep -q "another capture begins at byte $(wc -c <"$tmp/one" | tr -d ' ')" "$tmp/err" && pass "the second is told" || fail "the second is told" "$(cat "$tmp/err")"
"$hwtrace" script -i "$tmp/one" 2>&1 | grep -q 'another capture' && fail "one capture is one" "it tells another" || pass "one capture is one"

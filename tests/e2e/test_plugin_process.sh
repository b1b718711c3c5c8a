# SPDX-License-Identifier: BSD-2-Clause
# The software trace unit across processes: fork, exec, scripts, filters, death by a
# signal from outside, a recorder that dies.  Decoded by libipt alone.
. tests/lib.sh
reference plugin_process || exit 0

tools=$PWD/$BUILD/tests/tools
plugin=$PWD/$BUILD/lib/hwtrace/hwtrace-qemu.so

record() { # SHMDUMP-OPTIONS... DIR -- PROGRAM ARG...
	_opts=
	while [ "$1" != -- ]; do _opts="$_opts $1"; shift; done
	shift
	"$tools/shmdump" $_opts "$plugin" qemu-x86_64 -seed 1 "$@"
}

# walk DIR: every stream to DIR/*.ips, fails on a gap
walk() {
	for _pt in "$1"/*.pt; do
		"$tools/ptwalk" "$1/sideband.txt" "$_pt" >"${_pt%.pt}.ips" 2>"$1/walk.err" || { cat "$1/walk.err"; return 1; }
	done
}

# -- fork and exec: the log of a forked child begins in log.fork.PID and, behind an exec, goes on in log.PID

QEMU_LOG_FILENAME=$tmp/log.%d QEMU_UNSET_ENV=LD_PRELOAD LD_PRELOAD=$programs/forklog \
	"$tools/shmdump" -f "$tmp/f" "$plugin" qemu-x86_64 -d tid,nochain,exec,in_asm "$programs/forkexec" >"$tmp/out" 2>"$tmp/err"
status=$?
check "fork and exec: no gaps" walk "$tmp/f"
for pid in $(ls "$tmp"/log.* | sed 's/.*\.//' | sort -u); do
	{
		[ ! -e "$tmp/log.fork.$pid" ] || "$tools/truth" -i "$tmp/log.before.$pid" <"$tmp/log.fork.$pid"
		[ ! -e "$tmp/log.$pid" ] || "$tools/truth" <"$tmp/log.$pid"
	} >"$tmp/truth"
	cat "$tmp"/f/*-"$pid".ips >"$tmp/ips"
	same "fork and exec: the same instructions, process $(ls "$tmp"/f/*.ips | grep -n -- "-$pid.ips" | cut -d : -f 1)" "$tmp/truth" "$tmp/ips"
done
check "fork and exec: the program's output" test "$status $(cat "$tmp/out")" = "0 $("$programs/forkexec")"
check "fork and exec: 4 processes, 3 images, 4 ends" \
	test "$(ls "$tmp"/f/*.pt | wc -l) $(grep -c ' exec ' "$tmp/f/sideband.txt") $(grep -c ' exit ' "$tmp/f/sideband.txt")" = "4 3 4"
for side in fork child; do
	sed -n "s/^[0-9]* $side \([0-9]*\) [0-9]* \([0-9a-f]*\) .*/\1 \2/p" "$tmp/f/sideband.txt" |
		while read -r one other; do
			[ $side = fork ] && echo "$((0x$other)) $one" || echo "$one $((0x$other))"
		done | sort >"$tmp/by.$side"
done
same "fork and exec: parents and children tell the same" "$tmp/by.fork" "$tmp/by.child"
check "fork and exec: of 3 children" test "$(wc -l <"$tmp/by.child")" -eq 3
rm -rf "$tmp/f" "$tmp"/log.*

record "$tmp/n" -- "$programs/forkexec" >"$tmp/out"
check "children left alone" test "$(ls "$tmp"/n/*.pt | wc -l) $(cat "$tmp/out")" = "1 $("$programs/forkexec")"
check "children left alone: no gaps" walk "$tmp/n"
check "children left alone: not told of" test "$(grep -c ' child ' "$tmp/n/sideband.txt")" -eq 0
rm -rf "$tmp/n"

# -- what is executed: scripts, what cannot be, what is not followed

mkdir "$tmp/x"
printf '#!%s/x/second  one two \nunused\n' "$tmp" >"$tmp/x/first"
printf '#! /bin/sh\necho "$0 $*"; exec -a other /bin/echo end\n' >"$tmp/x/second"
printf 'no program\n' >"$tmp/x/none"
printf '#!/nonexistent/interpreter\n' >"$tmp/x/bad"
printf '#!/bin/sh\n' >"$tmp/x/locked"
chmod 755 "$tmp/x/first" "$tmp/x/second" "$tmp/x/none" "$tmp/x/bad"
chmod 644 "$tmp/x/locked"
cat >"$tmp/x/all" <<END
cd "$tmp/x"
./first three
./bad; echo \$?
./locked; echo \$?
./absent; echo \$?
env -i ./second a "b c"
LD_LIBRARY_PATH=/nowhere X=1 env | grep -e LD_LIB -e ^X= | sort
(exec -a renamed /bin/sh -c 'echo \$0')
cat /proc/self/comm
END
/bin/bash "$tmp/x/all" >"$tmp/want" 2>"$tmp/want.err"
record -f "$tmp/s" -- /bin/bash "$tmp/x/all" >"$tmp/got" 2>"$tmp/got.err"
same "scripts and failures: output as without" "$tmp/want" "$tmp/got"
same "scripts and failures: messages as without" "$tmp/want.err" "$tmp/got.err"
check "scripts: no gaps" walk "$tmp/s"
rm -rf "$tmp/s"

# Set-user-ID to somebody else; who is not root takes a program of root's.
setid=/bin/mount word=mount
[ "$(id -u)" != 0 ] || { setid=$tmp/x/setid word=world; install -m 4755 -o 65534 "$programs/static" "$setid"; }
record -f "$tmp/s" -- /bin/sh -c "$setid --version; :" >"$tmp/got" 2>"$tmp/got.err"
check "set-user-ID: runs, and is named as not followed" \
	sh -c "grep -q $word '$tmp/got' && grep -q '$setid is not followed' '$tmp/got.err'"
rm -rf "$tmp/s"

record -f "$tmp/s" -- "$programs/execsignal" >"$tmp/got" 2>"$tmp/got.err"
echo "100 seen, 0 lost" >"$tmp/want"
same "signals at an exec: none is lost" "$tmp/want" "$tmp/got"
rm -rf "$tmp/s"

# -- filters: what is recorded is what the whole trace has inside

env -i setarch -R "$tools/shmdump" "$tmp/a" "$plugin" qemu-x86_64 -seed 1 "$samples/words" >/dev/null
walk "$tmp/a"
for glob in words 'libc.so*' '*/ld-linux*'; do
	env -i setarch -R "$tools/shmdump" -m "m $glob" "$tmp/m" "$plugin" qemu-x86_64 -seed 1 "$samples/words" >/dev/null
	if walk "$tmp/m"; then
		case $glob in
		words) key=/words$ ;;
		libc*) key=/libc.so ;;
		*) key=/ld-linux ;;
		esac
		awk -v key="$key" 'FNR == NR { if ($2 == "mmap" && $0 ~ key) { from = $5; size = $6 } next }
			{ if (lo == "") { lo = hex(from); hi = lo + hex(size) } v = hex($1); if (v >= lo && v < hi) print }
			function hex(s,  i, n) { n = 0; for (i = 1; i <= length(s); i++)
				n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return n }' \
			"$tmp/a/sideband.txt" "$tmp"/a/*.ips >"$tmp/want"
		cat "$tmp"/m/*.ips >"$tmp/got"
		same "only $glob" "$tmp/want" "$tmp/got"
	else
		fail "only $glob" "gaps"
	fi
	rm -rf "$tmp/m"
done
rm -rf "$tmp/a"

# -- death from outside, at any moment

bad=
for i in 1 2 3 4 5 6 7 8; do
	record "$tmp/k" -- "$programs/abort" spin >/dev/null 2>&1 &
	recorder=$!
	while running "$recorder" && ! [ -s "$(echo "$tmp"/k/*.pt)" ]; do sleep 0.02; done
	sleep 0.0$i
	set -- "$tmp"/k/*.pt
	pid=${1##*-}
	kill -KILL "${pid%.pt}"
	wait "$recorder"
	[ $? -eq 137 ] && walk "$tmp/k" >/dev/null || bad="$bad $i: $(cat "$tmp/k/walk.err")"
	rm -rf "$tmp/k"
done
check "killed: complete to the last block" test -z "$bad"

# -- the last bytes only

record -o -s 65536 "$tmp/o" -- "$samples/words" >/dev/null
record -o -s 65536 "$tmp/p" -- /usr/bin/python3 -S -c 'print(sorted(range(9)))' >/dev/null 2>"$tmp/err"
# What dies says no word of QEMU's, even where a core is allowed.
(cd "$tmp" && ulimit -S -c 1024 2>/dev/null && record "$tmp/d" -- "$programs/abort" segv) >/dev/null 2>"$tmp/d.err"
if grep -q 'uncaught target signal' "$tmp/d.err"; then
	fail "stderr of a program that dies is its own" "$(cat "$tmp/d.err")"
else
	pass "stderr of a program that dies is its own"
fi
check "overwrite: all of a short run" walk "$tmp/o"
check "overwrite: the end of a long one, from a PSB on" \
	sh -c "'$tools/ptwalk' '$tmp/p/sideband.txt' '$tmp'/p/*.pt | tail -n +2 | grep -c gap: | grep -qx 0"
rm -rf "$tmp/o" "$tmp/p"

# -- a recorder that dies does not take the program with it

mkfifo "$tmp/go"
# Not by record(), whose process would be the one of a shell.
"$tools/shmdump" -s 65536 "$tmp/d" "$plugin" qemu-x86_64 /bin/sh -c "read x <'$tmp/go'
	i=0; while [ \$i -lt 20000 ]; do i=\$((i+1)); done; echo finished" >"$tmp/out" 2>&1 &
recorder=$!
exec 3>"$tmp/go"
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
echo >&3
exec 3>&-
check "the recorder dies: the program goes on" wait_for finished "$tmp/out"

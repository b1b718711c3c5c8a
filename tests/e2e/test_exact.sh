# SPDX-License-Identifier: BSD-2-Clause
# From the program to `hwtrace script`: what is printed is what QEMU's own log of
# the same run says was executed, instruction by instruction, by every engine,
# and nothing was lost.
. tests/lib.sh

truth=$PWD/$BUILD/tests/tools/truth
engines=${ENGINES:-$engines}

# sequence ENGINE TID: addresses of one thread, one a line
sequence() {
	"$hwtrace" script -i "$tmp/t.data" --engine "$1" --itrace=i1i --tid "$2" -F ip 2>"$tmp/err.$1" |
		sed 's/^ *//'
}

# exact NAME [RECORD OPTION...] -- PROGRAM ARG...
# QEMU logs each thread into log.TID; a forked child begins in log.fork.TID, with blocks
# described in log.before.TID, and an exec starts log.TID.
exact() {
	_name=$1
	shift
	_opts=
	while [ "$1" != -- ]; do _opts="$_opts $1"; shift; done
	rm -f "$tmp"/log.* "$tmp"/t.data*
	QEMU_LOG=tid,nochain,exec,in_asm QEMU_STRACE=1 QEMU_LOG_FILENAME=$tmp/log.%d \
		QEMU_UNSET_ENV=LD_PRELOAD LD_PRELOAD=$programs/forklog \
		"$hwtrace" record -o "$tmp/t.data" $_opts "$@" >"$tmp/out" 2>"$tmp/record.err"
	grep -q ' 0 bytes lost' "$tmp/record.err" || { fail "$_name" "$(cat "$tmp/record.err")"; return; }
	_logs=
	for _l in "$tmp"/log.*; do _logs="$_logs -i $_l"; done
	# Where processes are, one address can be code of several programs: each log for itself.
	ls "$tmp"/log.fork.* >/dev/null 2>&1 && _logs=
	for _e in $engines; do
		_bad=
		_n=0
		for _tid in $(ls "$tmp"/log.* | sed 's/.*\.//' | sort -u); do
			{
				[ ! -e "$tmp/log.fork.$_tid" ] || "$truth" -i "$tmp/log.before.$_tid" <"$tmp/log.fork.$_tid"
				[ ! -e "$tmp/log.$_tid" ] || "$truth" $_logs <"$tmp/log.$_tid"
			} | sed 's/^0x//' >"$tmp/truth"
			# An exec starts the log of its thread anew: the trace has more in front.
			sequence "$_e" "$_tid" | if [ "$tails" ]; then tail -n "$(wc -l <"$tmp/truth")"; else cat; fi >"$tmp/ips"
			[ -s "$tmp/truth" ] && cmp -s "$tmp/truth" "$tmp/ips" ||
				_bad="$_bad thread $_tid: truth $(wc -l <"$tmp/truth"), decoded $(wc -l <"$tmp/ips"), $(cmp "$tmp/truth" "$tmp/ips" 2>&1)"
			tail -n 1 "$tmp/err.$_e" | grep -q '^lost: nothing' || _bad="$_bad thread $_tid: $(tail -n 1 "$tmp/err.$_e")"
			_n=$((_n + $(wc -l <"$tmp/truth")))
		done
		[ -z "$_bad" ] && pass "$_name, $_e: $_n instructions" || fail "$_name, $_e" "$_bad"
	done
}

tails=
exact "hello" -- "$samples/hello"
exact "static" -- "$programs/static"
exact "words" --cyc -- "$samples/words"
exact "state machine, returns not compressed" --no-return-compression -- "$samples/machine"
exact "recursion, a PSB every 512 bytes" --psb-period 512 -- "$programs/recursion"
exact "longjmp" -- "$programs/longjump"
exact "retpolines" -- "$programs/retpoline"
exact "alarms" -- "$programs/alarm"
exact "circles of jumps that a signal ends" -- "$programs/spin"
exact "string instructions" -- "$programs/string"
exact "dlopen and dlclose" -- "$programs/dlopen" "$programs/module"
exact "four threads" -- "$programs/threads"
exact "abort" -- "$programs/abort" abort
exact "fork, exec and vfork" -- "$programs/forkexec"
tails=1
exact "a shell and its commands" -- sh -c '/bin/true; echo a | cat; exec /bin/ls /'
tails=
# One block an instruction, so that the log shows where in a block a fault came.
QEMU_SINGLESTEP=1
export QEMU_SINGLESTEP
exact "unwinding" -- "$programs/unwind"
exact "faults" -- "$programs/segv"
exact "self-modifying code" -- "$programs/selfmod"
exact "killed by a fault" -- "$programs/abort" segv
unset QEMU_SINGLESTEP

# Programs as they are, on real input: the log goes through a pipe, it is too large to keep.
# big NAME PROGRAM ARG...
big() {
	_name=$1
	shift
	rm -f "$tmp"/log* "$tmp"/t.data*
	mkfifo "$tmp/log"
	"$truth" <"$tmp/log" | sed 's/^0x//' | sha256sum >"$tmp/truth.sum" &
	QEMU_LOG=nochain,exec,in_asm QEMU_STRACE=1 QEMU_LOG_FILENAME=$tmp/log \
		"$hwtrace" record -o "$tmp/t.data" -- "$@" >"$tmp/out" 2>"$tmp/record.err"
	wait
	for _e in $engines; do
		"$hwtrace" script -i "$tmp/t.data" --engine "$_e" --itrace=i1i -F ip 2>"$tmp/err.$_e" |
			sed 's/^ *//' | tee "$tmp/.fifo.$_e" | sha256sum >"$tmp/ips.sum"
		if cmp -s "$tmp/truth.sum" "$tmp/ips.sum" && tail -n 1 "$tmp/err.$_e" | grep -q '^lost: nothing'; then
			pass "$_name, $_e: $(wc -l <"$tmp/.fifo.$_e") instructions"
		else
			fail "$_name, $_e" "not the log's sequence: $(tail -n 1 "$tmp/err.$_e")"
		fi
		rm -f "$tmp/.fifo.$_e"
	done
}

"$hwtrace" script -i "$tmp/t.data" --itrace=i1i 2>/dev/null | head -n 2500 >"$tmp/text"
LC_ALL=C
export LC_ALL
big "sort" /usr/bin/sort -k 5 "$tmp/text"
big "gzip" /usr/bin/gzip -9 -c "$tmp/text"
big "python" /usr/bin/python3 -S -c 'import re; print(sum(len(re.sub("[aeiou]", "", w * 3)) for w in open("README.md").read().split()))'

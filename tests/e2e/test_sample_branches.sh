# SPDX-License-Identifier: BSD-2-Clause
# `record --sample-branches`: the stacks are those that follow from QEMU's log of the same run,
# perf prints the same, and what is decoded from them is what a trace tells.
. tests/lib.sh

truth=$PWD/$BUILD/tests/tools/truth
tools=$PWD/tests/tools

# exact NAME PERIOD PROGRAM...
exact() {
	_name="$1, every $2" _period=$2
	shift 2
	rm -f "$tmp"/log.*
	QEMU_LOG=tid,nochain,exec,in_asm QEMU_STRACE=1 QEMU_SINGLESTEP=1 QEMU_LOG_FILENAME=$tmp/log.%d \
		"$hwtrace" record --backend qemu --sample-branches "$_period" -o "$tmp/data" -- "$@" >/dev/null 2>"$tmp/err" || {
		fail "$_name" "$(cat "$tmp/err")"
		return
	}
	cat "$tmp"/log.* >"$tmp/all"
	_logs=
	for _l in "$tmp"/log.*; do _logs="$_logs -i $_l"; done
	for _l in "$tmp"/log.*; do
		_tid=${_l##*.}
		"$truth" $_logs <"$_l" | python3 "$tools/true_stacks.py" "$_period" "$_tid" "$tmp/all" >"$tmp/want"
		"$hwtrace" script -i "$tmp/data" --tid "$_tid" -F tid,ip,brstack >"$tmp/got" 2>"$tmp/err"
		[ -s "$tmp/want" ] || fail "$_name: thread $_tid has samples" "none"
		cmp -s "$tmp/want" "$tmp/got" || fail "$_name: thread $_tid" "$(cmp "$tmp/want" "$tmp/got" 2>&1), wanted $(wc -l <"$tmp/want") samples, got $(wc -l <"$tmp/got")"
		says "$_name: nothing is lost" '^lost: nothing' "$tmp/err"
	done
	pass "$_name: $(wc -l <"$tmp/got") stacks of the last thread"
	"$hwtrace" script -i "$tmp/data" -F tid,ip,brstack >"$tmp/got" 2>/dev/null
	if command -v perf >/dev/null; then
		perf script -i "$tmp/data" -F tid,ip,brstack >"$tmp/want" 2>"$tmp/err"
		same "$_name: as perf prints them" "$tmp/want" "$tmp/got"
	else
		skip "$_name: as perf prints them" "perf is not installed"
	fi
}

exact recursion 1 "$programs/recursion"
exact longjump 33 "$programs/longjump"
exact string 7 "$programs/string"
exact dlopen 100 "$programs/dlopen" "$programs/module"
exact threads 500 "$programs/threads"
exact wordcount 1000 "$samples/wordcount" README.md

# Where a signal takes over is no branch: the stack begins anew, and what is left goes together.
"$hwtrace" record -q --sample-branches 5 -o "$tmp/data" -- "$programs/alarm" >/dev/null 2>&1
"$hwtrace" script -i "$tmp/data" --itrace=b -F addr,sym >"$tmp/got" 2>"$tmp/err"
says "stacks on both sides of signals go together" '^lost: nothing' "$tmp/err"
"$hwtrace" record -q -o "$tmp/trace" -- "$programs/alarm" >/dev/null 2>&1
"$hwtrace" script -i "$tmp/trace" --itrace=b -F flags >"$tmp/flags" 2>/dev/null
says "there are signals" 'async' "$tmp/flags"

# Stacks that overlap have all that ran, but for the last few branches.
"$hwtrace" record -q -o "$tmp/trace" -- "$samples/machine" >/dev/null 2>&1
"$hwtrace" record -q --sample-branches 16 -o "$tmp/data" -- "$samples/machine" >/dev/null 2>&1
"$hwtrace" info -i "$tmp/data" >"$tmp/info" 2>/dev/null
says "source" '^trace: *branch stacks' "$tmp/info"
says "recorded in software" 'software trace unit (qemu)' "$tmp/info"
for d in trace data; do
	"$hwtrace" coverage -i "$tmp/$d" --module machine --lcov "$tmp/lcov" >/dev/null 2>&1
	sed -n 's/^DA:\([0-9]*\),[1-9].*/\1/p' "$tmp/lcov" >"$tmp/lines.$d"
done
[ -s "$tmp/lines.trace" ] || fail "there are lines" none
same "lines that stacks reach" "$tmp/lines.trace" "$tmp/lines.data"
"$hwtrace" script -i "$tmp/trace" --itrace=b -F ip,addr 2>/dev/null | sort -u >"$tmp/branches"
"$hwtrace" script -i "$tmp/data" --itrace=b -F ip,addr 2>"$tmp/err" | sort -u >"$tmp/got"
check "all branches of the stacks are in the trace" test -z "$(comm -13 "$tmp/branches" "$tmp/got")"
says "their code is there" '^lost: nothing' "$tmp/err"

# What a trace lacks, its samples lack.
"$hwtrace" record -q --sample-branches 100 --overwrite 64K -o "$tmp/data" -- "$samples/wordcount" README.md >/dev/null 2>&1
"$hwtrace" script -i "$tmp/data" >/dev/null 2>"$tmp/err"
says "a loss is told" '^lost: .*AUX data lost' "$tmp/err"

check "0 is refused" sh -c "! '$hwtrace' record --sample-branches 0 -o '$tmp/none' -- true 2>'$tmp/err' && [ ! -e '$tmp/none' ]"
"$hwtrace" record --sample-branches 1000 -o "$tmp/data" -- sh -c 'exit 7' >/dev/null 2>"$tmp/err"
rc=$?
check "the program's status" test $rc -eq 7
says "closing line" '[0-9] samples of [0-9]* bytes of trace, 0 bytes lost' "$tmp/err"
check "nothing is left over" sh -c "! ls '$tmp'/*.recording"
"$hwtrace" record -q --backend ptrace --sample-branches 100 -o "$tmp/data" -- "$programs/static" >/dev/null 2>&1
"$hwtrace" script -i "$tmp/data" -F tid,ip,brstack >"$tmp/got" 2>/dev/null
says "by single steps" '^ *[0-9]* *[0-9a-f]* 0x' "$tmp/got"

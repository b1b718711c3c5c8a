# SPDX-License-Identifier: BSD-2-Clause
# perf script on our files and hwtrace script print the same bytes: every
# instruction with its thread, every branch with its flags, in one order, over
# threads, fork, exec, vfork, dlopen, signals and exceptions.
. tests/lib.sh

if ! command -v perf >/dev/null; then
	skip "same bytes as perf" "perf is not installed"
	exit 0
fi
if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip "same bytes as perf" "the software trace unit is not usable here"
	exit 0
fi

# judge NAME: the files perf and ours are equal, and nothing was lost.
judge() {
	if ! cmp -s "$tmp/perf" "$tmp/ours"; then
		fail "$1" "$(wc -l <"$tmp/perf") lines by perf, $(wc -l <"$tmp/ours") here"
		diff "$tmp/perf" "$tmp/ours" | head -n 8 | sed 's/^/    /'
	elif [ ! -s "$tmp/perf" ]; then
		fail "$1" "both are empty"
	elif ! grep -qx 'lost: nothing' "$tmp/err"; then
		fail "$1" "$(tail -n 1 "$tmp/err")"
	else
		pass "$1"
	fi
}

# compare NAME PROGRAM ARGUMENTS...
compare() {
	_name=$1
	shift
	"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$@" >/dev/null 2>&1
	[ -s "$tmp/data" ] || { fail "record $_name" "no file"; return; }
	for how in "--itrace=i1i -F tid,ip" "--itrace=b -F ip,addr,flags" "--itrace=b -F tid,time,ip --ns"; do
		perf script -i "$tmp/data" $how >"$tmp/perf" 2>/dev/null
		"$hwtrace" script -i "$tmp/data" --engine native $how >"$tmp/ours" 2>"$tmp/err"
		judge "$_name: $how by native"
	done
	[ "$engines" != native ] || return
	# libipt reads ahead and may tell a time one branch early, which can change the
	# order between threads: each thread by itself is the same.
	for how in "--itrace=i1i -F tid,ip" "--itrace=b -F tid,ip,addr,flags"; do
		perf script -i "$tmp/data" $how 2>/dev/null | sort -s -n -k 1,1 >"$tmp/perf"
		"$hwtrace" script -i "$tmp/data" --engine libipt $how 2>"$tmp/err" | sort -s -n -k 1,1 >"$tmp/ours"
		judge "$_name: $how by libipt, thread by thread"
	done
	rm -f "$tmp/data"
}
compare "threads" "$programs/threads"
compare "fork and exec" "$programs/forkexec"
compare "dlopen" "$programs/dlopen" "$programs/module"
compare "longjmp" "$programs/longjump"
compare "a signal caught" "$programs/segv"
compare "killed by a signal" "$programs/abort"
compare "exceptions" "$programs/unwind"
compare "deep recursion" "$programs/recursion"
compare "static program" "$programs/static"
compare "a shell and its commands" sh -c 'ls / | sort | head -n 3'

# The symbol columns, where both name the same symbol: nearly everywhere.
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$programs/longjump" >/dev/null 2>&1
perf script -i "$tmp/data" --itrace=b -F ip,sym,symoff,dso,addr >"$tmp/perf" 2>/dev/null
"$hwtrace" script -i "$tmp/data" --itrace=b -F ip,sym,symoff,dso,addr >"$tmp/ours" 2>/dev/null
awk 'NR == FNR { want[FNR] = $0; n = FNR; next }
     { if (want[FNR] == $0) equal++; else if (shown++ < 5) print want[FNR] "\n  here: " $0 }
     END { print n, FNR, equal > "/dev/stderr"; exit !(n == FNR && n > 0 && equal >= n * 0.99) }' \
    "$tmp/perf" "$tmp/ours" >"$tmp/out" 2>"$tmp/count" &&
    pass "symbol columns as perf ($(cat "$tmp/count"))" ||
    { fail "symbol columns as perf" "lines, lines here, equal: $(cat "$tmp/count")"; sed 's/^/    /' "$tmp/out"; }

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

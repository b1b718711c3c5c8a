# SPDX-License-Identifier: BSD-2-Clause
# Captures of simple-pt: two programs that lie at the same addresses, one behind the other on one
# CPU, are told apart by their page tables and decoded as each was by itself.
. tests/lib.sh

pt=$tmp/ptout
args=
: >"$tmp/want"
for p in recursion longjump; do
	"$hwtrace" record -q -o "$tmp/$p.data" -- "$programs/$p" >/dev/null 2>"$tmp/err" || fail "record $p" "$(cat "$tmp/err")"
	"$hwtrace" info --maps -i "$tmp/$p.data" >"$tmp/$p.maps" 2>/dev/null
	"$hwtrace" script -i "$tmp/$p.data" --itrace=i1i -F pid,ip,sym,dso >>"$tmp/want" 2>/dev/null
	"$hwtrace" script -i "$tmp/$p.data" --call-trace -F sym >>"$tmp/calls" 2>/dev/null
	args="$args $tmp/$p.data $tmp/$p.maps"
done
# $args is words, on purpose
python3 tests/tools/to_simplept.py "$pt" $args || fail "the capture is made" "no"
[ "$(wc -l <"$tmp/want")" -gt 100000 ] || fail "there is something to decode" "$(wc -l <"$tmp/want") instructions"
for e in $engines; do
	"$hwtrace" script -i "$pt.sideband" --engine "$e" --itrace=i1i -F pid,ip,sym,dso >"$tmp/got" 2>"$tmp/err"
	same "two programs, $e" "$tmp/want" "$tmp/got"
	says "nothing is lost, $e" '^lost: nothing' "$tmp/err"
done
"$hwtrace" script -i "$pt.sideband" --call-trace -F sym >"$tmp/got" 2>/dev/null
same "calls of two programs on one CPU" "$tmp/calls" "$tmp/got"
reference verify && check verify "$hwtrace" verify -i "$pt.sideband"

"$hwtrace" coverage -i "$tmp/recursion.data" --module recursion --lcov "$tmp/want" >/dev/null 2>&1
for j in 1 4; do
	"$hwtrace" coverage -i "$pt.sideband" --jobs $j --module recursion --lcov "$tmp/got" >/dev/null 2>&1
	same "coverage of one of them, $j threads" "$tmp/want" "$tmp/got"
done
"$hwtrace" info -i "$pt.sideband" >"$tmp/info" 2>/dev/null
says "format" '^format: *simple-pt' "$tmp/info"
says "an empty file is no stream" '^streams: 1$' "$tmp/info"
says "CPU" '0 *cpu 3 ' "$tmp/info"

# What cannot be read is told.
{ cat "$pt.sideband"; echo '1.5 x 1 2 3 4 /bin/true'; } >"$tmp/bad.sideband"
cp "$pt.3" "$tmp/bad.3"
"$hwtrace" script -i "$tmp/bad.sideband" >/dev/null 2>"$tmp/err"
says "a bad line" 'line [0-9]* is no mapping' "$tmp/err"
says "is a loss" '^lost: .*damaged records' "$tmp/err"
cp "$pt.sideband" "$tmp/alone.sideband"
"$hwtrace" info -i "$tmp/alone.sideband" >/dev/null 2>"$tmp/err"
says "no trace beside it" 'has no trace beside it.*alone.0' "$tmp/err"
cp "$pt.sideband" "$tmp/ptout.txt"
"$hwtrace" info -i "$tmp/ptout.txt" >/dev/null 2>"$tmp/err"
says "another name" 'not called PREFIX.sideband' "$tmp/err"

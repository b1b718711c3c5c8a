# SPDX-License-Identifier: BSD-2-Clause
# hwtrace info: of a capture made by hand, word for word; of a recorded one, as
# JSON; what it says of files that are gone or changed.
. tests/lib.sh
. tests/tools/flow_capture.sh
flow_capture "$tmp" || { fail "make the capture" "gcc failed"; exit 0; }
json() { python3 -c "import json, sys; r = json.load(open('$1')); print($2)"; }
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}

"$hwtrace" info --pt "$tmp/pt" --pages "$tmp/code" --map "$tmp/map" --decode --losses --maps >"$tmp/got" 2>"$tmp/err"
is "status" 0 $?
is "closing line" "lost: nothing" "$(tail -n 1 "$tmp/err")"
size=$(wc -c <"$tmp/pt" | tr -d ' ')
sed -n '/^streams/,/^$/p' "$tmp/got" | sed 's/  */ /g' >"$tmp/streams"
cat >"$tmp/want" <<E
streams: 1
 0 pid 0 tid 0 $size bytes in 1 chunk
 by ENGINE: $size bytes decoded, 0 skipped, 17 instructions, 11 branches, 0 gaps

E
sed -i '/^decoded by/d; s/by [a-z]*:/by ENGINE:/' "$tmp/streams"
same "streams and figures" "$tmp/want" "$tmp/streams"
grep -q '401000-40101a' "$tmp/got" && pass "mappings" || fail "mappings" "$(cat "$tmp/got")"
grep -qx 'losses: 0' "$tmp/got" && pass "losses" || fail "losses" "$(cat "$tmp/got")"

"$hwtrace" info --pt "$tmp/pt" --pages "$tmp/code" --map "$tmp/map" >"$tmp/got" 2>"$tmp/err"
grep -q 'decoded' "$tmp/got" && fail "the plain report does not decode" "it does" || pass "the plain report does not decode"
is "the plain report tells no loss" "" "$(cat "$tmp/err")"

# A loss is listed with its place.
{ cat "$tmp/pt"; printf '\006'; } >"$tmp/pt2"
"$hwtrace" info --pt "$tmp/pt2" --pages "$tmp/code" --map "$tmp/map" --losses 2>/dev/null | sed -n '/^losses/,$p' |
    sed '/stream/s/: [^:]*$//' >"$tmp/got"
printf 'losses: 1\n  stream 0 offset 0x%x: trace does not fit the code, 1 bytes, after 0x0, 17 instructions before, 0 behind\n' "$size" >"$tmp/want"
same "a loss as text" "$tmp/want" "$tmp/got"
"$hwtrace" info --pt "$tmp/pt2" --pages "$tmp/code" --map "$tmp/map" --losses --json >"$tmp/json" 2>"$tmp/err"
is "a loss in JSON" "1 True" "$(json "$tmp/json" 'len(r["losses"]), r["losses"][0]["why"] != ""')"
"$hwtrace" info --pt "$tmp/pt2" --pages "$tmp/code" --map "$tmp/map" --fail-on-loss >/dev/null 2>&1
is "--fail-on-loss" 65 $?

if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip "info of a recording" "the software trace unit is not usable here"
	exit 0
fi
cp "$programs/threads" "$tmp/prog"
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$tmp/prog" >/dev/null 2>&1
"$hwtrace" info -i "$tmp/data" --decode --json >"$tmp/json" 2>"$tmp/err"
is "JSON of a recording" "perf.data True qemu 5 5 True" \
    "$(json "$tmp/json" 'r["format"], r["software"], r["backend"], len(r["streams"]), len(r["threads"]), all(s["bytes"] == s["bytes_decoded"] and s["gaps"] == 0 for s in r["streams"])')"
is "emulated times are told once" 1 "$(grep -c 'branches exact, times emulated' "$tmp/err")"
state() { json "$tmp/json" "[f['state'] for f in r['files'] if f['path'] == '$tmp/prog'][0]"; }
is "a file that is there" found "$(state)"
mv "$tmp/prog" "$tmp/prog.away"
"$hwtrace" info -i "$tmp/data" --json >"$tmp/json" 2>/dev/null
is "a file that is gone" missing "$(state)"
cp "$programs/segv" "$tmp/prog"
"$hwtrace" info -i "$tmp/data" --json >"$tmp/json" 2>/dev/null
is "a file that is another" changed "$(state)"
"$hwtrace" info -i "$tmp/data" >"$tmp/out" 2>/dev/null
grep -A1 "changed .*$tmp/prog" "$tmp/out" | grep -q 'its build-id is .*, recorded was' && pass "why it counts as changed" ||
    fail "why it counts as changed" "$(cat "$tmp/out")"
mkdir -p "$tmp/root$tmp" && cp "$tmp/prog.away" "$tmp/root$tmp/prog"
"$hwtrace" info -i "$tmp/data" --symfs "$tmp/root" --json >"$tmp/json" 2>/dev/null
is "a file under --symfs" found "$(state)"

# -- what ran in files and functions ---------------------------------------------------
"$hwtrace" record -q -o "$tmp/rec" -- "$programs/recursion" >/dev/null 2>&1
"$hwtrace" script -i "$tmp/rec" --itrace=i1i -F ip,sym,dso >"$tmp/places" 2>/dev/null
# ran OPTION... : instructions and branches
ran() {
	"$hwtrace" info -i "$tmp/rec" "$@" --json >"$tmp/json" 2>"$tmp/err"
	json "$tmp/json" 'sum(s["instructions"] for s in r["streams"]), sum(s["branches"] for s in r["streams"])' | tr -d '(,)'
}
all=$(ran --decode)
sum=0
for dso in $(sed 's/.*(\(.*\))$/\1/' "$tmp/places" | sort -u); do
	n=$(grep -cF "($dso)" "$tmp/places")
	got=$(ran --dso "$dso")
	is "instructions in ${dso##*/}" "$n" "${got% *}"
	is "by its base name" "$got" "$(ran --dso "${dso##*/}")"
	sum=$((sum + n))
done
is "files add up" "${all% *}" "$sum"
# Which names libraries have depends on what is installed: those of the program, and the two that ran most.
often=$(sed -n 's/^.* \([A-Za-z_][A-Za-z0-9_]*\) (.*/\1/p' "$tmp/places" | sort | uniq -c | sort -rn | awk 'NR < 3 { print $2 }')
for sym in main $often; do
	n=$(grep -c " $sym (" "$tmp/places")
	got=$(ran --sym $sym)
	[ "$n" -gt 0 ] && is "instructions in $sym" "$n" "${got% *}" || fail "instructions in $sym" "none in the trace"
done
is "a function that is in another file" "0 0" "$(ran --sym main --dso libc.so.6)"
ran --sym nosuch >/dev/null
says "a function that is nowhere" '--sym nosuch: no function of this name' "$tmp/err"

# A block that goes over from one function to the next.
cat >"$tmp/over.S" <<'E'
	.globl main
	.type main, @function
main:	call f
	xor %eax, %eax
	ret
	.size main, . - main
	.type f, @function
f:	nop
	nop
	nop
	.size f, . - f
	.type g, @function
g:	nop
	ret
	.size g, . - g
	.section .note.GNU-stack, "", @progbits
E
if gcc -o "$tmp/over" "$tmp/over.S" 2>"$tmp/err" && "$hwtrace" record -q -o "$tmp/rec" -- "$tmp/over" 2>"$tmp/err"; then
	is "a block of two functions: the first" 3 "$(ran --sym f | cut -d ' ' -f 1)"
	is "a block of two functions: the second" 2 "$(ran --sym g | cut -d ' ' -f 1)"
	is "a block of two functions: both" 5 "$(ran --sym f --sym g | cut -d ' ' -f 1)"
else
	fail "a block of two functions" "$(cat "$tmp/err")"
fi

# A slice of time is decoded from near its begin, by each engine, to the same lines.
for i in 1 2 3 4 5; do cat README.md; done >"$tmp/words"
"$hwtrace" record -q --psb-period 1024 -o "$tmp/rec" -- "$samples/wordcount" "$tmp/words" >/dev/null 2>&1
for e in $engines; do
	"$hwtrace" script -i "$tmp/rec" --engine "$e" --itrace=b --time 0%, -F time,ip,addr,flags >"$tmp/whole" 2>/dev/null
	# The time of a place, since time goes by while the machine does something else.
	at=$(sed -n "$(($(wc -l <"$tmp/whole") * 9 / 10))p" "$tmp/whole" | sed 's/^ *\([0-9.]*\):.*/\1/')
	"$hwtrace" info -i "$tmp/rec" --engine "$e" --time "$at," --json >"$tmp/json" 2>"$tmp/err"
	is "$e begins near the slice" True \
		"$(json "$tmp/json" '0 < r["streams"][0]["bytes_decoded"] < r["streams"][0]["bytes"] / 2')"
	is "$e loses nothing in it" "lost: nothing" "$(tail -n 1 "$tmp/err")"
	"$hwtrace" script -i "$tmp/rec" --engine "$e" --time "$at," --itrace=b -F time,ip,addr,flags >"$tmp/slice" 2>/dev/null
	[ "$(wc -l <"$tmp/slice")" -gt 1000 ] || fail "there is a slice, $e" "$(wc -l <"$tmp/slice") branches"
	tail -n "$(wc -l <"$tmp/slice")" "$tmp/whole" >"$tmp/want"
	same "a slice is the end of the whole, $e" "$tmp/want" "$tmp/slice"
done

# SPDX-License-Identifier: BSD-2-Clause
# The native engine never asks the reference: nothing but the reference engine's
# own files refers to libipt, and a build without it decodes the same.
. tests/lib.sh

alone=$PWD/build-native/bin/hwtrace

callers=$(find "$BUILD/obj" -name '*.o' ! -name 'libipt*.o' -exec sh -c '
	for o; do nm -u "$o" | grep -qE "U (pt_(blk|insn|qry|evt|pkt|enc|image|iscache|asid|sync|config)_|ht_engine_libipt)" &&
		echo "$o"; done' _ {} + | sed 's,.*/,,' | sort | tr '\n' ' ')
case $callers in
'' | 'engines_all.o ') pass "nothing else refers to libipt" ;;
*) fail "nothing else refers to libipt" "$callers" ;;
esac

[ -x "$alone" ] || { skip "without libipt" "make WITHOUT_REFERENCE=1 was not run"; exit 0; }
readelf -d "$alone" | grep -q 'NEEDED.*libipt' && fail "not linked with libipt" "it is" || pass "not linked with libipt"
nm "$alone" | grep -qE ' (pt_blk|pt_insn|pt_qry)_' && fail "no symbol of libipt" "there is" || pass "no symbol of libipt"
"$alone" --version | grep '^engines: ' | grep -qw libipt && fail "one engine less" "it names libipt" || pass "one engine less"
"$hwtrace" record -q -o "$tmp/t.data" -- "$programs/recursion" >/dev/null 2>"$tmp/err"
"$hwtrace" script -i "$tmp/t.data" --itrace=i1i -F tid,ip >"$tmp/want" 2>>"$tmp/err"
"$alone" script -i "$tmp/t.data" --itrace=i1i -F tid,ip >"$tmp/got" 2>>"$tmp/err"
[ "$(wc -l <"$tmp/want")" -gt 10000 ] && same "the same instructions" "$tmp/want" "$tmp/got" ||
	fail "the same instructions" "$(wc -l <"$tmp/want") of them: $(head -n 3 "$tmp/err")"
"$alone" verify "$tmp/t.data" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'no decode engine named "libipt"' "$tmp/err" &&
	pass "verify says what is missing" || fail "verify says what is missing" "$(cat "$tmp/out" "$tmp/err")"

# Who decoded what
"$hwtrace" info --decode -i "$tmp/t.data" 2>/dev/null | sed -n 's/^decoded by \(.*\): \([0-9]*\) bytes$/\1 \2/p' >"$tmp/got"
"$hwtrace" info --json -i "$tmp/t.data" 2>/dev/null | python3 -c '
import json, sys
print("native", sum(s["bytes"] for s in json.load(sys.stdin)["streams"]))' >"$tmp/want"
for e in $engines; do [ $e = native ] || echo "$e 0"; done >>"$tmp/want"
same "bytes decoded by each engine" "$tmp/want" "$tmp/got"

# SPDX-License-Identifier: BSD-2-Clause
# CoreSight snapshots: every buffer is a stream, of the bytes that its file has.  Their packets are not decoded yet.
. tests/lib.sh

[ -d "$CORPUS/etm" ] || { skip corpus_snapshot "there is no folder $CORPUS/etm"; exit 0; }
n=0
for ini in $(find "$CORPUS/etm" "$CORPUS/ete" -name snapshot.ini | sort); do
	dir=${ini%/*}
	meta=$(tr -d '\r' <"$ini" | sed -n 's/^ *metadata *= *//p')
	for f in $(tr -d '\r' <"$dir/$meta" | sed -n 's/^ *file *= *//p'); do
		wc -c <"$dir/$f" | tr -d ' '
	done | sort -n >"$tmp/want"
	"$hwtrace" info "$dir" 2>"$tmp/err" | sed -n 's/.* \([0-9]*\) bytes in 1 chunk$/\1/p' | sort -n >"$tmp/got"
	same "${dir#"$CORPUS"/}" "$tmp/want" "$tmp/got"
	n=$((n + 1))
done
check "snapshots" test "$n" -ge 25
"$hwtrace" script "$CORPUS/etm/fib/trace1" >/dev/null 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'its trace is CoreSight; this version' "$tmp/err" && pass "not decoded is told" ||
	fail "not decoded is told" "$(cat "$tmp/err")"

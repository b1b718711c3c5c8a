# SPDX-License-Identifier: BSD-2-Clause
# Every command has a manual page, and every option of its table stands in it.
. tests/lib.sh

commands=$("$hwtrace" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || fail "commands are listed" "hwtrace --help lists none"
for c in $commands; do
	page=man/hwtrace-$c.1
	if [ ! -f "$page" ]; then
		fail "man page of $c" "$page does not exist"
		continue
	fi
	"$hwtrace" "$c" --help | sed -n 's/^  \(-[A-Za-z0-9], \|    \)--\([a-z0-9-]*\).*/\2/p' | sort >"$tmp/table"
	grep -o 'Fl -[a-z][a-z0-9-]*' "$page" | sed 's/Fl -//' | grep -vx help | sort -u >"$tmp/page"
	missing=$(comm -23 "$tmp/table" "$tmp/page" | tr '\n' ' ')
	gone=$(comm -13 "$tmp/table" "$tmp/page" | tr '\n' ' ')
	[ -z "$missing" ] && pass "man page of $c has every option" || fail "man page of $c has every option" "missing: $missing"
	[ -z "$gone" ] && pass "man page of $c has no option too many" || fail "man page of $c has no option too many" "$gone"
	grep -q "hwtrace-$c" man/hwtrace.1 || fail "man page of $c" "man/hwtrace.1 does not refer to it"
done
check "man/hwtrace.1 tells once where output goes" \
	test "$(grep -c 'everything else to standard error' man/hwtrace.1)" = 1
if command -v mandoc >/dev/null; then
	check "mandoc finds nothing to warn of" mandoc -T lint -W warning man/*.1
else
	skip "mandoc" "mandoc is not installed"
fi

# SPDX-License-Identifier: BSD-2-Clause
# The progress bar of long work: on stderr, only on a terminal, and gone in the
# end; no colour anywhere.
. tests/lib.sh

if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip progress "the software trace unit is not usable here"
	exit 0
fi
slow=tests/tools/slow_reader.py
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$programs/recursion" >/dev/null 2>"$tmp/err" ||
	fail "record for the bar" "$(cat "$tmp/err")"
set -- "$hwtrace" script -i "$tmp/data" --itrace=i1i -F tid,ip
"$@" >"$tmp/want" 2>"$tmp/err.want"

# What was drawn, a line each: \r goes back to the start of the line.
python3 $slow "$tmp/out" "$@" >"$tmp/screen"
tr '\r' '\n' <"$tmp/screen" >"$tmp/lines"
bar='decoding \[#*-*\] *[0-9]*%'
check "on a terminal there is a bar" grep -qx "$bar" "$tmp/lines"
same "it is on stderr alone" "$tmp/want" "$tmp/out"
sed -n 's/^decoding \[\(.*\)\] *\([0-9]*\)%$/\1 \2/p' "$tmp/lines" >"$tmp/bars"
check "it only grows, up to 100 %, as long as it says" awk '
	{ n = gsub("#", "", $1); if (length($1) + n != 30 || $2 < last || $2 > 100 || n != int($2 * 30 / 100) &&
		n != int(($2 + 1) * 30 / 100)) bad = 1; last = $2 }
	END { exit bad || !NR }' "$tmp/bars"
# What the terminal shows at last: each \r overwrites.
python3 - "$tmp/screen" >"$tmp/shown" <<'P'
import sys
for line in open(sys.argv[1], newline="").read().replace("\r\n", "\n").split("\n"):
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part):]
    print(shown.rstrip())
P
sed '$a\' "$tmp/err.want" >"$tmp/err.lines"
sed '${/^$/d}' "$tmp/shown" >"$tmp/shown.lines"
same "and it is wiped away" "$tmp/err.lines" "$tmp/shown.lines"

STDERR=pipe python3 $slow "$tmp/out" "$@" >"$tmp/piped"
same "no bar in a pipe" "$tmp/err.want" "$tmp/piped"
"$@" 2>"$tmp/err" | { dd bs=1 count=1 2>/dev/null; sleep 1.5; cat; } >"$tmp/out"
same "no bar in a file" "$tmp/err.want" "$tmp/err"
same "nor lost output" "$tmp/want" "$tmp/out"

# Lines on a terminal are not to be cut by a bar on the same one.
STDOUT=terminal python3 $slow "$tmp/out" "$@" >"$tmp/both"
grep -q "$bar" "$tmp/both" && fail "none among lines on the same terminal" "there is" ||
	pass "none among lines on the same terminal"

# NO_COLOR=1 or not: no escape sequence that sets a colour, of good news or bad.
esc=$(printf '\033')
for no in '' 1; do
	{
		NO_COLOR=$no python3 $slow "$tmp/out" "$@"
		for c in --help list check "info -i $tmp/data" "coverage -i $tmp/data" "script -i $tmp/none" "nonsense"; do
			NO_COLOR=$no TERM=xterm-256color python3 tests/tools/terminal.py "$hwtrace" $c </dev/null
		done
	} >"$tmp/screen" 2>&1
	if [ "$(wc -l <"$tmp/screen")" -gt 30 ] && ! grep -q "$esc" "$tmp/screen"; then
		pass "no colour${no:+ with NO_COLOR}"
	else
		fail "no colour${no:+ with NO_COLOR}" "$(grep "$esc" "$tmp/screen" | head -n 3 | cat -v)"
	fi
done

# SPDX-License-Identifier: BSD-2-Clause
# An archive is decoded where nothing of what ran is left, as the capture was where it was made.
. tests/lib.sh

mkdir "$tmp/bin" "$tmp/empty"
cp "$samples/wordcount" "$tmp/bin/wordcount"
echo a b c a >"$tmp/words"
"$hwtrace" record -o "$tmp/data" -- "$tmp/bin/wordcount" "$tmp/words" >/dev/null 2>"$tmp/err" || {
	fail "record for the archive" "$(cat "$tmp/err")"
	exit 0
}
"$hwtrace" script -i "$tmp/data" >"$tmp/script.want" 2>/dev/null
"$hwtrace" coverage -i "$tmp/data" --lcov "$tmp/lcov.want" -o "$tmp/report.want" >/dev/null 2>&1
check "archive" "$hwtrace" archive -i "$tmp/data"
check "archive is private" test "$(stat -c %a "$tmp/data.tar.zst")" = 600
"$hwtrace" archive -i "$tmp/data" -o - 2>/dev/null >"$tmp/again"
check "archive is the same each time" cmp "$tmp/data.tar.zst" "$tmp/again"

mkdir "$tmp/unpacked"
if tar --zstd -xf "$tmp/data.tar.zst" -C "$tmp/unpacked" 2>/dev/null; then
	check "the capture is in it as it is" cmp "$tmp/data" "$tmp/unpacked/capture"
	check "the program is in it" cmp "$samples/wordcount" "$tmp/unpacked/files/0-wordcount"
	awk -F '\t' '$1 == "capture" || $1 == "file" { print $2 "  " $4 }' "$tmp/unpacked/manifest" >"$tmp/sums"
	check "checksums" sh -c "cd '$tmp/unpacked' && [ \$(wc -l <'$tmp/sums') -ge 3 ] && sha256sum -c '$tmp/sums'"
else
	skip "tar unpacks it" "tar or zstd is not installed"
fi

# The program is gone, then another one has its place: the archive has the right one.
rm "$tmp/bin/wordcount"
"$hwtrace" script -i "$tmp/data.tar.zst" >"$tmp/got" 2>"$tmp/err"
same "script of an archive" "$tmp/script.want" "$tmp/got"
"$hwtrace" script - <"$tmp/data.tar.zst" >"$tmp/got" 2>"$tmp/err"
same "an archive through a pipe" "$tmp/script.want" "$tmp/got"
cp "$samples/hello" "$tmp/bin/wordcount"
"$hwtrace" script -i "$tmp/data.tar.zst" >"$tmp/got" 2>"$tmp/err"
same "another program in its place" "$tmp/script.want" "$tmp/got"
"$hwtrace" coverage -i "$tmp/data.tar.zst" --lcov "$tmp/got" -o "$tmp/report" >/dev/null 2>"$tmp/err"
same "coverage of an archive" "$tmp/lcov.want" "$tmp/got"
check "verify of an archive" "$hwtrace" verify -i "$tmp/data.tar.zst"
"$hwtrace" info -i "$tmp/data.tar.zst" >"$tmp/got" 2>/dev/null
check "info tells where from" grep -q 'files/0-wordcount, by build-id' "$tmp/got"
check "an archive of an archive" "$hwtrace" archive -i "$tmp/data.tar.zst" -o "$tmp/again"
check "is the same" cmp "$tmp/again" "$tmp/data.tar.zst"

# What is not there is told, in the archive as well.
rm "$tmp/bin/wordcount"
"$hwtrace" archive -i "$tmp/data" -o "$tmp/less" 2>"$tmp/err"
check "what is missing is told" grep -q 'not archived: .*wordcount' "$tmp/err"
"$hwtrace" info -i "$tmp/less" >"$tmp/got" 2>/dev/null
check "and missing it is" grep -q 'missing .*/wordcount' "$tmp/got"
# perf's cache has it by build-id
id=$("$hwtrace" info --json -i "$tmp/data" 2>/dev/null | python3 -c 'import json, sys
print([f["build_id"] for f in json.load(sys.stdin)["files"] if f["path"].endswith("/wordcount")][0])')
cache=$tmp/home/.debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-)
mkdir -p "$cache"
cp "$samples/wordcount" "$cache/elf"
HOME=$tmp/home "$hwtrace" script -i "$tmp/data" >"$tmp/got" 2>/dev/null
same "perf's cache of files" "$tmp/script.want" "$tmp/got"

# errors
check "not onto itself" sh -c "! '$hwtrace' archive -i '$tmp/data' -o '$tmp/data' 2>'$tmp/err' && grep -q itself '$tmp/err'"
check "not into nowhere" sh -c "! '$hwtrace' archive -i '$tmp/data' -o '$tmp/no/a' 2>'$tmp/err' &&
	[ \$(grep -c 'cannot be made' '$tmp/err') = 1 ]"
mkfifo "$tmp/fifo"
check "not in place of a pipe" sh -c "! '$hwtrace' archive -i '$tmp/data' -o '$tmp/fifo' 2>'$tmp/err' && [ -p '$tmp/fifo' ]"
: >"$tmp/real" && ln -s real "$tmp/link"
check "through a link" sh -c "'$hwtrace' archive -i '$tmp/data' -o '$tmp/link' && [ -L '$tmp/link' ] && [ -s '$tmp/real' ]"
size=$(wc -c <"$tmp/data.tar.zst")
head -c $((size / 2)) "$tmp/data.tar.zst" >"$tmp/cut"
"$hwtrace" info -i "$tmp/cut" >"$tmp/got" 2>"$tmp/err"
rc=$?
check "a cut archive" test $rc -lt 2

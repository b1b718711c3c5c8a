# SPDX-License-Identifier: BSD-2-Clause
# Programs and debug files come from a server by build-id when that is allowed, and never else:
# here from one on loopback that this test starts.
. tests/lib.sh

HOME=$tmp/home
DEBUGINFOD_CACHE_PATH=$tmp/cache
export HOME DEBUGINFOD_CACHE_PATH
unset DEBUGINFOD_URLS DEBUGINFOD_PROGRESS DEBUGINFOD_VERBOSE http_proxy HTTP_PROXY all_proxy ALL_PROXY
mkdir -p "$HOME" "$tmp/bin" "$tmp/served/buildid" "$tmp/other"
prog=$tmp/bin/wordcount
cp "$samples/wordcount" "$prog"
echo a b c a >"$tmp/words"
"$hwtrace" record -q --module wordcount -o "$tmp/data" -- "$prog" "$tmp/words" >/dev/null 2>"$tmp/err" || {
	fail "record" "$(cat "$tmp/err")"
	exit 0
}
# What is wanted: what the program as it was, with its symbols and lines, gives.
# ours OPTION...: to $tmp/script and $tmp/lcov, what was said to $tmp/err
ours() {
	rm -f "$tmp/lcov"
	"$hwtrace" script -i "$tmp/data" "$@" --itrace=b -F ip,sym,symoff,addr,dso >"$tmp/script" 2>"$tmp/err"
	"$hwtrace" coverage -i "$tmp/data" "$@" --module wordcount --lcov "$tmp/lcov" >/dev/null 2>>"$tmp/err"
}
ours
mv "$tmp/script" "$tmp/script.want"
mv "$tmp/lcov" "$tmp/lcov.want"
says "there are names to be lost" 'main+0x' "$tmp/script.want"
says "there are lines to be lost" '^DA:' "$tmp/lcov.want"

id=$(LC_ALL=C readelf -n "$prog" | sed -n 's/.*Build ID: *//p')
mkdir "$tmp/served/buildid/$id"
objcopy --only-keep-debug "$prog" "$tmp/served/buildid/$id/debuginfo"
strip -o "$tmp/served/buildid/$id/executable" "$prog"
mv "$prog" "$tmp/other/wordcount"

: >"$tmp/requests"
python3 tests/tools/file_server.py "$tmp/served" "$tmp/port" "$tmp/requests" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$tmp"' EXIT
wait_for . "$tmp/port" || fail "the server starts"
url=http://127.0.0.1:$(cat "$tmp/port")

# asked NAME [REQUEST...]: what the server was asked for since the last time, each once or more;
# where there are requests, only those for the program: libraries may have debug files here, or not
asked() {
	_name=$1
	shift
	[ $# = 0 ] && : >"$tmp/want" || printf '%s\n' "$@" | sort >"$tmp/want"
	if [ $# = 0 ]; then cat "$tmp/requests"; else grep "/$id/" "$tmp/requests"; fi | sort -u >"$tmp/got"
	: >"$tmp/requests"
	same "$_name" "$tmp/want" "$tmp/got"
}

DEBUGINFOD_URLS=$url ours
says "not asked for, it is missing" '^lost: .*missing code' "$tmp/err"
asked "without the option nobody is asked"
ours --debuginfod
says "without servers it is missing" '^lost: .*missing code' "$tmp/err"
says "and what is wrong is told" 'DEBUGINFOD_URLS is not set' "$tmp/err"
asked "and nobody is asked"

DEBUGINFOD_URLS=$url ours --debuginfod
same "script with files from a server" "$tmp/script.want" "$tmp/script"
same "coverage with files from a server" "$tmp/lcov.want" "$tmp/lcov"
says "nothing is lost" '^lost: nothing' "$tmp/err"
asked "program and debug file are asked for" "/buildid/$id/executable 200" "/buildid/$id/debuginfo 200"
DEBUGINFOD_URLS=$url "$hwtrace" info -i "$tmp/data" --debuginfod >"$tmp/got" 2>/dev/null
says "info tells where it is" "$tmp/cache/.*executable, by build-id" "$tmp/got"
DEBUGINFOD_URLS=$url "$hwtrace" archive -i "$tmp/data" --debuginfod --debug -o "$tmp/all.tar.zst" 2>/dev/null
"$hwtrace" script -i "$tmp/all.tar.zst" --itrace=b -F ip,sym,symoff,addr,dso >"$tmp/script" 2>/dev/null
same "an archive of files from a server" "$tmp/script.want" "$tmp/script"
asked "what came once is in the cache"

# Another program in its place: the server's is the one that ran.
cp "$samples/hello" "$prog"
DEBUGINFOD_URLS=$url ours --debuginfod
same "another program in its place" "$tmp/lcov.want" "$tmp/lcov"
ours
says "which without a server is told" '^lost: .*code changed' "$tmp/err"
rm "$prog"

# A server that has not what it says, and one that has nothing.
rm -rf "$tmp/cache"
cp "$samples/hello" "$tmp/served/buildid/$id/executable"
DEBUGINFOD_URLS=$url ours --debuginfod
says "another file from the server is refused" '^lost: .*code changed' "$tmp/err"
rm -rf "$tmp/cache" "$tmp/served/buildid/$id/executable"
DEBUGINFOD_URLS=$url "$hwtrace" info -i "$tmp/data" --debuginfod >"$tmp/got" 2>/dev/null
says "that no server has it is told" 'wordcount.*debuginfod: no server of DEBUGINFOD_URLS has it' "$tmp/got"

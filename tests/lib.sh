# SPDX-License-Identifier: BSD-2-Clause
# For the shell tests: `. tests/lib.sh`.  A test prints one line a case:
#	ok NAME | not ok NAME: why | skip NAME: why
# Each test runs from the top folder with BUILD set, in a scratch folder $tmp
# of its own that goes with it.
set -u
: "${BUILD:=build}"
hwtrace=$PWD/$BUILD/bin/hwtrace
samples=$PWD/$BUILD/samples
programs=$PWD/$BUILD/tests/programs
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hwtrace-test.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# The engines for Intel PT that were built in; libipt is left out with WITHOUT_REFERENCE=1.
engines=$("$hwtrace" --version 2>/dev/null | sed -n 's/^engines: //p' | grep -ow 'native\|libipt' | xargs)
# reference NAME: true with libipt; else NAME is skipped
reference()
{
	case " $engines " in
	*" libipt "*) return 0 ;;
	esac
	skip "$1" "built without libipt"
	return 1
}

pass() { echo "ok $1"; }
fail() { echo "not ok $1: ${2:-}"; }
skip() { echo "skip $1: $2"; }
# check NAME COMMAND... : passes when the command does; its output is shown when not.
check() {
	_name=$1
	shift
	if "$@" >"$tmp/.check" 2>&1; then
		pass "$_name"
	else
		fail "$_name" "exit $? of: $*"
		sed 's/^/    /' "$tmp/.check" | head -n 40
	fi
}
# same NAME WANT GOT: two files are equal.
same() {
	if cmp -s "$2" "$3"; then
		pass "$1"
	else
		fail "$1" "output differs (wanted $(wc -l <"$2") lines, got $(wc -l <"$3"))"
		diff -u "$2" "$3" | head -n 30 | sed 's/^/    /'
	fi
}
# says NAME TEXT FILE: TEXT, a regular expression, is in a line of the file.
says() {
	if grep -qe "$2" "$3"; then pass "$1"; else fail "$1" "no '$2' in: $(cat "$3")"; fi
}
# wait_for TEXT FILE: until it is there, for two minutes at most.
wait_for() {
	_i=0
	until grep -qe "$1" "$2" 2>/dev/null; do
		_i=$((_i + 1))
		[ $_i -lt 1200 ] || return 1
		sleep 0.1
	done
}
# running PID: it has not ended.
running() { grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
# talk NAME STATUS COMMAND... <SCRIPT: on a terminal, see tests/tools/terminal.py; what it
# showed goes to $tmp/talk.txt.
terminal=$PWD/tests/tools/terminal.py
talk() {
	_name=$1 _want=$2
	shift 2
	python3 "$terminal" "$@" >"$tmp/talk.txt"
	_rc=$?
	if [ $_rc -eq "$_want" ]; then
		pass "$_name"
	else
		fail "$_name" "status $_rc: $(tr -d '\r' <"$tmp/talk.txt" | tail -n 20)"
	fi
}
# job_control BACKEND LISTENER: recorded, tests/programs/listener.c is stopped and continued
# by a shell as it would be alone.
job_control() {
	talk job-control 4 bash --norc --noediting -i <<-TALK
	send PS1='% '\\r
	send $hwtrace record --backend $1 -o job.data $2\\r
	expect ready
	send \\x1a
	expect Stopped
	send jobs\\r
	expect Stopped
	send fg\\r
	expect got CONT
	send hello\\r
	expect line hello
	send \\x03
	expect got INT
	send end\\r
	expect bytes lost
	send exit \$?\\r
	TALK
	_n=$(grep -c 'got CONT' "$tmp/talk.txt")
	[ "$_n" -eq 1 ] && pass one-cont || fail one-cont "$_n times"
}
# ctrl_c BACKEND LISTENER: is caught by the program, which goes on.
ctrl_c() {
	talk ctrl-c-caught 4 "$hwtrace" record --backend "$1" -o int.data "$2" <<-'TALK'
	expect ready
	send \x03
	expect got INT
	send end\r
	expect bytes lost
	TALK
}

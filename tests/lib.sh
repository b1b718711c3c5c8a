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

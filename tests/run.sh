#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run the tests and count them.  Arguments choose: "unit", "e2e", or names of
# tests; none means all.  Output of a test is shown as it comes; the last line
# is "N passed, N failed, N skipped".  With CI=true a skip that
# tests/skips.expected does not name is a failure, and so is always a test that
# has not ended after TEST_SECONDS.
set -u
: "${BUILD:=build}"
export BUILD
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log".*' EXIT
[ $# -gt 0 ] || set -- unit e2e

run() { # NAME COMMAND...
	_n=$1
	shift
	echo "== $_n"
	python3 tests/tools/limit.py "${TEST_SECONDS:-900}" "$_n" "$@" >"$log.one" 2>&1
	_rc=$?
	cat "$log.one"
	# CMocka names a failed case again in its summary: count it once.
	awk '!/^\[  FAILED  \]/ || !seen[$0]++' "$log.one" >>"$log"
	# A test that died, or that counted nothing, failed.
	_bad=$(grep -cE '^not ok |^\[  FAILED  \] [a-z]' "$log.one")
	_any=$(grep -cE '^(ok|not ok|skip) |^\[       OK \]|^\[  FAILED  \]|^\[  SKIPPED \]' "$log.one")
	if [ "$_rc" -ne 0 ] && [ "$_bad" -eq 0 ] || [ "$_any" -eq 0 ]; then
		echo "not ok $_n: exit status $_rc, $_any cases reported" | tee -a "$log"
	fi
}

for what; do
	case $what in
	unit)
		for b in "$BUILD" "$BUILD-san"; do
			[ -d "$b/tests/unit" ] || continue
			for t in $(find "$b/tests/unit" -type f -name 'test_*' -perm -100 ! -name '*.*' | sort); do
				run "$t" "$t"
			done
		done ;;
	e2e)
		for t in tests/e2e/test_*.sh; do
			[ -f "$t" ] && run "$t" sh "$t"
		done ;;
	*.sh) run "$what" sh "$what" ;;
	*) run "$what" "$what" ;;
	esac
done

passed=$(grep -cE '^ok |^\[       OK \]' "$log")
failed=$(grep -cE '^not ok ' "$log")
cm=$(grep -E '^\[  FAILED  \] [a-zA-Z_]' "$log" | grep -vc 'test(s)')
failed=$((failed + cm))
skipped=$(grep -cE '^skip ' "$log")
if [ "${CI:-}" = true ]; then
	grep -E '^skip ' "$log" | sed 's/^skip \([^:]*\):.*/\1/' | while read -r s; do
		grep -v '^#' tests/skips.expected 2>/dev/null | cut -f1 | grep -qxF "$s" || echo "$s"
	done >"$log.unexpected"
	while read -r s; do
		echo "not ok $s: skipped, and tests/skips.expected does not name it"
		failed=$((failed + 1))
	done <"$log.unexpected"
fi
[ "$failed" -eq 0 ] || { echo; echo "failed:"; grep -E '^not ok |^\[  FAILED  \] [a-zA-Z_]' "$log" | grep -v 'test(s)' | sed 's/^/  /'; }
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

# SPDX-License-Identifier: BSD-2-Clause
# README's tutorial gives what it says, and the script of docs/CI.md runs as it stands.
. tests/lib.sh

is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
top=$PWD
build=$top/$BUILD
mkdir "$tmp/copy" && cp -r samples "$tmp/copy/" && cd "$tmp/copy" || exit 1
# `build` here is a folder of the test's own
mkdir build && ln -s "$build/bin" "$build/lib" build/

rows() { sed -n '/^	\$ sh samples\/csv/{p;n;p;}' "$top/README.md" | sed 's/^	//'; }
rows | grep '^\$ ' | sed 's/^\$ //' >commands
is "README has both steps" 2 "$(wc -l <commands | tr -d ' ')"
step=0
while read -r command; do
	step=$((step + 1))
	BUILD=build sh -c "$command" >"out$step" 2>err </dev/null
	is "step $step: status" 0 $?
	rows | grep '^samples' | sed -n "${step}p" >want
	grep '^samples/csv/csv.c' "out$step" >got
	same "step $step: README's row" want got
done <commands
check "the page of the library" grep -q '<title>samples/csv/csv.c</title>' build/demo/csv/html/src/csv.c-*.html
missed() { sed -n 's,.*class="l m".*<code>[[:space:]]*\(.*\)</code>.*,\1,p' build/demo/csv/html/src/csv.c-*.html; }
is "one line is left" "return CSV_TOO_MANY;" "$(missed)"
is "and one way of the branch above it" 1 "$(grep 'if (n == max)' build/demo/csv/html/src/csv.c-*.html |
	grep -c '<i class="h">T[0-9]*</i><i class="m">N0</i>')"
cat >samples/csv/test_many.c <<'C'
#include <assert.h>
#include "csv.h"
int main(void)
{
	char line[] = "a,b", *f[1];
	assert(csv_split(line, f, 1) == CSV_TOO_MANY);
	return 0;
}
C
BUILD=build sh samples/csv/suite.sh plain empty quoted many >out3 2>err
is "the test that is asked for: status" 0 $?
is "nothing is left" "" "$(missed)"
check "branches neither" grep -q '^samples/csv/csv.c .*27/27 100.0% .*16/16 100.0%' out3
is "the database has each run" 4 "$(sqlite3 build/demo/csv/suite.db 'SELECT count(*) FROM runs')"
is "and no line of the library that did not run" 0 "$(sqlite3 build/demo/csv/suite.db \
	"SELECT count(*) FROM lines WHERE state = 'not hit' AND path LIKE '%/csv.c'")"

# -- docs/CI.md
awk '/^```sh$/ { on = !n++; next } /^```$/ { on = 0 } on' "$top/docs/CI.md" >coverage.sh
check "a script is there" grep -q -- '--append' coverage.sh
mkdir tests && for t in plain empty quoted; do
	gcc -O1 -g -o tests/test_$t samples/csv/test_$t.c samples/csv/csv.c || exit 1
done
PATH=$PWD/build/bin:$PATH sh coverage.sh >out 2>err
is "it runs" 0 $?
check "pages" test -s coverage/html/index.html
check "Cobertura" xmllint --noout --nonet --dtdvalid "$top/tests/data/cobertura.dtd" coverage/cobertura.xml
is "a run a test" 3 "$(sqlite3 coverage/suite.db 'SELECT count(*) FROM runs')"
sed 's/fail-under-line 60/fail-under-line 100/' coverage.sh >strict.sh
printf '#include "csv.h"\nint main(int c, char **v)\n{\n\tif (c > 9)\n\t\treturn csv_split(v[0], v, 0);\n\treturn 0;\n}\n' >little.c
gcc -O0 -g -Isamples/csv -o tests/test_little little.c samples/csv/csv.c
PATH=$PWD/build/bin:$PATH sh strict.sh >out 2>err
is "too little: its status" 2 $?
printf 'int main(void)\n{\n\treturn 3;\n}\n' | gcc -g -x c -o tests/test_bad -
PATH=$PWD/build/bin:$PATH sh coverage.sh >out 2>err
is "a test that fails: its status" 3 $?

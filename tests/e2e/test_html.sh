# SPDX-License-Identifier: BSD-2-Clause
# coverage --html: the pages read by a parser that is not ours, held against the
# JSON of the same run; names and source text that would be markup; missing
# sources; lost trace.
. tests/lib.sh

top=$PWD
is() { # NAME WANT GOT
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "wanted '$2', got '$3'"
}
# pages NAME DIR JSON [LISTING]
pages() {
	_name=$1
	shift
	is "$_name" "" "$(python3 "$top/tests/tools/check_html.py" "$@" 2>&1)"
}
mkdir "$tmp/my src" && cd "$tmp/my src" || exit 1
mkdir lib lib/deep lib-x
cat >main.c <<'C'
#include <stdlib.h>
int evil(int x);
int deep(int x);
int xscriptx_alert_1__x_scriptx(int x)
{
	return x ? x : 1; /* <script>alert(1)</script> &amp; "quotes" 'too' */
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	for (int i = 0; i < n; i++)
		sum += deep(i) && i % 3 == 1 && i != 4 ? xscriptx_alert_1__x_scriptx(i) : evil(i);
	if (sum > 100000)
		abort();
	return 0;
}
C
printf 'int evil(int x)\n{\n\treturn x + 1; /* \377\376 caf\303\251 \033[31m \342\200\256 */\r\n}\nint never(void)\n{\n\treturn 0;\n}\n' \
	>'lib-x/<img src=x onerror=alert(1)>&".c'
printf 'int deep(int x)\n{\n\tswitch (x) {\n\tcase 1: return 4;\n\tcase 3: return 1;\n\tdefault: return x < 9;\n\t}\n}\n' >lib/deep/deep.c
printf 'int gone(void)\n{\n\treturn 1;\n}\n' >lib/gone.c
gcc -w -O0 -g -fcf-protection=none -o prog main.c lib-x/*.c lib/deep/deep.c lib/gone.c || exit 1
# the same length: names that no compiler would take
python3 - <<'P' || exit 1
data = open("prog", "rb").read()
old, new = b"xscriptx_alert_1__x_scriptx", b"<script>alert(1)</script>&'"
assert len(old) == len(new) and old in data
open("prog", "wb").write(data.replace(old, new))
P
rm lib/gone.c
"$hwtrace" coverage --trace data -o report --html out --json json -- ./prog >out.txt 2>err
is "status" 0 $?
is "pages" "1 4 6" "$(for d in out/index.html out/src out/fn; do find $d -name '*.html' | wc -l; done | xargs)"
pages "counts, states and branches are those of the JSON" out json
is "no name or source line became markup" "" "$(cat out/*.html out/*/*.html | grep -i '<script[^ ]\|<img\|onerror=[^a]' | grep -v '^<script src="[./]*report.js"></script>$')"
check "a source that is gone is told" grep -q 'lib/gone.c cannot be read: its lines' out/src/gone.c-*.html
check "and its lines are there" grep -q 'id="L3"' out/src/gone.c-*.html
check "control characters and broken UTF-8 are shown as such" grep -q "$(printf '\357\277\275\357\277\275 caf\303\251 \357\277\275\\[31m \357\277\275')" out/src/*img*.html
is "xmllint reads every page" "" "$(for p in out/*.html out/*/*.html; do
	xmllint --html --noout --nonet "$p" 2>&1 | grep 'parser error' | grep -v 'Tag [a-z]* invalid'; done)"
"$hwtrace" coverage -o report --html out2 data 2>err
check "equal coverage gives equal pages" diff -r -x index.html out out2

# -- instructions and flow graphs: as `annotate` has them
cat >flow.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) int many(int x)
{
	switch (x) {
	case 0: return rand();
	case 1: return 7 * x;
	case 2: x += rand(); break;
	case 3: x -= 4; /* fall through */
	case 4: x *= 3; break;
	case 5: abort();
	case 6: return x ^ 0x55;
	case 7: for (int i = 0; i < x; i++) x ^= i * rand(); break;
	default: return -1;
	}
	return x / 3;
}
static inline __attribute__((always_inline)) int tiny(int x) { return x > 2 ? x * 5 : x - 1; }
__attribute__((noinline)) int knot(int n)
{
	int i = n;
	if (n & 1)
		goto in;
out:
	i--;
	if (i % 3 == 0)
		goto in;
	i -= 2;
in:
	i--;
	if (i > 0)
		goto out;
	while (n-- > 0)
		if (tiny(n) == 11)
			continue;
		else if (n == 1)
			break;
	if (__builtin_expect(n == 12345, 0))
		abort();
	return i;
}
__attribute__((noinline)) void forever(int x) { while (x) ; }
static int loops(int n)
{
	int s = 0;
	for (int a = 0; a < n; a++)
		for (int b = 0; b < n; b++)
			for (int c = 0; c < n; c++)
				if ((a ^ b ^ c) & 1)
					s += c;
				else if (s > 500)
					return s;
	return s;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 9;
	for (int i = 0; i < n; i++)
		if (i != 5)
			n += many(i) == 12345678;
	return knot(n) + loops(n) == 77 || argc > 4 ? (forever(argc), 1) : 0;
}
C
# more lines than the browser gets in one piece
awk 'BEGIN { for (i = 0; i < 600; i++) print "/* " i " */"; print "int last(int x) { return x; }" }' >>flow.c
for o in -O0 -O2; do
	gcc $o -g -w -fcf-protection=none -o flow$o flow.c || exit 1
	"$hwtrace" coverage --trace flow.data --all-functions -o report --html flow$o.html --json flow.json -- ./flow$o >out.txt 2>err
	"$hwtrace" annotate '*' flow.data >listing 2>err
	pages "$o: instructions are those of annotate, blocks and edges those of the jumps" flow$o.html flow.json listing
	check "$o: a module's functions without lines have pages" grep -q '>_start</a></th>' flow$o.html/mod/flow*.html
done
check "a branch of the source leads to its instruction" grep -q '<a href="../fn/many-[0-9a-f]*.html#a[0-9a-f]*"><span class="k"' \
	flow-O0.html/src/flow.c-*.html
check "an inlined function leads to where it is" grep -q '"../fn/[a-z]*-[0-9a-f]*.html#a[0-9a-f]*">code</a>' flow-O2.html/src/flow.c-*.html
strip -o bare flow-O0
"$hwtrace" coverage -o report --html bare.html --json flow.json -- ./bare >out.txt 2>err
pages "a program without symbols: instructions" bare.html flow.json
check "a program without symbols: functions by address" grep -q '<a href="../fn/bare-0x' bare.html/mod/bare*.html

# -- what is unknown: lines and outcomes of one function, as a report with lost trace has them
python3 - <<'P' || exit 1
import json
r = json.load(open("json"))
for f in r["files"]:
    if f["path"].endswith("deep.c"):
        for l in f["lines"]:
            l.update(state="unknown", count=0)
            for b in l.get("branches", []):
                b.update(state="unknown", taken=0, not_taken=0, lost=True)
    if f["path"].endswith("main.c"):
        for l in f["lines"]:
            for b in l.get("branches", []):
                b["lost"] = True
r["gaps"] = 3
json.dump(r, open("lost.json", "w"))
P
"$hwtrace" merge -o report --html lost --json lost2.json lost.json 2>err
is "of a report: status" 0 $?
pages "what is unknown is shown as unknown" lost lost2.json
check "it is counted" grep -q '<span class="unknown">[1-9][0-9]* unknown</span>' lost/index.html
check "an unknown outcome beside one that ran" grep -q '<i class="h">T[0-9]*</i><i class="u">N?</i>' lost/src/main.c-*.html
check "the loss is told" grep -q "Trace was lost at 3 places" lost/index.html

# -- tracefiles of others, with names like markup and no sources
printf 'TN:\nSF:/nowhere/"><b>.c\nFN:1,<i>x</i>&amp;\nFNDA:2,<i>x</i>&amp;\nDA:1,2\nBRDA:1,0,0,2\nBRDA:1,0,1,0\nBRDA:1,0,2,-\nDA:70000,0\nend_of_record\n' >other.info
"$hwtrace" merge -o report --html other --json other.json other.info 2>err
is "of a tracefile: status" 0 $?
pages "of a tracefile: counts, states and branches" other other.json

# -- in a browser
python3 - <<'P' >many.info
for d in range(50):
    for n in range(100):
        print("SF:/nowhere/d%02d/s%d/file%03d.c\nFN:1,f%d_%d\nFNDA:%d,f%d_%d" % (d, n % 7, n, d, n, n % 2, d, n))
        for line in range(1, 4 + n % 9):
            print("DA:%d,%d" % (line, n % 2 * (line + d) % 5))
        print("end_of_record")
P
"$hwtrace" merge -o report --html many --json many.json many.info 2>err
is "5,000 files: status" 0 $?
pages "5,000 files: counts and states" many many.json
axe=${AXE:--}
[ "$axe" != - ] || skip "axe-core" "AXE=path/to/axe.min.js looks for what is not accessible"
if command -v chromium >/dev/null; then
	mkdir -p "$top/$BUILD/tests/html"
	python3 "$top/tests/tools/check_browser.py" "$tmp" "$top/$BUILD/tests/html" "$axe" \
		out json lost lost2.json other other.json many many.json >browser.out 2>&1
	is "browser: status" 0 $?
	cat browser.out
else
	skip "browser" "chromium is not installed"
fi

# -- what stands in the way
: >file
"$hwtrace" coverage -o report --html file data >out.txt 2>err
is "a file in the place of the folder" 1 $?
check "is told" grep -q '^hwtrace: file: cannot be made a folder: ' err
mkdir -p half/index.html
"$hwtrace" coverage -o report --html half data >out.txt 2>err
is "a folder in the place of a page" 1 $?
check "is told, too" grep -q '^hwtrace: half/index.html: cannot be written: ' err

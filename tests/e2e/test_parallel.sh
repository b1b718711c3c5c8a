# SPDX-License-Identifier: BSD-2-Clause
# coverage with one thread and with many: the same bytes in every format, the same
# losses, whole traces and damaged ones.
. tests/lib.sh

awk 'BEGIN { x = 7; for (i = 0; i < 8000; i++) { x = (x * 1103515245 + 12345) % 2147483648
	printf "%d %x line %d\n", x, x * 7, x % 1000 } }' >"$tmp/text"
record() { # NAME COMMAND...
	_n=$1
	shift
	LC_ALL=C "$hwtrace" record -q -o "$tmp/$_n.data" -- "$@" >/dev/null 2>"$tmp/err" ||
		fail "record $_n" "$(cat "$tmp/err")"
}
record gzip gzip -9 -c "$tmp/text"
record threads sort --parallel=2 -S 64M "$tmp/text" "$tmp/text" "$tmp/text" "$tmp/text"

# Bytes wrong, left out and zeroed, far behind the head of the file.
cat >"$tmp/damage.py" <<'PY'
import random, sys
b = bytearray(open(sys.argv[1], "rb").read())
r = random.Random(5)
for k in range(30):
    at = r.randrange(len(b) // 8, len(b))
    n = r.choice([1, 3, 40, 5000])
    b[at:at + n] = bytes(len(b[at:at + n])) if k % 3 else bytes(r.randrange(256) for _ in b[at:at + n])
open(sys.argv[2], "wb").write(b)
PY
python3 "$tmp/damage.py" "$tmp/gzip.data" "$tmp/damaged.data"
head -c "$(($(stat -c %s "$tmp/threads.data") * 2 / 3))" "$tmp/threads.data" >"$tmp/cut.data"

for t in gzip threads damaged cut; do
	for j in 1 2 7; do
		"$hwtrace" coverage -i "$tmp/$t.data" -j "$j" --json "$tmp/of.json" --lcov "$tmp/of.lcov" \
			--blocks "$tmp/of.blocks" --drcov "$tmp/of.drcov" -o "$tmp/of.txt" >/dev/null 2>"$tmp/of.err"
		echo "$?" >>"$tmp/of.err"
		for f in json lcov blocks drcov txt err; do mv "$tmp/of.$f" "$tmp/$j.$f"; done
	done
	_bad=
	for j in 2 7; do
		for f in json lcov blocks drcov txt err; do
			cmp -s "$tmp/1.$f" "$tmp/$j.$f" || _bad="$_bad $f by $j threads;"
		done
	done
	_n=$(python3 -c 'import json, sys; print(sum(m["executed"] for m in json.load(open(sys.argv[1]))["modules"]))' "$tmp/1.json")
	[ -z "$_bad" ] && [ "$_n" -gt 1000000 ] && pass "$t: $_n instructions, by 1, 2 and 7 threads alike" ||
		fail "$t" "$_n instructions;$_bad"
	case $t in
	damaged | cut) want='^lost: [^n]' ;;
	*) want='^lost: nothing' ;;
	esac
	grep -q "$want" "$tmp/7.err" && pass "$t: losses told" || fail "$t: losses told" "$(cat "$tmp/7.err")"
done

# Filtered: the streams side by side.
for f in "--comm sort" "--time ,70%" "--tid $("$hwtrace" info -i "$tmp/threads.data" 2>/dev/null |
	sed -n 's/^ *[0-9]* *pid [0-9]* tid \([0-9]*\) .*/\1/p' | paste -sd, | cut -d, -f1,2)"; do
	for t in threads cut; do
		for j in 1 2 7; do
			# $f is words, on purpose
			"$hwtrace" coverage -i "$tmp/$t.data" $f -j "$j" --all-modules --json "$tmp/$j.json" -o "$tmp/$j.txt" \
				>/dev/null 2>"$tmp/$j.err"
		done
		_bad=
		for j in 2 7; do
			for x in json txt err; do cmp -s "$tmp/1.$x" "$tmp/$j.$x" || _bad="$_bad $x by $j threads;"; done
		done
		_n=$(python3 -c 'import json, sys; print(sum(m["executed"] for m in json.load(open(sys.argv[1]))["modules"]))' "$tmp/1.json")
		[ -z "$_bad" ] && [ "$_n" -gt 1000 ] && pass "$t, ${f%% *}: $_n instructions, by 1, 2 and 7 threads alike" ||
			fail "$t, $f" "$_n instructions;$_bad $(cat "$tmp/1.err")"
	done
done

"$hwtrace" coverage -i "$tmp/gzip.data" -j 5000 >"$tmp/out" 2>"$tmp/err"
[ $? -eq 64 ] && grep -q -- --jobs "$tmp/err" && pass "too many threads" || fail "too many threads" "$(cat "$tmp/err")"

# The last chunk claims to stand at an offset far away: what no file holds takes no time.
cat >"$tmp/far.py" <<'PY'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at, size = struct.unpack_from("<QQ", b, 40)
end = at + size
while at < end:
    kind, _, n = struct.unpack_from("<IHH", b, at)
    if kind == 71:  # AUXTRACE: the bytes of trace follow
        last, had = at, struct.unpack_from("<Q", b, at + 16)[0]
        n += struct.unpack_from("<Q", b, at + 8)[0]
    at += n
struct.pack_into("<Q", b, last + 16, had + (1 << 52))
open(sys.argv[2], "wb").write(b)
PY
record hello "$samples/hello"
python3 "$tmp/far.py" "$tmp/hello.data" "$tmp/far.data"
for j in 1 2; do
	timeout 60 "$hwtrace" coverage -i "$tmp/far.data" -j "$j" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq 0 ] && grep -q '^lost: AUX data lost ([0-9]* places*, 4503599627370496 bytes)' "$tmp/err" &&
		pass "trace far away, by $j threads" || fail "trace far away, by $j threads" "$(cat "$tmp/err")"
done

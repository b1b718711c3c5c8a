# SPDX-License-Identifier: BSD-2-Clause
# Programs whose names are long, or stand in /proc in other words: code, functions
# and lines are found as with any other name.
. tests/lib.sh
cd "$tmp" || exit 1

# A program of two dozen instructions without a library, which ends with the value $1.
program() {
	cat >program.c <<-C
	static long call(long n, long a, void *b, long c)
	{
		long r;
		__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
		return r;
	}
	long answer$1(void)
	{
		return $1;
	}
	void _start(void)
	{
		char c;
		call(0, 0, &c, 1);
		call(60, answer$1(), 0, 0);
		for (;;)
			;
	}
	C
	${CC:-gcc} -w -g -O0 -nostdlib -static -fno-stack-protector -fcf-protection=none \
		-Wl,--build-id=$3 -o "$2" program.c
}
program 5 five sha1 && program 6 six none && program 5 plain none || { fail paths "not built"; exit 0; }

nl='
'
zeros() { printf "%0$1d" 0; }
long=$(zeros 255)
deep=$tmp
while [ ${#deep} -lt 3600 ]; do deep=$deep/$(zeros 200); done
longest=$deep/$(zeros 200)
longest=$longest/$(zeros $((4094 - ${#longest})))
mkdir -p "${longest%/*}"
# Beside each name that looks like another one lies that one, another program.
cp five "$long"
cp five "$deep/five"
cp five "$longest"
cp five "two  spaces "
cp five "a${nl}b"
cp six 'a\012b'
cp five 'c\012d'
cp six "c${nl}d"
cp five "five (deleted)"
cp plain "plain (deleted)"
cp five "$(printf '\377\001')"

cat >look.py <<'P'
import collections, json, os, sys
path, backend, function = os.path.realpath(sys.argv[1]), sys.argv[2], "answer5"
load = lambda name: json.loads(open(name, "rb").read().decode("utf-8", "replace"))
path = os.fsencode(path).decode("utf-8", "replace")
files = [(f["path"], f["state"]) for f in load("info.json")["files"]]
assert (path, "found") in files, files
hit = [(f["name"], f["entries"]) for f in load("coverage.json")["functions"] if f["state"] == "hit"]
assert (function, 1) in hit, hit
ran = collections.Counter()
for line in open("script.json", "rb"):
    i = json.loads(line.decode("utf-8", "replace"))
    if i.get("dso") == path:
        ran[i.get("sym")] += 1
assert ran[function] == 5, ran # push, mov, mov, pop, ret
P

# found NAME BACKEND FILE COMMAND...: the file ran, and all of it is known.
found() {
	_name="$1, $2" _backend=$2 _file=$3
	shift 3
	"$hwtrace" coverage --backend "$_backend" --trace t.data --json coverage.json -o report.txt -- "$@" \
		</dev/null >out.txt 2>err.txt
	"$hwtrace" info --json -i t.data >info.json 2>>err.txt
	"$hwtrace" script --json --itrace=i1i -i t.data >script.json 2>>err.txt
	if python3 look.py "$_file" "$_backend" >look.txt 2>&1 && ! grep -q '^lost: [^n]' err.txt; then
		pass "$_name"
	else
		fail "$_name" "$(tail -n 1 look.txt; cut -c 1-300 err.txt)"
	fi
}
for backend in qemu ptrace; do
	"$hwtrace" list | grep -q "^$backend *yes" || { skip "names, $backend" "no such backend here"; continue; }
	found "a plain name" $backend five ./five
	found "a name of 255 bytes" $backend "$long" "./$long"
	found "a path of 3,600 bytes" $backend "$deep/five" "$deep/five"
	found "a path of 4,095 bytes" $backend "$longest" "$longest"
	found "spaces" $backend "two  spaces " "./two  spaces "
	found "a newline" $backend "a${nl}b" "./a${nl}b"
	found "a backslash" $backend 'c\012d' './c\012d'
	found "(deleted)" $backend "five (deleted)" "./five (deleted)"
	found "(deleted), no build-id" $backend "plain (deleted)" "./plain (deleted)"
	found "no UTF-8" $backend "$(printf '\377\001')" "./$(printf '\377\001')"
done
if "$hwtrace" list | grep -q '^qemu *yes'; then
	by_shell() { found "executed by a shell: $1" qemu "$2" sh -c '"$1"; exit 0' sh "$2"; }
	by_shell "a path of 4,095 bytes" "$longest"
	by_shell "a newline" "./a${nl}b"
	by_shell "a backslash" './c\012d'
	by_shell "(deleted), no build-id" "./plain (deleted)"
fi

# A process that runs already: one whose file has another name beside it, and one whose file is gone.
attached() { # attached FILE: it is attached to before it ends
	rm -f in
	mkfifo in
	"$1" <in &
	pid=$!
	exec 3>in
	[ -z "${2:-}" ] || { rm "$1" && cp six "$1 (deleted)"; }
	"$hwtrace" record --backend ptrace -o t.data -p $pid 2>err.txt &
	recorder=$!
	while running $recorder && ! grep -q "TracerPid:[^0-9]*$recorder\$" /proc/$pid/status; do
		sleep 0.05
	done
	echo >&3
	exec 3>&-
	wait $pid
	[ $? -eq 5 ] || echo "the program did not end with 5" >>err.txt
	wait $recorder
	"$hwtrace" coverage --json coverage.json t.data >report.txt 2>>err.txt
	"$hwtrace" info --json -i t.data >info.json 2>>err.txt
	"$hwtrace" script --json --itrace=i1i -i t.data >script.json 2>>err.txt
}
if "$hwtrace" list | grep -q '^ptrace *yes'; then
	found_attached() {
		attached "$2"
		python3 look.py "$2" ptrace >look.txt 2>&1 && ! grep -q '^lost: [^n]\|did not' err.txt &&
			pass "attached: $1" || fail "attached: $1" "$(tail -n 1 look.txt; cut -c 1-300 err.txt)"
	}
	found_attached "a path of 4,095 bytes" "$longest"
	found_attached "a newline" "./a${nl}b"
	found_attached "a backslash" './c\012d'
	found_attached "(deleted)" "./plain (deleted)"
	cp five gone
	attached ./gone unlinked
	[ "$(grep -c '"type":"instruction"' script.json)" -gt 10 ] && ! grep -q '^lost: [^n]\|did not' err.txt &&
		pass "attached: the file is gone" || fail "attached: the file is gone" "$(cut -c 1-300 err.txt)"
	grep -q answer6 script.json coverage.json && fail "a file with the name of one that is gone" "$(cat coverage.json)" ||
		pass "a file with the name of one that is gone"
fi

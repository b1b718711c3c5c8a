# SPDX-License-Identifier: BSD-2-Clause
# A slice from the end of a long trace (--time) against decoding all of it: CPU
# time of whole processes in turn, medians of ROUNDS.  The trace is one of a
# program without libraries, SEEK_MB (default 1000) long: copies of it, one
# behind the other, the times of each behind those of the copy before.
set -u
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
hwtrace=$PWD/$BUILD/bin/hwtrace
cat >"$tmp/prog.c" <<'C'
#include <unistd.h>
static unsigned odd(unsigned x) { return x * 3 + 1; }
static unsigned even(unsigned x) { return x / 2 + 7; }
int main(void)
{
	unsigned (*volatile step[2])(unsigned) = { even, odd };
	unsigned x = 1;
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 20000; k++) {
			x = x * 1103515245 + 12345;
			x ^= step[x >> 16 & 1](x);
		}
		getppid();
	}
	return 0;
}
C
gcc -O1 -static -no-pie -o "$tmp/prog" "$tmp/prog.c" || exit 1
"$hwtrace" record -q -o "$tmp/t.data" -- "$tmp/prog" || exit 1
"$hwtrace" packets -i "$tmp/t.data" 2>/dev/null | grep ' TSC ' >"$tmp/tsc"
python3 - "$tmp" "${SEEK_MB:-1000}" <<'P' || exit 1
import struct, sys
tmp, mb = sys.argv[1], int(sys.argv[2])
data = open(tmp + "/t.data", "rb").read()
at, size = struct.unpack_from("<QQ", data, 40)
trace, end = b"", at + size
while at < end:
    kind, _, n = struct.unpack_from("<IHH", data, at)
    more = struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0  # AUXTRACE: its bytes follow
    trace += data[at + n:at + n + more]
    at += n + more
places = [int(line.split()[0], 16) for line in open(tmp + "/tsc")]
times = [int.from_bytes(trace[p + 1:p + 8], "little") for p in places]
assert all(trace[p] == 0x19 for p in places) and times == sorted(times)
step = times[-1] - times[0] + 1
with open(tmp + "/pt", "wb") as out:
    for i in range(mb * 1000000 // len(trace) + 1):
        copy = bytearray(trace)
        for p, t in zip(places, times):
            copy[p + 1:p + 8] = (t + i * step).to_bytes(7, "little")
        out.write(copy)
P
base=$(readelf -lW "$tmp/prog" | awk '$1 == "LOAD" { print $3; exit }')
# cpu OPTION...: seconds of CPU that it took
cpu() {
	python3 - "$hwtrace" info --pt "$tmp/pt" --elf "$tmp/prog@$base" "$@" <<'P'
import resource, subprocess, sys
r = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
if r.returncode or "lost: nothing" not in r.stderr or ", 0 branches" in r.stdout:
    sys.exit(r.stderr + r.stdout)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(u.ru_utime + u.ru_stime)
P
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for _ in $(seq "$ROUNDS"); do
	cpu --decode >>"$tmp/full" || exit 1
	cpu --time 99.9%,100% >>"$tmp/slice" || exit 1
done
full=$(median <"$tmp/full") slice=$(median <"$tmp/slice")
awk -v a="$full" -v b="$slice" 'BEGIN { printf "seek.vs_full\t%.1f\nseek.slice_cpu_s\t%.3f\n", a / b, b }'

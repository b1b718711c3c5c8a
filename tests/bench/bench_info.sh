# SPDX-License-Identifier: BSD-2-Clause
# Files as large as servers write them: what `hwtrace info` needs for 1 GB of
# trace, and replaying 200,000 mappings against perf.
. tests/bench/lib.sh

text 8000 >"$tmp/text"
record "$tmp/small.data" gzip -9 -c "$tmp/text"
python3 tests/bench/grow.py "$tmp/small.data" "$tmp/big.data" trace 1000000000 || exit 1
versus true "$hwtrace info $tmp/big.data"
value info.1gb.cpu_s "$cpu_b"
# The least anonymous memory that it comes through with.
low=0
high=$((1 << 20))
(ulimit -d "$high" && "$hwtrace" info "$tmp/big.data" >/dev/null 2>&1) || die "info fails with $high KB"
while [ $((high - low)) -gt 256 ]; do
	mid=$(((low + high) / 2))
	if (ulimit -d "$mid" && "$hwtrace" info "$tmp/big.data" >/dev/null 2>&1); then high=$mid; else low=$mid; fi
done
row info.1gb.anonymous_mb "$high" 1024
rm "$tmp/big.data"

command -v perf >/dev/null || die "perf is not installed"
record "$tmp/small.data" /bin/true
python3 tests/bench/grow.py "$tmp/small.data" "$tmp/maps.data" maps 200000 || exit 1
[ "$("$hwtrace" info --maps "$tmp/maps.data" 2>/dev/null | grep -c ' 2[0-9a-f]\{11\}-')" -ge 200000 ] ||
	die "the mappings were not read"
# perf prints them; so does info.  script builds the address space of the thread and decodes in it.
versus "perf script -i $tmp/maps.data --show-mmap-events" "$hwtrace info --maps $tmp/maps.data"
row sideband.vs_perf "$cpu_a" "$cpu_b"
versus "perf script -i $tmp/maps.data --show-mmap-events" "$hwtrace script -i $tmp/maps.data --itrace=b"
row sideband.decoded.vs_perf "$cpu_a" "$cpu_b"

# SPDX-License-Identifier: BSD-2-Clause
# Branch stacks that others recorded: every entry, and what lies between two of them (see the corpus's README).
. tests/lib.sh

lbr=$CORPUS/lbr
[ -d "$lbr" ] || { skip corpus_lbr "there is no folder $lbr"; exit 0; }

# counts FILE: samples with a stack, entries, entries that are not empty
counts()
{
	"$hwtrace" script -F brstack -i "$1" 2>/dev/null |
	    awk '{ n += NF; for (i = 1; i <= NF; i++) full += $i !~ /^0x0\/0x0\// } END { print NR, n, full }'
}
for row in "autofdo-test.perf.data 9232 147712 147712" "branch-4.14.perf.data 13 416 387" \
    "callgraph_and_branch-3.8.perf.data 1856 29696 29400"; do
	set -- $row
	check "$1 entries" test "$(counts "$lbr/$1")" = "$2 $3 $4"
	# each entry that is not empty is a branch of the decoded stream as well, and nothing else is
	"$hwtrace" script --itrace=b -F ip,addr -i "$lbr/$1" >"$tmp/branches" 2>/dev/null
	check "$1 branches" test "$(wc -l <"$tmp/branches")" -eq "$4"
done

f=$lbr/autofdo-test.perf.data
"$hwtrace" script -F brstack -i "$f" 2>/dev/null >"$tmp/stacks"
check "autofdo-test first" sh -c "head -n 1 '$tmp/stacks' | grep -q '^ *0xffffffff80330812/0xffffffff8032d7c0/'"
check "autofdo-test last" sh -c "tail -n 1 '$tmp/stacks' | grep -q ' 0x7ffff7b10d5e/0x7ffff7b10d30/[^ ]* *\$'"
check "branch-4.14 cycles" sh -c "'$hwtrace' script -F brstack -i '$lbr/branch-4.14.perf.data' 2>/dev/null |
	head -n 1 | grep -q '0xffffffffb4208e16/0xffffffffb42071e3/P/-/-/4/'"

# perf's own lines; it writes call chains and columns of its own into one of the files
if command -v perf >/dev/null; then
	for f in autofdo-test branch-4.14 callgraph_and_branch-3.8; do
		perf script -F comm,tid,pid,time,brstack -i "$lbr/$f.perf.data" 2>/dev/null |
		    sed 's/^ *//; s/  */ /g; s/ $//' | sort >"$tmp/want"
		"$hwtrace" script -F comm,tid,pid,time,brstack -i "$lbr/$f.perf.data" 2>/dev/null |
		    sed 's/^ *//; s/  */ /g; s/ $//' | sort >"$tmp/got"
		same "$f as-perf" "$tmp/want" "$tmp/got"
	done
else
	skip lbr.as-perf "perf is not installed"
fi

# The same by way of text: what perf script wrote is read as what it was written from.
for f in autofdo-test branch-4.14 callgraph_and_branch-3.8; do
	fields=pid,tid,time,brstack
	"$hwtrace" script -F "comm,ip,$fields" --ns -i "$lbr/$f.perf.data" >"$tmp/text" 2>/dev/null
	"$hwtrace" script -F "$fields" --ns -i "$lbr/$f.perf.data" >"$tmp/want" 2>/dev/null
	"$hwtrace" script -F "$fields" --ns -i "$tmp/text" >"$tmp/got" 2>/dev/null
	same "$f by our own text" "$tmp/want" "$tmp/got"
	command -v perf >/dev/null || { skip "$f by perf's text" "perf is not installed"; continue; }
	perf script --show-mmap-events -F comm,pid,tid,time,ip,brstack -i "$lbr/$f.perf.data" >"$tmp/text" 2>/dev/null
	for how in "-F $fields" "--itrace=b -F tid,ip,addr"; do
		# shellcheck disable=SC2086
		"$hwtrace" script $how -i "$lbr/$f.perf.data" 2>/dev/null | sort >"$tmp/want"
		# shellcheck disable=SC2086
		"$hwtrace" script $how -i "$tmp/text" 2>/dev/null | sort >"$tmp/got"
		same "$f by perf's text, $how" "$tmp/want" "$tmp/got"
	done
done

# With the program that ran, every step of its 100,000 and more is one that its code allows.
f=$lbr/autofdo-test.perf.data
mkdir -p "$tmp/sym/export/hda3/tmp"
cp "$lbr/autofdo-test.binary" "$tmp/sym/export/hda3/tmp/test.binary"
"$hwtrace" info --losses --symfs "$tmp/sym" -i "$f" >"$tmp/out" 2>"$tmp/err"
check "autofdo-test fits its binary" test "$(grep -c 'does not fit' "$tmp/out")" = 1
check "autofdo-test, the one that does not fit is the kernel's" grep -q 'does not fit.*after 0xffffffff80209ca6' "$tmp/out"
check "autofdo-test all of it is found" sh -c "! grep -q 'test.binary.*was not found' '$tmp/out'"
"$hwtrace" script --itrace=i1i -F ip --symfs "$tmp/sym" -i "$f" 2>/dev/null | sort -u >"$tmp/ran"
# objdump is the witness that each instruction shown is one, the ELF file's own text alone
if command -v objdump >/dev/null; then
	objdump -d "$lbr/autofdo-test.binary" | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' | sort -u >"$tmp/insns"
	awk '{ print $1 }' "$tmp/ran" | grep '^40[0-9a-f]\{4\}$' | sort -u >"$tmp/user"
	check "autofdo-test instructions" sh -c "[ \$(wc -l <'$tmp/user') -gt 1000 ] &&
		[ -z \"\$(comm -23 '$tmp/user' '$tmp/insns')\" ]"
else
	skip "autofdo-test instructions" "objdump is not installed"
fi

# simpleperf's own result, by another program: ranges between entries, branches within the program.
f=$lbr/simpleperf/perf_lbr.data
"$hwtrace" script -F brstack -i "$f" 2>/dev/null >"$tmp/stacks"
python3 - "$tmp/stacks" >"$tmp/got" <<'END'
import collections, sys
base = 0x5597dfefc000
ranges, branches = collections.Counter(), collections.Counter()
def inside(a): return base <= a < base + 0x2000
for line in open(sys.argv[1]):
    stack = [tuple(int(x, 16) for x in e.split('/')[:2]) for e in line.split()]
    for a, b in zip(stack[1:], stack):
        if inside(a[1]) and inside(b[0]):
            ranges[a[1] - base, b[0] - base] += 1
    for a in stack:
        if inside(a[0]) and inside(a[1]):
            branches[a[0] - base, a[1] - base] += 1
print(*('%x-%x:%d' % (*k, v) for k, v in sorted(ranges.items())))
print(*('%x->%x:%d' % (*k, v) for k, v in sorted(branches.items())))
END
# (and one that it leaves out: its stack begins with the return from the kernel to 1948)
printf '1910-191b:31 1940-194d:341 1948-194d:1\n191b->1910:32 194d->1940:353\n' >"$tmp/want"
same "simpleperf entries" "$tmp/want" "$tmp/got"
"$BUILD/tests/corpus/stackcount" "$f" 0x5597dfefc000 0x2000 >"$tmp/got"
same "simpleperf ranges of the engine" "$tmp/want" "$tmp/got"

# What is lost is the same whatever is asked of the engine, and however its events fall into batches.
f=$lbr/branch-4.14.perf.data
for how in "script --itrace=e" "script --itrace=i1i" "info --decode" "coverage"; do
	"$hwtrace" $how -i "$f" 2>&1 >/dev/null | grep '^lost:' >"$tmp/lost.got"
	[ -f "$tmp/lost.want" ] || cp "$tmp/lost.got" "$tmp/lost.want"
	same "losses of $how" "$tmp/lost.want" "$tmp/lost.got"
done

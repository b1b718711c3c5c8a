# SPDX-License-Identifier: BSD-2-Clause
# Fill the folder $1 with a few lines to start from.
set -eu
cat >"$1/all" <<'T'
prog 70/71 [002] 1.000000: PERF_RECORD_MMAP2 70/71: [0x400000(0x2000) @ 0x1000 <0a1b2c>]: r-xp /bin/a b
prog 70/71 [003] 12.345678: 1000 branches:u: 40012c 0x400010/0x400020/M/X/A/12/COND/SPEC_CORRECT_PATH  0x0/0x0/-/-/-/0
T
cat >"$1/bare" <<'T'
PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0xa000) @ 0]: x [kernel.kallsyms]_text
 9 1004 0x1010/0x1020/P/-/-/0
T

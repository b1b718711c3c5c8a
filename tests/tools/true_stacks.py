# SPDX-License-Identifier: BSD-2-Clause
"""true_stacks.py PERIOD TID LOG <ADDRESSES: the branch stacks that a run must give.

ADDRESSES are those of the executed instructions of thread TID, as tests/tools/truth has
them; LOG, QEMU's own, describes each instruction.  After each PERIOD branches that were
taken comes a line as of `script -F tid,ip,brstack`: the last 32, the newest first."""
import re
import sys

period, tid = int(sys.argv[1]), int(sys.argv[2])
insns, last = {}, None
for line in open(sys.argv[3], errors="replace"):
    m = re.match(r"0x([0-9a-f]+):  ((?:[0-9a-f]{2} ?)+) *(.*)", line)
    if m and not m[3].strip():  # the bytes of a long one go on
        insns[last] = (insns[last][0] + len(m[2].split()),) + insns[last][1:]
    elif m:
        last = int(m[1], 16)
        words = [w for w in m[3].split() if w not in ("bnd", "notrack", "repz", "rep")]
        insns[last] = (len(m[2].split()), words[0] if words else "", "*" in m[3])


def kind(name, indirect):
    if name.startswith("jmp"):
        return "IND" if indirect else "UNCOND"
    if name.startswith("call"):
        return "IND_CALL" if indirect else "CALL"
    if name.startswith("ret"):
        return "RET"
    return "COND" if name.startswith(("j", "loop")) else ""


stack, taken, a = [], 0, None
for line in sys.stdin:
    b = int(line, 16)
    if a is not None:
        size, name, indirect = insns[a]
        what = kind(name, indirect)
        if what and (what != "COND" or b != a + size):
            stack = ["0x%x/0x%x/-/-/-/0/%s" % (a, b, what)] + stack[:31]
            taken += 1
            if taken % period == 0:
                print("%5d  %16x %s " % (tid, b, "  ".join(stack)))
        elif b != a + size:
            stack = []  # a signal, or what returns from one
    a = b

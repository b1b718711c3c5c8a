# SPDX-License-Identifier: BSD-2-Clause
# hwtrace script on a capture made by hand: every line it must print is written
# here by reasoning from the code, see flow_capture.sh.
. tests/lib.sh
. tests/tools/flow_capture.sh
flow_capture "$tmp" || { fail "make the capture" "gcc failed"; exit 0; }

raw() { "$hwtrace" script --pt "$tmp/pt" --pages "$tmp/code" --map "$tmp/map" "$@" 2>"$tmp/err"; }
elf() { "$hwtrace" script --pt "$tmp/pt" --elf "$tmp/flow@0x400000" "$@" 2>"$tmp/err"; }

# -- branches and instructions
cat >"$tmp/want" <<'E'
  tr strt                               0 =>           401000
  call                             401000 =>           401010
  return                           401015 =>           401005
  jcc                              401008 =>           401000
  call                             401000 =>           401010
  jcc                              401012 =>           401015
  return                           401015 =>           401005
  call                             40100a =>           401018
  return                           401019 =>           40100c
  tr end  syscall                  40100c =>                0
  tr strt                               0 =>           40100e
  tr end  async                    40100e =>                0
E
for engine in $engines; do
	raw --engine $engine --itrace=b -F ip,addr,flags >"$tmp/got"
	same "branches by $engine" "$tmp/want" "$tmp/got"
	grep -qx 'lost: nothing' "$tmp/err" && pass "no loss by $engine" || fail "no loss by $engine" "$(cat "$tmp/err")"
	raw --engine $engine --itrace=i1i -F ip | tr -d ' ' >"$tmp/got"
	printf '%s\n' 401000 401010 401012 401014 401015 401005 401008 401000 401010 401012 401015 401005 \
	    401008 40100a 401018 401019 40100c >"$tmp/insns"
	same "instructions by $engine" "$tmp/insns" "$tmp/got"
done
raw --itrace=b -F addr,ip,flags >"$tmp/got" && same "the order of -F does not matter" "$tmp/want" "$tmp/got"
raw --itrace=i5i -F ip,period >"$tmp/got"
cat >"$tmp/want" <<'E'
         5            401015
         5            401012
         5            401018
E
same "every fifth instruction" "$tmp/want" "$tmp/got"
raw --itrace=cr -F ip,addr >"$tmp/got"
cat >"$tmp/want" <<'E'
                0 =>           401000
           401000 =>           401010
           401015 =>           401005
           401000 =>           401010
           401015 =>           401005
           40100a =>           401018
           401019 =>           40100c
           40100c =>                0
                0 =>           40100e
           40100e =>                0
E
same "calls and returns" "$tmp/want" "$tmp/got"

# -- symbols and text of instructions
elf --itrace=b -F ip,sym,symoff,addr | sed -n '2,4p;8p' >"$tmp/got"
cat >"$tmp/want" <<'E'
           401000 _start+0x0 =>           401010 leaf+0x0
           401015 leaf+0x5 =>           401005 _start+0x5
           401008 _start+0x8 =>           401000 _start+0x0
           40100a _start+0xa =>           401018 other+0x0
E
same "symbols" "$tmp/want" "$tmp/got"
elf --itrace=b -F ip,sym,dso,addr | sed -n '1,2p' >"$tmp/got"
cat >"$tmp/want" <<E
                0 [unknown] ([unknown]) =>           401000 _start ($tmp/flow)
           401000 _start ($tmp/flow) =>           401010 leaf ($tmp/flow)
E
same "files" "$tmp/want" "$tmp/got"
raw --itrace=i1i -F ip,insn,insnlen,disasm | sed -n '1,5p;14p;17p' >"$tmp/got"
cat >"$tmp/want" <<'E'
           401000 ilen: 5 insn: e8 0b 00 00 00		callq 0x401010
           401010 ilen: 2 insn: 85 c0		testl %eax, %eax
           401012 ilen: 2 insn: 74 01		je 0x401015
           401014 ilen: 1 insn: 90		nop
           401015 ilen: 1 insn: c3		retq
           40100a ilen: 2 insn: ff d3		callq *%rbx
           40100c ilen: 2 insn: 0f 05		syscall
E
same "bytes and text of instructions" "$tmp/want" "$tmp/got"
elf --call-trace -F sym >"$tmp/got"
printf '%s\n' leaf leaf other >"$tmp/want"
same "call trace" "$tmp/want" "$tmp/got"

# -- choices
elf --itrace=b -F ip,addr --dso flow | wc -l | tr -d ' ' >"$tmp/got"
echo 12 >"$tmp/want"
same "--dso that is there" "$tmp/want" "$tmp/got"
elf --itrace=b -F ip,addr --dso other | wc -l | tr -d ' ' >"$tmp/got"
echo 0 >"$tmp/want"
same "--dso that is not there" "$tmp/want" "$tmp/got"
grep -q '^hwtrace: warning: --dso other: no file of this name' "$tmp/err" && pass "--dso that is not there is told" ||
	fail "--dso that is not there is told" "$(cat "$tmp/err")"
elf --call-trace -F sym --dso flow | wc -l | tr -d ' ' >"$tmp/got"
elf --call-trace -F sym --dso other | wc -l | tr -d ' ' >>"$tmp/got"
printf '3\n0\n' >"$tmp/want"
same "--dso of a call trace" "$tmp/want" "$tmp/got"

# -- JSON: valid, one object a line, the same facts
elf --json --itrace=bi1i -F ip,sym,symoff,dso,addr,flags,insn,disasm >"$tmp/json"
python3 - "$tmp/json" >"$tmp/got" <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(len(rows), sum(r["type"] == "branch" for r in rows), sum(r["type"] == "instruction" for r in rows))
call = next(r for r in rows if r["type"] == "branch" and r["flags"] == "call")
print(call["ip"], call["sym"], call["symoff"], call["addr"], call["addr_sym"], call["insn"], call["disasm"])
P
cat >"$tmp/want" <<'E'
29 12 17
0x401000 _start 0 0x401010 leaf e80b000000 callq 0x401010
E
same "JSON" "$tmp/want" "$tmp/got"

# -- losses: a packet that does not fit, in text and JSON and in the exit status
{ cat "$tmp/pt"; printf '\006'; } >"$tmp/pt2"
"$hwtrace" script --pt "$tmp/pt2" --pages "$tmp/code" --map "$tmp/map" --itrace=e --fail-on-loss >"$tmp/got" 2>"$tmp/err"
[ $? -eq 65 ] && pass "--fail-on-loss" || fail "--fail-on-loss" "exit status is not 65"
grep -q '^ *.* lost: .*, stream 0 offset 0x' "$tmp/got" && pass "a gap is a line" || fail "a gap is a line" "$(cat "$tmp/got")"
grep -q '^lost: .*place' "$tmp/err" && pass "the closing line tells the loss" || fail "the closing line tells the loss" "$(cat "$tmp/err")"
"$hwtrace" script --pt "$tmp/pt2" --pages "$tmp/code" --map "$tmp/map" --itrace=e --json 2>/dev/null |
    python3 -c 'import json, sys; r = [json.loads(l) for l in sys.stdin]; print(len(r), r[0]["type"])' >"$tmp/got"
echo "1 gap" >"$tmp/want"
same "a gap in JSON" "$tmp/want" "$tmp/got"

# -- what is lost in front of the first time stamp has no time
for e in $engines; do
	"$hwtrace" record -q -o "$tmp/t.data" -- "$samples/hello" >/dev/null 2>"$tmp/err"
	python3 - "$tmp/t.data" <<'P'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"\x02\x82" * 8)
b[at + 3] = 0xff
open(sys.argv[1], "wb").write(b)
P
	"$hwtrace" script -i "$tmp/t.data" --engine "$e" --itrace=e -F time 2>/dev/null | sed 's/^ *//; s/,.*//' >"$tmp/got"
	echo "-:  lost: not synchronised" >"$tmp/want"
	same "no time, by $e" "$tmp/want" "$tmp/got"
	"$hwtrace" script -i "$tmp/t.data" --engine "$e" --itrace=e --json 2>/dev/null | grep -c time_ns >"$tmp/got"
	echo 0 >"$tmp/want"
	same "no time in JSON, by $e" "$tmp/want" "$tmp/got"
done

# -- a reader that has seen enough
python3 - "$hwtrace" "$tmp" <<'P' && pass "a closed pipe ends it quietly" || fail "a closed pipe ends it quietly"
import subprocess, sys
hwtrace, tmp = sys.argv[1:]
argv = [hwtrace, "script", "--pt", tmp + "/pt", "--pages", tmp + "/code", "--map", tmp + "/map", "--itrace=i1i", "-F", "ip"]
for ignore in (True, False):        # SIGPIPE ignored or not
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=not ignore)
    p.stdout.close()
    err = p.stderr.read()
    code = p.wait()
    if code not in (0, -13) or b"rror" in err or b"Broken" in err:
        sys.exit("status %d: %s" % (code, err))
P
if [ -c /dev/full ]; then
	raw --itrace=b -F ip >/dev/full && fail "disk full" "exit status 0" || grep -q 'No space left' "$tmp/err" && pass "disk full" || fail "disk full" "$(cat "$tmp/err")"
fi

# -- on a recording: the choice of threads and times, and JSON by the megabyte
if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip "script on a recording" "the software trace unit is not usable here"
	exit 0
fi
"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$programs/threads" >/dev/null 2>&1
rec() { "$hwtrace" script -i "$tmp/data" "$@" 2>"$tmp/err"; }
rec --itrace=b -F tid,time,ip,addr --ns >"$tmp/all"
tid=$(awk '{print $1}' "$tmp/all" | sort -u | sed -n 3p)
rec --itrace=b -F tid,time,ip,addr --ns --tid "$tid" >"$tmp/got"
awk -v t="$tid" '$1 == t' "$tmp/all" >"$tmp/want"
same "--tid" "$tmp/want" "$tmp/got"
pid=$(rec --itrace=b -F pid | head -n 1 | tr -d ' ')
rec --itrace=b -F tid,time,ip,addr --ns --pid "$pid" >"$tmp/got"
same "--pid" "$tmp/all" "$tmp/got"
rec --itrace=b -F tid,time,ip,addr --ns --comm threads >"$tmp/got"
same "--comm" "$tmp/all" "$tmp/got"
rec --itrace=b -F ip --comm nobody >"$tmp/got"
grep -q '^hwtrace: warning: --comm nobody: no thread of this name' "$tmp/err" && pass "--comm without a thread is told" ||
	fail "--comm without a thread is told" "$(cat "$tmp/err")"
[ -s "$tmp/got" ] && fail "--comm of nobody" "it has lines" || pass "--comm of nobody"
from=$(sed -n '2000p' "$tmp/all" | awk '{print $2}' | tr -d :)
to=$(sed -n '9000p' "$tmp/all" | awk '{print $2}' | tr -d :)
rec --itrace=b -F tid,time,ip,addr --ns --time "$from,$to" >"$tmp/got"
awk -v a="$from" -v b="$to" '{ t = $2; sub(":", "", t); if (t "" >= a "" && t "" <= b "") print }' "$tmp/all" >"$tmp/want"
same "--time" "$tmp/want" "$tmp/got"
rec --itrace=b --json >"$tmp/json"
python3 - "$tmp/json" "$tmp/all" <<'P' && pass "JSON by the megabyte" || fail "JSON by the megabyte"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
text = [line.split() for line in open(sys.argv[2])]
assert len(rows) == len(text) > 10000
for r, t in zip(rows, text):
    assert (r["tid"], int(r["ip"], 16), int(r["addr"], 16)) == (int(t[0]), int(t[2], 16), int(t[4], 16)), (r, t)
    assert "%d.%09d:" % divmod(r["time_ns"], 10**9) == t[1], (r, t)
P

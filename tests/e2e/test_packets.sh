# SPDX-License-Identifier: BSD-2-Clause
# hwtrace packets on a capture made by hand, on a damaged one, and against perf's dump.
. tests/lib.sh
. tests/tools/flow_capture.sh
flow_capture "$tmp" || { fail "make the capture" "gcc failed"; exit 0; }
raw() { # PT OPTIONS...
	_pt=$1
	shift
	"$hwtrace" packets --pt "$_pt" --pages "$tmp/code" --map "$tmp/map" "$@" 2>"$tmp/err"
}

cat >"$tmp/want" <<'E'
# stream 0 pid 0 tid 0 cpu -1: 53 bytes
0000000000000000  PSB
0000000000000010  MODE.Exec IF:0 64
0000000000000012  PSBEND
0000000000000014  TIP.PGE 0x401000
000000000000001b  TNT NTTTTN (6)
000000000000001c  TIP 0x401018
0000000000000023  TNT T (1)
0000000000000024  TIP.PGD no ip
0000000000000025  TIP.PGE 0x40100e
000000000000002c  FUP 0x40100e
0000000000000033  TIP.PGD no ip
E
raw "$tmp/pt" >"$tmp/got"
size=$(wc -c <"$tmp/pt" | tr -d ' ')
sed -i "1s/pid .*/bytes $size/" "$tmp/want" "$tmp/got"
same "every packet" "$tmp/want" "$tmp/got"
grep -qx 'lost: nothing' "$tmp/err" && pass "no loss" || fail "no loss" "$(cat "$tmp/err")"

raw "$tmp/pt" --summary >"$tmp/got"
cat >"$tmp/want" <<E
PSB                   1             16 bytes
PSBEND                1              2 bytes
TIP                   1              7 bytes
TIP.PGE               2             14 bytes
TIP.PGD               2              2 bytes
FUP                   1              7 bytes
MODE.Exec             1              2 bytes
TNT                   2              2 bytes
all                  11             $size bytes
E
sort "$tmp/want" >"$tmp/want.s"
sort "$tmp/got" >"$tmp/got.s"
same "summary" "$tmp/want.s" "$tmp/got.s"

# Bytes that begin no packet, and a packet that the end cuts.
cat >"$tmp/want" <<'E'
0000000000000000  PSB
0000000000000010  PSBEND
0000000000000012  Bad Packet! 3 bytes skipped: no packet begins like this
0000000000000015  PSB
0000000000000025  PSBEND
0000000000000027  Bad Packet! 2 bytes skipped: the stream ends inside a packet
E
octets "$tmp/bad" 02820282028202820282028202820282 0223 05ff07 02820282028202820282028202820282 0223 7100
raw "$tmp/bad" | grep -v '^#' >"$tmp/got"
same "damaged bytes" "$tmp/want" "$tmp/got"
raw "$tmp/bad" --fail-on-loss >/dev/null
[ $? -eq 65 ] && pass "--fail-on-loss" || fail "--fail-on-loss" "exit status is not 65"
raw "$tmp/pt" --stream 3 >/dev/null && fail "a stream that is not there" "exit status 0" || pass "a stream that is not there"

# perf's words for the same bytes; its offsets begin anew with each piece of a
# stream, and padding is one packet there however long it is
if ! command -v perf >/dev/null; then
	skip "packets in perf's words" "perf is not installed"
elif ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip "packets in perf's words" "the software trace unit is not usable here"
else
	"$hwtrace" record --backend qemu -q -o "$tmp/data" -- "$programs/longjump" >/dev/null 2>&1
	perf script -D -i "$tmp/data" 2>/dev/null | sed -n 's/^\.  [0-9a-f]\{8\}:.\{49\} \(.*\)$/\1/p' | grep -vx PAD >"$tmp/want"
	"$hwtrace" packets -i "$tmp/data" 2>/dev/null | sed -n 's/^[0-9a-f]*  //p' | grep -vx PAD >"$tmp/got"
	[ -s "$tmp/want" ] && same "packets in perf's words" "$tmp/want" "$tmp/got" || fail "packets in perf's words" "perf dumped nothing"
fi

# Every kind of packet with random fields, put in place of the trace of a recording: perf
# reads them as we do.
if ! command -v perf >/dev/null || [ ! -s "$tmp/data" ]; then
	skip "every kind in perf's words" "perf or a recording is not there"
else
	python3 - "$tmp/data" "$PWD/$BUILD/tests/tools/ptpackets" <<'E2'
import struct, subprocess, sys
data = bytearray(open(sys.argv[1], 'rb').read())
at = data.index(b'\x02\x82' * 8)
kind, size = struct.unpack_from('<IxxxxQ', data, at - 48)
assert kind == 71, 'no PERF_RECORD_AUXTRACE begins with this PSB'
made = subprocess.run([sys.argv[2], str(size), 'TRIG'], stdout=subprocess.PIPE).stdout
data[at:at + size] = made + bytes(size - len(made))
open(sys.argv[1], 'wb').write(data)
E2
	perf script -D -i "$tmp/data" 2>/dev/null | sed -n 's/^\.  [0-9a-f]\{8\}:.\{49\} \(.*\)$/\1/p' | grep -vx PAD >"$tmp/want"
	"$hwtrace" packets -i "$tmp/data" 2>/dev/null | sed -n 's/^[0-9a-f]*  //p' | grep -vx PAD >"$tmp/got"
	same "every kind in perf's words" "$tmp/want" "$tmp/got"
	for k in PSB PSBEND TNT TIP TIP.PGE TIP.PGD FUP PIP MODE.Exec MODE.TSX TraceSTOP CBR TSC MTC TMA CYC VMCS OVF MNT \
	    PTWRITE EXSTOP MWAIT PWRE PWRX BBP BIP BEP CFE EVD; do
		grep -q "^$k" "$tmp/want" || fail "every kind in perf's words" "no $k is among them"
	done
fi

# SPDX-License-Identifier: BSD-2-Clause
# A raw capture whose every byte is written out here: flow_capture DIR makes
# DIR/{flow,code,map,pt}.  What ran, instruction by instruction:
#
#	401000 call leaf	401010 test  401012 je (no)  401014 nop  401015 ret
#	401005 dec  401008 jne (to 401000)
#	401000 call leaf	401010 test  401012 je (to 401015)  401015 ret
#	401005 dec  401008 jne (no)
#	40100a call *%rbx	401018 nop  401019 ret
#	40100c syscall, trace off; trace on at 40100e, interrupted there, trace off
flow_capture() {
	cat >"$1/flow.s" <<'S'
	.globl _start, leaf, other
	.type _start, @function
	.type leaf, @function
	.type other, @function
_start:	call leaf
	dec %rax
	jne _start
	call *%rbx
	syscall
1:	jmp 1b
	.size _start, . - _start
leaf:	test %eax, %eax
	je 1f
	nop
1:	ret
	.size leaf, . - leaf
	nop
	nop
other:	nop
	ret
	.size other, . - other
S
	gcc -nostdlib -static -Wl,--build-id=none,-Ttext=0x401000 -o "$1/flow" "$1/flow.s" || return 1
	# The same code as bytes, in case the assembler chooses others one day.
	octets "$1/code" e80b000000 48ffc8 75f6 ffd3 0f05 ebfe 85c0 7401 90 c3 9090 90 c3
	printf '# address size offset\n0x401000 26 0\n' >"$1/map"
	# PSB, MODE.Exec, PSBEND, TIP.PGE, TNT NTTTTN, TIP, TNT T, TIP.PGD, TIP.PGE, FUP, TIP.PGD
	octets "$1/pt" 02820282028202820282028202820282 9901 0223 71001040000000 bc 6d181040000000 06 01 \
	    710e1040000000 7d0e1040000000 01
}

octets() { # FILE HEX...
	_file=$1
	shift
	python3 -c 'import sys; open(sys.argv[1], "wb").write(bytes.fromhex("".join(sys.argv[2:])))' "$_file" "$@"
}

# SPDX-License-Identifier: BSD-2-Clause
# fuzz_session.seeds.sh FOLDER: an input with maps, code, a fork and an exec, and a little trace.
out=$1/seed
{
	# kind time pid tid cpu ...: see input_next()
	printf '\001\001\002\001\000\004\010\001\001\000\000\000' # map /proc/self/exe
	printf '\012\002\002\001\003\000\100\000\220\220\303\000' # code: nop; nop; ret at 0x4000
	printf '\004\003\003\002\002\001\000\000\000\000\000\000' # fork
	printf '\003\004\003\002\003\000\000\000\000\000\000\000' # exec
	printf '\002\005\002\001\000\000\120\000\000\020\000\000' # munmap
	printf '\014\006\003\001\000\001\000\000\000\000\000\000' # page tables 0x1000 are those of process 2
	printf '\006\006\002\001\001\000\000\000\000\000\000\000' # switch
	printf '\377'
	printf '\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\202' # PSB
	printf '\031\003\000\000\000\000\000\000\231\001'         # TSC, MODE.Exec
	printf '\002\103\000\001\000\000\000\000'           # PIP 0x1000
	printf '\175\000\100\000\000\000\000\002\043'             # FUP 0x4000, PSBEND
	printf '\006\001\161\000\100\000\000\000\000'             # TNT, PGD, PGE
} >"$out"

/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -m32 -O1 -nostdlib -static -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -mno-sse
 *
 * trapflag.c in 32-bit code.
 */
#include "trapflag.c"

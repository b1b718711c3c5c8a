/* SPDX-License-Identifier: BSD-2-Clause */
/* A little stack machine: a switch that becomes a jump table, and handlers called through a table.
 * build: -O2 -g */
#include <stdio.h>

enum { PUSH, ADD, MUL, SWAP, DUP, DROP, DEC, JUMP_NZ, OUT, HALT };

static long stack[64];
static int top;

static long
twice(long v)
{
	return 2 * v;
}

static long
square(long v)
{
	return v * v;
}

static long (*const functions[])(long) = { twice, square };

static void
run(const int *code)
{
	long v;

	for (int pc = 0;;) {
		switch (code[pc++]) {
		case PUSH: stack[top++] = code[pc++]; break;
		case ADD: top--; stack[top - 1] += stack[top]; break;
		case MUL: top--; stack[top - 1] *= stack[top]; break;
		case SWAP: v = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = v; break;
		case DUP: stack[top] = stack[top - 1]; top++; break;
		case DROP: top--; break;
		case DEC: stack[top - 1]--; break;
		case JUMP_NZ: pc = stack[top - 1] ? code[pc] : pc + 1; break;
		case OUT: printf("%ld\n", functions[stack[top - 1] & 1](stack[top - 1])); break;
		default: return;
		}
	}
}

int
main(void)
{
	/* From 5 down to 1, each of them doubled or squared. */
	static const int program[] = {
		PUSH, 1, PUSH, 5, DUP, PUSH, 0, ADD, SWAP, DROP,
		DUP, OUT, DROP, DEC, JUMP_NZ, 10, DROP, OUT, HALT,
	};

	run(program);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From QEMU's own log to the addresses of the executed instructions, one a line:
 *
 *	qemu-x86_64 [-singlestep] -strace -d nochain,exec,in_asm -D LOG ... ; truth [-t VCPU] < LOG
 *
 * What the log says and the program did not do is taken back: blocks unsaid by
 * "Stopped execution", the repetitions of a string instruction, an instruction
 * that faulted (with -singlestep only), one that was begun and run anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE 65536

struct insn {
	unsigned long long addr;
	unsigned char first[4]; /* bytes */
	unsigned char size;
	char branch, rep;
};

struct block {
	unsigned long long pc;
	struct insn *insns;
	unsigned n;
	struct block *next;
};

static struct block *table[TABLE];
static const struct block *last; /* said last, not printed yet */
static unsigned last_n;          /* instructions of it that count */
static unsigned long long last_tb;

static struct block *
find(unsigned long long pc, int make)
{
	struct block **head = &table[(pc * 0x9e3779b97f4a7c15ull) >> 48], *b;

	for (b = *head; b; b = b->next)
		if (b->pc == pc)
			return b;
	if (!make)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		exit(2);
	b->pc = pc;
	b->next = *head;
	*head = b;
	return b;
}

static void
flush(void)
{
	for (unsigned i = 0; last && i < last_n; i++)
		printf("%llx\n", last->insns[i].addr);
	last = NULL;
}

/* "0x4000:  f3 a4   rep movsb ..."; a line without a name goes on with the bytes of the one before. */
static void
read_insn(struct block *b, const char *line)
{
	struct insn in = { 0 };
	int at = 0;
	unsigned byte, len = 0;

	if (sscanf(line, "0x%llx: %n", &in.addr, &at) < 1)
		return;
	for (line += at; sscanf(line, "%2x%n", &byte, &at) == 1 && at == 2 && line[2] == ' '; line += 3) {
		if (len < sizeof(in.first))
			in.first[len] = (unsigned char)byte;
		len++;
	}
	line += strspn(line, " ");
	if (*line == '\n' || !*line) {
		if (b->n)
			b->insns[b->n - 1].size = (unsigned char)(b->insns[b->n - 1].size + len);
		return;
	}
	in.size = (unsigned char)len;
	in.rep = !strncmp(line, "rep", 3) && strncmp(line, "repz ret", 8);
	in.branch = *line == 'j' || !strncmp(line, "loop", 4) || !strncmp(line, "call", 4) ||
	            !strncmp(line, "ret", 3) || !strncmp(line, "int3", 4) || !strncmp(line, "bnd ", 4) ||
	            !strncmp(line, "notrack", 7) || !strncmp(line, "syscall", 7);
	b->insns = realloc(b->insns, (b->n + 1) * sizeof(*b->insns));
	if (!b->insns)
		exit(2);
	b->insns[b->n++] = in;
}

/* The block said last was left at `pc` to run the instruction there anew. */
static void
take_back(unsigned long long pc, unsigned count)
{
	const struct insn *end;

	if (!last || !last_n)
		return;
	end = &last->insns[last_n - 1];
	if (end->addr == pc && (end->rep || (last_n == 1 && count == 1 && !end->branch))) {
		last_n--;
		return;
	}
	for (unsigned i = 0; count == 1 && i + 1 < last_n; i++)
		if (last->insns[i].addr == pc)
			last_n = i;
}

static void
say(unsigned long long tb, unsigned long long pc, unsigned count)
{
	const struct block *b = find(pc, 0);

	take_back(pc, count);
	flush();
	if (!b) {
		printf("unknown block %llx\n", pc);
		return;
	}
	last = b;
	last_n = count && count < b->n ? count : b->n;
	last_tb = tb;
}

static void
see_signal(const char *line)
{
	static const char *const faults[] = { "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP" };
	const char *code = strstr(line, "si_code=");

	if (!code || !last || !last_n)
		return;
	code += 8;
	/* Sent by a program, not by an instruction. */
	if (*code == '-' || *code == '0' || (!strncmp(code, "SI_", 3) && strncmp(code, "SI_KERNEL", 9)))
		return;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (!strncmp(line, faults[i], strlen(faults[i])) && !last->insns[last_n - 1].branch)
			last_n--;
}

int
main(int argc, char **argv)
{
	char *line = NULL;
	size_t cap = 0;
	struct block *reading = NULL;
	long vcpu = -1;
	int c;

	while ((c = getopt(argc, argv, "t:")) != -1) {
		if (c != 't')
			return 2;
		vcpu = atol(optarg);
	}
	while (getline(&line, &cap, stdin) > 0) {
		unsigned long long tb, pc, base;
		unsigned flags, cflags;
		long cpu;

		if (reading && line[0] == '0' && line[1] == 'x') {
			if (!reading->pc) {
				sscanf(line, "0x%llx", &pc);
				reading = find(pc, 1);
				reading->n = 0;
			}
			read_insn(reading, line);
		} else if (!strncmp(line, "IN:", 3)) {
			static struct block none;

			reading = &none;
		} else if (sscanf(line, "Trace %ld: 0x%llx [%llx/%llx/%x/%x]", &cpu, &tb, &base, &pc, &flags,
		                  &cflags) == 6) {
			if (vcpu < 0 || cpu == vcpu)
				say(tb, pc, cflags & 0x1ff);
		} else if (sscanf(line, "Stopped execution of TB chain before 0x%llx", &tb) == 1) {
			if (last && tb == last_tb)
				last = NULL;
		} else if (!strncmp(line, "--- ", 4)) {
			see_signal(line + 4);
		}
	}
	flush();
	free(line);
	return 0;
}

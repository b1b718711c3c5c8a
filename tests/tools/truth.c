/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From QEMU's own log to the addresses of the executed instructions, one a line:
 *
 *	qemu-x86_64 [-singlestep] -strace -d nochain,exec,in_asm -D LOG ... ; truth < LOG
 *
 * With threads, use `-d tid,...  -D LOG.%d` and name the logs of the other
 * threads with -i: a block is described in the log of the thread that met it first.
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

/*
 * A signal came when a string instruction had been said: whether it had ended
 * is seen when the program goes on, at it or behind it.  Until then what is
 * said is held back.
 */
static struct {
	unsigned long long *ips, rep, next;
	size_t n, cap;
	int on;
} held;

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
print(unsigned long long ip)
{
	if (!held.on) {
		printf("%llx\n", ip);
		return;
	}
	if (held.n == held.cap) {
		held.cap = held.cap ? 2 * held.cap : 4096;
		held.ips = realloc(held.ips, held.cap * sizeof(*held.ips));
		if (!held.ips)
			exit(2);
	}
	held.ips[held.n++] = ip;
}

/* Nothing is held any more; the string instruction had ended when `ended`. */
static void
release(int ended)
{
	if (!held.on)
		return;
	held.on = 0;
	if (ended)
		print(held.rep);
	for (size_t i = 0; i < held.n; i++)
		print(held.ips[i]);
	held.n = 0;
}

static void
flush(void)
{
	for (unsigned i = 0; last && i < last_n; i++)
		print(last->insns[i].addr);
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
	for (line += at; sscanf(line, "%2x%n", &byte, &at) == 1 && at == 2 && (line[2] == ' ' || line[2] == '\n'); line += 2 + (line[2] == ' ')) {
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
	if (held.on && (pc == held.rep || pc == held.next))
		release(pc == held.next);
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
	int fault = 0;

	if (!code || !last || !last_n)
		return;
	code += 8;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		fault |= !strncmp(line, faults[i], strlen(faults[i]));
	/* Sent by a program, or by a timer, and not by an instruction. */
	if (!fault || *code == '-' || *code == '0' ||
	    (!strncmp(code, "SI_", 3) && strncmp(code, "SI_KERNEL", 9))) {
		const struct insn *end = &last->insns[last_n - 1];

		if (end->rep && !held.on) {
			last_n--;
			flush();
			held.on = 1;
			held.rep = end->addr;
			held.next = end->addr + end->size;
		}
		return;
	}
	if (!last->insns[last_n - 1].branch)
		last_n--;
}

static void
read_log(FILE *f, int only_blocks)
{
	static struct block none;
	struct block *reading = NULL;
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, f) > 0) {
		unsigned long long tb, pc, base;
		unsigned flags, cflags;
		long cpu;

		if (reading && line[0] == '0' && line[1] == 'x') {
			if (!reading->pc && sscanf(line, "0x%llx", &pc) == 1) {
				reading = find(pc, 1);
				reading->n = 0;
			}
			read_insn(reading, line);
			continue;
		}
		reading = NULL;
		if (!strncmp(line, "IN:", 3))
			reading = &none;
		else if (only_blocks)
			continue;
		else if (sscanf(line, "Trace %ld: 0x%llx [%llx/%llx/%x/%x]", &cpu, &tb, &base, &pc, &flags, &cflags) == 6)
			say(tb, pc, cflags & 0x1ff);
		else if (sscanf(line, "Stopped execution of TB chain before 0x%llx", &tb) == 1 && last && tb == last_tb)
			last = NULL;
		else if (!strncmp(line, "--- ", 4))
			see_signal(line + 4);
	}
	free(line);
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "i:")) != -1) {
		FILE *f = c == 'i' ? fopen(optarg, "r") : NULL;

		if (!f)
			return 2;
		read_log(f, 1);
		fclose(f);
	}
	read_log(stdin, 0);
	flush();
	release(1);
	free(held.ips);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: Intel PT behind a PSB+, for a small program.  The native engine
 * must count what it tells, and account for each byte; what it tells must be
 * whole instructions.
 *
 * fuzz_pt --dict prints the dictionary, made of the table of packets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/flow.h>
#include <hwtrace/insn.h>
#include <hwtrace/pt_packet.h>

#include "container/reader.h"

#define BASE 0x1000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/*
 *	1000	je   1005;  nop;  jmp *%rax
 *	1005	call 1010;  jmp 1000
 *	1010	jne  1014;  call *%rax
 *	1014	ret
 *	1015	syscall;  loop 1010;  jmp 1000
 */
static const uint8_t program[] = {
	0x74, 0x03, 0x90, 0xff, 0xe0, 0xe8, 0x06, 0x00, 0x00, 0x00, 0xeb, 0xf4, 0x90, 0x90, 0x90, 0x90,
	0x75, 0x02, 0xff, 0xd0, 0xc3, 0x0f, 0x05, 0xe2, 0xf7, 0xeb, 0xe5,
};

static const uint8_t header[] = {
	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	0x99, 0x01, 0x7d, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x02, 0x23,
};

struct input {
	struct ht_container c;
	struct ht_chunk     chunk;
	struct ht_stream    stream;
	int                 given;
};

struct answer {
	uint64_t instructions, branches, gaps;
};

static void
must(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "%s\n", what);
		abort();
	}
}

static int
input_next(struct ht_container *c, struct ht_record *rec)
{
	struct input *in = c->state;

	if (in->given++)
		return 0;
	memset(rec, 0, sizeof(*rec));
	rec->kind = HT_REC_CODE;
	rec->pid = rec->tid = 1;
	rec->cpu = -1;
	rec->u.code.addr = BASE;
	rec->u.code.len = sizeof(program);
	rec->u.code.bytes = program;
	return 1;
}

static void
input_rewind(struct ht_container *c)
{
	((struct input *)c->state)->given = 0;
}

static const struct ht_reader reader = { .next = input_next, .rewind = input_rewind };

/* From instruction to instruction the block must come to its last one. */
static void
check_block(const struct ht_event *ev, struct ht_view *view)
{
	uint64_t ip = ev->a;

	for (uint32_t i = 0; i < ev->n; i++) {
		uint8_t bytes[HT_INSN_MAX];
		struct ht_insn insn = { .size = 0 };

		if (i + 1 == ev->n)
			must(ip == ev->b, "a block that does not end where it says");
		ht_insn_decode(HT_ARCH_X86_64, bytes, ht_view_read(view, ip, bytes, sizeof(bytes)), ip, &insn);
		ip += insn.size;
	}
}

static struct ht_decoder *
open_decoder(struct ht_session *s)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = "native" };
	struct ht_decoder *d;

	must(ht_decoder_new(s, 0, &config, &d, NULL) == 0, "no decoder");
	return d;
}

static void
take_figures(const struct ht_decoder *d, struct answer *a)
{
	const struct ht_decoder_stats *st = ht_decoder_stats(d);

	must(st->bytes_decoded + st->bytes_skipped == st->bytes, "bytes that are neither decoded nor skipped");
	a->instructions = st->instructions;
	a->branches = st->branches;
	a->gaps = st->gaps;
}

static struct answer
tell(struct ht_session *s)
{
	struct ht_decoder *d = open_decoder(s);
	static struct ht_event ev[HT_BATCH];
	struct answer a = { 0 };
	int n;

	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			if (ev[i].kind == HT_EV_BLOCK)
				check_block(&ev[i], ht_decoder_view(d));
	must(n == 0, "an error");
	take_figures(d, &a);
	ht_decoder_free(d);
	return a;
}

static struct answer
count(struct ht_session *s)
{
	struct ht_decoder *d = open_decoder(s);
	struct ht_counts counts;
	struct answer a = { 0 };
	int rc;

	while ((rc = ht_decoder_count(d, &counts)) > 0)
		ht_counts_free(&counts);
	must(rc == 0, "an error while counting");
	take_figures(d, &a);
	ht_decoder_free(d);
	return a;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	uint8_t bytes[HT_PT_PACKET_MAX];
	unsigned n;

	if (*argc != 2 || strcmp((*argv)[1], "--dict") != 0)
		return 0;
	for (unsigned i = 0; (n = ht_pt_dictionary(i, bytes)) > 0; i++) {
		putchar('"');
		for (unsigned k = 0; k < n; k++)
			printf("\\x%02x", bytes[k]);
		puts("\"");
	}
	exit(0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .given = 0 };
	uint8_t *trace = malloc(sizeof(header) + size);
	struct answer native, counted;
	struct ht_session *s;

	memcpy(trace, header, sizeof(header));
	if (size)
		memcpy(trace + sizeof(header), data, size);
	in.c.reader = &reader;
	in.c.state = &in;
	in.chunk = (struct ht_chunk){ .data = trace, .size = sizeof(header) + size };
	in.stream = (struct ht_stream){ .source = HT_SOURCE_INTEL_PT, .pid = 1, .tid = 1, .cpu = -1,
		                        .chunks = &in.chunk, .n_chunks = 1, .bytes = in.chunk.size };
	in.c.streams = &in.stream;
	in.c.n_streams = 1;
	must(ht_session_open(&in.c, NULL, &s, NULL) == 0, "no session");
	native = tell(s);
	counted = count(s);
	must(native.instructions == counted.instructions && native.branches == counted.branches &&
	     native.gaps == counted.gaps, "counted otherwise than told");
	ht_session_close(s);
	free(trace);
	return 0;
}

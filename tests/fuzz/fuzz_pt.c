/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: Intel PT behind a PSB+, for a small program.  The native engine
 * must count what it tells, and account for each byte; what it tells must be
 * whole instructions.
 *
 * fuzz_pt --dict prints the dictionary, made of the table of packets.
 */
#include <hwtrace/flow.h>
#include <hwtrace/insn.h>
#include <hwtrace/pt_packet.h>

#include "pt_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

struct answer {
	uint64_t instructions, branches, gaps;
};

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
	struct ht_decoder *d = open_decoder(s, "native");
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
	struct ht_decoder *d = open_decoder(s, "native");
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
	struct input in;
	struct ht_session *s = input_open(&in, data, size);
	struct answer native = tell(s), counted = count(s);

	must(native.instructions == counted.instructions && native.branches == counted.branches &&
	     native.gaps == counted.gaps, "counted otherwise than told");
	input_close(&in, s);
	return 0;
}

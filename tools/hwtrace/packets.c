/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace packets: the trace bytes packet by packet, not decoded any further. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/pt_packet.h>
#include <hwtrace/text.h>

#include "input.h"
#include "itrace.h"
#include "loss.h"
#include "progress.h"

extern const struct command command_packets;

struct packets_opts {
	struct input_opts input;
	const char *streams, *tids;
	int summary, fail_on_loss;
};

#define AT(field) offsetof(struct packets_opts, field)

static const struct opt packets_options[] = {
	INPUT_OPTS(struct packets_opts, input),
	{ 0, "stream", "LIST", OPT_STRING, AT(streams), "only these streams, as hwtrace info numbers them" },
	{ 0, "tid", "LIST", OPT_STRING, AT(tids), "only streams of these threads" },
	{ 0, "summary", NULL, OPT_FLAG, AT(summary), "how many of each kind" },
	{ 0, "fail-on-loss", NULL, OPT_FLAG, AT(fail_on_loss), "exit with status 65 when something was lost" },
	OPT_END
};

struct dump {
	struct ht_text  text;
	struct loss     loss;
	struct progress progress;
	uint64_t        count[HT_PT_KIND_COUNT], size[HT_PT_KIND_COUNT];
	uint64_t        done;
	int             summary;
	unsigned        block; /* of ht_pt_packet_read() */
};

static void
show(struct dump *d, uint64_t offset, const struct ht_pt_packet *p)
{
	char words[HT_PT_TEXT_MAX];
	size_t n;

	d->count[p->kind]++;
	d->size[p->kind] += p->size;
	if (d->summary)
		return;
	n = strlen(ht_pt_packet_text(p, words, sizeof(words)));
	ht_text_room(&d->text, 256);
	for (int shift = 56; shift >= 0; shift -= 8)
		ht_text_put(&d->text, ht_text_hex_pairs[offset >> shift & 0xff], 2);
	ht_text_put(&d->text, "  ", 2);
	ht_text_put(&d->text, words, n);
	ht_text_char(&d->text, '\n');
}

static void
show_gap(struct dump *d, const struct ht_gap *g)
{
	loss_add(&d->loss, g);
	if (d->summary)
		return;
	ht_text_room(&d->text, 256);
	for (int shift = 56; shift >= 0; shift -= 8)
		ht_text_put(&d->text, ht_text_hex_pairs[g->offset >> shift & 0xff], 2);
	ht_text_put(&d->text, "  Bad Packet! ", 14);
	ht_text_dec(&d->text, g->bytes, 0, ' ');
	ht_text_put(&d->text, " bytes skipped: ", 16);
	ht_text_str(&d->text, g->why);
	ht_text_room(&d->text, 1);
	ht_text_char(&d->text, '\n');
}

/* What is left of a packet at the end of a chunk, and the packet once the next chunk completes it. */
struct rest {
	uint8_t  bytes[HT_PT_PACKET_MAX];
	size_t   n;
	uint64_t offset;
};

/* Complete the packet in `r` from the start of `c`; returns the bytes taken from there. */
static size_t
join(struct dump *d, struct rest *r, const struct ht_chunk *c)
{
	struct ht_pt_packet p;
	size_t more = sizeof(r->bytes) - r->n;
	int n;

	if (more > c->size)
		more = (size_t)c->size;
	memcpy(r->bytes + r->n, c->data, more);
	n = ht_pt_packet_read(r->bytes, r->n + more, &d->block, &p);
	if (n <= (int)r->n) {
		show_gap(d, &(struct ht_gap){ .kind = HT_GAP_BAD_PACKET, .offset = r->offset, .bytes = r->n,
		                              .why = "a packet begins here that does not go on in the next chunk" });
		r->n = 0;
		return 0;
	}
	show(d, r->offset, &p);
	more = (size_t)n - r->n;
	r->n = 0;
	return more;
}

static void
dump_chunk(struct dump *d, struct rest *r, const struct ht_chunk *c)
{
	size_t at = r->n ? join(d, r, c) : 0, size = (size_t)c->size;

	while (at < size && !d->text.error) {
		struct ht_pt_packet p;
		int n = ht_pt_packet_read(c->data + at, size - at, &d->block, &p);

		if (n == HT_PT_NEED_MORE) {
			r->n = size - at;
			r->offset = c->stream_offset + at;
			memcpy(r->bytes, c->data + at, r->n);
			return;
		}
		if (n < 0) {
			size_t next = ht_pt_find_psb(c->data, size, at + 1);

			show_gap(d, &(struct ht_gap){ .kind = HT_GAP_BAD_PACKET, .offset = c->stream_offset + at,
			                              .bytes = next - at, .why = "no packet begins like this" });
			d->block = 0;
			at = next;
			continue;
		}
		show(d, c->stream_offset + at, &p);
		at += (size_t)n;
	}
}

static void
end_stream(struct dump *d, struct rest *r, int lost)
{
	if (r->n)
		show_gap(d, &(struct ht_gap){ .kind = lost ? HT_GAP_AUX_LOST : HT_GAP_CUT, .offset = r->offset,
		                              .bytes = r->n,
		                              .why = lost ? "the rest of this packet was lost"
		                                          : "the stream ends inside a packet" });
	r->n = 0;
	d->block = 0;
}

static void
dump_stream(struct dump *d, const struct ht_stream *s)
{
	struct rest rest = { .n = 0 };
	char head[128];

	snprintf(head, sizeof(head), "# stream %u pid %d tid %d cpu %d: %llu bytes\n", s->index, s->pid, s->tid,
	         s->cpu, (unsigned long long)s->bytes);
	if (!d->summary)
		ht_text_str(&d->text, head);
	for (uint32_t i = 0; i < s->n_chunks && !d->text.error; i++) {
		const struct ht_chunk *c = &s->chunks[i];

		if (c->lost_before) {
			end_stream(d, &rest, 1);
			loss_add(&d->loss,
			         &(struct ht_gap){ .kind = c->lost_before == HT_LOST_BLOCK
			                                       ? HT_GAP_KILLED
			                                   : c->lost_before == HT_LOST_TRUNCATED
			                                       ? HT_GAP_AUX_TRUNCATED
			                                       : HT_GAP_AUX_LOST });
		}
		dump_chunk(d, &rest, c);
		progress_at(&d->progress, d->done += c->size);
	}
	end_stream(d, &rest, 0);
}

/* Kinds of one name (TNT of both lengths) are one line. */
static void
print_summary(struct dump *d)
{
	uint64_t packets = 0, bytes = 0;
	char line[128];

	for (unsigned k = HT_PT_BAD + 1; k < HT_PT_KIND_COUNT; k++) {
		const char *name = ht_pt_packet_name(k);

		packets += d->count[k];
		bytes += d->size[k];
		for (unsigned o = k + 1; o < HT_PT_KIND_COUNT; o++)
			if (!strcmp(ht_pt_packet_name(o), name)) {
				d->count[k] += d->count[o];
				d->size[k] += d->size[o];
				packets += d->count[o];
				bytes += d->size[o];
				d->count[o] = d->size[o] = 0;
			}
		if (!d->count[k])
			continue;
		snprintf(line, sizeof(line), "%-10s %12llu %14llu bytes\n", name, (unsigned long long)d->count[k],
		         (unsigned long long)d->size[k]);
		ht_text_str(&d->text, line);
	}
	snprintf(line, sizeof(line), "%-10s %12llu %14llu bytes\n", "all", (unsigned long long)packets,
	         (unsigned long long)bytes);
	ht_text_str(&d->text, line);
}

static int
dump_all(struct dump *d, const struct input *in, const struct id_list *streams, const struct id_list *tids)
{
	uint32_t n = ht_container_stream_count(in->container), taken = 0;
	uint64_t total = 0;

	for (uint32_t i = 0; i < n; i++)
		total += ht_container_stream(in->container, i)->bytes;
	progress_start_printing(&d->progress, "reading", total);
	for (uint32_t i = 0; i < n && !d->text.error; i++) {
		const struct ht_stream *s = ht_container_stream(in->container, i);

		if (!id_list_has(streams, i) || !id_list_has(tids, s->tid))
			continue;
		if (s->source != HT_SOURCE_INTEL_PT)
			return tool_error("%s: stream %u is no Intel PT; packets of other sources are not supported yet",
			                  in->path, i);
		dump_stream(d, s);
		taken++;
	}
	progress_end(&d->progress);
	if (!taken)
		return tool_error("%s: none of its %u streams was asked for; hwtrace info lists them", in->path, n);
	if (d->summary)
		print_summary(d);
	return EXIT_OK;
}

static int
run_packets(int argc, char **argv)
{
	struct packets_opts opts = { .summary = 0 };
	struct dump d = { .done = 0 };
	struct id_list streams = { 0 }, tids = { 0 };
	struct input in = { 0 };
	const char *operand;
	int first = opts_parse_mixed(&command_packets, argc, argv, &opts), status;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	operand = input_operand(&command_packets, argc, argv, first, &status);
	if (!status && (id_list_parse("--stream", opts.streams, &streams) < 0 ||
	                id_list_parse("--tid", opts.tids, &tids) < 0))
		status = EXIT_USAGE;
	if (!status)
		status = input_open(&in, &opts.input, operand);
	if (!status && ht_text_init(&d.text, STDOUT_FILENO) < 0)
		status = tool_error("out of memory");
	if (!status) {
		d.summary = opts.summary;
		status = dump_all(&d, &in, &streams, &tids);
		ht_text_flush(&d.text);
		if (!status && d.text.error && d.text.error != EPIPE)
			status = tool_error("standard output: %s", strerror(d.text.error));
		loss_add_session(&d.loss, in.session);
		if (!status && !d.text.error)
			status = loss_report(&d.loss, opts.fail_on_loss);
	}
	ht_text_fini(&d.text);
	input_close(&in);
	id_list_free(&streams);
	id_list_free(&tids);
	return status;
}

const struct command command_packets = {
	.name = "packets",
	.args = "[FILE]",
	.summary = "Show every trace packet with its offset",
	.opts = packets_options,
	.run = run_packets,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* A small program in memory, and a stream of Intel PT bytes about it, for the fuzz targets. */
#ifndef FUZZ_PT_PROGRAM_H
#define FUZZ_PT_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/decoder.h>

#include "container/reader.h"

#define BASE 0x1000ull

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

/* PSB, 64-bit code, at 1000, PSBEND */
static const uint8_t header[] = {
	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	0x99, 0x01, 0x7d, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x02, 0x23,
};

struct input {
	struct ht_container c;
	struct ht_chunk     chunk;
	struct ht_stream    stream;
	uint8_t            *trace;
	int                 given;
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

/* The header and `size` bytes, in a heap block of just that size. */
static struct ht_session *
input_open(struct input *in, const uint8_t *data, size_t size)
{
	static const struct ht_reader reader = { .next = input_next, .rewind = input_rewind };
	struct ht_session *s;

	memset(in, 0, sizeof(*in));
	in->trace = malloc(sizeof(header) + size);
	must(in->trace != NULL, "no memory");
	memcpy(in->trace, header, sizeof(header));
	if (size)
		memcpy(in->trace + sizeof(header), data, size);
	in->c.reader = &reader;
	in->c.state = in;
	in->chunk = (struct ht_chunk){ .data = in->trace, .size = sizeof(header) + size };
	in->stream = (struct ht_stream){ .source = HT_SOURCE_INTEL_PT, .pid = 1, .tid = 1, .cpu = -1,
		                         .chunks = &in->chunk, .n_chunks = 1, .bytes = in->chunk.size };
	in->c.streams = &in->stream;
	in->c.n_streams = 1;
	must(ht_session_open(&in->c, NULL, &s, NULL) == 0, "no session");
	return s;
}

static void
input_close(struct input *in, struct ht_session *s)
{
	ht_session_close(s);
	free(in->trace);
}

static struct ht_decoder *
open_decoder(struct ht_session *s, const char *engine)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = engine };
	struct ht_decoder *d;

	must(ht_decoder_new(s, 0, &config, &d, NULL) == 0, "no decoder");
	return d;
}

#endif

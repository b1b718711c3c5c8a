/* SPDX-License-Identifier: BSD-2-Clause */
/* The decoder in a program of your own: instructions and branches of each stream.
 *	cc count.c $(pkg-config --cflags --libs hwtrace) && ./a.out perf.data */
#include <stdio.h>

#include <hwtrace/decoder.h>

static int
complain(const struct ht_diag *diag)
{
	char line[1024];

	fprintf(stderr, "%s\n", ht_diag_line(diag, line, sizeof(line)));
	return 1;
}

int
main(int argc, char **argv)
{
	struct ht_event events[HT_BATCH];
	struct ht_container *file;
	struct ht_session *session;
	struct ht_diag diag;

	if (ht_container_open(argc > 1 ? argv[1] : "perf.data", NULL, &file, &diag) < 0 ||
	    ht_session_open(file, NULL, &session, &diag) < 0)
		return complain(&diag);
	for (uint32_t i = 0; i < ht_container_stream_count(file); i++) {
		const struct ht_decoder_stats *stats;
		struct ht_decoder *decoder;

		if (ht_decoder_new(session, i, NULL, &decoder, &diag) < 0)
			return complain(&diag);
		while (ht_decoder_next(decoder, events, HT_BATCH) > 0)
			; /* events[] holds blocks, branches, times and gaps, in order */
		stats = ht_decoder_stats(decoder);
		printf("thread %d: %llu instructions, %llu branches, %llu gaps\n", ht_decoder_tid(decoder),
		       (unsigned long long)stats->instructions, (unsigned long long)stats->branches,
		       (unsigned long long)stats->gaps);
		ht_decoder_free(decoder);
	}
	ht_session_close(session);
	ht_container_close(file);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A container made of a test's own records and streams.  What is handed in is
 * borrowed, strings and bytes included.
 */
#ifndef TEST_SESSION_FAKE_H
#define TEST_SESSION_FAKE_H

#include <hwtrace/session.h>

#include "container/reader.h"

struct fake {
	struct ht_container container;
	struct ht_record    records[512];
	unsigned            n, at;
	struct ht_chunk     chunks[8];
	struct ht_stream    stream;
	/* What ht_container_build_id() gives for `id_path`. */
	const char         *id_path;
	uint8_t             id[HT_BUILD_ID_MAX];
	unsigned            id_size;
};

void fake_init(struct fake *f);
/* A session on it; fails the test when it cannot be opened. */
struct ht_session *fake_session(struct fake *f, const struct ht_session_config *config);

/* Records; they return what was added, for the test to refine. */
struct ht_record *fake_map(struct fake *f, uint64_t ns, int32_t pid, uint64_t addr, uint64_t len,
                           uint64_t pgoff, const char *path);
struct ht_record *fake_unmap(struct fake *f, uint64_t ns, int32_t pid, uint64_t addr, uint64_t len);
struct ht_record *fake_code(struct fake *f, uint64_t ns, int32_t pid, uint64_t addr,
                            const void *bytes, uint32_t len);
struct ht_record *fake_comm(struct fake *f, uint64_t ns, int32_t pid, int32_t tid,
                            const char *comm, int exec);
struct ht_record *fake_fork(struct fake *f, uint64_t ns, int32_t pid, int32_t tid, int32_t ppid,
                            int32_t ptid);
/* CPU `cpu` goes to thread `tid`. */
struct ht_record *fake_switch(struct fake *f, uint64_t ns, int32_t cpu, int32_t pid, int32_t tid);
struct ht_record *fake_exit(struct fake *f, uint64_t ns, int32_t pid, int32_t tid);

/* Trace bytes of thread `tid` of process `pid`: one more chunk. */
struct ht_chunk *fake_trace(struct fake *f, int32_t pid, int32_t tid, const void *data, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "info.h"

#define MAP_ROOM 160 /* bytes of a mapping, but for its path */
#define UNTRACED_SHOWN 4 /* without --losses */

typedef unsigned long long ull;

static void line(struct ht_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
line(struct ht_text *t, const char *fmt, ...)
{
	char buf[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	ht_text_str(t, buf);
	ht_text_str(t, "\n");
}

static void
field(struct ht_text *t, const char *name, const char *value)
{
	if (value && value[0])
		line(t, "%-11s %s", name, value);
}

/* Whoever is missing is named, decoded or not. */
static void
write_untraced(const struct info_report *r, struct ht_text *t)
{
	const struct ht_gap *g;
	char why[LOSS_TEXT_MAX];
	unsigned n = 0;

	for (uint32_t i = 0; (g = ht_session_gap(r->in->session, i)); i++)
		if ((g->kind == HT_GAP_UNTRACED || g->kind == HT_GAP_UNFOLLOWED) &&
		    n++ < UNTRACED_SHOWN)
			line(t, "%-11s %s: %s", "missing:", ht_gap_kind_name(g->kind),
			     loss_sentence(g, why));
	if (n > UNTRACED_SHOWN)
		line(t, "%-11s and %u more; --losses lists them", "missing:", n - UNTRACED_SHOWN);
}

static void
write_head(const struct info_report *r, struct ht_text *t)
{
	const struct ht_capture_info *c = r->in->info;
	char buf[256];

	field(t, "capture:", r->in->path);
	field(t, "format:", c->format);
	line(t, "%-11s %s, %s, one stream a %s", "trace:", info_source_name(c->source), info_arch_name(c->arch),
	     c->per_cpu ? "CPU" : "thread");
	if (c->software)
		line(t, "%-11s by the software trace unit (%s): branches exact, times emulated", "recorded:",
		     c->backend ? c->backend : "unnamed");
	field(t, "filter:", c->filter);
	if (c->sampled)
		line(t, "%-11s what was not seen is not known", "sampled:");
	field(t, "command:", c->cmdline);
	field(t, "host:", c->hostname);
	field(t, "system:", c->os_release);
	field(t, "cpuid:", c->cpuid);
	if (c->clock.valid)
		/* Of two's complement: where the ticks began before the clock did, it is negative. */
		snprintf(buf, sizeof(buf), "ns = zero %lld + ticks * %u >> %u", (long long)c->clock.zero,
		         c->clock.mult, c->clock.shift);
	else
		snprintf(buf, sizeof(buf), "none: times are ticks");
	field(t, "clock:", buf);
	line(t, "%-11s %s", "returns:",
	     c->ret_compression > 0 ? "compressed" : c->ret_compression == 0 ? "not compressed"
	                                                                      : "compression not known");
	if (c->truncated)
		line(t, "%-11s the file ends early, at byte %llu", "cut:", (ull)c->truncated_at);
	if (r->damaged)
		line(t, "%-11s %llu sideband records", "damaged:", (ull)r->damaged);
	write_untraced(r, t);
}

static void
write_records(const struct info_report *r, struct ht_text *t)
{
	char buf[512];
	size_t used = 0;

	for (unsigned k = 0; k < HT_REC_KIND_COUNT; k++)
		if (r->records[k])
			used += (size_t)snprintf(buf + used, sizeof(buf) - used, "%s%s %llu", used ? ", " : "",
			                         info_record_name(k), (ull)r->records[k]);
	line(t, "%-11s %s", "records:", used ? buf : "none");
}

static void
write_streams(const struct info_report *r, struct ht_text *t)
{
	uint32_t n = ht_container_stream_count(r->in->container);

	line(t, "\nstreams: %u", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct ht_stream *s = ht_container_stream(r->in->container, i);
		const struct stream_figures *f = r->figures ? &r->figures[i] : NULL;
		char who[64];

		if (s->cpu >= 0)
			snprintf(who, sizeof(who), "cpu %d", s->cpu);
		else
			snprintf(who, sizeof(who), "pid %d tid %d", s->pid, s->tid);
		line(t, "  %-4u %-26s %12llu bytes in %u chunk%s", i, who, (ull)s->bytes, s->n_chunks,
		     s->n_chunks == 1 ? "" : "s");
		if (f && f->left_out)
			line(t, "       left out");
		else if (f)
			line(t, "       by %s: %llu bytes decoded, %llu skipped, %llu instructions, %llu branches, "
			     "%llu gaps", f->engine ? f->engine : "no engine", (ull)f->stats.bytes_decoded,
			     (ull)f->stats.bytes_skipped, (ull)f->stats.instructions, (ull)f->stats.branches,
			     (ull)f->stats.gaps);
	}
	/* Each engine that could have done it: that one stood by is told, too. */
	for (uint32_t i = 0; r->figures && ht_engine_name(i); i++)
		if (ht_engine_can(ht_engine_name(i), r->in->info->source))
			line(t, "decoded by %s: %llu bytes", ht_engine_name(i),
			     (ull)info_decoded_by(r, ht_engine_name(i)));
}

static void
write_threads(const struct info_report *r, struct ht_text *t)
{
	uint32_t n = ht_session_thread_count(r->in->session);

	line(t, "\nthreads: %u", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct ht_thread *th = ht_session_thread(r->in->session, i);

		line(t, "  pid %-7d tid %-7d %s", th->pid, th->tid, th->comm);
	}
}

static void
write_modules(const struct info_report *r, struct ht_text *t)
{
	uint32_t n = ht_session_module_count(r->in->session);

	line(t, "\nfiles: %u", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct ht_module_info *m = ht_module_info(ht_session_module(r->in->session, i));
		char id[2 * HT_BUILD_ID_MAX + 1];

		line(t, "  %-8s %s%s%s", info_module_state(m->state), m->path, m->build_id_size ? "  build-id " : "",
		     info_build_id(m->build_id, m->build_id_size, id));
		if (m->found_path)
			line(t, "           %s%s by %s", strcmp(m->found_path, m->path) ? m->found_path : "there",
			     strcmp(m->found_path, m->path) ? "," : "", m->by_build_id ? "build-id" : "name");
		if (m->why)
			line(t, "           %s", m->why);
	}
}

/* There may be hundreds of thousands: not through printf. */
static void
write_range(struct ht_text *t, const struct ht_record *rec, uint64_t addr, uint64_t len)
{
	ht_text_room(t, MAP_ROOM);
	ht_text_put(t, "  ", 2);
	ht_text_dec(t, rec->time, 0, ' ');
	ht_text_put(t, " pid ", 5);
	ht_text_int(t, rec->pid, 0);
	ht_text_char(t, ' ');
	ht_text_hex(t, addr);
	ht_text_char(t, '-');
	ht_text_hex(t, addr + len);
}

static void
write_map(struct ht_text *t, const struct ht_record *rec)
{
	unsigned flags = rec->u.map.flags;

	write_range(t, rec, rec->u.map.addr, rec->u.map.len);
	ht_text_put(t, " pgoff ", 7);
	ht_text_hex(t, rec->u.map.pgoff);
	ht_text_char(t, ' ');
	ht_text_char(t, flags & HT_MAP_EXEC ? 'x' : '-');
	ht_text_char(t, flags & HT_MAP_WRITE ? 'w' : '-');
	ht_text_put(t, flags & HT_MAP_SHARED ? "s " : "p ", 2);
	ht_text_str(t, rec->u.map.path ? rec->u.map.path : "");
	ht_text_str(t, "\n");
}

static void
write_maps(const struct info_report *r, struct ht_text *t)
{
	struct ht_container *c = r->in->container;
	struct ht_record rec;
	int err;

	line(t, "\nmappings:");
	ht_container_rewind(c);
	while ((err = ht_container_next(c, &rec)) != 0) {
		if (err < 0)
			continue;
		if (rec.kind == HT_REC_MMAP) {
			write_map(t, &rec);
		} else if (rec.kind == HT_REC_MUNMAP) {
			write_range(t, &rec, rec.u.unmap.addr, rec.u.unmap.len);
			ht_text_str(t, " unmapped\n");
		}
	}
}

/* "from 1.000000001 to 2.5 s", or what is known of it, in front of a comma. */
static const char *
span_text(const struct ht_gap *g, char *buf, size_t size)
{
	char from[32], to[32];

	buf[0] = 0;
	snprintf(from, sizeof(from), "%llu.%09llu", (ull)g->ns_from / 1000000000, (ull)g->ns_from % 1000000000);
	snprintf(to, sizeof(to), "%llu.%09llu", (ull)g->ns_to / 1000000000, (ull)g->ns_to % 1000000000);
	if (g->ns_from || g->ns_to)
		snprintf(buf, size, ", from %s to %s s", g->ns_from ? from : "?", g->ns_to ? to : "?");
	return buf;
}

static void
write_loss(const struct ht_loss *l, struct ht_text *t)
{
	const struct ht_gap *g = &l->gap;
	char span[96], ends[160] = "", who[LOSS_TEXT_MAX];

	span_text(g, span, sizeof(span));
	if (g->stream == HT_NO_STREAM && g->pid) {
		line(t, "  %s: %s%s", ht_gap_kind_name(g->kind), loss_sentence(g, who), span);
		return;
	}
	if (g->stream == HT_NO_STREAM) {
		if (g->records)
			snprintf(ends, sizeof(ends), ", %llu of them", (ull)g->records);
		line(t, "  capture offset 0x%llx: %s%s%s%s%s", (ull)g->offset, ht_gap_kind_name(g->kind), ends, span,
		     g->why[0] ? ": " : "", g->why);
		return;
	}
	if (l->next_ip)
		snprintf(ends, sizeof(ends), ", on at 0x%llx", (ull)l->next_ip);
	line(t, "  stream %u offset 0x%llx: %s, %llu bytes, after 0x%llx%s%s, %llu instructions before, %llu behind%s%s",
	     g->stream, (ull)g->offset, ht_gap_kind_name(g->kind), (ull)g->bytes, (ull)g->ip, ends, span,
	     (ull)l->insns_before, (ull)l->insns_after, g->why[0] ? ": " : "", g->why);
}

static void
write_losses(const struct info_report *r, struct ht_text *t)
{
	size_t n = ht_losses_count(r->losses);
	uint64_t more = ht_losses_more(r->losses);

	line(t, "\nlosses: %llu", (ull)(n + more));
	for (size_t i = 0; i < n; i++)
		write_loss(ht_losses_get(r->losses, i), t);
	if (more)
		line(t, "  and %llu more that are not listed", (ull)more);
}

void
info_write_text(const struct info_report *r, struct ht_text *t)
{
	write_head(r, t);
	write_records(r, t);
	write_streams(r, t);
	write_threads(r, t);
	write_modules(r, t);
	if (r->with_maps)
		write_maps(r, t);
	if (r->losses)
		write_losses(r, t);
}

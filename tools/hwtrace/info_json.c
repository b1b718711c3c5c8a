/* SPDX-License-Identifier: BSD-2-Clause */
#include "info.h"

static void
write_head(const struct info_report *r, struct json *j)
{
	const struct ht_capture_info *c = r->in->info;

	json_string(j, "capture", r->in->path);
	json_string(j, "format", c->format);
	json_string(j, "source", info_source_name(c->source));
	json_string(j, "arch", info_arch_name(c->arch));
	json_bool(j, "per_cpu", c->per_cpu);
	json_bool(j, "software", c->software);
	json_bool(j, "sampled", c->sampled);
	json_string(j, "backend", c->backend);
	json_string(j, "filter", c->filter);
	json_string(j, "command", c->cmdline);
	json_string(j, "hostname", c->hostname);
	json_string(j, "os_release", c->os_release);
	json_string(j, "cpuid", c->cpuid);
	if (c->clock.valid) {
		json_open(j, "clock", '{');
		json_uint(j, "shift", c->clock.shift);
		json_uint(j, "mult", c->clock.mult);
		json_uint(j, "zero", c->clock.zero);
		json_close(j, '}');
	}
	json_int(j, "ret_compression", c->ret_compression);
	json_bool(j, "truncated", c->truncated);
	if (c->truncated)
		json_uint(j, "truncated_at", c->truncated_at);
	json_uint(j, "damaged_records", r->damaged);
	json_open(j, "records", '{');
	for (unsigned k = 0; k < HT_REC_KIND_COUNT; k++)
		if (r->records[k])
			json_uint(j, info_record_name(k), r->records[k]);
	json_close(j, '}');
}

static void
write_streams(const struct info_report *r, struct json *j)
{
	json_open(j, "streams", '[');
	for (uint32_t i = 0; i < ht_container_stream_count(r->in->container); i++) {
		const struct ht_stream *s = ht_container_stream(r->in->container, i);
		const struct stream_figures *f = r->figures ? &r->figures[i] : NULL;

		json_open(j, NULL, '{');
		json_uint(j, "stream", i);
		json_int(j, "pid", s->pid);
		json_int(j, "tid", s->tid);
		json_int(j, "cpu", s->cpu);
		json_uint(j, "bytes", s->bytes);
		json_uint(j, "chunks", s->n_chunks);
		if (f && !f->left_out) {
			json_string(j, "engine", f->engine);
			json_uint(j, "bytes_decoded", f->stats.bytes_decoded);
			json_uint(j, "bytes_skipped", f->stats.bytes_skipped);
			json_uint(j, "instructions", f->stats.instructions);
			json_uint(j, "branches", f->stats.branches);
			json_uint(j, "gaps", f->stats.gaps);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
	if (!r->figures)
		return;
	json_open(j, "decoded", '{');
	for (uint32_t i = 0; ht_engine_name(i); i++)
		json_uint(j, ht_engine_name(i), info_decoded_by(r, ht_engine_name(i)));
	json_close(j, '}');
}

static void
write_threads(const struct info_report *r, struct json *j)
{
	json_open(j, "threads", '[');
	for (uint32_t i = 0; i < ht_session_thread_count(r->in->session); i++) {
		const struct ht_thread *th = ht_session_thread(r->in->session, i);

		json_open(j, NULL, '{');
		json_int(j, "pid", th->pid);
		json_int(j, "tid", th->tid);
		json_int(j, "ppid", th->ppid);
		json_string(j, "comm", th->comm);
		json_uint(j, "start_ns", th->start_ns);
		json_uint(j, "end_ns", th->end_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void
write_modules(const struct info_report *r, struct json *j)
{
	json_open(j, "files", '[');
	for (uint32_t i = 0; i < ht_session_module_count(r->in->session); i++) {
		const struct ht_module_info *m = ht_module_info(ht_session_module(r->in->session, i));
		char id[2 * HT_BUILD_ID_MAX + 1];

		json_open(j, NULL, '{');
		json_string(j, "path", m->path);
		json_string(j, "state", info_module_state(m->state));
		json_string(j, "found", m->found_path);
		if (m->build_id_size)
			json_string(j, "build_id", info_build_id(m->build_id, m->build_id_size, id));
		json_string(j, "why", m->why);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void
write_maps(const struct info_report *r, struct json *j)
{
	struct ht_container *c = r->in->container;
	struct ht_record rec;
	int err;

	json_open(j, "mappings", '[');
	ht_container_rewind(c);
	while ((err = ht_container_next(c, &rec)) != 0) {
		int map = err > 0 && rec.kind == HT_REC_MMAP;

		if (!map && !(err > 0 && rec.kind == HT_REC_MUNMAP))
			continue;
		json_open(j, NULL, '{');
		json_uint(j, "time_ns", rec.time);
		json_int(j, "pid", rec.pid);
		json_hex(j, map ? "addr" : "unmapped", map ? rec.u.map.addr : rec.u.unmap.addr);
		json_hex(j, "size", map ? rec.u.map.len : rec.u.unmap.len);
		if (map) {
			json_hex(j, "pgoff", rec.u.map.pgoff);
			json_bool(j, "exec", !!(rec.u.map.flags & HT_MAP_EXEC));
			json_string(j, "path", rec.u.map.path);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void
write_losses(const struct info_report *r, struct json *j)
{
	const struct ht_loss *l;

	json_uint(j, "losses_total", ht_losses_count(r->losses) + ht_losses_more(r->losses));
	json_open(j, "losses", '[');
	for (size_t i = 0; (l = ht_losses_get(r->losses, i)); i++) {
		const struct ht_gap *g = &l->gap;
		int stream = g->stream != HT_NO_STREAM;

		json_open(j, NULL, '{');
		json_string(j, "kind", ht_gap_kind_name(g->kind));
		json_int(j, "stream", stream ? (int64_t)g->stream : -1);
		json_uint(j, "offset", g->offset);
		json_uint(j, "bytes", g->bytes);
		if (g->pid)
			json_int(j, "pid", g->pid);
		if (g->tid)
			json_int(j, "tid", g->tid);
		if (g->records)
			json_uint(j, "records", g->records);
		if (g->ns_from)
			json_uint(j, "ns_from", g->ns_from);
		if (g->ns_to)
			json_uint(j, "ns_to", g->ns_to);
		if (stream) {
			json_hex(j, "ip", g->ip);
			if (l->next_ip)
				json_hex(j, "next_ip", l->next_ip);
			json_uint(j, "instructions_before", l->insns_before);
			json_uint(j, "instructions_behind", l->insns_after);
		}
		json_string(j, "why", g->why);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void
info_write_json(const struct info_report *r, struct ht_text *t)
{
	struct json j = { .text = t };

	json_open(&j, NULL, '{');
	write_head(r, &j);
	write_streams(r, &j);
	write_threads(r, &j);
	write_modules(r, &j);
	if (r->with_maps)
		write_maps(r, &j);
	if (r->losses)
		write_losses(r, &j);
	json_close(&j, '}');
	ht_text_str(t, "\n");
}

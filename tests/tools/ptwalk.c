/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walk a raw PT stream with libipt's instruction decoder and print the address
 * of each executed instruction: a witness for the trace unit that shares no
 * code with it.
 *
 *	ptwalk SIDEBAND.txt PID-TID.pt [> ips]
 *
 * Code comes from the files and bytes that the sideband names, as of the time
 * of the trace.  Errors are lines "gap: ..." in the output; the summary goes
 * to stderr; the exit status is 1 when there was a gap.
 */
#include <fcntl.h>
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct record {
	unsigned long long tsc, a, b, c;
	int pid, tid;
	char type[16];
	char *text;
};

struct region {
	uint64_t start, end;
	const uint8_t *bytes; /* of `start` */
	struct region *below; /* older: shadowed where they overlap */
};

static struct record *records;
static size_t n_records, next_record;
static struct region *top;
static int the_pid;
static unsigned long long instructions, gaps;

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static int
by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc;
}

static void
read_sideband(const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0, room = 0;

	if (!f)
		die(path);
	while (getline(&line, &cap, f) > 0) {
		struct record r;
		int at = 0;

		if (sscanf(line, "%llu %15s %d %d %llx %llx %llx %n", &r.tsc, r.type, &r.pid, &r.tid, &r.a,
		           &r.b, &r.c, &at) < 7)
			continue;
		line[strcspn(line, "\n")] = 0;
		r.text = strdup(line + at);
		if (n_records == room)
			records = realloc(records, (room = room ? 2 * room : 256) * sizeof(*records));
		if (!records || !r.text)
			die("memory");
		records[n_records++] = r;
	}
	free(line);
	fclose(f);
	qsort(records, n_records, sizeof(*records), by_time);
}

/* Keep what concerns `pid`: its own records, and its parents' up to the fork. */
static void
select_records(int pid)
{
	size_t kept = n_records;

	for (size_t i = n_records; i-- > 0;) {
		struct record *r = &records[i];

		if (r->pid != pid)
			continue;
		if (!strcmp(r->type, "fork") && (int)r->a != pid) {
			pid = (int)r->a;
			continue;
		}
		records[--kept] = *r;
	}
	next_record = kept;
}

static const uint8_t *
map_file(const char *path, uint64_t off, uint64_t len)
{
	int fd = open(path, O_RDONLY);
	void *p;

	if (fd < 0)
		return NULL;
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, (off_t)off);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void
push_region(uint64_t start, uint64_t end, const uint8_t *bytes)
{
	struct region *r = malloc(sizeof(*r));

	if (!r)
		die("memory");
	*r = (struct region){ start, end, bytes, top };
	top = r;
}

static void
apply(const struct record *r)
{
	if (!strcmp(r->type, "exec")) {
		top = NULL;
	} else if (!strcmp(r->type, "mmap")) {
		push_region(r->a, r->a + r->b, r->text[1] == '/' ? NULL : map_file(r->text, r->c, r->b));
	} else if (!strcmp(r->type, "munmap")) {
		push_region(r->a, r->a + r->b, NULL);
	} else if (!strcmp(r->type, "code")) {
		uint8_t *bytes = malloc(r->b);

		for (uint64_t i = 0; bytes && i < r->b; i++)
			sscanf(r->text + 2 * i, "%2hhx", &bytes[i]);
		push_region(r->a, r->a + r->b, bytes);
	}
}

static void
apply_until(uint64_t tsc)
{
	for (; next_record < n_records && records[next_record].tsc <= tsc; next_record++)
		apply(&records[next_record]);
}

static int
read_byte(uint64_t ip, uint8_t *byte)
{
	for (const struct region *r = top; r; r = r->below) {
		if (ip >= r->start && ip < r->end) {
			if (!r->bytes)
				return 0;
			*byte = r->bytes[ip - r->start];
			return 1;
		}
	}
	return 0;
}

static int
read_memory(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	size_t n = 0;

	(void)asid, (void)context;
	while (n < size && read_byte(ip + n, buf + n))
		n++;
	return n ? (int)n : -pte_nomap;
}

static void
print_gap(struct pt_insn_decoder *d, int err, uint64_t ip)
{
	uint64_t off = 0;

	pt_insn_get_offset(d, &off);
	printf("gap: %s at offset %llx, ip %llx\n", pt_errstr(pt_errcode(err)), (unsigned long long)off,
	       (unsigned long long)ip);
	gaps++;
}

static int
drain_events(struct pt_insn_decoder *d, int status)
{
	while (status >= 0 && (status & pts_event_pending)) {
		struct pt_event ev;

		status = pt_insn_event(d, &ev, sizeof(ev));
		if (status >= 0 && ev.has_tsc)
			apply_until(ev.tsc);
		if (status >= 0 && ev.type == ptev_overflow)
			print_gap(d, -pte_overflow, 0);
	}
	return status;
}

/* From one synchronisation point to the end or an error. */
static void
walk(struct pt_insn_decoder *d)
{
	int status = pt_insn_sync_forward(d);

	while (status != -pte_eos) {
		struct pt_insn insn = { 0 };
		uint64_t tsc;

		status = drain_events(d, status);
		if (status >= 0 && (status & pts_eos))
			return;
		if (status >= 0) {
			if (pt_insn_time(d, &tsc, NULL, NULL) >= 0)
				apply_until(tsc);
			insn.iclass = ptic_error;
			status = pt_insn_next(d, &insn, sizeof(insn));
			if (insn.iclass != ptic_error) {
				instructions++;
				printf("%llx\n", (unsigned long long)insn.ip);
			}
		}
		if (status < 0 && status != -pte_eos) {
			print_gap(d, status, insn.ip);
			status = pt_insn_sync_forward(d);
		}
	}
}

int
main(int argc, char **argv)
{
	struct pt_config config;
	struct pt_insn_decoder *d;
	const char *base;
	struct stat st;

	if (argc != 3) {
		fprintf(stderr, "usage: ptwalk SIDEBAND.txt PID-TID.pt\n");
		return 2;
	}
	base = strrchr(argv[2], '/');
	the_pid = atoi(base ? base + 1 : argv[2]);
	read_sideband(argv[1]);
	select_records(the_pid);
	if (stat(argv[2], &st) < 0 || !st.st_size)
		die(argv[2]);
	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)map_file(argv[2], 0, (uint64_t)st.st_size);
	if (!config.begin)
		die(argv[2]);
	config.end = config.begin + st.st_size;
	d = pt_insn_alloc_decoder(&config);
	if (!d)
		die("libipt");
	pt_image_set_callback(pt_insn_get_image(d), read_memory, NULL);
	walk(d);
	pt_insn_free_decoder(d);
	fprintf(stderr, "%llu instructions, %llu gaps, %lld bytes\n", instructions, gaps, (long long)st.st_size);
	return gaps != 0;
}

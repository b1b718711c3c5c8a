/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes of raw PT streams by kind of packet, counted with libipt:
 *
 *	ptstat FILE.pt...	one line "NAME<TAB>VALUE" each
 */
#include <fcntl.h>
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum group { TNT, TIP, TIME, PSB, OTHER, N_GROUPS };

static const char *const names[] = { "tnt_bytes", "tip_bytes", "time_bytes", "psb_bytes", "other_bytes" };
static unsigned long long bytes[N_GROUPS], outcomes, errors;

static enum group
group_of(const struct pt_packet *p, int *in_psb)
{
	if (p->type == ppt_psb)
		*in_psb = 1;
	if (*in_psb) {
		*in_psb = p->type != ppt_psbend;
		return PSB;
	}
	switch (p->type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
		outcomes += p->payload.tnt.bit_size;
		return TNT;
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_fup:
		return TIP;
	case ppt_tsc:
	case ppt_cyc:
		return TIME;
	default:
		return OTHER;
	}
}

static void
count(const char *path)
{
	struct pt_config config;
	struct pt_packet_decoder *d;
	struct pt_packet p;
	struct stat st;
	int fd = open(path, O_RDONLY), n, in_psb = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !st.st_size) {
		perror(path);
		exit(2);
	}
	pt_config_init(&config);
	config.begin = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (config.begin == MAP_FAILED)
		exit(2);
	config.end = config.begin + st.st_size;
	d = pt_pkt_alloc_decoder(&config);
	if (!d || pt_pkt_sync_forward(d) < 0)
		exit(2);
	while ((n = pt_pkt_next(d, &p, sizeof(p))) > 0)
		bytes[group_of(&p, &in_psb)] += (unsigned)n;
	errors += n != -pte_eos;
	pt_pkt_free_decoder(d);
	munmap(config.begin, (size_t)st.st_size);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		count(argv[i]);
	for (int i = 0; i < N_GROUPS; i++)
		printf("%s\t%llu\n", names[i], bytes[i]);
	printf("outcomes\t%llu\n", outcomes);
	printf("tnt_bits_per_outcome\t%.4f\n", outcomes ? 8.0 * (double)bytes[TNT] / (double)outcomes : 0.0);
	return errors != 0;
}

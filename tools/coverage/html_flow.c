/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow graph of a function: blocks that begin where something leads to and
 * end at jumps and returns, drawn with their counts.  A call is part of its
 * block.  Where an indirect jump goes is not in the code: such edges are
 * missing, and what nothing else leads to is put below it.
 */
#include <math.h>
#include <stdlib.h>

#include "graph.h"
#include "html.h"

/* More than this nobody reads as a drawing. */
#define MOST_BLOCKS 300u

struct block {
	size_t first, n; /* instructions */
	uint32_t in;     /* edges that lead to it */
};

struct edge_count {
	uint64_t count;
	unsigned state;
	const char *what;
};

struct html_flow {
	const struct ht_cov_insn *insns;
	size_t n;
	uint8_t *begins; /* of each instruction */
	struct block *blocks;
	struct edge_count *counts; /* of the graph's edges */
	struct graph graph;
	uint64_t most; /* executions of a block */
};

unsigned
html_insn_state(const struct ht_cov_insn *i)
{
	return i->count ? HT_COV_HIT : i->doubt ? HT_COV_UNKNOWN : HT_COV_NOT_HIT;
}

/* -- blocks --------------------------------------------------------------- */

static int
ends_block(const struct ht_cov_insn *i)
{
	switch (i->insn) {
	case HT_INSN_COND:
	case HT_INSN_JUMP:
	case HT_INSN_JUMP_IND:
	case HT_INSN_RET:
	case HT_INSN_SYSRET:
	case HT_INSN_FAR:
		return 1;
	default:
		return 0;
	}
}

static int
is_jump(const struct ht_cov_insn *i)
{
	return i->insn == HT_INSN_COND || i->insn == HT_INSN_JUMP;
}

struct place {
	uint64_t addr;
	size_t number;
};

static int
place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Number of the instruction at `addr`; n = it is not in this function. */
static size_t
find_insn(const struct place *places, size_t n, uint64_t addr)
{
	struct place key = { addr, 0 };
	const struct place *p = bsearch(&key, places, n, sizeof(*places), place_order);

	return p ? p->number : n;
}

static void
find_beginnings(struct html_flow *f, const struct place *places)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct ht_cov_insn *x = &f->insns[i];
		size_t to = is_jump(x) ? find_insn(places, f->n, x->target) : f->n;

		if (i == 0 || ends_block(x - 1) || x[-1].addr + x[-1].size != x->addr)
			f->begins[i] = 1;
		if (to < f->n)
			f->begins[to] = 1;
	}
}

static void
add_edge(struct html_flow *f, uint32_t from, uint32_t to, uint64_t count,
         const struct ht_cov_insn *x, const char *what)
{
	struct graph *g = &f->graph;
	unsigned state = count ? HT_COV_HIT : x->doubt ? HT_COV_UNKNOWN : HT_COV_NOT_HIT;

	g->edges[g->n_edges] = (struct graph_edge){ .from = from, .to = to, .hidden = !what };
	f->counts[g->n_edges++] = (struct edge_count){ count, state, what };
	f->blocks[to].in++;
}

/* Where the last instruction of block `b` leads to. */
static void
add_edges(struct html_flow *f, uint32_t b, const struct place *places, const uint32_t *block_of)
{
	const struct ht_cov_insn *x = &f->insns[f->blocks[b].first + f->blocks[b].n - 1];
	size_t to = is_jump(x) ? find_insn(places, f->n, x->target) : f->n;
	size_t next = (size_t)(x - f->insns) + 1;

	if (to < f->n && x->insn == HT_INSN_COND)
		add_edge(f, b, block_of[to], x->taken, x, "taken");
	else if (to < f->n)
		add_edge(f, b, block_of[to], x->count, x, "jump");
	if (next == f->n || x->addr + x->size != f->insns[next].addr)
		return;
	if (x->insn == HT_INSN_COND)
		add_edge(f, b, b + 1, x->not_taken, x, "not taken");
	else if (!ends_block(x))
		add_edge(f, b, b + 1, x->count, x, "next");
}

/* What nothing leads to goes below the last indirect jump before it, or below its neighbour. */
static void
add_hidden_edges(struct html_flow *f)
{
	uint32_t n = f->graph.n_nodes, indirect = n;

	for (uint32_t b = 0; b < n; b++) {
		const struct ht_cov_insn *last = &f->insns[f->blocks[b].first + f->blocks[b].n - 1];

		if (b && !f->blocks[b].in)
			add_edge(f, indirect < n ? indirect : b - 1, b, 0, last, NULL);
		if (last->insn == HT_INSN_JUMP_IND)
			indirect = b;
	}
}

static int
make_graph(struct html_flow *f, const struct place *places)
{
	uint32_t *block_of = calloc(f->n + 1, sizeof(*block_of));
	struct graph *g = &f->graph;

	f->blocks = calloc(f->n + 1, sizeof(*f->blocks));
	g->edges = calloc(3 * f->n + 1, sizeof(*g->edges));
	f->counts = calloc(3 * f->n + 1, sizeof(*f->counts));
	if (!block_of || !f->blocks || !g->edges || !f->counts) {
		free(block_of);
		return -1;
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->begins[i])
			f->blocks[g->n_nodes++].first = i;
		block_of[i] = g->n_nodes - 1;
		f->blocks[g->n_nodes - 1].n++;
		if (f->begins[i] && f->insns[i].count > f->most)
			f->most = f->insns[i].count;
	}
	for (uint32_t b = 0; b < g->n_nodes; b++)
		add_edges(f, b, places, block_of);
	add_hidden_edges(f);
	free(block_of);
	return 0;
}

int
html_flow_new(const struct ht_cov_insn *insns, size_t n, struct html_flow **out)
{
	struct html_flow *f = calloc(1, sizeof(*f));
	struct place *places = calloc(n + 1, sizeof(*places));
	int rc = -1;

	if (f && places && (f->begins = calloc(n + 1, 1))) {
		f->insns = insns;
		f->n = n;
		for (size_t i = 0; i < n; i++)
			places[i] = (struct place){ insns[i].addr, i };
		qsort(places, n, sizeof(*places), place_order);
		find_beginnings(f, places);
		rc = make_graph(f, places);
	}
	free(places);
	if (rc < 0) {
		html_flow_free(f);
		return tool_error("out of memory");
	}
	*out = f;
	return EXIT_OK;
}

void
html_flow_free(struct html_flow *f)
{
	if (!f)
		return;
	free(f->begins);
	free(f->blocks);
	free(f->counts);
	graph_fini(&f->graph);
	free(f);
}

int
html_flow_begins(const struct html_flow *f, size_t i)
{
	return f->begins[i];
}

/* -- drawing -------------------------------------------------------------- */

/* 1 to 5, by the logarithm: loops differ by powers. */
static unsigned
heat(const struct html_flow *f, uint64_t count)
{
	if (f->most <= 1 || count == f->most)
		return f->most <= 1 ? 2 : 5;
	return 1 + (unsigned)(4 * log((double)count) / log((double)f->most));
}

static void
draw_edge(FILE *out, const struct html_flow *f, uint32_t e)
{
	const struct graph_edge *edge = &f->graph.edges[e];
	const struct graph_point *p = &f->graph.points[edge->first];
	const struct edge_count *c = &f->counts[e];
	double aside = edge->side ? 4 : -4;
	char count[16] = "?";

	if (edge->from == edge->to)
		aside = 12;
	if (c->state != HT_COV_UNKNOWN)
		html_count(count, c->count);
	fprintf(out, "<g class=\"e %s w%u\"><path marker-end=\"url(#%s)\" d=\"M%.1f %.1f",
	        html_class(c->state), c->count ? heat(f, c->count) : 1, html_class(c->state),
	        p[0].x, p[0].y);
	if (edge->from == edge->to)
		fprintf(out, "h8q8 0 8 %.1fv%.1fq0 %.1f -8 %.1fh-8", -8.0, p[1].y - p[0].y + 16,
		        -8.0, -8.0);
	for (size_t i = 1; i < edge->n_points && edge->from != edge->to; i++) {
		double middle = (p[i - 1].y + p[i].y) / 2;

		if (i % 2)
			fprintf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", p[i - 1].x, middle, p[i].x,
			        middle, p[i].x, p[i].y);
		else
			fprintf(out, "V%.1f", p[i].y);
	}
	fprintf(out, "\"><title>%s: %llu%s</title></path>", c->what, (unsigned long long)c->count,
	        c->state == HT_COV_UNKNOWN ? " or more, unknown" : "");
	if (f->insns[f->blocks[edge->from].first + f->blocks[edge->from].n - 1].insn ==
	    HT_INSN_COND)
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>%s%s</text>",
		        p[0].x + aside,
		        p[0].y < p[edge->n_points - 1].y ? p[0].y + 12 : p[0].y - 5,
		        edge->side ? "" : " text-anchor=\"end\"", c->what[0] == 't' ? "T" : "N",
		        count);
	fputs("</g>\n", out);
}

/* "15" or "15-17": the least and the greatest line of a block; nothing when it has none. */
static void
line_range(const struct block *b, const uint32_t *lines, char buf[32])
{
	uint32_t least = 0, most = 0;

	for (size_t i = b->first; i < b->first + b->n; i++) {
		if (lines[i] && (!least || lines[i] < least))
			least = lines[i];
		if (lines[i] > most)
			most = lines[i];
	}
	buf[0] = '\0';
	if (least && least == most)
		snprintf(buf, 32, "L%u", least);
	else if (least)
		snprintf(buf, 32, "L%u-%u", least, most);
}

static void
draw_block(FILE *out, const struct html_flow *f, uint32_t number, const uint32_t *lines)
{
	const struct block *b = &f->blocks[number];
	const struct ht_cov_insn *first = &f->insns[b->first], *last = first + b->n - 1;
	double x = f->graph.nodes[number].x - GRAPH_NODE_W / 2, y = f->graph.nodes[number].y;
	unsigned state = html_insn_state(first);
	char range[32], count[16] = "?";

	line_range(b, lines, range);
	if (state != HT_COV_UNKNOWN)
		html_count(count, first->count);
	html(out, "<a href=\"#a%llx\" class=\"b %s", (unsigned long long)first->addr,
	     html_class(state));
	if (state == HT_COV_HIT)
		html(out, " g%u", heat(f, first->count));
	html(out, "\"><title>0x%llx to 0x%llx: ", (unsigned long long)first->addr,
	     (unsigned long long)(last->addr + last->size));
	if (state == HT_COV_UNKNOWN)
		fputs("unknown", out);
	else
		html(out, "executed %llu times", (unsigned long long)first->count);
	html(out, "%s</title>", last->insn == HT_INSN_JUMP_IND ? "; ends in an indirect jump" : "");
	fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"4\"/>", x, y,
	        GRAPH_NODE_W, GRAPH_NODE_H);
	fprintf(out,
	        "<text x=\"%.1f\" y=\"%.1f\">%llx</text><text x=\"%.1f\" y=\"%.1f\" "
	        "text-anchor=\"end\" "
	        "class=\"c\">%s</text>",
	        x + 7, y + 15, (unsigned long long)first->addr, x + GRAPH_NODE_W - 7, y + 15,
	        count);
	fprintf(out,
	        "<text x=\"%.1f\" y=\"%.1f\">%s</text><text x=\"%.1f\" y=\"%.1f\" "
	        "text-anchor=\"end\">%zu "
	        "insn%s</text></a>\n",
	        x + 7, y + 30, range, x + GRAPH_NODE_W - 7, y + 30, b->n,
	        last->insn == HT_INSN_RET        ? ", ret"
	        : last->insn == HT_INSN_JUMP_IND ? ", jmp *"
	                                         : "");
}

static void
draw_heads(FILE *out)
{
	static const char *const classes[] = { "h", "m", "u" };

	fputs("<defs>", out);
	for (int i = 0; i < 3; i++)
		fprintf(out,
		        "<marker id=\"%s\" class=\"%s\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
		        "markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" "
		        "orient=\"auto\">"
		        "<path d=\"M0 0L8 4L0 8z\"/></marker>",
		        classes[i], classes[i]);
	fputs("</defs>\n", out);
}

void
html_flow_draw(struct html_flow *f, FILE *out, const uint32_t *lines)
{
	struct graph *g = &f->graph;

	if (g->n_nodes > MOST_BLOCKS || graph_layout(g) < 0) {
		html(out, "<p class=\"note\">%u blocks are too many for a drawing.</p>\n",
		     g->n_nodes);
		return;
	}
	fprintf(out,
	        "<svg role=\"group\" aria-label=\"flow graph\" width=\"%.0f\" height=\"%.0f\" "
	        "viewBox=\"0 0 %.0f %.0f\">\n",
	        g->width, g->height, g->width, g->height);
	draw_heads(out);
	for (uint32_t e = 0; e < g->n_edges; e++)
		if (!g->edges[e].hidden)
			draw_edge(out, f, e);
	for (uint32_t b = 0; b < g->n_nodes; b++)
		draw_block(out, f, b, lines);
	fputs("</svg>\n", out);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layered drawing of Sugiyama, Tagawa and Toda: layers by the longest path,
 * edges that pass through a layer get a vertex in it, the order in a layer
 * follows the neighbours' above and below, and so do the places, as far as the
 * order leaves room.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define MOST_VERTICES 6000u
#define SWEEPS        12 /* for the order */
#define PLACINGS      96
#define PASS_W        10.0 /* of an edge that passes through a layer */

struct vertex {
	uint32_t layer, place; /* which in its layer */
	double x, wish;
	double first;  /* of the order to begin with */
	double weight; /* of its wish */
};

/* Of one edge between two layers that lie one upon the other. */
struct segment {
	uint32_t upper, lower;
};

struct layout {
	struct graph *g;
	struct vertex *v; /* nodes, then the vertices that edges pass through */
	uint32_t n_v, cap_v, n_layers;
	struct segment *s;             /* by edge, top down */
	uint32_t n_s, cap_s, *first_s; /* of each edge; one more */
	uint32_t *order, *first_v;     /* vertices by layer and place; where each layer begins */
	uint32_t *up, *first_up, *down, *first_down; /* neighbours of each vertex */
	struct vertex *best;
};

/* -- layers --------------------------------------------------------------- */

/* Edges sorted by one of their ends: first[v]..first[v + 1]. */
static int
index_edges(const struct graph *g, uint32_t **first, uint32_t **list)
{
	uint32_t *at = calloc(g->n_nodes + 2u, sizeof(*at)),
		 *out = calloc(g->n_edges + 1u, sizeof(*out));

	*first = at;
	*list = out;
	if (!at || !out)
		return -1;
	for (uint32_t e = 0; e < g->n_edges; e++)
		at[g->edges[e].from + 2]++;
	for (uint32_t v = 0; v < g->n_nodes; v++)
		at[v + 2] += at[v + 1];
	for (uint32_t e = 0; e < g->n_edges; e++)
		out[at[g->edges[e].from + 1]++] = e;
	return 0;
}

struct walk {
	const uint32_t *first, *list;
	uint32_t *next;         /* edge to be followed of each node */
	uint8_t *state;         /* 0 new, 1 on the way, 2 done */
	uint8_t *back;          /* edges that close a circle, or lead to what was drawn before */
	uint32_t *stack, *done; /* nodes in the order in which they were done */
	uint32_t n_done, seen;
};

/* All that `root` leads to, depth first. */
static void
visit(struct layout *l, struct walk *w, uint32_t root, uint32_t tree_start)
{
	const struct graph *g = l->g;
	uint32_t depth = 0;

	w->stack[depth++] = root;
	w->state[root] = 1;
	l->v[root].first = w->seen++;
	while (depth) {
		uint32_t v = w->stack[depth - 1], e, to;

		if (w->next[v] == w->first[v + 1]) {
			w->state[v] = 2;
			w->done[w->n_done++] = v;
			depth--;
			continue;
		}
		e = w->list[w->next[v]++];
		to = g->edges[e].to;
		if (w->state[to] == 0) {
			w->state[to] = 1;
			l->v[to].first = w->seen++;
			w->stack[depth++] = to;
		} else if (w->state[to] == 1 || l->v[to].first < tree_start) {
			w->back[e] = 1;
		}
	}
}

/* Longest paths from the root, whose tree was done from `from` on. */
static void
lay_tree(struct layout *l, const struct walk *w, uint32_t from, uint32_t layer)
{
	const struct graph *g = l->g;

	l->v[w->done[w->n_done - 1]].layer = layer;
	for (uint32_t i = w->n_done; i-- > from;) {
		uint32_t v = w->done[i];

		if (l->v[v].layer >= l->n_layers)
			l->n_layers = l->v[v].layer + 1;
		for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++) {
			struct vertex *to = &l->v[g->edges[w->list[k]].to];

			if (!w->back[w->list[k]] && to->layer <= l->v[v].layer)
				to->layer = l->v[v].layer + 1;
		}
	}
}

static int
make_layers(struct layout *l)
{
	const struct graph *g = l->g;
	uint32_t n = g->n_nodes, *first = NULL, *list = NULL;
	struct walk w = { .next = calloc(n + 1u, sizeof(*w.next)),
		          .state = calloc(n + 1u, 1),
		          .back = calloc(g->n_edges + 1u, 1),
		          .stack = calloc(n + 1u, sizeof(*w.stack)),
		          .done = calloc(n + 1u, sizeof(*w.done)) };
	int rc = index_edges(g, &first, &list);

	if (!w.next || !w.state || !w.back || !w.stack || !w.done)
		rc = -1;
	w.first = first;
	w.list = list;
	if (rc == 0)
		memcpy(w.next, first, (n + 1u) * sizeof(*first));
	for (uint32_t v = 0; rc == 0 && v < n; v++)
		if (w.state[v] == 0) {
			uint32_t from = w.n_done, layer = l->n_layers;

			visit(l, &w, v, w.seen);
			lay_tree(l, &w, from, layer);
		}
	free(first);
	free(list);
	free(w.next);
	free(w.state);
	free(w.back);
	free(w.stack);
	free(w.done);
	return rc;
}

/* -- segments ------------------------------------------------------------- */

static int
add_segment(struct layout *l, uint32_t upper, uint32_t lower)
{
	if (l->n_s == l->cap_s) {
		struct segment *more = reallocarray(l->s, l->cap_s * 2u + 64u, sizeof(*more));

		if (!more)
			return -1;
		l->s = more;
		l->cap_s = l->cap_s * 2 + 64;
	}
	l->s[l->n_s++] = (struct segment){ upper, lower };
	return 0;
}

/* From the upper to the lower end, a vertex in each layer between. */
static int
cut_edge(struct layout *l, const struct graph_edge *e)
{
	uint32_t a = e->from, b = e->to, at;

	if (l->v[a].layer > l->v[b].layer) {
		a = e->to;
		b = e->from;
	}
	at = a;
	for (uint32_t layer = l->v[a].layer + 1; a != b && layer <= l->v[b].layer; layer++) {
		uint32_t to = b;

		if (layer < l->v[b].layer) {
			if (l->n_v == l->cap_v)
				return -1;
			to = l->n_v++;
			l->v[to] = (struct vertex){ .layer = layer,
				                    .first = (l->v[a].first + l->v[b].first) / 2 };
		}
		if (add_segment(l, at, to) < 0)
			return -1;
		at = to;
	}
	return 0;
}

static int
cut_edges(struct layout *l)
{
	l->first_s = calloc(l->g->n_edges + 1u, sizeof(*l->first_s));
	if (!l->first_s)
		return -1;
	for (uint32_t e = 0; e < l->g->n_edges; e++) {
		l->first_s[e] = l->n_s;
		if (cut_edge(l, &l->g->edges[e]) < 0)
			return -1;
	}
	l->first_s[l->g->n_edges] = l->n_s;
	return 0;
}

static int
find_neighbours(struct layout *l)
{
	uint32_t *up, *down;

	l->up = calloc(l->n_s + 1u, sizeof(*l->up));
	l->down = calloc(l->n_s + 1u, sizeof(*l->down));
	l->first_up = up = calloc(l->n_v + 2u, sizeof(*l->first_up));
	l->first_down = down = calloc(l->n_v + 2u, sizeof(*l->first_down));
	if (!l->up || !l->down || !up || !down)
		return -1;
	for (uint32_t i = 0; i < l->n_s; i++) {
		up[l->s[i].lower + 2]++;
		down[l->s[i].upper + 2]++;
	}
	for (uint32_t v = 0; v < l->n_v; v++) {
		up[v + 2] += up[v + 1];
		down[v + 2] += down[v + 1];
	}
	for (uint32_t i = 0; i < l->n_s; i++) {
		l->up[up[l->s[i].lower + 1]++] = l->s[i].upper;
		l->down[down[l->s[i].upper + 1]++] = l->s[i].lower;
	}
	return 0;
}

/* -- order ---------------------------------------------------------------- */

static int
wish_order(const void *a, const void *b, void *arg)
{
	const struct vertex *v = arg, *x = &v[*(const uint32_t *)a], *y = &v[*(const uint32_t *)b];

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->wish != y->wish)
		return x->wish < y->wish ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void
sort_layers(struct layout *l, uint32_t from, uint32_t to)
{
	uint32_t first = l->first_v[from], n = l->first_v[to] - first;

	qsort_r(l->order + first, n, sizeof(*l->order), wish_order, l->v);
	for (uint32_t k = from; k < to; k++)
		for (uint32_t i = l->first_v[k]; i < l->first_v[k + 1]; i++)
			l->v[l->order[i]].place = i - l->first_v[k];
}

static int
first_order(struct layout *l)
{
	l->order = calloc(l->n_v + 1u, sizeof(*l->order));
	l->first_v = calloc(l->n_layers + 1u, sizeof(*l->first_v));
	l->best = calloc(l->n_v + 1u, sizeof(*l->best));
	if (!l->order || !l->first_v || !l->best)
		return -1;
	for (uint32_t i = 0; i < l->n_v; i++) {
		l->order[i] = l->v[i].place = i;
		l->v[i].wish = l->v[i].first;
		l->first_v[l->v[i].layer + 1]++;
	}
	for (uint32_t k = 0; k < l->n_layers; k++)
		l->first_v[k + 1] += l->first_v[k];
	sort_layers(l, 0, l->n_layers);
	return 0;
}

/* Pairs of segments between two layers that cross each other. */
static uint64_t
crossings(const struct layout *l)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->n_v; i++) {
		uint32_t a = l->order[i];

		for (uint32_t k = i + 1; k < l->n_v && l->v[l->order[k]].layer == l->v[a].layer;
		     k++) {
			uint32_t b = l->order[k];

			for (uint32_t p = l->first_down[a]; p < l->first_down[a + 1]; p++)
				for (uint32_t q = l->first_down[b]; q < l->first_down[b + 1]; q++)
					n += l->v[l->down[p]].place > l->v[l->down[q]].place;
		}
	}
	return n;
}

/* Each vertex of the layer to the middle of its neighbours on one side. */
static void
order_layer(struct layout *l, uint32_t layer, const uint32_t *first, const uint32_t *next)
{
	for (uint32_t i = l->first_v[layer]; i < l->first_v[layer + 1]; i++) {
		uint32_t v = l->order[i], n = first[v + 1] - first[v];

		l->v[v].wish = l->v[v].place;
		if (!n)
			continue;
		l->v[v].wish = 0;
		for (uint32_t k = first[v]; k < first[v + 1]; k++)
			l->v[v].wish += l->v[next[k]].place;
		l->v[v].wish /= n;
	}
	sort_layers(l, layer, layer + 1);
}

static void
make_order(struct layout *l)
{
	uint64_t least = crossings(l), now;

	memcpy(l->best, l->v, l->n_v * sizeof(*l->v));
	for (int sweep = 0; sweep < SWEEPS && least; sweep++) {
		if (sweep % 2 == 0)
			for (uint32_t k = 1; k < l->n_layers; k++)
				order_layer(l, k, l->first_up, l->up);
		else
			for (uint32_t k = l->n_layers - 1; k-- > 0;)
				order_layer(l, k, l->first_down, l->down);
		now = crossings(l);
		if (now < least) {
			least = now;
			memcpy(l->best, l->v, l->n_v * sizeof(*l->v));
		}
	}
	memcpy(l->v, l->best, l->n_v * sizeof(*l->v));
	for (uint32_t v = 0; v < l->n_v; v++)
		l->v[v].wish = l->v[v].place;
	sort_layers(l, 0, l->n_layers);
}

/* -- places --------------------------------------------------------------- */

static int
has_loop(const struct graph *g, uint32_t v)
{
	for (uint32_t e = 0; e < g->n_edges; e++)
		if (g->edges[e].from == v && g->edges[e].to == v)
			return 1;
	return 0;
}

static double
half_width(const struct layout *l, uint32_t v)
{
	return (v < l->g->n_nodes ? GRAPH_NODE_W : PASS_W) / 2;
}

/* From the vertex before it to this one, middle to middle, at the least. */
static double
distance(const struct layout *l, uint32_t before, uint32_t v)
{
	double loop = before < l->g->n_nodes && has_loop(l->g, before) ? GRAPH_GAP : 0;

	return half_width(l, before) + half_width(l, v) + GRAPH_GAP + loop;
}

/* Neighbours that stand as near to each other as they may. */
struct pool {
	double sum, weight; /* of their wishes */
	uint32_t n;
};

/*
 * Give each vertex of a layer the place that it wishes, as near as their order
 * and distances allow: the least sum of squares, by pooling neighbours.
 */
static void
place_layer(struct layout *l, uint32_t layer, struct pool *pool)
{
	uint32_t from = l->first_v[layer], n = l->first_v[layer + 1] - from, at = 0;
	struct pool *last = pool - 1;
	double shift = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = l->order[from + i];

		if (i)
			shift += distance(l, l->order[from + i - 1], v);
		*++last =
		    (struct pool){ l->v[v].weight * (l->v[v].wish - shift), l->v[v].weight, 1 };
		while (last > pool && last[-1].sum / last[-1].weight > last->sum / last->weight) {
			last--;
			last->sum += last[1].sum;
			last->weight += last[1].weight;
			last->n += last[1].n;
		}
	}
	shift = 0;
	for (struct pool *p = pool; p <= last; p++)
		for (uint32_t k = 0; k < p->n; k++, at++) {
			uint32_t v = l->order[from + at];

			if (at)
				shift += distance(l, l->order[from + at - 1], v);
			l->v[v].x = p->sum / p->weight + shift;
		}
}

/* Where edges pass through layers they are to be straight. */
static double
straightness(const struct layout *l, uint32_t a, uint32_t b)
{
	uint32_t n = l->g->n_nodes;

	return a >= n && b >= n ? 8 : a >= n || b >= n ? 2 : 1;
}

/* To wish for the mean of the neighbours on the sides asked for. */
static void
wish(struct layout *l, uint32_t v, int above, int below)
{
	double sum = 0, weight = 0, w;

	for (uint32_t k = l->first_up[v]; above && k < l->first_up[v + 1]; k++, weight += w) {
		w = straightness(l, v, l->up[k]);
		sum += w * l->v[l->up[k]].x;
	}
	for (uint32_t k = l->first_down[v]; below && k < l->first_down[v + 1]; k++, weight += w) {
		w = straightness(l, v, l->down[k]);
		sum += w * l->v[l->down[k]].x;
	}
	l->v[v].wish = weight > 0 ? sum / weight : l->v[v].x;
	l->v[v].weight = weight > 0 ? weight : 0.1;
}

static int
make_places(struct layout *l)
{
	struct pool *pool = calloc(l->n_v + 1u, sizeof(*pool));
	double least = 0, most = 0;

	if (!pool)
		return -1;
	for (int sweep = 0; sweep < PLACINGS; sweep++) {
		int down = sweep % 2 == 0, both = sweep >= PLACINGS / 4;

		for (uint32_t k = 0; k < l->n_layers; k++) {
			uint32_t layer = down ? k : l->n_layers - 1 - k;

			for (uint32_t i = l->first_v[layer]; i < l->first_v[layer + 1]; i++)
				wish(l, l->order[i], down || both, !down || both);
			place_layer(l, layer, pool);
		}
	}
	for (uint32_t v = 0; v < l->n_v; v++) {
		double loop = v < l->g->n_nodes && has_loop(l->g, v) ? GRAPH_GAP : 0;

		if (l->v[v].x - half_width(l, v) < least)
			least = l->v[v].x - half_width(l, v);
		if (l->v[v].x + half_width(l, v) + loop > most)
			most = l->v[v].x + half_width(l, v) + loop;
	}
	for (uint32_t v = 0; v < l->n_v; v++)
		l->v[v].x += GRAPH_MARGIN - least;
	l->g->width = most - least + 2 * GRAPH_MARGIN;
	l->g->height = l->n_layers * (GRAPH_NODE_H + GRAPH_LAYER) - GRAPH_LAYER + 2 * GRAPH_MARGIN;
	free(pool);
	return 0;
}

/* -- lines ---------------------------------------------------------------- */

static double
top(const struct layout *l, uint32_t v)
{
	return GRAPH_MARGIN + l->v[v].layer * (GRAPH_NODE_H + GRAPH_LAYER);
}

/* Where the segment leaves or enters `v`: ends at a node lie in the order of where they go. */
static struct graph_point
port(const struct layout *l, uint32_t v, uint32_t other, uint32_t segment, int below)
{
	struct graph_point p = { l->v[v].x, top(l, v) + (below ? GRAPH_NODE_H : 0) };
	uint32_t n = 0, before = 0;
	double step;

	if (v >= l->g->n_nodes)
		return p;
	for (uint32_t i = 0; i < l->n_s; i++) {
		uint32_t to = below ? l->s[i].lower : l->s[i].upper;

		if ((below ? l->s[i].upper : l->s[i].lower) != v)
			continue;
		n++;
		before += l->v[to].x < l->v[other].x || (to == other && i < segment);
	}
	step = GRAPH_NODE_W / (n + 1);
	p.x += (before - (n - 1) / 2.0) * (step > 20 ? 20 : step);
	return p;
}

/* From the bottom of a node around its right side to its top. */
static void
draw_loop(struct layout *l, struct graph_edge *e)
{
	struct graph_point *p = l->g->points + e->first;
	double right = l->v[e->from].x + GRAPH_NODE_W / 2, y = top(l, e->from);

	e->n_points = 2;
	e->side = 1;
	p[0] = (struct graph_point){ right, y + GRAPH_NODE_H * 0.75 };
	p[1] = (struct graph_point){ right, y + GRAPH_NODE_H * 0.25 };
}

static void
draw_edge(struct layout *l, uint32_t number)
{
	struct graph_edge *e = &l->g->edges[number];
	struct graph_point *p = l->g->points + e->first, turned;
	size_t n = 0;

	for (uint32_t i = l->first_s[number]; i < l->first_s[number + 1]; i++) {
		p[n++] = port(l, l->s[i].upper, l->s[i].lower, i, 1);
		p[n++] = port(l, l->s[i].lower, l->s[i].upper, i, 0);
	}
	e->n_points = n;
	if (l->v[e->from].layer > l->v[e->to].layer)
		for (size_t i = 0; i < n / 2; i++) {
			turned = p[i];
			p[i] = p[n - 1 - i];
			p[n - 1 - i] = turned;
		}
	e->side = n && p[0].x >= l->v[e->from].x;
}

static int
draw(struct layout *l)
{
	struct graph *g = l->g;
	size_t n = 0;

	for (uint32_t e = 0; e < g->n_edges; e++) {
		g->edges[e].first = n;
		n += 2u * (l->first_s[e + 1] - l->first_s[e]) + 2u;
	}
	g->nodes = calloc(g->n_nodes + 1u, sizeof(*g->nodes));
	g->points = calloc(n + 1u, sizeof(*g->points));
	if (!g->nodes || !g->points)
		return -1;
	for (uint32_t v = 0; v < g->n_nodes; v++)
		g->nodes[v] = (struct graph_point){ l->v[v].x, top(l, v) };
	for (uint32_t e = 0; e < g->n_edges; e++) {
		if (g->edges[e].from == g->edges[e].to)
			draw_loop(l, &g->edges[e]);
		else
			draw_edge(l, e);
	}
	return 0;
}

int
graph_layout(struct graph *g)
{
	struct layout l = { .g = g, .n_v = g->n_nodes, .cap_v = MOST_VERTICES };
	int rc = g->n_nodes && g->n_nodes <= MOST_VERTICES ? 0 : -1;

	l.v = rc == 0 ? calloc(l.cap_v, sizeof(*l.v)) : NULL;
	if (!l.v || make_layers(&l) < 0 || cut_edges(&l) < 0 || find_neighbours(&l) < 0 ||
	    first_order(&l) < 0)
		rc = -1;
	if (rc == 0) {
		make_order(&l);
		rc = make_places(&l) < 0 || draw(&l) < 0 ? -1 : 0;
	}
	free(l.v);
	free(l.s);
	free(l.first_s);
	free(l.order);
	free(l.first_v);
	free(l.up);
	free(l.first_up);
	free(l.down);
	free(l.first_down);
	free(l.best);
	return rc;
}

void
graph_fini(struct graph *g)
{
	free(g->edges);
	free(g->nodes);
	free(g->points);
}

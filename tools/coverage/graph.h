/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where to draw the nodes and edges of a flow graph: in layers, each edge from
 * one to the next below it, what goes back drawn upwards.
 */
#ifndef COVERAGE_GRAPH_H
#define COVERAGE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

/* Sizes, in pixels. */
#define GRAPH_NODE_W 150.0
#define GRAPH_NODE_H 38.0
#define GRAPH_LAYER  40.0 /* from one layer's nodes to the next */
#define GRAPH_GAP    18.0
#define GRAPH_MARGIN 12.0

struct graph_point {
	double x, y;
};

struct graph_edge {
	uint32_t from, to;
	uint8_t hidden;         /* it only keeps its ends near each other */
	size_t first, n_points; /* in graph->points: from its start to its end */
	uint8_t side;           /* it leaves at the left (0) or right (1) half of the node */
};

struct graph {
	uint32_t n_nodes, n_edges;  /* given, and: */
	struct graph_edge *edges;   /* from and to of each */
	struct graph_point *nodes;  /* made: the middle of the upper edge of each */
	struct graph_point *points; /* made */
	double width, height;       /* made */
};

/* 0; -1: out of memory, or more than can be drawn. */
int graph_layout(struct graph *g);
/* To be called in any case. */
void graph_fini(struct graph *g);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Split lines of comma-separated values: a small library, to be covered by its tests. */
#ifndef CSV_H
#define CSV_H

enum { CSV_TOO_MANY = -1, CSV_QUOTE = -2 };

/*
 * Cut `line` at its commas, in place; fields[] gets at most `max` of them.  A
 * field in quotes may hold commas, and "" for a quote.  Returns how many there
 * are, CSV_TOO_MANY, or CSV_QUOTE when a quote is not closed.
 */
int csv_split(char *line, char **fields, int max);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON to a text buffer.  A key of NULL is for items of arrays. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <hwtrace/text.h>

struct json {
	struct ht_text *text;
	int             started; /* something stands before in this object or array */
};

void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_string(struct json *j, const char *key, const char *value); /* NULL value: left out */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, int value);
/* "0x..": a JSON number does not hold 64 bits everywhere. */
void json_hex(struct json *j, const char *key, uint64_t value);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

static void
begin(struct json *j, const char *key)
{
	if (j->started)
		ht_text_str(j->text, ",");
	j->started = 1;
	if (key) {
		ht_text_json(j->text, key);
		ht_text_str(j->text, ":");
	}
	ht_text_room(j->text, 64);
}

void
json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	ht_text_char(j->text, bracket);
	j->started = 0;
}

void
json_close(struct json *j, char bracket)
{
	ht_text_room(j->text, 1);
	ht_text_char(j->text, bracket);
	j->started = 1;
}

void
json_string(struct json *j, const char *key, const char *value)
{
	if (!value)
		return;
	begin(j, key);
	ht_text_json(j->text, value);
}

void
json_uint(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	ht_text_dec(j->text, value, 0, ' ');
}

void
json_int(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	ht_text_int(j->text, value, 0);
}

void
json_bool(struct json *j, const char *key, int value)
{
	begin(j, key);
	ht_text_str(j->text, value ? "true" : "false");
}

void
json_hex(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	ht_text_put(j->text, "\"0x", 3);
	ht_text_hex(j->text, value);
	ht_text_char(j->text, '"');
}

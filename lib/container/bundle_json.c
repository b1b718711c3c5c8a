/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/bundle.h"

int
ht_json_fail(const struct ht_json_at *at, const char *key, const char *fmt, ...)
{
	char field[160], text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(field, sizeof(field), "%s%s%s", at->name, at->name[0] && key[0] ? "." : "", key);
	return ht_fail(at->diag, HT_EFORMAT, at->c->path, HT_NO_OFFSET, field, "%s", text);
}

static const char *
kind_of(json_object *o)
{
	switch (json_object_get_type(o)) {
	case json_type_null: return "null";
	case json_type_boolean: return "a truth value";
	case json_type_double: return "a fraction";
	case json_type_int: return "a number";
	case json_type_object: return "an object";
	case json_type_array: return "a list";
	case json_type_string: return "a string";
	}
	return "something else";
}

int
ht_json_has(const struct ht_json_at *at, const char *key)
{
	json_object *o;

	return json_object_object_get_ex(at->value, key, &o) && o;
}

/* The member `key`, of type `type`, which is called `what`. */
static int
member(const struct ht_json_at *at, const char *key, json_type type, const char *what,
       json_object **out)
{
	if (!json_object_object_get_ex(at->value, key, out))
		return ht_json_fail(at, key, "is missing; it must be %s", what);
	if (!json_object_is_type(*out, type))
		return ht_json_fail(at, key, "is %s; it must be %s", kind_of(*out), what);
	return 0;
}

static void
enter(const struct ht_json_at *at, const char *key, json_object *value, struct ht_json_at *out)
{
	*out = (struct ht_json_at){ .c = at->c, .diag = at->diag, .value = value };
	snprintf(out->name, sizeof(out->name), "%.30s%s%.30s", at->name, at->name[0] ? "." : "", key);
}

int
ht_json_object(const struct ht_json_at *at, const char *key, struct ht_json_at *out)
{
	json_object *o;
	int err = member(at, key, json_type_object, "an object", &o);

	if (!err)
		enter(at, key, o, out);
	return err;
}

int
ht_json_array(const struct ht_json_at *at, const char *key, struct ht_json_at *out, size_t *n)
{
	json_object *o;
	int err = member(at, key, json_type_array, "a list", &o);

	if (err)
		return err;
	enter(at, key, o, out);
	*n = json_object_array_length(o);
	return 0;
}

int
ht_json_item(const struct ht_json_at *array, size_t i, struct ht_json_at *out)
{
	json_object *o = json_object_array_get_idx(array->value, i);

	*out = (struct ht_json_at){ .c = array->c, .diag = array->diag, .value = o };
	snprintf(out->name, sizeof(out->name), "%.40s[%zu]", array->name, i);
	if (!json_object_is_type(o, json_type_object))
		return ht_json_fail(out, "", "is %s; it must be an object", kind_of(o));
	return 0;
}

int
ht_json_string(const struct ht_json_at *at, const char *key, const char **out)
{
	json_object *o;
	int err = member(at, key, json_type_string, "a string", &o);

	if (err)
		return err;
	if (strlen(json_object_get_string(o)) != (size_t)json_object_get_string_len(o) ||
	    !json_object_get_string_len(o))
		return ht_json_fail(at, key, "is empty, or has a zero byte in it");
	*out = json_object_get_string(o);
	return 0;
}

/* Decimal or 0x hex, nothing behind. */
static int
number_of_text(const char *s, uint64_t *out)
{
	int hex = s[0] == '0' && (s[1] | 32) == 'x';
	char *end;

	if (s[0] < '0' || s[0] > '9' || (hex && strspn(s + 2, "0123456789abcdefABCDEF") == 0))
		return -1;
	errno = 0;
	*out = strtoull(s, &end, hex ? 16 : 10);
	return errno || *end ? -1 : 0;
}

int
ht_json_number(const struct ht_json_at *at, const char *key, uint64_t max, int text, uint64_t *out)
{
	json_object *o;
	uint64_t v;

	if (text && json_object_object_get_ex(at->value, key, &o) &&
	    json_object_is_type(o, json_type_string)) {
		if (number_of_text(json_object_get_string(o), &v) < 0)
			return ht_json_fail(at, key, "is no number, decimal or with 0x");
	} else {
		int err = member(at, key, json_type_int, "a number", &o);

		if (err)
			return err;
		if (json_object_get_int64(o) < 0)
			return ht_json_fail(at, key, "is less than 0");
		v = json_object_get_uint64(o);
	}
	if (v > max)
		return ht_json_fail(at, key, "is %llu; %llu is the most that it can be",
		                    (unsigned long long)v, (unsigned long long)max);
	*out = v;
	return 0;
}

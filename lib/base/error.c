/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hwtrace/error.h>

static const char *const texts[] = {
	[HT_OK] = "success",
#define HT_ERROR_TEXT(name, text) [HT_E##name] = text,
	HT_ERRORS(HT_ERROR_TEXT)
#undef HT_ERROR_TEXT
};

const char *
ht_strerror(int err)
{
	unsigned e = err < 0 ? 0u - (unsigned)err : (unsigned)err;

	return e < HT_ERROR_COUNT ? texts[e] : "unknown error";
}

const char *
ht_limit_hint(int err)
{
	return err == EMFILE  ? "; raise the limit that ulimit -n shows"
	       : err == EFBIG ? "; raise the limit that ulimit -f shows"
	                      : "";
}

int
ht_fail(struct ht_diag *diag, int err, const char *file, uint64_t offset,
        const char *field, const char *fmt, ...)
{
	va_list ap;

	if (!diag)
		return -err;
	memset(diag, 0, sizeof(*diag));
	diag->error = err;
	diag->has_offset = offset != HT_NO_OFFSET;
	diag->offset = diag->has_offset ? offset : 0;
	snprintf(diag->file, sizeof(diag->file), "%s", file ? file : "");
	snprintf(diag->field, sizeof(diag->field), "%s", field ? field : "");
	va_start(ap, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
	va_end(ap);
	return -err;
}

const char *
ht_diag_line(const struct ht_diag *d, char *buf, size_t size)
{
	char off[40] = "";

	if (d->has_offset)
		snprintf(off, sizeof(off), "offset 0x%llx: ", (unsigned long long)d->offset);
	snprintf(buf, size, "%s%s%s%s%s%s", d->file, d->file[0] ? ": " : "", off, d->field,
	         d->field[0] ? ": " : "", d->text[0] ? d->text : ht_strerror(d->error));
	return buf;
}

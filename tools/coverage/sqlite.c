/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A database of runs: what there is stands once, what a run counted stands by
 * run.  Adding a run is one transaction, which waits for its turn.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "cover.h"

#define WAIT_MS 60000 /* for another process that is adding its run */

/* Of all runs together.  A run that did not record a thing does not speak of it. */
#define STATE                                                                                    \
	"CASE WHEN max(state = 'hit') THEN 'hit' WHEN max(state = 'unknown' AND NOT unrecorded)" \
	" THEN 'unknown' WHEN max(state = 'not hit') THEN 'not hit' ELSE 'unknown' END"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, time TEXT NOT NULL, captures TEXT "
    "NOT NULL,"
    " software INTEGER NOT NULL, gaps INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS modules (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, "
    "found_by TEXT);"
    "CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);"
    "CREATE TABLE IF NOT EXISTS functions (id INTEGER PRIMARY KEY, file INTEGER REFERENCES files, "
    "line INTEGER"
    " NOT NULL, name TEXT NOT NULL, linkage_name TEXT NOT NULL, full_name TEXT NOT NULL, module "
    "INTEGER NOT NULL"
    " REFERENCES modules, address INTEGER NOT NULL, UNIQUE (linkage_name, name, file, line, "
    "module, address));"
    "CREATE TABLE IF NOT EXISTS function_counts (run INTEGER NOT NULL REFERENCES runs, function "
    "INTEGER NOT NULL"
    " REFERENCES functions, entries INTEGER NOT NULL, state TEXT NOT NULL, unrecorded INTEGER NOT "
    "NULL,"
    " PRIMARY KEY (run, function)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS line_counts (run INTEGER NOT NULL REFERENCES runs, file INTEGER "
    "NOT NULL"
    " REFERENCES files, line INTEGER NOT NULL, count INTEGER NOT NULL, state TEXT NOT NULL,"
    " unrecorded INTEGER NOT NULL, PRIMARY KEY (run, file, line)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS branch_counts (run INTEGER NOT NULL REFERENCES runs, module "
    "INTEGER NOT NULL"
    " REFERENCES modules, address INTEGER NOT NULL, file INTEGER REFERENCES files, line INTEGER "
    "NOT NULL,"
    " function INTEGER REFERENCES functions, taken INTEGER NOT NULL, not_taken INTEGER NOT NULL,"
    " state TEXT NOT NULL, lost INTEGER NOT NULL, unrecorded INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS call_counts (run INTEGER NOT NULL REFERENCES runs, module INTEGER "
    "NOT NULL"
    " REFERENCES modules, address INTEGER NOT NULL, kind TEXT NOT NULL, file INTEGER REFERENCES "
    "files, line"
    " INTEGER NOT NULL, function INTEGER NOT NULL REFERENCES functions, name TEXT, count INTEGER "
    "NOT NULL,"
    " state TEXT NOT NULL, unrecorded INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS call_places ON call_counts (module, address);"
    "CREATE TABLE IF NOT EXISTS target_counts (run INTEGER NOT NULL REFERENCES runs, module "
    "INTEGER NOT NULL"
    " REFERENCES modules, address INTEGER NOT NULL, to_module INTEGER REFERENCES modules, "
    "to_address INTEGER"
    " NOT NULL, name TEXT, count INTEGER NOT NULL);"
    "CREATE VIEW IF NOT EXISTS calls AS SELECT modules.path AS module, address, kind, files.path "
    "AS path, line,"
    " function, name, sum(count) AS count, " STATE
    " AS state FROM call_counts JOIN modules ON modules.id = module"
    " LEFT JOIN files ON files.id = file GROUP BY call_counts.module, address;"
    "CREATE VIEW IF NOT EXISTS targets AS SELECT modules.path AS module, address, other.path AS "
    "to_module,"
    " to_address, name, sum(count) AS count FROM target_counts JOIN modules ON modules.id = module"
    " LEFT JOIN modules AS other ON other.id = to_module"
    " GROUP BY target_counts.module, address, target_counts.to_module, to_address;"
    "CREATE INDEX IF NOT EXISTS branch_places ON branch_counts (file, line);"
    "CREATE VIEW IF NOT EXISTS lines AS SELECT path, line, sum(count) AS count, " STATE " AS state"
    " FROM line_counts JOIN files ON files.id = file GROUP BY file, line;"
    "CREATE VIEW IF NOT EXISTS branches AS SELECT modules.path AS module, address, files.path AS "
    "path, line,"
    " sum(taken) AS taken, sum(not_taken) AS not_taken, max(lost) AS lost, min(unrecorded) AS "
    "unrecorded"
    " FROM branch_counts JOIN modules ON modules.id = module LEFT JOIN files ON files.id = file"
    " GROUP BY branch_counts.module, address, file, line;"
    "CREATE VIEW IF NOT EXISTS functions_run AS SELECT files.path AS path, line, full_name AS name,"
    " sum(entries) AS entries, " STATE
    " AS state FROM function_counts JOIN functions ON functions.id = function"
    " LEFT JOIN files ON files.id = functions.file GROUP BY function;";

struct db {
	sqlite3     *handle;
	const char  *path;
	sqlite3_int64 run, *modules, *files, *functions; /* numbers in the report -> keys */
};

static int
complain(struct db *db)
{
	tool_error("%s: %s", db->path, sqlite3_errmsg(db->handle));
	return -1;
}

static int
execute(struct db *db, const char *sql)
{
	return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : complain(db);
}

static sqlite3_stmt *
prepare(struct db *db, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
		complain(db);
	return s;
}

static void
bind_text(sqlite3_stmt *s, int i, const char *text)
{
	sqlite3_bind_text(s, i, text, -1, SQLITE_STATIC);
}

static void
bind_key(sqlite3_stmt *s, int i, const sqlite3_int64 *keys, uint32_t number)
{
	if (number == HT_COV_NONE)
		sqlite3_bind_null(s, i);
	else
		sqlite3_bind_int64(s, i, keys[number]);
}

/* Run `s`; with `key`, the number in its first row goes there. */
static int
step(struct db *db, sqlite3_stmt *s, sqlite3_int64 *key)
{
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW && key)
		*key = sqlite3_column_int64(s, 0);
	while (rc == SQLITE_ROW)
		rc = sqlite3_step(s);
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : complain(db);
}

static int
finish(sqlite3_stmt *s, int rc)
{
	sqlite3_finalize(s);
	return rc;
}

static int
add_run(struct db *db, const struct cover *c, const struct ht_cov_report *r)
{
	sqlite3_stmt *s = prepare(db, "INSERT INTO runs (time, captures, software, gaps) VALUES (?, ?, ?, ?)");
	char now[32], *captures = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&captures, &size);
	time_t t = time(NULL);
	struct tm tm;
	int rc;

	if (!s || !f) {
		if (f)
			fclose(f);
		free(captures);
		return finish(s, -1);
	}
	for (size_t i = 0; i < c->n_sources; i++)
		fprintf(f, "%s%s", i ? "\n" : "", c->sources[i]);
	fclose(f);
	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	bind_text(s, 1, now);
	bind_text(s, 2, captures ? captures : "");
	sqlite3_bind_int(s, 3, c->software);
	sqlite3_bind_int64(s, 4, (sqlite3_int64)r->gaps);
	rc = step(db, s, NULL);
	db->run = sqlite3_last_insert_rowid(db->handle);
	free(captures);
	return finish(s, rc);
}

/* Keys of things that stand once: found, or made. */
static int
add_paths(struct db *db, const struct ht_cov_report *r)
{
	static const char *const found[] = { "lines", "symbols", "unwind", "text", "report" };
	sqlite3_stmt *m = prepare(db, "INSERT INTO modules (path, found_by) VALUES (?, ?) ON CONFLICT (path) DO"
	                              " UPDATE SET found_by = excluded.found_by RETURNING id");
	sqlite3_stmt *f = prepare(db, "INSERT INTO files (path) VALUES (?) ON CONFLICT (path) DO UPDATE SET path ="
	                              " path RETURNING id");
	int rc = m && f ? 0 : -1;

	for (uint32_t i = 0; i < r->n_modules && rc == 0; i++) {
		bind_text(m, 1, r->modules[i].path);
		bind_text(m, 2, r->modules[i].chosen && !r->modules[i].why ? found[r->modules[i].source] : NULL);
		rc = step(db, m, &db->modules[i]);
	}
	for (uint32_t i = 0; i < r->n_files && rc == 0; i++) {
		bind_text(f, 1, r->files[i].path);
		rc = step(db, f, &db->files[i]);
	}
	sqlite3_finalize(m);
	return finish(f, rc);
}

/* A function with a place in the source is the same one in every build. */
static int
add_functions(struct db *db, const struct ht_cov_report *r)
{
	sqlite3_stmt *find = prepare(db, "SELECT id FROM functions WHERE linkage_name = ?4 AND name = ?3 AND file IS ?1"
	                                 " AND line = ?2 AND (?1 IS NOT NULL OR (module = ?6 AND address = ?7))");
	sqlite3_stmt *make = prepare(db, "INSERT INTO functions (file, line, name, linkage_name, full_name, module,"
	                                 " address) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id");
	sqlite3_stmt *count = prepare(db, "INSERT INTO function_counts VALUES (?, ?, ?, ?, ?)");
	int rc = find && make && count ? 0 : -1;

	for (uint32_t i = 0; i < r->n_functions && rc == 0; i++) {
		const struct ht_cov_function *fn = &r->functions[i];
		sqlite3_stmt *both[] = { find, make };

		db->functions[i] = 0;
		for (int k = 0; k < 2 && rc == 0 && !db->functions[i]; k++) {
			bind_key(both[k], 1, db->files, fn->file);
			sqlite3_bind_int64(both[k], 2, fn->line);
			bind_text(both[k], 3, fn->name);
			bind_text(both[k], 4, fn->linkage ? fn->linkage : "");
			if (k)
				bind_text(both[k], 5, fn->shown);
			bind_key(both[k], 6, db->modules, fn->module);
			sqlite3_bind_int64(both[k], 7, (sqlite3_int64)fn->addr);
			rc = step(db, both[k], &db->functions[i]);
		}
		sqlite3_bind_int64(count, 1, db->run);
		sqlite3_bind_int64(count, 2, db->functions[i]);
		sqlite3_bind_int64(count, 3, (sqlite3_int64)fn->count);
		bind_text(count, 4, cover_state(fn->state));
		sqlite3_bind_int(count, 5, fn->doubt == HT_COV_UNRECORDED);
		if (rc == 0)
			rc = step(db, count, NULL);
	}
	sqlite3_finalize(find);
	sqlite3_finalize(make);
	return finish(count, rc);
}

static int
add_lines(struct db *db, const struct ht_cov_report *r)
{
	sqlite3_stmt *s = prepare(db, "INSERT INTO line_counts VALUES (?, ?, ?, ?, ?, ?)");
	int rc = s ? 0 : -1;

	for (uint32_t i = 0; i < r->n_files && rc == 0; i++)
		for (uint32_t k = 0; k < r->files[i].n_lines && rc == 0; k++) {
			const struct ht_cov_line *l = &r->files[i].lines[k];

			sqlite3_bind_int64(s, 1, db->run);
			sqlite3_bind_int64(s, 2, db->files[i]);
			sqlite3_bind_int64(s, 3, l->line);
			sqlite3_bind_int64(s, 4, (sqlite3_int64)l->count);
			bind_text(s, 5, cover_state(l->state));
			sqlite3_bind_int(s, 6, l->doubt == HT_COV_UNRECORDED);
			rc = step(db, s, NULL);
		}
	return finish(s, rc);
}

static int
add_branches(struct db *db, const struct ht_cov_report *r)
{
	sqlite3_stmt *s =
	    prepare(db, "INSERT INTO branch_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	int rc = s ? 0 : -1;

	for (uint32_t i = 0; i < r->n_branches && rc == 0; i++) {
		const struct ht_cov_branch *b = &r->branches[i];

		sqlite3_bind_int64(s, 1, db->run);
		bind_key(s, 2, db->modules, b->module);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)b->addr);
		bind_key(s, 4, db->files, b->file);
		sqlite3_bind_int64(s, 5, b->line);
		bind_key(s, 6, db->functions, b->function);
		sqlite3_bind_int64(s, 7, (sqlite3_int64)b->taken);
		sqlite3_bind_int64(s, 8, (sqlite3_int64)b->not_taken);
		bind_text(s, 9, cover_state(b->state));
		sqlite3_bind_int(s, 10, b->doubt & HT_COV_LOST);
		sqlite3_bind_int(s, 11, !!(b->doubt & HT_COV_UNRECORDED));
		rc = step(db, s, NULL);
	}
	return finish(s, rc);
}

static int
add_targets(struct db *db, sqlite3_stmt *s, const struct ht_cov_report *r,
            const struct ht_cov_site *site)
{
	int rc = 0;

	for (uint32_t i = 0; i < site->n_targets && rc == 0; i++) {
		const struct ht_cov_target *t = &r->targets[site->first_target + i];

		sqlite3_bind_int64(s, 1, db->run);
		bind_key(s, 2, db->modules, site->module);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)site->addr);
		bind_key(s, 4, db->modules, t->module);
		sqlite3_bind_int64(s, 5, (sqlite3_int64)t->addr);
		bind_text(s, 6, t->name);
		sqlite3_bind_int64(s, 7, (sqlite3_int64)t->count);
		rc = step(db, s, NULL);
	}
	return rc;
}

static int
add_calls(struct db *db, const struct ht_cov_report *r)
{
	sqlite3_stmt *s =
	    prepare(db, "INSERT INTO call_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	sqlite3_stmt *t = prepare(db, "INSERT INTO target_counts VALUES (?, ?, ?, ?, ?, ?, ?)");
	int rc = s && t ? 0 : -1;

	for (uint32_t i = 0; i < r->n_sites && rc == 0; i++) {
		const struct ht_cov_site *site = &r->sites[i];

		sqlite3_bind_int64(s, 1, db->run);
		bind_key(s, 2, db->modules, site->module);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)site->addr);
		bind_text(s, 4, cover_site_kind(site));
		bind_key(s, 5, db->files, site->file);
		sqlite3_bind_int64(s, 6, site->line);
		bind_key(s, 7, db->functions, site->function);
		bind_text(s, 8, site->name);
		sqlite3_bind_int64(s, 9, (sqlite3_int64)site->count);
		bind_text(s, 10, cover_state(site->state));
		sqlite3_bind_int(s, 11,
		                 site->state == HT_COV_UNKNOWN && site->doubt == HT_COV_UNRECORDED);
		rc = step(db, s, NULL);
		if (rc == 0)
			rc = add_targets(db, t, r, site);
	}
	sqlite3_finalize(t);
	return finish(s, rc);
}

static int
add_all(struct db *db, const struct cover *c, const struct ht_cov_report *r)
{
	db->modules = calloc(r->n_modules + 1u, sizeof(*db->modules));
	db->files = calloc(r->n_files + 1u, sizeof(*db->files));
	db->functions = calloc(r->n_functions + 1u, sizeof(*db->functions));
	if (!db->modules || !db->files || !db->functions) {
		tool_error("out of memory");
		return -1;
	}
	if (execute(db, "BEGIN IMMEDIATE") < 0)
		return -1;
	if (execute(db, schema) < 0 || add_run(db, c, r) < 0 || add_paths(db, r) < 0 ||
	    add_functions(db, r) < 0 || add_lines(db, r) < 0 || add_branches(db, r) < 0 ||
	    add_calls(db, r) < 0 || execute(db, "COMMIT") < 0) {
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return 0;
}

int
cover_append_sqlite(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct db db = { .path = path };
	int rc = -1;

	if (sqlite3_open_v2(path, &db.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
		complain(&db);
	else if (sqlite3_busy_timeout(db.handle, WAIT_MS) == SQLITE_OK)
		rc = add_all(&db, c, r);
	sqlite3_close(db.handle);
	free(db.modules);
	free(db.files);
	free(db.functions);
	return rc < 0 ? EXIT_ERROR : EXIT_OK;
}

int
cover_write_sqlite(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	FILE *f;

	if (!strcmp(path, "-"))
		return tool_error("a database cannot be written to standard output; name a file");
	f = cover_open(path); /* what was there is gone; a folder or a full disk is told here */
	if (!f || cover_close(f, path) != EXIT_OK)
		return EXIT_ERROR;
	return cover_append_sqlite(path, c, r);
}

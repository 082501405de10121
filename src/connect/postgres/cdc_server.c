/* connect/postgres/cdc_server.c: what 'postgres-cdc' needs of the server, asked before the first row, and again when the server describes the table anew.
 *
 * Idea       each thing that is missing is one error that names it, with the statement that puts it right. What is made by us is the publication (and,
 *            by the thread, the slot); nothing is ever removed.
 * Thread     source_new, then the source's thread.                                                                                       */
#include "connect/postgres/cdc.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST_VERSION = 130000, ROW_FILTERS = 150000 };

wr_status cdc_fail(const cdc_source *s, wr_status status, const char *code, wr_err *err, const char *fmt, ...) {
    char    text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_fail(err, status, code, "table '%.*s': %s", WR_FMT(s->table), text);
    if (err) err->at = s->at;
    return status;
}

void cdc_drop_hint(const cdc_source *s, wr_sbuf *out) {
    wr_sbuf_printf(out, "SELECT pg_drop_replication_slot('%.*s')", WR_FMT(s->slot));
}

static wr_status ask(cdc_source *s, const char *sql, int n, const char *const *values, const char *doing, PGresult **out, wr_err *err) {
    return pg_query(&s->admin, sql, n, values, doing, out, err);
}
static wr_str cell(cdc_source *s, const PGresult *r, int row, int col) { return (wr_str){wr_arena_strndup(s->arena, pg.getvalue(r, row, col), (size_t)pg.getlength(r, row, col)), (size_t)pg.getlength(r, row, col)}; }
static bool   truth(const PGresult *r, int row, int col) { return *pg.getvalue(r, row, col) == 't'; }
static uint32_t oid_of(const PGresult *r, int row, int col) { return (uint32_t)strtoul(pg.getvalue(r, row, col), NULL, 10); }

static wr_status check_server(cdc_source *s, wr_err *err) {
    PGresult *r;
    WR_TRY(ask(s, "SELECT current_setting('wal_level'), current_setting('server_version_num'), current_setting('max_replication_slots')", 0, NULL, "ask for the settings", &r, err));
    wr_str level = cell(s, r, 0, 0);
    s->version = strtoul(pg.getvalue(r, 0, 1), NULL, 10);
    bool slots = strcmp(pg.getvalue(r, 0, 2), "0") != 0;
    pg.clear(r);
    if (s->version < LEAST_VERSION) return cdc_fail(s, WR_UNSUPPORTED, "WR380", err, "the server is PostgreSQL %lu; changes are read from version 13 on", s->version / 10000);
    if (!wr_str_eq(level, WR_STR("logical"))) {
        cdc_fail(s, WR_USER, "WR380", err, "the server does not write into its log what changes are read from: wal_level is '%.*s'", WR_FMT(level));
        wr_err_hint(err, "ALTER SYSTEM SET wal_level = 'logical'; then restart the server");
        return WR_USER;
    }
    if (slots) return WR_OK;
    cdc_fail(s, WR_USER, "WR380", err, "the server has no replication slots: max_replication_slots is 0");
    wr_err_hint(err, "ALTER SYSTEM SET max_replication_slots = 10; then restart the server");
    return WR_USER;
}

static wr_status find_table(cdc_source *s, wr_err *err) {
    const char *values[] = {s->schema_name.ptr, s->table_name.ptr};
    PGresult   *r;
    WR_TRY(ask(s, "SELECT c.oid, c.relkind, c.relreplident, has_table_privilege(c.oid, 'SELECT'), current_user, c.relpersistence FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
               2, values, "look for the table", &r, err));
    bool there = pg.ntuples(r) > 0, may = there && truth(r, 0, 3), logged = there && *pg.getvalue(r, 0, 5) == 'p';
    char kind = there ? *pg.getvalue(r, 0, 1) : 0;
    wr_str user = there ? cell(s, r, 0, 4) : WR_STR("");
    if (there) s->oid = oid_of(r, 0, 0), s->identity = *pg.getvalue(r, 0, 2), s->partitioned = kind == 'p';
    pg.clear(r);
    if (!there) {
        cdc_fail(s, WR_USER, "42P01", err, "there is no table %s in the database '%.*s'", s->quoted, WR_FMT(s->database));
        wr_err_hint(err, "'schema-name' and 'table-name' are written as in the catalog: lower case, if they were made without quotes");
        return WR_USER;
    }
    if (kind != 'r' && kind != 'p') return cdc_fail(s, WR_USER, "WR380", err, "%s is a view or another thing without changes of its own; name a table", s->quoted);
    if (!logged) {
        cdc_fail(s, WR_USER, "WR380", err, "%s is an unlogged table: its changes are in no log", s->quoted);
        wr_err_hint(err, "ALTER TABLE %s SET LOGGED", s->quoted);
        return WR_USER;
    }
    if (may) return WR_OK;
    cdc_fail(s, WR_USER, "WR381", err, "the user '%.*s' may not read %s", WR_FMT(user), s->quoted);
    wr_err_hint(err, "GRANT SELECT ON %s TO \"%.*s\"", s->quoted, WR_FMT(user));
    return WR_USER;
}

/* ---- columns ---- */

bool cdc_type_fits(uint32_t base, uint32_t element, wr_type type) {
    switch (type.id) {
    case WR_T_CHAR:
    case WR_T_VARCHAR: return true; /* everything has a text */
    case WR_T_BOOLEAN: return base == 16;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT: return base == 20 || base == 21 || base == 23 || base == 26;
    case WR_T_DECIMAL: return base == 1700 || base == 20 || base == 21 || base == 23;
    case WR_T_FLOAT:
    case WR_T_DOUBLE: return base == 700 || base == 701 || base == 1700 || base == 20 || base == 21 || base == 23;
    case WR_T_BINARY:
    case WR_T_VARBINARY: return base == 17;
    case WR_T_DATE: return base == 1082;
    case WR_T_TIME: return base == 1083;
    case WR_T_TIMESTAMP: return base == 1114;
    case WR_T_TIMESTAMP_LTZ: return base == 1184;
    case WR_T_ARRAY: {
        wr_type inner = type;
        while (inner.id == WR_T_ARRAY) inner = inner.kids[0]; /* dimensions are no part of a type there */
        return element && cdc_type_fits(element, 0, inner);
    }
    default: return false;
    }
}

static wr_status no_column(const cdc_source *s, uint32_t c, wr_err *err) {
    wr_str name = s->schema->fields[c].name;
    int    near = wr_nearest(name, s->names, s->n_names);
    cdc_fail(s, WR_USER, "WR384", err, "%s has no column '%.*s'", s->quoted, WR_FMT(name));
    if (near >= 0) wr_err_hint(err, "did you mean '%.*s'? Columns are written as in the catalog", WR_FMT(s->names[near]));
    else wr_err_hint(err, "take it out of the SQL table, or add it there");
    return WR_USER;
}

static wr_status wrong_type(const cdc_source *s, uint32_t c, wr_str theirs, wr_err *err) {
    wr_sbuf text = {0};
    wr_type_text(wr_type_with_null(s->schema->fields[c].type, true), &text);
    cdc_fail(s, WR_USER, "WR384", err, "column '%.*s' is %.*s in %s, which does not go into %.*s", WR_FMT(s->schema->fields[c].name), WR_FMT(theirs), s->quoted, WR_FMT(wr_sbuf_str(&text)));
    wr_err_hint(err, "STRING takes the text of any type; json, uuid, interval, enums and ranges are read so");
    wr_sbuf_free(&text);
    return WR_USER;
}

#define COLUMNS_SQL                                                                                                                                         \
    "SELECT a.attname, a.atttypid, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END, "  \
    "format_type(a.atttypid, a.atttypmod), EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND a.attnum = ANY (i.indkey) AND "                    \
    "CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END), a.attgenerated <> '' "                                                      \
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid WHERE c.oid = $1::text::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"

static wr_status read_columns(cdc_source *s, bool *any_identity, wr_err *err) {
    char        oid[16];
    const char *values[] = {oid};
    PGresult   *r;
    snprintf(oid, sizeof oid, "%u", s->oid);
    WR_TRY(ask(s, COLUMNS_SQL, 1, values, "look at the columns", &r, err));
    s->n_names = (uint32_t)pg.ntuples(r);
    s->names = wr_new_n(s->arena, wr_str, s->n_names + 1);
    s->columns = wr_new_n(s->arena, cdc_column, s->n_physical + 1);
    *any_identity = false;
    for (uint32_t i = 0; i < s->n_names; i++) {
        s->names[i] = cell(s, r, (int)i, 0);
        bool identity = truth(r, (int)i, 5);
        *any_identity |= identity;
        for (uint32_t c = 0; c < s->n_physical; c++)
            if (wr_str_eq(s->schema->fields[c].name, s->names[i]))
                s->columns[c] = (cdc_column){oid_of(r, (int)i, 1), oid_of(r, (int)i, 2), oid_of(r, (int)i, 3), identity, cell(s, r, (int)i, 4), truth(r, (int)i, 6)};
    }
    pg.clear(r);
    for (uint32_t c = 0; c < s->n_physical; c++) {
        const cdc_column *col = &s->columns[c];
        if (!col->type) return no_column(s, c, err);
        if (col->generated) {
            cdc_fail(s, WR_USER, "WR384", err, "column '%.*s' of %s is generated: its value is not sent with changes", WR_FMT(s->schema->fields[c].name), s->quoted);
            wr_err_hint(err, "compute it here: %.*s AS ...", WR_FMT(s->schema->fields[c].name));
            return WR_USER;
        }
        if (!cdc_type_fits(col->base, col->element, s->schema->fields[c].type)) return wrong_type(s, c, col->type_name, err);
    }
    return WR_OK;
}

static wr_status no_identity(const cdc_source *s, wr_err *err) {
    cdc_fail(s, WR_USER, "WR382", err, "%s has no replica identity: the server would not say which row was updated or deleted", s->quoted);
    wr_err_hint(err, "ALTER TABLE %s REPLICA IDENTITY FULL; or give it a PRIMARY KEY", s->quoted);
    return WR_USER;
}

/* What the server sends of the old row must be enough for the kind of changelog that the plan was made for. */
static wr_status check_identity(const cdc_source *s, char identity, const bool *in_identity, wr_err *err) {
    if (identity == 'f') return WR_OK;
    if (!s->upsert) {
        cdc_fail(s, WR_USER, "WR382", err, "updates and deletions of %s come without the old row: its replica identity is not FULL", s->quoted);
        wr_err_hint(err, "ALTER TABLE %s REPLICA IDENTITY FULL; or declare the PRIMARY KEY (...) NOT ENFORCED and read it with 'changelog-mode' = 'upsert'", s->quoted);
        return WR_USER;
    }
    for (uint32_t k = 0; k < s->n_key; k++) {
        if (in_identity[s->key[k]]) continue;
        cdc_fail(s, WR_USER, "WR382", err, "'%.*s' is in the PRIMARY KEY of the SQL table and not in the replica identity of %s, so a deletion comes without it", WR_FMT(s->schema->fields[s->key[k]].name), s->quoted);
        wr_err_hint(err, "declare the columns of the server's PRIMARY KEY as the key, or: ALTER TABLE %s REPLICA IDENTITY FULL", s->quoted);
        return WR_USER;
    }
    return WR_OK;
}

static wr_status check_columns(cdc_source *s, wr_err *err) {
    bool  any;
    bool *in = wr_new_n(s->arena, bool, s->n_physical + 1);
    WR_TRY(read_columns(s, &any, err));
    if (s->identity == 'n' || (s->identity != 'f' && !any)) return no_identity(s, err);
    for (uint32_t c = 0; c < s->n_physical; c++) in[c] = s->columns[c].identity;
    return check_identity(s, s->identity, in, err);
}

/* ---- the publication ---- */

static wr_status make_publication(cdc_source *s, wr_err *err) {
    wr_sbuf sql = {0};
    wr_sbuf_addz(&sql, "CREATE PUBLICATION ");
    db_put_name(&sql, s->publication);
    wr_sbuf_printf(&sql, " FOR TABLE %s", s->quoted);
    if (s->partitioned) wr_sbuf_addz(&sql, " WITH (publish_via_partition_root = true)");
    wr_status status = s->make_publication ? pg_run(&s->admin, sql.at, "make the publication", err) : WR_USER;
    if (status != WR_OK && (!s->make_publication || !err || !err->retriable)) {
        char cause[200];
        snprintf(cause, sizeof cause, "%.150s", s->make_publication && err ? err->message : "");
        status = cdc_fail(s, WR_USER, "WR382", err, "there is no publication '%.*s'%s", WR_FMT(s->publication), *cause ? ", and it cannot be made" : "");
        if (*cause) wr_err_detail(err, "%s", cause);
        wr_err_hint(err, "as the owner of the table: %s", sql.at);
    }
    wr_sbuf_free(&sql);
    return status;
}

static wr_status publication_lacks(const cdc_source *s, const char *what, const char *alter, const char *table, wr_err *err) {
    wr_sbuf name = {0};
    db_put_name(&name, s->publication);
    cdc_fail(s, WR_USER, "WR382", err, "the publication '%.*s' %s", WR_FMT(s->publication), what);
    wr_err_hint(err, "ALTER PUBLICATION %s %s%s", name.at, alter, table);
    wr_sbuf_free(&name);
    return WR_USER;
}

static wr_status check_column_list(cdc_source *s, wr_err *err) {
    const char *values[] = {s->publication.ptr, s->schema_name.ptr, s->table_name.ptr};
    PGresult   *r;
    WR_TRY(ask(s, "SELECT unnest(attnames) FROM pg_publication_tables WHERE pubname = $1 AND schemaname = $2 AND tablename = $3", 3, values, "look at the publication", &r, err));
    wr_status status = WR_OK;
    for (uint32_t c = 0; c < s->n_physical && status == WR_OK; c++) {
        bool in = false;
        for (int i = 0; i < pg.ntuples(r); i++) in |= wr_str_eq(s->schema->fields[c].name, wr_str_of(pg.getvalue(r, i, 0)));
        if (in) continue;
        wr_sbuf what = {0};
        wr_sbuf_printf(&what, "does not have the column '%.*s' of %s", WR_FMT(s->schema->fields[c].name), s->quoted);
        status = publication_lacks(s, what.at, "SET TABLE ", s->quoted, err);
        wr_sbuf_free(&what);
    }
    pg.clear(r);
    return status;
}

static wr_status check_publication(cdc_source *s, wr_err *err) {
    if (s->start == CDC_SNAPSHOT_ONLY) return WR_OK;
    const char *values[] = {s->publication.ptr, s->schema_name.ptr, s->table_name.ptr};
    PGresult   *r;
    WR_TRY(ask(s, "SELECT pubinsert AND pubupdate AND pubdelete, pubviaroot FROM pg_publication WHERE pubname = $1", 1, values, "look for the publication", &r, err));
    bool there = pg.ntuples(r) > 0, all = there && truth(r, 0, 0), root = there && truth(r, 0, 1);
    pg.clear(r);
    s->row_filter = WR_STR("");
    if (!there) return s->looks_only && s->make_publication ? WR_OK : make_publication(s, err);
    if (s->partitioned && !root) return publication_lacks(s, "gives changes of partitions under their own names", "SET (publish_via_partition_root = true)", "", err);
    if (!all) return publication_lacks(s, "leaves out inserts, updates or deletes", "SET (publish = 'insert, update, delete, truncate')", "", err);
    WR_TRY(ask(s, s->version >= ROW_FILTERS ? "SELECT coalesce(rowfilter, '') FROM pg_publication_tables WHERE pubname = $1 AND schemaname = $2 AND tablename = $3"
                                         : "SELECT '' FROM pg_publication_tables WHERE pubname = $1 AND schemaname = $2 AND tablename = $3", 3, values, "look at the publication", &r, err));
    bool in = pg.ntuples(r) > 0;
    if (in) s->row_filter = cell(s, r, 0, 0);
    pg.clear(r);
    if (in) return s->version >= ROW_FILTERS ? check_column_list(s, err) : WR_OK;
    wr_sbuf what = {0};
    wr_sbuf_printf(&what, "does not have the table %s", s->quoted);
    (void)publication_lacks(s, what.at, "ADD TABLE ", s->quoted, err);
    wr_sbuf_free(&what);
    return WR_USER;
}

/* ---- the slot ---- */

wr_status cdc_look_at_slot(cdc_source *s, cdc_slot *out, wr_err *err) {
    const char *values[] = {s->slot.ptr};
    PGresult   *r;
    *out = (cdc_slot){0};
    WR_TRY(pg_connect(&s->admin, err));
    WR_TRY(ask(s, "SELECT slot_type, coalesce(plugin, ''), coalesce(database, ''), active, coalesce(confirmed_flush_lsn::text, '0/0'), coalesce(wal_status, '') FROM pg_replication_slots WHERE slot_name = $1", 1, values,
               "look for the slot", &r, err));
    wr_status status = WR_OK;
    if (pg.ntuples(r)) {
        wr_str  plugin = cell(s, r, 0, 1), database = cell(s, r, 0, 2), kept = cell(s, r, 0, 5);
        wr_sbuf drop = {0};
        cdc_drop_hint(s, &drop);
        out->there = true;
        out->active = truth(r, 0, 3);
        (void)pg_lsn_parse(pg.getvalue(r, 0, 4), &out->confirmed);
        if (strcmp(pg.getvalue(r, 0, 0), "logical") || !wr_str_eq(plugin, WR_STR("pgoutput")) || !wr_str_eq(database, s->database)) {
            status = cdc_fail(s, WR_USER, "WR383", err, "the slot '%.*s' is somebody else's: a slot of %.*s, database '%.*s'", WR_FMT(s->slot), (int)plugin.len, plugin.len ? plugin.ptr : "", WR_FMT(database));
            wr_err_hint(err, "give 'slot.name' a name of its own");
        } else if (wr_str_eq(kept, WR_STR("lost"))) {
            status = cdc_fail(s, WR_DATA, "WR383", err, "the slot '%.*s' has lost changes: the server has removed what it did not keep any more (max_slot_wal_keep_size)", WR_FMT(s->slot));
            wr_err_hint(err, "%s; and begin anew with a new --state-dir", drop.at);
        }
        wr_sbuf_free(&drop);
    }
    pg.clear(r);
    return status;
}

const cdc_step cdc_steps[] = {{"settings", check_server}, {"table", find_table}, {"columns", check_columns}, {"publication", check_publication}, {NULL, NULL}};

wr_status cdc_examine(cdc_source *s, wr_err *err) {
    WR_TRY(pg_connect(&s->admin, err));
    for (const cdc_step *step = cdc_steps; step->what; step++) WR_TRY(step->look(s, err));
    return WR_OK;
}

/* ---- the table as the stream of changes describes it ---- */

/* Is the column there now? Then the change is older than the column. */
static wr_status is_there_now(cdc_source *s, uint32_t c, bool *there, wr_err *err) {
    char        oid[16];
    wr_str      name = s->schema->fields[c].name;
    const char *values[] = {oid, wr_arena_strndup(s->arena, name.ptr, name.len)};
    PGresult   *r;
    snprintf(oid, sizeof oid, "%u", s->oid);
    WR_TRY(pg_connect(&s->admin, err));
    WR_TRY(ask(s, "SELECT 1 FROM pg_attribute WHERE attrelid = $1::text::oid AND attname = $2 AND attnum > 0 AND NOT attisdropped", 2, values, "look at the columns", &r, err));
    *there = pg.ntuples(r) > 0;
    pg.clear(r);
    return WR_OK;
}

static wr_status column_gone(cdc_source *s, uint32_t c, wr_err *err) {
    wr_str name = s->schema->fields[c].name;
    cdc_fail(s, WR_DATA, "WR384", err, "the table %s has changed: column '%.*s' was dropped or renamed", s->quoted, WR_FMT(name));
    wr_err_hint(err, "name it as it is now, or leave it out, and see 'weir upgrade' for what that means for the state");
    return WR_DATA;
}

static wr_status type_changed(cdc_source *s, uint32_t c, uint32_t type, wr_err *err) {
    char        oid[16];
    const char *values[] = {oid};
    PGresult   *r;
    wr_str      field = s->schema->fields[c].name, now = WR_STR("another one");
    snprintf(oid, sizeof oid, "%u", type);
    if (pg_connect(&s->admin, NULL) == WR_OK && ask(s, "SELECT format_type($1::text::oid, NULL)", 1, values, "ask for a type", &r, NULL) == WR_OK) {
        now = cell(s, r, 0, 0);
        pg.clear(r);
    }
    cdc_fail(s, WR_DATA, "WR384", err, "the table %s has changed: the type of column '%.*s' was %.*s and is %.*s", s->quoted, WR_FMT(field), WR_FMT(s->columns[c].type_name), WR_FMT(now));
    wr_err_hint(err, "declare the column so that it holds both, STRING for example, and see 'weir upgrade' for what that means for the state");
    return WR_DATA;
}

static uint32_t element_of(uint32_t array) { /* of the built-in arrays */
    static const uint32_t pairs[][2] = {{1000, 16}, {1001, 17}, {1005, 21}, {1007, 23}, {1016, 20}, {1021, 700}, {1022, 701}, {1182, 1082}, {1183, 1083}, {1115, 1114}, {1185, 1184}, {1231, 1700}, {1009, 25}, {1015, 1043}};
    for (size_t i = 0; i < WR_COUNT_OF(pairs); i++)
        if (pairs[i][0] == array) return pairs[i][1];
    return 0;
}

static void note_added(cdc_source *s, wr_str name) {
    for (uint32_t i = 0; i < s->n_names; i++)
        if (wr_str_eq(s->names[i], name)) return;
    wr_mutex_lock(s->lock);
    size_t n = strlen(s->added);
    snprintf(s->added + n, sizeof s->added - n, "%s%.*s", n ? ", " : "", (int)WR_MIN(name.len, 63u), name.ptr);
    wr_mutex_unlock(s->lock);
    wr_str *more = wr_new_n(s->arena, wr_str, s->n_names + 1);
    memcpy(more, s->names, s->n_names * sizeof *more);
    more[s->n_names++] = wr_str_dup(s->arena, name);
    s->names = more;
}

static wr_status map_columns(cdc_source *s, const pgo_message *m, wr_arena *arena, cdc_map *map, wr_err *err) {
    int32_t  *column = wr_new_n(arena, int32_t, m->columns.n + 1);
    uint32_t *absent = wr_new_n(arena, uint32_t, s->n_physical + 1);
    bool     *seen = wr_new_n(arena, bool, s->n_physical + 1), *identity = wr_new_n(arena, bool, s->n_physical + 1);
    pgo_columns columns = m->columns;
    pgo_column  col;
    *map = (cdc_map){.n = columns.n, .column = column, .absent = absent};
    for (uint32_t i = 0; pgo_next_column(&columns, &col); i++) {
        int c = wr_schema_find(&(wr_schema){s->n_physical, s->schema->fields}, col.name);
        column[i] = -1;
        if (c < 0) {
            note_added(s, col.name);
            continue;
        }
        seen[c] = true, identity[c] = col.key;
        if (col.type != s->columns[c].type && !cdc_type_fits(col.type, element_of(col.type), s->schema->fields[c].type)) return type_changed(s, (uint32_t)c, col.type, err);
        if (!s->needed || s->needed[c]) column[i] = c;
    }
    for (uint32_t c = 0; c < s->n_physical; c++) {
        bool there = seen[c];
        if (!there) WR_TRY(is_there_now(s, c, &there, err));
        if (!there) return column_gone(s, c, err);
        if (!seen[c] && (!s->needed || s->needed[c])) absent[map->n_absent++] = c;
    }
    return m->identity == 'n' ? no_identity(s, err) : check_identity(s, m->identity, identity, err);
}

static bool same_map(const cdc_map *a, const cdc_map *b) {
    return a->n == b->n && a->n_absent == b->n_absent && !memcmp(a->column, b->column, a->n * sizeof *a->column) && !memcmp(a->absent, b->absent, a->n_absent * sizeof *a->absent);
}

/* The server describes the table often, mostly as it was: only what is new is kept. */
wr_status cdc_map_relation(cdc_source *s, const pgo_message *m, const cdc_map **map, wr_err *err) {
    wr_arena *scratch = wr_arena_new(NULL);
    cdc_map   fresh;
    wr_status status = map_columns(s, m, scratch, &fresh, err);
    if (status == WR_OK && (!*map || !same_map(*map, &fresh))) {
        cdc_map  *kept = wr_new(s->arena, cdc_map);
        int32_t  *column = wr_new_n(s->arena, int32_t, fresh.n + 1);
        uint32_t *absent = wr_new_n(s->arena, uint32_t, fresh.n_absent + 1);
        memcpy(column, fresh.column, fresh.n * sizeof *column);
        memcpy(absent, fresh.absent, fresh.n_absent * sizeof *absent);
        *kept = (cdc_map){fresh.n, column, fresh.n_absent, absent};
        *map = kept;
    }
    wr_arena_free(scratch);
    return status;
}

/* serve/catalog_tables.c: the tables of the catalogue: all that PostgreSQL has, with its columns; rows for what there is here. See catalog.h.
 *
 * Views      are told as tables (relkind r) of the schema public, so that every client shows them; pg_matviews has their definitions, an index and a constraint
 *            their keys. OIDs are made from the view's place in the list, so they hold while a job runs.                                         */
#include "serve/catalog.h"
#include "serve/pg_value.h"
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

enum { FIRST_OID = 16384, OIDS_A_VIEW = 4, PUBLIC = 2200, OWNER = 10, DATABASE = 5 };

static const struct { const char *schema, *table, *columns; } TABLES[] = {
#include "serve/catalog_list.inc"
    {"pg_catalog", "pg_get_keywords", "word text,catcode char,barelabel bool,catdesc text,baredesc text"},
};

bool catalog_has(wr_str schema, wr_str table) {
    bool ours = !schema.ptr || wr_str_eq(schema, WR_STR("public"));
    if (ours && wr_str_eq(table, WR_STR("weir_views"))) return true;
    if (schema.ptr && (wr_str_eq(schema, WR_STR("pg_catalog")) || wr_str_eq(schema, WR_STR("information_schema")))) return true;
    for (size_t i = 0; i < WR_COUNT_OF(TABLES); i++)
        if (!schema.ptr && !strcmp(TABLES[i].schema, "pg_catalog") && wr_str_eq(table, wr_str_of(TABLES[i].table))) return true;
    return false;
}

uint32_t catalog_column(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(TABLES) && name.len; i++) {
        wr_str columns = wr_str_of(TABLES[i].columns), one;
        while (wr_str_next(&columns, ',', &one)) {
            if (one.len <= name.len || one.ptr[name.len] != ' ' || memcmp(one.ptr, name.ptr, name.len)) continue;
            char type[64];
            snprintf(type, sizeof type, "%.*s", (int)(one.len - name.len - 1), one.ptr + name.len + 1);
            return catalog_declared(type);
        }
    }
    return 0;
}

static int run(sqlite3 *db, const char *sql) { return sqlite3_exec(db, sql, NULL, NULL, NULL); }

static int run_f(sqlite3 *db, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char *sql = sqlite3_vmprintf(fmt, args);
    va_end(args);
    int rc = sql ? run(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc;
}

/* "oid oid,relname name" -> "oid" INTEGER-like columns: the declared type is PostgreSQL's, its affinity follows from what is in it. */
static int create(sqlite3 *db, const char *schema, const char *table, wr_str columns) {
    wr_sbuf sql = {0};
    wr_str  one;
    bool    first = true;
    wr_sbuf_printf(&sql, "CREATE TABLE \"%s\".\"%s\" (", schema, table);
    while (wr_str_next(&columns, ',', &one)) {
        const char *blank = memchr(one.ptr, ' ', one.len);
        wr_str      name = {one.ptr, (size_t)(blank - one.ptr)}, type = {blank + 1, one.len - name.len - 1};
        bool        number = wr_str_eq(type, WR_STR("oid")) || wr_str_eq(type, WR_STR("bool")) || wr_str_eq(type, WR_STR("regproc")) || wr_str_eq(type, WR_STR("xid"));
        wr_sbuf_printf(&sql, "%s\"%.*s\" \"%.*s%s\"", first ? "" : ", ", WR_FMT(name), WR_FMT(type), number ? " INT" : "");
        first = false;
    }
    wr_sbuf_addc(&sql, ')');
    int rc = run(db, sql.at);
    wr_sbuf_free(&sql);
    return rc;
}

static const char FIXED[] =
    "INSERT INTO pg_catalog.pg_namespace(oid, nspname, nspowner) VALUES (11, 'pg_catalog', 10), (2200, 'public', 10), (13000, 'information_schema', 10), (99, 'pg_toast', 10);"
    "INSERT INTO pg_catalog.pg_am(oid, amname, amhandler, amtype) VALUES (2, 'heap', 3, 't'), (403, 'btree', 330, 'i');"
    "INSERT INTO pg_catalog.pg_roles(rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit, rolbypassrls, oid) VALUES ('weir', 0, 1, 0, 0, 1, 0, -1, 0, 10);"
    "INSERT INTO pg_catalog.pg_authid(oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit) VALUES (10, 'weir', 0, 1, 0, 0, 1, 0, 0, -1);"
    "INSERT INTO pg_catalog.pg_user(usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls) VALUES ('weir', 10, 0, 0, 0, 0);"
    "INSERT INTO pg_catalog.pg_tablespace(oid, spcname, spcowner) VALUES (1663, 'pg_default', 10);"
    "INSERT INTO pg_catalog.pg_language(oid, lanname, lanowner, lanispl, lanpltrusted) VALUES (14, 'sql', 10, 0, 1);"
    "INSERT INTO pg_catalog.pg_collation(oid, collname, collnamespace, collowner, collprovider, collisdeterministic, collencoding) VALUES (100, 'default', 11, 10, 'd', 1, -1), (950, 'C', 11, 10, 'c', 1, -1);"
    "INSERT INTO pg_catalog.pg_get_keywords(word, catcode) VALUES ('watermark', 'U'), ('tumble', 'U'), ('hop', 'U'), ('cumulate', 'U'), ('subscribe', 'U');"
    "INSERT INTO pg_catalog.pg_opclass(oid, opcmethod, opcname, opcnamespace, opcowner, opcfamily, opcintype, opcdefault, opckeytype) VALUES (1, 403, 'default_ops', 11, 10, 0, 0, 1, 0);";

static int fill_types(sqlite3 *db) {
    static const struct { uint32_t oid; const char *name; int len; char category; bool preferred; } types[] = {
        {16, "bool", 1, 'B', true}, {17, "bytea", -1, 'U', false}, {18, "char", 1, 'Z', false}, {19, "name", 64, 'S', false}, {20, "int8", 8, 'N', false}, {21, "int2", 2, 'N', false}, {23, "int4", 4, 'N', false}, {24, "regproc", 4, 'N', false}, {25, "text", -1, 'S', true},
        {26, "oid", 4, 'N', true}, {28, "xid", 4, 'U', false}, {114, "json", -1, 'U', false}, {700, "float4", 4, 'N', false}, {701, "float8", 8, 'N', true}, {1042, "bpchar", -1, 'S', false}, {1043, "varchar", -1, 'S', false}, {1082, "date", 4, 'D', false}, {1083, "time", 8, 'D', false},
        {1114, "timestamp", 8, 'D', false}, {1184, "timestamptz", 8, 'D', true}, {1186, "interval", 16, 'T', true}, {1700, "numeric", -1, 'N', false}, {22, "int2vector", -1, 'A', false}, {30, "oidvector", -1, 'A', false}, {194, "pg_node_tree", -1, 'Z', false}, {705, "unknown", -2, 'X', false},
        {2205, "regclass", 4, 'N', false}, {2206, "regtype", 4, 'N', false}, {1034, "_aclitem", -1, 'A', false}, {3802, "jsonb", -1, 'U', false}, {2950, "uuid", 16, 'U', false}, {1266, "timetz", 12, 'D', false}, {869, "inet", -1, 'I', false}, {2277, "anyarray", -1, 'P', false},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < WR_COUNT_OF(types) && rc == SQLITE_OK; i++) {
        uint32_t array = pg_array_of(types[i].oid);
        rc = run_f(db, "INSERT INTO pg_catalog.pg_type(oid, typname, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typrelid, typelem, typarray, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation, typinput, typoutput, typreceive, typsend)"
                       " VALUES (%u, '%q', 11, 10, %d, %d, 'b', '%c', %d, 1, ',', 0, %d, %u, 'i', 'p', 0, 0, -1, 0, %d, '%qin', '%qout', '%qrecv', '%qsend')",
                   types[i].oid, types[i].name, types[i].len, types[i].len > 0 && types[i].len <= 8, types[i].category, types[i].preferred, types[i].oid == 22 ? 21 : types[i].oid == 30 ? 26 : 0, array, types[i].category == 'S' ? 100 : 0, types[i].name, types[i].name, types[i].name, types[i].name);
        if (array && rc == SQLITE_OK)
            rc = run_f(db, "INSERT INTO pg_catalog.pg_type(oid, typname, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typrelid, typelem, typarray, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation, typinput, typoutput, typreceive, typsend)"
                           " VALUES (%u, '_%q', 11, 10, -1, 0, 'b', 'A', 0, 1, ',', 0, %u, 0, 'i', 'x', 0, 0, -1, 0, 0, 'array_in', 'array_out', 'array_recv', 'array_send')", array, types[i].name, types[i].oid);
    }
    return rc;
}

static int fill_settings(sqlite3 *db) {
    static const char *const settings[][2] = {{"server_version", "15.0"}, {"server_version_num", "150000"}, {"server_encoding", "UTF8"}, {"client_encoding", "UTF8"}, {"standard_conforming_strings", "on"}, {"TimeZone", "UTC"}, {"max_index_keys", "32"}, {"max_identifier_length", "63"},
        {"default_transaction_read_only", "on"}, {"transaction_isolation", "repeatable read"}, {"search_path", "\"$user\", public"}, {"DateStyle", "ISO, MDY"}, {"integer_datetimes", "on"}, {"block_size", "8192"}, {"lc_collate", "C.UTF-8"}, {"max_connections", "1000"}, {"bytea_output", "hex"}};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < WR_COUNT_OF(settings) && rc == SQLITE_OK; i++)
        rc = run_f(db, "INSERT INTO pg_catalog.pg_settings(name, setting, category, short_desc, context, vartype, source, boot_val, reset_val, pending_restart) VALUES (%Q, %Q, 'weir', '', 'internal', 'string', 'default', %Q, %Q, 0)", settings[i][0], settings[i][1], settings[i][1], settings[i][1]);
    return rc;
}

/* The system tables themselves: their names are cast to regclass. */
static int fill_system(sqlite3 *db) {
    static const struct { const char *name; uint32_t oid; } known[] = {{"pg_type", 1247}, {"pg_attribute", 1249}, {"pg_proc", 1255}, {"pg_class", 1259}, {"pg_authid", 1260}, {"pg_database", 1262}, {"pg_attrdef", 2604}, {"pg_constraint", 2606}, {"pg_description", 2609},
        {"pg_index", 2610}, {"pg_namespace", 2615}, {"pg_trigger", 2620}, {"pg_am", 2601}, {"pg_operator", 2617}, {"pg_opclass", 2616}, {"pg_rewrite", 2618}, {"pg_extension", 3079}, {"pg_enum", 3501}, {"pg_collation", 3456}, {"pg_sequence", 2224}, {"pg_tablespace", 1213}};
    int rc = SQLITE_OK;
    for (uint32_t i = 0; i < WR_COUNT_OF(TABLES) && rc == SQLITE_OK; i++) {
        uint32_t oid = 0;
        bool     catalog_ = !strcmp(TABLES[i].schema, "pg_catalog");
        for (size_t k = 0; catalog_ && k < WR_COUNT_OF(known); k++)
            if (!strcmp(known[k].name, TABLES[i].table)) oid = known[k].oid;
        rc = run_f(db, "INSERT INTO pg_catalog.pg_class(oid, relname, relnamespace, reltype, reloftype, relowner, relam, relhasindex, relisshared, relpersistence, relkind, relnatts, relchecks, relhasrules, relhastriggers, relhassubclass, relrowsecurity, relforcerowsecurity, relispopulated, relreplident, relispartition)"
                       " VALUES (%u, %Q, %d, 0, 0, 10, 0, 0, 0, 'p', '%c', 0, 0, 0, 0, 0, 0, 0, 1, 'n', 0)", oid ? oid : 12000 + i, TABLES[i].table, catalog_ ? 11 : 13000, oid ? 'r' : 'v');
    }
    return rc;
}

int catalog_tables(sqlite3 *db) {
    int rc = run(db, "ATTACH ':memory:' AS pg_catalog; ATTACH ':memory:' AS information_schema; PRAGMA temp_store = MEMORY; BEGIN");
    for (size_t i = 0; i < WR_COUNT_OF(TABLES) && rc == SQLITE_OK; i++) rc = create(db, TABLES[i].schema, TABLES[i].table, wr_str_of(TABLES[i].columns));
    if (rc == SQLITE_OK) rc = create(db, "main", "weir_views", WR_STR("name name,version int8,run int8,watermark timestamptz,published timestamptz,age_ms int8,rows int8,bytes int8,pins int4,ended bool"));
    if (rc == SQLITE_OK) rc = run(db, FIXED);
    if (rc == SQLITE_OK) rc = fill_types(db);
    if (rc == SQLITE_OK) rc = fill_system(db);
    if (rc == SQLITE_OK) rc = fill_settings(db);
    return rc == SQLITE_OK ? run(db, "COMMIT") : rc;
}

/* ---- what depends on views ---- */
static const char EMPTY[] =
    "DELETE FROM pg_catalog.pg_class WHERE oid >= 16384; DELETE FROM pg_catalog.pg_attribute; DELETE FROM pg_catalog.pg_index; DELETE FROM pg_catalog.pg_constraint; DELETE FROM pg_catalog.pg_database; DELETE FROM pg_catalog.pg_description; DELETE FROM pg_catalog.pg_tables;"
    "DELETE FROM pg_catalog.pg_matviews; DELETE FROM pg_catalog.pg_stat_user_tables; DELETE FROM information_schema.tables; DELETE FROM information_schema.columns; DELETE FROM information_schema.schemata; DELETE FROM information_schema.table_constraints;"
    "DELETE FROM information_schema.key_column_usage; DELETE FROM pg_catalog.pg_indexes; DELETE FROM weir_views;";

static const char *iso_type(uint32_t oid) {
    static const struct { uint32_t oid; const char *name; } names[] = {{PG_BOOL, "boolean"}, {PG_INT2, "smallint"}, {PG_INT4, "integer"}, {PG_INT8, "bigint"}, {PG_FLOAT4, "real"}, {PG_FLOAT8, "double precision"}, {PG_NUMERIC, "numeric"}, {PG_TEXT, "text"}, {PG_VARCHAR, "character varying"},
        {PG_BPCHAR, "character"}, {PG_BYTEA, "bytea"}, {PG_DATE, "date"}, {PG_TIME, "time without time zone"}, {PG_TIMESTAMP, "timestamp without time zone"}, {PG_TIMESTAMPTZ, "timestamp with time zone"}, {PG_INTERVAL, "interval"}, {PG_JSON, "json"}};
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (names[i].oid == oid) return names[i].name;
    return "ARRAY";
}

static int fill_column(sqlite3 *db, const char *database, const char *view, uint32_t oid, uint32_t at, const wr_field *f) {
    char    *name = sqlite3_mprintf("%.*s", WR_FMT(f->name));
    uint32_t type = pg_oid_of(f->type);
    int32_t  mod = pg_typmod_of(f->type), precision = f->type.id == WR_T_DECIMAL ? f->type.prec : type == PG_INT2 ? 16 : type == PG_INT4 ? 32 : type == PG_INT8 ? 64 : type == PG_FLOAT4 ? 24 : 53;
    bool     text = type == PG_VARCHAR || type == PG_BPCHAR, number = type == PG_NUMERIC || type == PG_INT2 || type == PG_INT4 || type == PG_INT8 || type == PG_FLOAT4 || type == PG_FLOAT8;
    int      rc = run_f(db, "INSERT INTO pg_catalog.pg_attribute(attrelid, attname, atttypid, attstattarget, attlen, attnum, attndims, attcacheoff, atttypmod, attbyval, attalign, attstorage, attcompression, attnotnull, atthasdef, atthasmissing, attidentity, attgenerated, attisdropped, attislocal, attinhcount, attcollation)"
                            " VALUES (%u, %Q, %u, -1, %d, %u, 0, -1, %d, 1, 'i', 'p', '', %d, 0, 0, '', '', 0, 1, 0, %d)", oid, name, type, pg_size_of(type), at + 1, mod, !f->type.nullable, type == PG_TEXT || text ? 100 : 0);
    char number_text[16] = "NULL", scale_text[16] = "NULL", length_text[16] = "NULL";
    if (number) snprintf(number_text, sizeof number_text, "%d", precision), snprintf(scale_text, sizeof scale_text, "%d", f->type.id == WR_T_DECIMAL ? f->type.scale : 0);
    if (text) snprintf(length_text, sizeof length_text, "%d", f->type.prec);
    if (rc == SQLITE_OK)
        rc = run_f(db, "INSERT INTO information_schema.columns(table_catalog, table_schema, table_name, column_name, ordinal_position, is_nullable, data_type, character_maximum_length, numeric_precision, numeric_precision_radix, numeric_scale, udt_catalog, udt_schema, udt_name, is_identity, is_generated, is_updatable)"
                       " VALUES (%Q, 'public', %Q, %Q, %u, '%s', '%s', %s, %s, %s, %s, %Q, 'pg_catalog', (SELECT typname FROM pg_catalog.pg_type WHERE oid = %u), 'NO', 'NEVER', 'NO')",
                   database, view, name, at + 1, f->type.nullable ? "YES" : "NO", iso_type(type), length_text, number_text, number ? type == PG_NUMERIC ? "10" : "2" : "NULL", scale_text, database, type);
    sqlite3_free(name);
    return rc;
}

static int fill_key(sqlite3 *db, const char *database, const char *view, uint32_t oid, const wr_view *v) {
    uint32_t        n;
    const uint32_t *key = wr_view_key(v, &n);
    const wr_schema *s = wr_view_schema(v);
    wr_sbuf         cols = {0}, zeros = {0};
    if (!n) return SQLITE_OK;
    wr_sbuf_addc(&cols, '['), wr_sbuf_addc(&zeros, '[');
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(&cols, i ? ",%u" : "%u", key[i] + 1), wr_sbuf_addz(&zeros, i ? ",0" : "0");
    wr_sbuf_addc(&cols, ']'), wr_sbuf_addc(&zeros, ']');
    int rc = run_f(db, "INSERT INTO pg_catalog.pg_class(oid, relname, relnamespace, reltype, reloftype, relowner, relam, relfilenode, reltablespace, relpages, reltuples, relallvisible, reltoastrelid, relhasindex, relisshared, relpersistence, relkind, relnatts, relchecks, relhasrules, relhastriggers, relhassubclass, relrowsecurity, relforcerowsecurity, relispopulated, relreplident, relispartition)"
                       " VALUES (%u, '%q_pkey', 2200, 0, 0, 10, 403, 0, 0, 0, 0, 0, 0, 0, 0, 'p', 'i', %u, 0, 0, 0, 0, 0, 0, 1, 'n', 0);"
                       "INSERT INTO pg_catalog.pg_index(indexrelid, indrelid, indnatts, indnkeyatts, indisunique, indnullsnotdistinct, indisprimary, indisexclusion, indimmediate, indisclustered, indisvalid, indcheckxmin, indisready, indislive, indisreplident, indkey, indcollation, indclass, indoption)"
                       " VALUES (%u, %u, %u, %u, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, '%q', '%q', '%q', '%q');"
                       "INSERT INTO pg_catalog.pg_constraint(oid, conname, connamespace, contype, condeferrable, condeferred, convalidated, conrelid, contypid, conindid, conparentid, confrelid, confupdtype, confdeltype, confmatchtype, conislocal, coninhcount, connoinherit, conkey)"
                       " VALUES (%u, '%q_pkey', 2200, 'p', 0, 0, 1, %u, 0, %u, 0, 0, ' ', ' ', ' ', 1, 0, 1, '%q');"
                       "INSERT INTO information_schema.table_constraints(constraint_catalog, constraint_schema, constraint_name, table_catalog, table_schema, table_name, constraint_type, is_deferrable, initially_deferred, enforced)"
                       " VALUES (%Q, 'public', '%q_pkey', %Q, 'public', %Q, 'PRIMARY KEY', 'NO', 'NO', 'YES');"
                       "INSERT INTO pg_catalog.pg_indexes(schemaname, tablename, indexname, indexdef) VALUES ('public', %Q, '%q_pkey', '')",
                   oid + 1, view, n, oid + 1, oid, n, n, cols.at, zeros.at, zeros.at, zeros.at, oid + 2, view, oid, oid + 1, cols.at, database, view, database, view, view, view);
    for (uint32_t i = 0; i < n && rc == SQLITE_OK; i++) {
        rc = run_f(db, "INSERT INTO information_schema.key_column_usage(constraint_catalog, constraint_schema, constraint_name, table_catalog, table_schema, table_name, column_name, ordinal_position) VALUES (%Q, 'public', '%q_pkey', %Q, 'public', %Q, '%.*q', %u)",
                   database, view, database, view, WR_FMT(s->fields[key[i]].name), i + 1);
        if (rc == SQLITE_OK) rc = run_f(db, "INSERT INTO pg_catalog.pg_attribute(attrelid, attname, atttypid, attlen, attnum, atttypmod, attnotnull, atthasdef, attisdropped, attidentity, attgenerated, attcollation) VALUES (%u, '%.*q', %u, -1, %u, -1, 0, 0, 0, '', '', 0)", oid + 1, WR_FMT(s->fields[key[i]].name), pg_oid_of(s->fields[key[i]].type), i + 1);
    }
    wr_sbuf_free(&cols), wr_sbuf_free(&zeros);
    return rc;
}

static int fill_view(sqlite3 *db, const char *database, const wr_view *v, uint32_t oid) {
    const wr_schema *s = wr_view_schema(v);
    wr_str           text = wr_view_query(v);
    uint32_t         n_key;
    wr_view_info     info;
    (void)wr_view_key(v, &n_key);
    wr_view_info_get(v, &info);
    char *name = sqlite3_mprintf("%.*s", WR_FMT(wr_view_name(v)));
    int   rc = run_f(db, "INSERT INTO pg_catalog.pg_class(oid, relname, relnamespace, reltype, reloftype, relowner, relam, relfilenode, reltablespace, relpages, reltuples, relallvisible, reltoastrelid, relhasindex, relisshared, relpersistence, relkind, relnatts, relchecks, relhasrules, relhastriggers, relhassubclass, relrowsecurity, relforcerowsecurity, relispopulated, relreplident, relispartition)"
                         " VALUES (%u, %Q, 2200, 0, 0, 10, 2, %u, 0, 1, %llu, 0, 0, %d, 0, 'p', 'r', %u, 0, 0, 0, 0, 0, 0, 1, 'd', 0);"
                         "INSERT INTO pg_catalog.pg_description(objoid, classoid, objsubid, description) VALUES (%u, 1259, 0, 'materialized view: %.*q');"
                         "INSERT INTO pg_catalog.pg_tables(schemaname, tablename, tableowner, hasindexes, hasrules, hastriggers, rowsecurity) VALUES ('public', %Q, 'weir', %d, 0, 0, 0);"
                         "INSERT INTO pg_catalog.pg_matviews(schemaname, matviewname, matviewowner, hasindexes, ispopulated, definition) VALUES ('public', %Q, 'weir', %d, 1, '%.*q');"
                         "INSERT INTO pg_catalog.pg_stat_user_tables(relid, schemaname, relname, n_live_tup) VALUES (%u, 'public', %Q, %llu);"
                         "INSERT INTO information_schema.tables(table_catalog, table_schema, table_name, table_type, is_insertable_into, is_typed) VALUES (%Q, 'public', %Q, 'BASE TABLE', 'NO', 'NO')",
                     oid, name, oid, (unsigned long long)info.as_of.rows, n_key > 0, s->n, oid, WR_FMT(text), name, n_key > 0, name, n_key > 0, WR_FMT(text), oid, name, (unsigned long long)info.as_of.rows, database, name);
    for (uint32_t i = 0; i < s->n && rc == SQLITE_OK; i++) rc = fill_column(db, database, name, oid, i, &s->fields[i]);
    if (rc == SQLITE_OK) rc = fill_key(db, database, name, oid, v);
    sqlite3_free(name);
    return rc;
}

static int fill_freshness(sqlite3 *db, wr_world *world, const wr_view *v) {
    wr_view_info info;
    char         watermark[32] = "NULL", published[32] = "NULL", age[32] = "NULL";
    wr_view_info_get(v, &info);
    const wr_view_as_of *a = &info.as_of;
    if (a->watermark_us != WR_TIME_MIN && a->watermark_us != WR_TIME_MAX) snprintf(watermark, sizeof watermark, "%" PRId64, a->watermark_us);
    if (a->version) snprintf(published, sizeof published, "%" PRId64, a->published_us), snprintf(age, sizeof age, "%" PRId64, (wr_wall_us(world) - a->published_us) / 1000);
    return run_f(db, "INSERT INTO weir_views VALUES ('%.*q', %lld, %lld, %s, %s, %s, %lld, %lld, %u, %d)", WR_FMT(wr_view_name(v)), (long long)a->version, (long long)a->run, watermark, published, age, (long long)a->rows, (long long)info.bytes, info.pins, info.ended);
}

int catalog_fill(sqlite3 *db, wr_world *world, const char *database, wr_view *const *views, uint32_t n) {
    int rc = run(db, "BEGIN");
    if (rc == SQLITE_OK) rc = run(db, EMPTY);
    if (rc == SQLITE_OK)
        rc = run_f(db, "INSERT INTO pg_catalog.pg_database(oid, datname, datdba, encoding, datlocprovider, datistemplate, datallowconn, datconnlimit, dattablespace, datcollate, datctype) VALUES (5, %Q, 10, 6, 'c', 0, 1, -1, 1663, 'C.UTF-8', 'C.UTF-8');"
                       "INSERT INTO information_schema.schemata(catalog_name, schema_name, schema_owner) VALUES (%Q, 'public', 'weir'), (%Q, 'pg_catalog', 'weir'), (%Q, 'information_schema', 'weir')", database, database, database, database);
    for (uint32_t i = 0; i < n && rc == SQLITE_OK; i++) {
        rc = fill_view(db, database, views[i], FIRST_OID + i * OIDS_A_VIEW);
        if (rc == SQLITE_OK) rc = fill_freshness(db, world, views[i]);
    }
    return run(db, rc == SQLITE_OK ? "COMMIT" : "ROLLBACK"), rc;
}

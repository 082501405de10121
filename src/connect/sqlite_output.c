/* connect/sqlite_output.c: tables of an SQLite database in two versions: NAME__next takes the place of NAME, in one transaction for all of a database.
 *
 * Idea       ALTER TABLE renames: NAME to NAME__old, NAME__next to NAME. Indexes and triggers that people made on NAME are made again on the new one; views
 *            name it as before. weir_epoch follows in the same transaction: the new table's epoch is that of the checkpoint which is put in
 *            place of the job's.
 * Invariant  done <=> there is no NAME__next. Readers see all old tables or all new ones.
 * Thread     any; a connection of its own.                                                                              */
#include "connect/parts.h"
#include <sqlite3.h>
#include <stdio.h>

enum { BUSY_MS = 30000 };

typedef struct database { sqlite3 *db; wr_str path; } database;

WR_COLD static wr_status fail(const database *d, const char *what, wr_str table, wr_err *err) {
    int kind = sqlite3_errcode(d->db) & 0xFF;
    wr_fail(err, WR_IO, kind == SQLITE_BUSY || kind == SQLITE_LOCKED ? "55P03" : kind == SQLITE_FULL ? "53100" : "58030", "cannot %s the table '%.*s' in the SQLite database '%.*s': %s",
            what, WR_FMT(table), WR_FMT(d->path), sqlite3_errmsg(d->db));
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED) wr_err_hint(err, "another process holds a write lock; 'fuser -v %.*s' shows who has it open", WR_FMT(d->path));
    return WR_IO;
}

static wr_status run(const database *d, wr_str table, const char *what, char *sql /* (takes) from sqlite3_mprintf */, wr_err *err) {
    int code = sqlite3_exec(d->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? WR_OK : fail(d, what, table, err);
}

static wr_status open_it(const wr_output *o, database *d, wr_err *err) {
    wr_sbuf path = {0};
    wr_sbuf_add_str(&path, o->path);
    *d = (database){.path = o->path};
    int code = sqlite3_open_v2(path.at, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    wr_sbuf_free(&path);
    if (code != SQLITE_OK) return fail(d, "open", o->table, err);
    sqlite3_busy_timeout(d->db, BUSY_MS);
    sqlite3_exec(d->db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON", NULL, NULL, NULL); /* views and triggers keep their words */
    return WR_OK;
}

static wr_status is_there(const database *d, wr_str table, const char *suffix, bool *there, wr_err *err) {
    sqlite3_stmt *st;
    if (sqlite3_prepare_v2(d->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 || ?2 COLLATE NOCASE", -1, &st, NULL) != SQLITE_OK) return fail(d, "look for", table, err);
    sqlite3_bind_text(st, 1, table.ptr, (int)table.len, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, suffix, -1, SQLITE_STATIC);
    int code = sqlite3_step(st);
    *there = code == SQLITE_ROW;
    sqlite3_finalize(st);
    return code == SQLITE_ROW || code == SQLITE_DONE ? WR_OK : fail(d, "look for", table, err);
}

wr_status sqlite_output_look(const wr_output *o, wr_err *err) {
    database  d;
    bool      there = false;
    wr_status status = open_it(o, &d, err);
    if (status == WR_OK) status = is_there(&d, o->table, NEXT_TABLE, &there, err);
    if (status == WR_OK && !there) status = wr_fail(err, WR_DATA, "42P01", "the SQLite database '%.*s' has no table '%.*s" NEXT_TABLE "': somebody removed it", WR_FMT(o->path), WR_FMT(o->table));
    sqlite3_close(d.db);
    return status;
}

static int len(wr_str s) { return (int)s.len; } /* for %.*w */

wr_status sqlite_output_discard(const wr_output *o, wr_err *err) {
    database d;
    wr_sbuf  path = {0};
    wr_err   ignored;
    wr_file_info info;
    bool     there;
    wr_world *world = wr_world_posix(); /* databases are real files in every world */
    wr_sbuf_add_str(&path, o->path);
    wr_status status = world->vt->stat(world, path.at, &info, &there, &ignored);
    wr_sbuf_free(&path);
    if (status != WR_OK || !there) return WR_OK;
    status = open_it(o, &d, err);
    if (status == WR_OK) status = run(&d, o->table, "remove what was begun of", sqlite3_mprintf("DROP TABLE IF EXISTS \"%.*w" NEXT_TABLE "\"", len(o->table), o->table.ptr), err);
    if (status == WR_OK) status = is_there(&d, WR_STR("weir_epoch"), "", &there, err);
    if (status == WR_OK && there)
        status = run(&d, o->table, "forget the epoch of", sqlite3_mprintf("DELETE FROM weir_epoch WHERE job = '%.*q' AND sink = '%.*q" NEXT_TABLE "'", len(o->job), o->job.ptr, len(o->sink), o->sink.ptr), err);
    sqlite3_close(d.db);
    return status;
}

/* Indexes and triggers that were made by hand: their texts, and they are dropped, since their names are taken as long as the old table has them. */
static wr_status take_makings(const database *d, wr_str table, wr_sbuf *again, wr_err *err) {
    static const char *const SQL = "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL";
    sqlite3_stmt *st;
    wr_sbuf       drops = {0};
    if (sqlite3_prepare_v2(d->db, SQL, -1, &st, NULL) != SQLITE_OK) return fail(d, "look at", table, err);
    sqlite3_bind_text(st, 1, table.ptr, (int)table.len, SQLITE_STATIC);
    int code;
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        char *drop = sqlite3_mprintf("DROP %s \"%w\";", sqlite3_column_text(st, 0), sqlite3_column_text(st, 1));
        wr_sbuf_addz(&drops, drop);
        wr_sbuf_printf(again, "%s;\n", (const char *)sqlite3_column_text(st, 2));
        sqlite3_free(drop);
    }
    sqlite3_finalize(st);
    wr_status status = code == SQLITE_DONE ? WR_OK : fail(d, "look at", table, err);
    if (status == WR_OK && drops.len) status = run(d, table, "take the indexes from", sqlite3_mprintf("%s", drops.at), err);
    wr_sbuf_free(&drops);
    return status;
}

static wr_status swap_one(const database *d, const wr_output *o, uint64_t epoch, wr_err *err) {
    bool next, live;
    WR_TRY(is_there(d, o->table, NEXT_TABLE, &next, err));
    if (!next) return WR_OK; /* done before */
    WR_TRY(is_there(d, o->table, "", &live, err));
    wr_sbuf   again = {0};
    int       n = len(o->table), s = len(o->sink), j = len(o->job);
    const char *t = o->table.ptr;
    wr_status status = run(d, o->table, "remove the older version of", sqlite3_mprintf("DROP TABLE IF EXISTS \"%.*w__old\"", n, t), err);
    if (status == WR_OK && live) status = take_makings(d, o->table, &again, err);
    if (status == WR_OK && live) status = run(d, o->table, "rename", sqlite3_mprintf("ALTER TABLE \"%.*w\" RENAME TO \"%.*w__old\"", n, t, n, t), err);
    if (status == WR_OK) status = run(d, o->table, "put the new version in the place of", sqlite3_mprintf("ALTER TABLE \"%.*w" NEXT_TABLE "\" RENAME TO \"%.*w\"", n, t, n, t), err);
    if (status == WR_OK && again.len) {
        status = run(d, o->table, "make the indexes and triggers again on", sqlite3_mprintf("%s", again.at), err);
        if (status != WR_OK) wr_err_hint(err, "drop those that name columns which are not there any more, then start weir again: it goes on here");
    }
    if (status == WR_OK) status = run(d, o->table, "note the epoch of", sqlite3_mprintf("DELETE FROM weir_epoch WHERE job = '%.*q' AND sink = '%.*q" NEXT_TABLE "'", j, o->job.ptr, s, o->sink.ptr), err);
    if (status == WR_OK) status = run(d, o->table, "note the epoch of", sqlite3_mprintf("INSERT OR REPLACE INTO weir_epoch (job, sink, epoch) VALUES ('%.*q', '%.*q', %llu)",
                                                                                       j, o->job.ptr, s, o->sink.ptr, (unsigned long long)epoch), err);
    wr_sbuf_free(&again);
    return status;
}

wr_status sqlite_outputs_swap(const wr_output *outputs, uint32_t n, uint64_t epoch, uint64_t was, wr_err *err) {
    database  d;
    wr_status status = open_it(&outputs[0], &d, err);
    if (status == WR_OK) status = run(&d, outputs[0].table, "begin a transaction for", sqlite3_mprintf("BEGIN IMMEDIATE"), err);
    for (uint32_t i = 0; i < n && status == WR_OK; i++) {
        const wr_output *o = &outputs[i];
        if (!o->database || !wr_str_eq(o->path, outputs[0].path)) continue;
        if (!o->kept) status = swap_one(&d, o, epoch, err);
        else status = run(&d, o->table, "note the epoch of", sqlite3_mprintf("UPDATE weir_epoch SET epoch = %llu WHERE job = '%.*q' AND sink = '%.*q' AND epoch = %llu",
                                                                            (unsigned long long)epoch, len(o->job), o->job.ptr, len(o->sink), o->sink.ptr, (unsigned long long)was), err);
    }
    if (status == WR_OK) status = run(&d, outputs[0].table, "commit the swap of", sqlite3_mprintf("COMMIT"), err);
    if (status != WR_OK && d.db) sqlite3_exec(d.db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(d.db);
    return status;
}

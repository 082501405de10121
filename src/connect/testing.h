/* connect/testing.h: for the tests of this room: tables from a few lines, a source read to its end as text, files in a new directory.   */
#pragma once
#include "connect/parts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct rig {
    char           dir[64];
    wr_arena      *arena;
    wr_diags       diags;
    wr_account     acct;
    wr_connect_ctx ctx;
    wr_err         err;
} rig;

static inline void rig_open(rig *r) {
    memset(r, 0, sizeof *r);
    snprintf(r->dir, sizeof r->dir, "/tmp/weir_connect_XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    r->arena = wr_arena_new(NULL);
    wr_diags_init(&r->diags);
    wr_account_init(&r->acct, NULL, "test", 0);
    r->ctx = (wr_connect_ctx){.world = wr_world_posix(), .arena = r->arena, .acct = &r->acct, .diags = &r->diags, .n_workers = 2, .batch_rows = 1000};
}

static inline void rig_close(rig *r) {
    assert_int_equal(wr_account_bytes(&r->acct), 0);
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", r->dir);
    assert_int_equal(system(command), 0);
    wr_arena_free(r->arena);
    wr_diags_free(&r->diags);
}

static inline char *in_dir(rig *r, const char *name) { return wr_arena_printf(r->arena, "%s/%s", r->dir, name); }

static inline void put_file(rig *r, const char *name, const char *mode, const char *text, size_t len) {
    FILE *f = fopen(in_dir(r, name), mode);
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}
#define PUT(r, name, text) put_file((r), (name), "w", (text), strlen(text))
#define APPEND(r, name, text) put_file((r), (name), "a", (text), strlen(text))

static inline char *get_file(rig *r, const char *name) {
    wr_sbuf out = {0};
    FILE   *f = fopen(in_dir(r, name), "r");
    if (!f) return NULL;
    char   buf[4096];
    size_t n;
    while ((n = fread(buf, 1, sizeof buf, f)) > 0) wr_sbuf_add(&out, buf, n);
    fclose(f);
    char *text = wr_arena_strndup(r->arena, out.at ? out.at : "", out.len);
    wr_sbuf_free(&out);
    return text;
}

/* options: key, value, key, value, NULL */
static inline wr_table_info table_of(rig *r, const wr_field *fields, uint32_t n, ...) {
    wr_schema *schema = wr_new(r->arena, wr_schema);
    wr_option *options = wr_new_n(r->arena, wr_option, 32);
    uint32_t   n_options = 0;
    va_list    args;
    *schema = (wr_schema){n, fields};
    va_start(args, n);
    for (const char *key; (key = va_arg(args, const char *));) options[n_options++] = (wr_option){wr_str_of(key), wr_str_of(va_arg(args, const char *)), {0}};
    va_end(args);
    return (wr_table_info){.name = WR_STR("t"), .schema = schema, .n_physical = n, .options = {n_options, options}, .base_dir = WR_STR(".")};
}

static inline wr_source *source_of(rig *r, const wr_table_info *t) {
    wr_source          *s = NULL;
    const wr_connector *c = wr_connector_find(wr_option_string(&t->options, NULL, "connector"));
    assert_non_null(c);
    wr_status status = c->source_new(t, &r->ctx, &s, &r->err);
    if (status != WR_OK) return NULL;
    return s;
}

static inline wr_sink *sink_of(rig *r, const wr_table_info *t) {
    wr_sink            *s = NULL;
    const wr_connector *c = wr_connector_find(wr_option_string(&t->options, NULL, "connector"));
    assert_non_null(c);
    return c->sink_new(t, &r->ctx, &s, &r->err) == WR_OK ? s : NULL;
}

static inline void dump_chunk(wr_source *s, const wr_chunk *chunk, wr_sbuf *out) {
    wr_decoded d = {0};
    wr_err     err = {0};
    wr_sbuf    name = {0};
    assert_int_equal(s->vt->decode(s, 1, chunk, &d, &err), WR_OK);
    s->vt->partition_name(s, chunk->partition, &name);
    const char *base = strrchr(name.at, '/') ? strrchr(name.at, '/') + 1 : name.at;
    for (uint32_t b = 0; b < d.batches.n; b++) {
        for (uint32_t i = 0; i < d.batches.at[b]->n_rows; i++) {
            wr_sbuf_printf(out, "%s:", base);
            for (uint32_t c = 0; c < d.batches.at[b]->n_cols; c++) {
                if (c) wr_sbuf_addc(out, ',');
                wr_vec_text(&d.batches.at[b]->cols[c], i, NULL, out);
            }
            wr_sbuf_addc(out, '\n');
        }
    }
    for (uint32_t i = 0; i < d.bad.n; i++) wr_sbuf_printf(out, "%s!%s@%llu\n", base, wr_bad_kind_name(d.bad.at[i].kind), (unsigned long long)(chunk->offset + d.bad.at[i].offset));
    wr_sbuf_free(&name);
    wr_decoded_free(&d);
}

/* All chunks until END or WAIT; the state it ended in. */
static inline wr_next drain(rig *r, wr_source *s, wr_sbuf *out) {
    for (;;) {
        wr_chunk chunk;
        wr_next  state;
        int64_t  retry = 0;
        assert_int_equal(s->vt->next(s, NULL, &chunk, &state, &retry, &r->err), WR_OK);
        if (state != WR_NEXT_CHUNK) return state;
        assert_int_equal(wr_chunk_read(s, &chunk, &r->err), WR_OK);
        dump_chunk(s, &chunk, out);
        wr_mem_unref(chunk.mem);
    }
}

#define FIELD(NAME, TYPE) {WR_STR(NAME), TYPE}

/* op/op_testkit.h: what every operator test needs: rows written as text become batches, and what an operator emits becomes text.
 *
 * Idea       a row is one line (or separated by ';'): [kind] value value ... [!late]. kind is +I (default), -U, +U or -D; NULL is a null;
 *            'a b' quotes text; time points are seconds with a fraction ("9.999", "-3"); a last token !10.5 sets row_wm_us to 10.5 s.
 *            Output lines have the same form, so expected rows are written as they are read. Nothing here depends on value.c or text code.
 * Use        tk t; tk_init(&t, 2048); const wr_schema *in = tk_schema(&t, "k STRING, v INT, ts TIMESTAMP(3)");
 *            op = wr_x_new(&opts, in, &t.ctx); tk_send(&t, op, 0, in, "a 1 0.5; b 2 3"); tk_watermark(&t, op, 10); tk_expect(&t, "+I a 1\n");
 * Invariant  every failure of an operator is an assertion of the test unless tk_try_send is used.
 * Thread     one test, one tk.                                                                                             */
#pragma once
#include "op/op.h"
#include "state/tier_testkit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct tk {
    wr_out      out; /* first: the operator's out is cast back */
    wr_arena   *arena;
    wr_account  acct;
    wr_ledger   ledger;
    wr_op_ctx   ctx;
    wr_sbuf     text;        /* what came out since the last take */
    wr_sbuf     scratch;     /* result of tk_sorted, tk_fold */
    uint32_t    n_batches;   /* emitted since tk_init */
    uint32_t    full_every;  /* out->full says true after every n-th batch, 0 = never */
    uint32_t    feed_rows;   /* most rows of a batch that tk_send makes */
    bool        send_hash;   /* tk_send_keys sets batch->hash */
    bool        full;
    wr_err      err;
    tier_kit    tier;        /* open when tk_spills */
    struct tk  *next;
} tk;

/* With it every map is attached and spills all it can between two calls of its operator; each operator has tables of its own. */
WR_UNUSED static bool tk_spills;
WR_UNUSED static tk *tk_all; /* those that are open */
WR_UNUSED static void tk_next_op(void) {
    static uint32_t n;
    for (tk *t = tk_spills ? tk_all : NULL; t; t = t->next) t->ctx.id = wr_arena_printf(t->arena, "op%u", n);
    n++;
}
#define wr_group_agg_new(...) (tk_next_op(), wr_group_agg_new(__VA_ARGS__))
#define wr_window_agg_new(...) (tk_next_op(), wr_window_agg_new(__VA_ARGS__))
#define wr_dedup_new(...) (tk_next_op(), wr_dedup_new(__VA_ARGS__))
#define wr_top_n_new(...) (tk_next_op(), wr_top_n_new(__VA_ARGS__))
#define wr_normalize_new(...) (tk_next_op(), wr_normalize_new(__VA_ARGS__))
#define wr_join_new(...) (tk_next_op(), wr_join_new(__VA_ARGS__))
#define wr_interval_join_new(...) (tk_next_op(), wr_interval_join_new(__VA_ARGS__))
#define wr_temporal_join_new(...) (tk_next_op(), wr_temporal_join_new(__VA_ARGS__))
#define wr_window_join_new(...) (tk_next_op(), wr_window_join_new(__VA_ARGS__))
#define wr_over_new(...) (tk_next_op(), wr_over_new(__VA_ARGS__))
#define wr_assign_new(...) (tk_next_op(), wr_assign_new(__VA_ARGS__))
WR_UNUSED static void tk_press(tk *t, wr_op *op) {
    if (tk_spills) assert_int_equal(op->vt->limit(op, 1, &t->err), WR_OK);
}
/* All tests twice: in memory and through the tier. */
#define tk_run_tests(tests) (tk_spills = false, cmocka_run_group_tests_name("in memory", tests, NULL, NULL)) + \
                            (tk_spills = true, cmocka_run_group_tests_name("through the tier", tests, NULL, NULL))

WR_UNUSED static wr_type tk_type(tk *t, const char *text) {
    static const struct { const char *name; wr_tid id; int prec; } names[] = {
        {"BOOLEAN", WR_T_BOOLEAN, 0}, {"TINYINT", WR_T_TINYINT, 0}, {"SMALLINT", WR_T_SMALLINT, 0}, {"INT", WR_T_INT, 0}, {"BIGINT", WR_T_BIGINT, 0},
        {"FLOAT", WR_T_FLOAT, 0}, {"DOUBLE", WR_T_DOUBLE, 0}, {"DECIMAL", WR_T_DECIMAL, 10}, {"STRING", WR_T_VARCHAR, WR_LENGTH_MAX},
        {"VARCHAR", WR_T_VARCHAR, WR_LENGTH_MAX}, {"DATE", WR_T_DATE, 0}, {"TIME", WR_T_TIME, 0}, {"TIMESTAMP_LTZ", WR_T_TIMESTAMP_LTZ, 3},
        {"TIMESTAMP", WR_T_TIMESTAMP, 3}, {"ARRAY", WR_T_ARRAY, 0}, {"MULTISET", WR_T_MULTISET, 0},
    };
    (void)t;
    for (size_t i = 0; i < WR_COUNT_OF(names); i++) {
        size_t len = strlen(names[i].name);
        if (strncmp(text, names[i].name, len) != 0 || (text[len] >= 'A' && text[len] <= 'Z') || text[len] == '_') continue;
        wr_type type = wr_type_prec(names[i].id, names[i].prec);
        int prec = 0, scale = 0;
        if (sscanf(text + len, "(%d ,%d)", &prec, &scale) == 2 || sscanf(text + len, "(%d,%d)", &prec, &scale) == 2) {
            type.prec = prec, type.scale = (uint8_t)scale;
        } else if (sscanf(text + len, "(%d)", &prec) == 1) {
            type.prec = prec;
        }
        return type;
    }
    fail_msg("testkit: unknown type %s", text);
    return wr_type_of(WR_T_NULL);
}

/* "k STRING, v INT, d DECIMAL(10,2)"; a '*' after a type marks the rowtime. */
WR_UNUSED static const wr_schema *tk_schema(tk *t, const char *text) {
    wr_field fields[64];
    uint32_t n = 0;
    for (const char *at = text; *at;) {
        while (*at == ' ' || *at == ',') at++;
        const char *name = at;
        while (*at && *at != ' ') at++;
        fields[n].name = wr_str_dup(t->arena, (wr_str){name, (size_t)(at - name)});
        while (*at == ' ') at++;
        fields[n].type = tk_type(t, at);
        int depth = 0;
        for (; *at && (depth || *at != ','); at++) {
            if (*at == '(') depth++;
            if (*at == ')') depth--;
            if (*at == '*') fields[n].type.attr = WR_TIME_ROWTIME;
        }
        n++;
    }
    wr_schema *schema = wr_new(t->arena, wr_schema);
    wr_field  *copy = wr_new_n(t->arena, wr_field, n);
    memcpy(copy, fields, n * sizeof *copy);
    *schema = (wr_schema){n, copy};
    return schema;
}

/* "12.3456" with `digits` fraction digits kept, as an integer. */
WR_UNUSED static wr_i128 tk_scaled(const char *at, int digits) {
    bool neg = *at == '-';
    if (neg) at++;
    wr_i128 v = 0;
    for (; *at >= '0' && *at <= '9'; at++) v = v * 10 + (*at - '0');
    if (*at == '.') at++;
    for (int i = 0; i < digits; i++) {
        v = v * 10 + (*at >= '0' && *at <= '9' ? *at - '0' : 0);
        if (*at >= '0' && *at <= '9') at++;
    }
    return neg ? -v : v;
}
WR_UNUSED static int64_t tk_us(double seconds) { return (int64_t)(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5)); }

WR_UNUSED static void tk_set(wr_vec *vec, uint32_t row, const char *token, wr_mem *mem) {
    if (strcmp(token, "NULL") == 0) {
        wr_valid_set(vec->valid, row, false);
        return;
    }
    int64_t i = strtoll(token, NULL, 10);
    if (vec->type.id == WR_T_TIMESTAMP || vec->type.id == WR_T_TIMESTAMP_LTZ) i = (int64_t)tk_scaled(token, vec->type.prec > 6 ? 9 : 6);
    switch (wr_type_storage(vec->type)) {
    case WR_S_BOOL: ((uint8_t *)vec->data)[row] = token[0] == 't'; break;
    case WR_S_I8: ((int8_t *)vec->data)[row] = (int8_t)i; break;
    case WR_S_I16: ((int16_t *)vec->data)[row] = (int16_t)i; break;
    case WR_S_I32: ((int32_t *)vec->data)[row] = (int32_t)i; break;
    case WR_S_I64: ((int64_t *)vec->data)[row] = i; break;
    case WR_S_I128: ((wr_i128 *)vec->data)[row] = tk_scaled(token, vec->type.scale); break;
    case WR_S_F32: ((float *)vec->data)[row] = strtof(token, NULL); break;
    case WR_S_F64: ((double *)vec->data)[row] = strtod(token, NULL); break;
    case WR_S_STR: {
        size_t len = strlen(token);
        char  *copy = wr_mem_alloc(mem, len + 1);
        memcpy(copy, token, len + 1);
        ((wr_sview *)vec->data)[row] = wr_sview_borrow(copy, len);
        break;
    }
    default: fail_msg("testkit: no literal for this type");
    }
}

WR_UNUSED static const char *tk_token(const char *at, char *token, size_t cap) { /* NULL at the end of the row */
    while (*at == ' ' || *at == '\t') at++;
    if (!*at || *at == '\n' || *at == ';') return NULL;
    size_t len = 0;
    char   stop = ' ';
    if (*at == '\'') stop = *at++;
    while (*at && *at != stop && (stop == '\'' || (*at != '\n' && *at != ';'))) {
        if (len + 1 < cap) token[len++] = *at;
        at++;
    }
    token[len] = 0;
    return stop == '\'' && *at ? at + 1 : at;
}

/* Reads up to `max` rows from *at and moves it; NULL when there are none left. */
WR_UNUSED static wr_batch *tk_batch_some(const wr_schema *schema, const char **at, uint32_t max) {
    wr_batch *batch = wr_batch_new(schema->n, 4096);
    for (uint32_t c = 0; c < schema->n; c++) {
        wr_vec_init(&batch->cols[c], schema->fields[c].type, max, true, batch->mem);
        size_t size = wr_storage_size(wr_type_storage(schema->fields[c].type));
        if (size) memset(batch->cols[c].data, 0, size * max);
    }
    uint8_t *kinds = wr_mem_calloc(batch->mem, max + 1);
    int64_t *late = wr_mem_alloc(batch->mem, (max + 1) * sizeof *late);
    uint32_t n = 0;
    bool     any_late = false, any_kind = false;
    char     token[512];
    while (n < max) {
        while (**at == '\n' || **at == ';' || **at == ' ') (*at)++;
        if (!**at) break;
        late[n] = WR_TIME_MIN;
        static const char *const kind_names[] = {"+I", "-U", "+U", "-D"};
        const char *next = tk_token(*at, token, sizeof token);
        for (int k = 0; k < 4 && next; k++)
            if (strcmp(token, kind_names[k]) == 0) {
                kinds[n] = (uint8_t)k, any_kind |= k != 0;
                *at = next;
                break;
            }
        for (uint32_t c = 0; c < schema->n; c++) {
            next = tk_token(*at, token, sizeof token);
            if (!next) fail_msg("testkit: row %u has too few values near '%.40s'", n, *at);
            tk_set(&batch->cols[c], n, token, batch->mem);
            *at = next;
        }
        while ((next = tk_token(*at, token, sizeof token))) {
            if (token[0] != '!') fail_msg("testkit: row %u has too many values near '%.40s'", n, *at);
            late[n] = (int64_t)tk_scaled(token + 1, 6), any_late = true;
            *at = next;
        }
        n++;
    }
    if (!n) {
        wr_batch_unref(batch);
        return NULL;
    }
    batch->n_rows = n;
    for (uint32_t c = 0; c < schema->n; c++) batch->cols[c].n = n;
    if (any_kind) batch->kinds = kinds;
    if (any_late) batch->row_wm_us = late;
    return batch;
}
WR_UNUSED static wr_batch *tk_batch(const wr_schema *schema, const char *rows) { return tk_batch_some(schema, &rows, WR_BATCH_MAX); }

WR_UNUSED static void tk_decimal_text(wr_i128 v, int scale, wr_sbuf *out) {
    char digits[64];
    int  n = 0;
    bool neg = v < 0;
    wr_u128 u = neg ? -(wr_u128)v : (wr_u128)v;
    do digits[n++] = (char)('0' + (int)(u % 10)), u /= 10;
    while (u || n <= scale);
    if (neg) wr_sbuf_addc(out, '-');
    while (n--) {
        wr_sbuf_addc(out, digits[n]);
        if (n == scale && scale) wr_sbuf_addc(out, '.');
    }
}
WR_UNUSED static void tk_value_text(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "NULL");
        return;
    }
    if (vec->type.id == WR_T_TIMESTAMP || vec->type.id == WR_T_TIMESTAMP_LTZ) {
        wr_sbuf one = {0};
        tk_decimal_text(((int64_t *)vec->data)[row], vec->type.prec > 6 ? 9 : 6, &one);
        while (one.at[one.len - 1] == '0') one.len--;
        if (one.at[one.len - 1] == '.') one.len--;
        wr_sbuf_add(out, one.at, one.len);
        wr_sbuf_free(&one);
        return;
    }
    switch (wr_type_storage(vec->type)) {
    case WR_S_BOOL: wr_sbuf_addz(out, ((uint8_t *)vec->data)[row] ? "true" : "false"); break;
    case WR_S_I8: wr_sbuf_printf(out, "%d", ((int8_t *)vec->data)[row]); break;
    case WR_S_I16: wr_sbuf_printf(out, "%d", ((int16_t *)vec->data)[row]); break;
    case WR_S_I32: wr_sbuf_printf(out, "%d", ((int32_t *)vec->data)[row]); break;
    case WR_S_I64: wr_sbuf_printf(out, "%lld", (long long)((int64_t *)vec->data)[row]); break;
    case WR_S_I128: tk_decimal_text(((wr_i128 *)vec->data)[row], vec->type.scale, out); break;
    case WR_S_F32: wr_sbuf_printf(out, "%.7g", (double)((float *)vec->data)[row]); break;
    case WR_S_F64: wr_sbuf_printf(out, "%.15g", ((double *)vec->data)[row]); break;
    case WR_S_STR: wr_sbuf_add_str(out, wr_sview_str((wr_sview *)vec->data + row)); break;
    case WR_S_LIST: {
        wr_list list = ((wr_list *)vec->data)[row];
        wr_sbuf_addc(out, '[');
        for (uint32_t i = 0; i < list.len; i++) {
            if (i) wr_sbuf_addc(out, ',');
            tk_value_text(&vec->kids[0], list.offset + i, out);
            if (vec->type.id == WR_T_MAP) wr_sbuf_addc(out, '='), tk_value_text(&vec->kids[1], list.offset + i, out);
        }
        wr_sbuf_addc(out, ']');
        break;
    }
    default: wr_sbuf_addz(out, "?");
    }
}
WR_UNUSED static void tk_batch_text(const wr_batch *batch, wr_sbuf *out) {
    static const char *const kind_names[] = {"+I", "-U", "+U", "-D"};
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_sbuf_addz(out, kind_names[wr_batch_kind(batch, row)]);
        for (uint32_t c = 0; c < batch->n_cols; c++) {
            wr_sbuf_addc(out, ' ');
            tk_value_text(&batch->cols[c], row, out);
        }
        if (batch->row_wm_us && batch->row_wm_us[row] != WR_TIME_MIN) wr_sbuf_printf(out, " !%g", (double)batch->row_wm_us[row] / 1e6);
        wr_sbuf_addc(out, '\n');
    }
}

WR_UNUSED static wr_status tk_emit(wr_out *out, wr_batch *batch, wr_err *err) {
    tk *t = (tk *)out;
    (void)err;
    uint32_t live = wr_batch_live(batch);
    assert_true(live > 0 && live <= t->ctx.batch_rows && batch->n_rows <= WR_BATCH_MAX);
    for (uint32_t i = 0; i < live; i++) t->ledger.out_kind[wr_batch_kind(batch, wr_batch_row(batch, i))]++, t->ledger.out++;
    tk_batch_text(batch, &t->text);
    wr_batch_unref(batch);
    t->n_batches++;
    if (t->full_every && t->n_batches % t->full_every == 0) t->full = true;
    return WR_OK;
}
WR_UNUSED static bool tk_full(wr_out *out) { return ((tk *)out)->full; }

WR_UNUSED static void tk_init(tk *t, uint32_t batch_rows) {
    memset(t, 0, sizeof *t);
    t->out = (wr_out){tk_emit, tk_full};
    t->arena = wr_arena_new(NULL);
    wr_account_init(&t->acct, NULL, "test", 0);
    t->ctx = (wr_op_ctx){.acct = &t->acct, .ledger = &t->ledger, .n_workers = 1, .n_key_groups = WR_KEY_GROUPS_DEFAULT,
                         .group_to = WR_KEY_GROUPS_DEFAULT, .batch_rows = batch_rows};
    t->feed_rows = WR_BATCH_MAX;
    t->next = tk_all, tk_all = t;
    if (!tk_spills) return;
    tier_kit_open(&t->tier, 0);
    t->ctx.tier = t->tier.tier;
}
/* Also asserts that the account reads 0: close the operators first. */
WR_UNUSED static void tk_free(tk *t) {
    assert_int_equal(wr_account_bytes(&t->acct), 0);
    if (t->tier.tier) tier_kit_close(&t->tier);
    for (tk **at = &tk_all; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    wr_sbuf_free(&t->text);
    wr_sbuf_free(&t->scratch);
    wr_arena_free(t->arena);
}
WR_UNUSED static void tk_ok(tk *t, wr_status s) {
    if (s != WR_OK) fail_msg("operator failed: %s: %s %s", wr_status_name(s), t->err.message, t->err.detail);
}

/* Sends the rows, feed_rows at a time; with n_keys > 0 each batch carries the hash of those columns. */
WR_UNUSED static wr_status tk_try_send(tk *t, wr_op *op, uint32_t input, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys,
                                       const char *rows) {
    wr_batch *batch;
    while ((batch = tk_batch_some(schema, &rows, t->feed_rows))) {
        if (n_keys) {
            uint64_t *hash = wr_mem_alloc(batch->mem, batch->n_rows * sizeof *hash);
            wr_batch_hash(batch, keys, n_keys, hash);
            batch->hash = hash;
        }
        t->ledger.in[input] += wr_batch_live(batch);
        tk_press(t, op);
        wr_status s = op->vt->on_batch(op, input, batch, &t->out, &t->err);
        wr_batch_unref(batch);
        if (s != WR_OK) return s;
    }
    return WR_OK;
}
WR_UNUSED static void tk_send_keys(tk *t, wr_op *op, uint32_t input, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys,
                                   const char *rows) {
    tk_ok(t, tk_try_send(t, op, input, schema, keys, n_keys, rows));
}
WR_UNUSED static void tk_send(tk *t, wr_op *op, uint32_t input, const wr_schema *schema, const char *rows) {
    tk_ok(t, tk_try_send(t, op, input, schema, NULL, 0, rows));
}
/* Watermark in microseconds, repeated while the operator says there is more; tk_watermark takes seconds. */
WR_UNUSED static void tk_watermark_us(tk *t, wr_op *op, int64_t wm_us) {
    bool more = true;
    for (uint32_t rounds = 0; more; rounds++) {
        assert_true(rounds < 1000000);
        more = false;
        t->full = false;
        tk_press(t, op);
        tk_ok(t, op->vt->on_watermark(op, wm_us, &t->out, &more, &t->err));
    }
    t->full = false;
}
WR_UNUSED static void tk_watermark(tk *t, wr_op *op, double seconds) { tk_watermark_us(t, op, tk_us(seconds)); }
WR_UNUSED static void tk_end(tk *t, wr_op *op) { tk_watermark_us(t, op, WR_TIME_MAX); }

/* ---- looking at the output ---- */
WR_UNUSED static int tk_line_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
WR_UNUSED static uint32_t tk_lines(char *text, char ***lines) {
    uint32_t n = 0, cap = 16;
    char   **list = malloc(cap * sizeof *list);
    for (char *at = text; at && *at;) {
        char *end = strchr(at, '\n');
        if (end) *end = 0;
        if (n == cap) list = realloc(list, (cap *= 2) * sizeof *list);
        if (*at) list[n++] = at;
        at = end ? end + 1 : NULL;
    }
    *lines = list;
    return n;
}
WR_UNUSED static void tk_clear(tk *t) { wr_sbuf_clear(&t->text); if (t->text.at) t->text.at[0] = 0; }
/* Sorts lines of any text; the result lives until the next call. */
WR_UNUSED static const char *tk_sort_text(tk *t, const char *text) {
    char  *copy = wr_strdup(text), **lines;
    uint32_t n = tk_lines(copy, &lines);
    if (n) qsort(lines, n, sizeof *lines, tk_line_order);
    wr_sbuf_clear(&t->scratch);
    wr_sbuf_addz(&t->scratch, "");
    for (uint32_t i = 0; i < n; i++) wr_sbuf_addz(&t->scratch, lines[i]), wr_sbuf_addc(&t->scratch, '\n');
    free(lines);
    wr_free(copy);
    return n ? t->scratch.at : "";
}
WR_UNUSED static const char *tk_text(tk *t) { return t->text.len ? t->text.at : ""; }
/* Adds +I/+U rows and takes -U/-D rows away; fails if a row is removed that is not there. The rest, sorted, without kinds. */
WR_UNUSED static const char *tk_fold_text(tk *t, const char *changelog) {
    char  *copy = wr_strdup(changelog), **lines;
    uint32_t n = tk_lines(copy, &lines), n_rows = 0;
    char **rows = malloc((n + 1) * sizeof *rows);
    for (uint32_t i = 0; i < n; i++) {
        char *row = lines[i] + 3;
        if (lines[i][0] == '+') {
            rows[n_rows++] = row;
            continue;
        }
        uint32_t at = n_rows;
        while (at > 0 && strcmp(rows[at - 1], row) != 0) at--;
        if (!at) fail_msg("changelog removes a row that is not there: %s (line %u)", lines[i], i + 1);
        rows[at - 1] = rows[--n_rows];
    }
    if (n_rows) qsort(rows, n_rows, sizeof *rows, tk_line_order);
    wr_sbuf_clear(&t->scratch);
    wr_sbuf_addz(&t->scratch, "");
    for (uint32_t i = 0; i < n_rows; i++) wr_sbuf_addz(&t->scratch, rows[i]), wr_sbuf_addc(&t->scratch, '\n');
    free(rows);
    free(lines);
    wr_free(copy);
    return n_rows ? t->scratch.at : "";
}
WR_UNUSED static const char *tk_fold(tk *t) { return tk_fold_text(t, tk_text(t)); }

#define tk_expect(t, lines) do { assert_string_equal(tk_text(t), lines); tk_clear(t); } while (0)
/* Any order: the expected lines are sorted too. */
#define tk_expect_sorted(t, lines)                               \
    do {                                                         \
        char *want_ = wr_strdup(tk_sort_text((t), (lines)));     \
        assert_string_equal(tk_sort_text((t), tk_text(t)), want_); \
        wr_free(want_);                                          \
        tk_clear(t);                                             \
    } while (0)

/* Saves an operator and loads the image into another one, keeping key groups [from, to). */
WR_UNUSED static void tk_save(wr_op *op, wr_sbuf *image) {
    tk *t = (tk *)(void *)((char *)op->ctx - offsetof(tk, ctx));
    if (t->tier.tier) tier_kit_begin(&t->tier);
    assert_int_equal(op->vt->save(op, image, NULL), WR_OK);
    if (t->tier.tier) tier_kit_image(&t->tier);
}
WR_UNUSED static void tk_load(tk *t, wr_op *op, const wr_sbuf *image, uint32_t from, uint32_t to) {
    wr_reader in = {(const uint8_t *)image->at, (const uint8_t *)image->at + image->len, false};
    tk_ok(t, op->vt->load(op, &in, from, to, &t->err));
    assert_false(in.bad);
}

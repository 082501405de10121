/* connect/datagen.c: the source 'datagen': made-up rows, with Flink's options.
 *
 * Idea       the value of column c in row i is a function of (seed, i, c) alone: so any worker can make any range of rows, and a restart
 *            makes the same rows again. The rate is kept by handing out no more rows than the clock allows.
 * Differs    timestamps: Flink gives the present moment; here the moment of the job's first start + i / rate, so that a replay is equal.
 * Thread     next under the turn lock; decode anywhere.                                                                 */
#include "connect/parts.h"
#include "base/hash.h"
#include "type/decimal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct gen_field {
    bool    sequence;
    int64_t min, max;      /* integers, sequence bounds */
    double  fmin, fmax;
    int64_t length, past_us;
    double  null_rate;
} gen_field;

typedef struct datagen_source {
    wr_source        base;
    wr_world        *world;
    const wr_schema *schema;
    const uint8_t   *needed;
    gen_field       *fields; /* in the job's arena */
    uint64_t         seed, next_row, n_rows, limit; /* n_rows UINT64_MAX: endless; limit: see until */
    int64_t          rate, ramp_us;  /* rows a second; it grows evenly for so long, */
    double           times;          /* to so many times of it */
    int64_t          start_us, base_us; /* start_us: clock when row 0 was due, or would have been; base_us: wall clock of row 0 */
    bool             paced;          /* start_us is known */
    uint32_t         batch_rows;
} datagen_source;

static const wr_option_spec specs[] = {
    {"rows-per-second", "int", "10000", false, "0 = as fast as it goes"},
    {"rows-per-second.ramp", "string", NULL, false, "the rate grows evenly to so many times of it: '10x in 60 s'"},
    {"number-of-rows", "int", NULL, false, "makes the source bounded"},
    {"seed", "int", "1", false, "the same seed and table name make the same rows"},
    {"fields.#.kind", "enum:random|sequence", "random", false, "random values, or start, start + 1 .. end"},
    {"fields.#.min", "string", NULL, false, "random: the least value"},
    {"fields.#.max", "string", NULL, false, "random: the greatest value"},
    {"fields.#.length", "int", "100", false, "random: length of strings"},
    {"fields.#.start", "int", NULL, false, "sequence: first value"},
    {"fields.#.end", "int", NULL, false, "sequence: last value; makes the source bounded"},
    {"fields.#.max-past", "duration", "0", false, "timestamps: up to this before the moment"},
    {"fields.#.null-rate", "string", "0", false, "share of NULLs, 0 .. 1"},
    {0}};

/* A rate that grows from r to m * r in T has made r * (t + (m - 1) * t * t / 2T) rows by t, and goes on at m * r. */
static uint64_t rows_by(const datagen_source *s, int64_t us) {
    if (!s->ramp_us) return (uint64_t)((wr_u128)(uint64_t)us * (uint64_t)s->rate / 1000000);
    double t = (double)us / 1e6, T = (double)s->ramp_us / 1e6, in = WR_MIN(t, T);
    return (uint64_t)((double)s->rate * (in + (s->times - 1) * in * in / (2 * T) + s->times * (t - in)));
}
static int64_t us_of_row(const datagen_source *s, uint64_t row) { /* the inverse */
    if (s->rate <= 0) return (int64_t)row;
    if (!s->ramp_us && row < UINT64_MAX / 1000000) return (int64_t)(row * 1000000 / (uint64_t)s->rate);
    if (!s->ramp_us) return (int64_t)((wr_u128)row * 1000000 / (uint64_t)s->rate);
    double T = (double)s->ramp_us / 1e6, n = (double)row / (double)s->rate, most = T * (1 + s->times) / 2, a = (s->times - 1) / (2 * T);
    return (int64_t)(1e6 * (n > most ? T + (n - most) / s->times : 2 * n / (1 + sqrt(1 + 4 * a * n))));
}
/* Rows that the clock allows by now. A restart goes on from where the rate had come to. */
static uint64_t due(datagen_source *s, int64_t now) {
    if (!s->paced) s->paced = true, s->start_us = now - us_of_row(s, s->next_row);
    return rows_by(s, now - s->start_us) + 1;
}

static uint64_t dice_of(uint64_t base, uint32_t col, uint32_t use) { return wr_hash_mix(base, ((uint64_t)col << 32) + use); }
static uint64_t dice(const datagen_source *s, uint64_t row, uint32_t col, uint32_t use) { return dice_of(wr_hash_mix(s->seed, row), col, use); }
static double unit(uint64_t x) { return (double)(x >> 11) * 0x1p-53; }

static int64_t int_value(const datagen_source *s, const gen_field *f, uint64_t row, uint32_t col) {
    if (f->sequence) return (int64_t)((uint64_t)f->min + row);
    uint64_t span = (uint64_t)f->max - (uint64_t)f->min + 1, x = dice(s, row, col, 0);
    return (int64_t)((uint64_t)f->min + (span ? (uint64_t)((wr_u128)x * span >> 64) : x));
}

static void put_string(const datagen_source *s, const gen_field *f, uint64_t row, uint32_t col, wr_vec *vec, uint32_t at, wr_mem *mem) {
    char    text[32];
    int64_t n = f->length;
    if (f->sequence) {
        n = snprintf(text, sizeof text, "%lld", (long long)int_value(s, f, row, col));
        ((wr_sview *)vec->data)[at] = wr_sview_copy(mem, text, (size_t)n);
        return;
    }
    char *to = n <= (int64_t)sizeof text ? text : wr_mem_alloc(mem, (size_t)n);
    for (int64_t i = 0; i < n; i += 16) {
        uint64_t x = dice(s, row, col, (uint32_t)i + 1);
        for (int64_t k = i; k < n && k < i + 16; k++, x >>= 4) to[k] = "0123456789abcdef"[x & 15];
    }
    ((wr_sview *)vec->data)[at] = to == text ? wr_sview_copy(mem, to, (size_t)n) : wr_sview_borrow(to, (size_t)n);
}

static void put_value(const datagen_source *s, uint64_t row, uint32_t col, wr_vec *vec, uint32_t at, wr_mem *mem) {
    const gen_field *f = &s->fields[col];
    if (f->null_rate > 0 && unit(dice(s, row, col, UINT32_MAX)) < f->null_rate) {
        wr_vec_set_null(vec, at, mem);
        return;
    }
    switch (vec->type.id) {
    case WR_T_BOOLEAN: ((uint8_t *)vec->data)[at] = dice(s, row, col, 0) & 1; break;
    case WR_T_TINYINT: ((int8_t *)vec->data)[at] = (int8_t)int_value(s, f, row, col); break;
    case WR_T_SMALLINT: ((int16_t *)vec->data)[at] = (int16_t)int_value(s, f, row, col); break;
    case WR_T_INT:
    case WR_T_DATE:
    case WR_T_TIME: ((int32_t *)vec->data)[at] = (int32_t)int_value(s, f, row, col); break;
    case WR_T_BIGINT: ((int64_t *)vec->data)[at] = int_value(s, f, row, col); break;
    case WR_T_FLOAT: ((float *)vec->data)[at] = f->sequence ? (float)int_value(s, f, row, col) : (float)(f->fmin + unit(dice(s, row, col, 0)) * (f->fmax - f->fmin)); break;
    case WR_T_DOUBLE: ((double *)vec->data)[at] = f->sequence ? (double)int_value(s, f, row, col) : f->fmin + unit(dice(s, row, col, 0)) * (f->fmax - f->fmin); break;
    case WR_T_DECIMAL: ((wr_i128 *)vec->data)[at] = f->sequence ? (wr_i128)int_value(s, f, row, col) * wr_pow10(vec->type.scale) : (wr_i128)int_value(s, f, row, col); break;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: {
        int64_t us = s->base_us + us_of_row(s, row);
        if (f->past_us > 0) us -= (int64_t)((wr_u128)dice(s, row, col, 0) * (uint64_t)f->past_us >> 64);
        if (vec->type.prec <= 3) us -= wr_floor_mod(us, vec->type.prec == 3 ? 1000 : 1000000);
        ((int64_t *)vec->data)[at] = vec->type.prec > 6 ? us * 1000 : us;
        break;
    }
    default: put_string(s, f, row, col, vec, at, mem);
    }
}

/* Columns of the most frequent kinds, a loop each; the others are made value by value. base: by row, what its dice begin with. */
static void fill_column(const datagen_source *s, uint64_t from, uint32_t n, uint32_t col, const uint64_t *base, wr_vec *vec, wr_mem *mem) {
    const gen_field *f = &s->fields[col];
    wr_tid           id = vec->type.id;
    uint64_t         span = (uint64_t)f->max - (uint64_t)f->min + 1; /* 0: all of 64 bits */
    if (f->null_rate <= 0 && id == WR_T_BIGINT && f->sequence) {
        for (uint32_t i = 0; i < n; i++) ((int64_t *)vec->data)[i] = (int64_t)((uint64_t)f->min + from + i);
    } else if (f->null_rate <= 0 && (id == WR_T_BIGINT || id == WR_T_INT) && !f->sequence && span) {
        for (uint32_t i = 0; i < n; i++) {
            int64_t v = (int64_t)((uint64_t)f->min + (uint64_t)((wr_u128)dice_of(base[i], col, 0) * span >> 64));
            if (id == WR_T_BIGINT) ((int64_t *)vec->data)[i] = v;
            else ((int32_t *)vec->data)[i] = (int32_t)v;
        }
    } else {
        for (uint32_t i = 0; i < n; i++) put_value(s, from + i, col, vec, i, mem);
    }
}

static wr_status datagen_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    (void)err;
    datagen_source *s = (datagen_source *)base;
    *out = (wr_chunk){.first = s->next_row == 0, .offset = s->next_row};
    if (s->next_row >= s->n_rows && s->limit == UINT64_MAX) return *state = WR_NEXT_END, WR_OK;
    uint64_t may = UINT64_MAX;
    if (s->rate > 0) {
        int64_t now = wr_mono_us(s->world);
        may = due(s, now);
        may = may > s->next_row ? may - s->next_row : 0;
    }
    uint64_t n = WR_MIN(WR_MIN(may, WR_MIN(s->n_rows, s->limit) - s->next_row), (uint64_t)s->batch_rows * 4);
    if (!n || (held && (held[0] & 1))) {
        *retry_us = s->rate > 0 ? WR_MAX(1000000 / s->rate, 1000) : 1000;
        return *state = WR_NEXT_WAIT, WR_OK;
    }
    out->rows_from = s->next_row;
    out->rows_to = s->next_row += n;
    out->last = s->next_row == s->n_rows;
    return *state = WR_NEXT_CHUNK, WR_OK;
}

static wr_status datagen_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)worker, (void)err;
    const datagen_source *s = (const datagen_source *)base;
    uint64_t row_base[WR_BATCH_MAX];
    for (uint64_t from = chunk->rows_from; from < chunk->rows_to; from += s->batch_rows) {
        uint32_t  n = (uint32_t)WR_MIN(chunk->rows_to - from, (uint64_t)s->batch_rows);
        wr_batch *batch = wr_batch_new(s->schema->n, (size_t)n * 16 * s->schema->n);
        batch->n_rows = n;
        for (uint32_t i = 0; i < n; i++) row_base[i] = wr_hash_mix(s->seed, from + i);
        for (uint32_t c = 0; c < s->schema->n; c++) {
            wr_vec *vec = &batch->cols[c];
            if (s->needed && !s->needed[c]) {
                *vec = (wr_vec){.type = wr_type_of(WR_T_NULL), .n = n};
                continue;
            }
            wr_vec_init(vec, s->schema->fields[c].type, n, false, batch->mem);
            fill_column(s, from, n, c, row_base, vec, batch->mem);
        }
        wr_arr_push(&out->batches, batch);
        out->n_rows += n, out->n_records += n;
    }
    return WR_OK;
}

static uint32_t one_partition(wr_source *s) { return (void)s, 1; }
static void     datagen_name(wr_source *s, uint32_t i, wr_sbuf *out) { (void)s, (void)i, wr_sbuf_addz(out, "datagen"); }
static bool     datagen_done(wr_source *base, uint32_t i) { return (void)i, ((datagen_source *)base)->next_row >= ((datagen_source *)base)->n_rows; }
static void     datagen_save(wr_source *base, wr_sbuf *out) {
    wr_put_u64(out, ((datagen_source *)base)->next_row);
    wr_put_i64(out, ((datagen_source *)base)->base_us);
}
static wr_status datagen_load(wr_source *base, wr_reader *in, wr_err *err) {
    datagen_source *s = (datagen_source *)base;
    s->next_row = wr_get_u64(in);
    s->base_us = wr_get_i64(in);
    s->paced = false;
    return in->bad ? wr_fail(err, WR_CORRUPT, "XX001", "the saved position of a datagen table is damaged") : WR_OK;
}
static wr_status datagen_until(wr_source *base, wr_reader *positions, wr_err *err) {
    datagen_source *s = (datagen_source *)base;
    s->limit = wr_get_u64(positions);
    s->base_us = wr_get_i64(positions);
    return positions->bad ? wr_fail(err, WR_CORRUPT, "XX001", "the saved position of a datagen table is damaged") : WR_OK;
}
static bool datagen_at_limit(wr_source *base) { return ((datagen_source *)base)->next_row >= ((datagen_source *)base)->limit; }
static void datagen_describe(wr_source *base, wr_sbuf *out) {
    datagen_source *s = (datagen_source *)base;
    if (s->n_rows == UINT64_MAX) wr_sbuf_addz(out, "endless rows");
    else wr_sbuf_printf(out, "%llu rows", (unsigned long long)s->n_rows);
    if (s->rate > 0) wr_sbuf_printf(out, ", %lld a second", (long long)s->rate);
    if (s->ramp_us) wr_sbuf_printf(out, ", growing %g times", s->times);
    wr_sbuf_printf(out, ", seed %llu, from row %llu", (unsigned long long)s->seed, (unsigned long long)s->next_row);
}
static void datagen_progress(wr_source *base, uint64_t *done, uint64_t *total) {
    datagen_source *s = (datagen_source *)base;
    *done = s->next_row;
    *total = s->n_rows != UINT64_MAX ? s->n_rows : s->rate > 0 ? WR_MAX(due(s, wr_mono_us(s->world)), s->next_row) : 0;
}
static bool datagen_bounded(wr_source *base) { return ((datagen_source *)base)->n_rows != UINT64_MAX; }
static void datagen_close(wr_source *base) { wr_free(base); }

static bool datagen_glance(wr_source *s, const wr_chunk *chunk, wr_decoded *out, int64_t *came_us) {
    (void)s;
    *came_us = WR_TIME_MIN;
    out->n_records += chunk->rows_to - chunk->rows_from;
    return true;
}

static const wr_source_vt source_vt = {
    .name = "datagen", .next = datagen_next, .decode = datagen_decode, .partitions = one_partition, .partition_name = datagen_name, .partition_done = datagen_done, .save = datagen_save, .load = datagen_load,
    .until = datagen_until, .at_limit = datagen_at_limit, .describe = datagen_describe, .progress = datagen_progress, .bounded = datagen_bounded, .close = datagen_close, .glance = datagen_glance};

/* Option fields.<column>.<what>, or NULL. */
static const wr_option *field_option(const wr_table_info *t, wr_str column, const char *what) {
    char key[300];
    snprintf(key, sizeof key, "fields.%.*s.%s", (int)WR_MIN(column.len, 200u), column.ptr, what);
    return wr_options_find(&t->options, key);
}

static bool field_number(const wr_table_info *t, wr_connect_ctx *ctx, wr_str column, const char *what, double *out) {
    const wr_option *o = field_option(t, column, what);
    if (!o) return true;
    wr_i128 d;
    if (wr_decimal_parse(wr_str_trim(o->value), 38, 9, &d)) return *out = wr_decimal_to_double(d, 9), true;
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "option '%.*s' is '%.*s', expected a number", WR_FMT(o->key), WR_FMT(o->value));
    return false;
}

static bool field_int(const wr_table_info *t, wr_connect_ctx *ctx, wr_str column, const char *what, int64_t *out) {
    const wr_option *o = field_option(t, column, what);
    wr_i128          d;
    if (!o) return true;
    if (wr_decimal_parse(wr_str_trim(o->value), 38, 0, &d) && d == (int64_t)d) return *out = (int64_t)d, true;
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "option '%.*s' is '%.*s', expected a whole number", WR_FMT(o->key), WR_FMT(o->value));
    return false;
}

static void default_range(wr_type type, gen_field *f) {
    static const int bits[] = {[WR_T_TINYINT] = 7, [WR_T_SMALLINT] = 15, [WR_T_INT] = 31, [WR_T_BIGINT] = 63};
    if (wr_type_is_integer(type)) {
        f->max = (int64_t)((UINT64_C(1) << bits[type.id]) - 1);
        f->min = -f->max - 1;
    } else if (type.id == WR_T_DECIMAL) {
        f->max = (int64_t)(wr_pow10(WR_MIN(type.prec, 18)) - 1);
        f->min = -f->max;
    } else if (type.id == WR_T_DATE) {
        f->max = 20000;
    } else if (type.id == WR_T_TIME) {
        f->max = 86399999;
    }
    f->fmin = type.id == WR_T_FLOAT ? -3.4e38 : -8.9e307; /* the difference must be finite */
    f->fmax = -f->fmin;
}

static bool read_field(const wr_table_info *t, wr_connect_ctx *ctx, const wr_field *column, gen_field *f, uint64_t *n_rows) {
    wr_type type = column->type;
    if (wr_type_is_nested(type) || type.id == WR_T_INTERVAL_DS || type.id == WR_T_INTERVAL_YM || wr_type_is_binary(type) || type.id == WR_T_BITMAP || type.id == WR_T_VARIANT) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR125", t->at, "'datagen' has no %s values: column '%.*s'", wr_tid_name(type.id), WR_FMT(column->name));
        return false;
    }
    default_range(type, f);
    f->length = type.id == WR_T_CHAR ? type.prec : 100;
    const wr_option *kind = field_option(t, column->name, "kind"), *past = field_option(t, column->name, "max-past");
    f->sequence = kind && wr_str_ieq(kind->value, WR_STR("sequence"));
    if (kind && !f->sequence && !wr_str_ieq(kind->value, WR_STR("random"))) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", kind->at, "option '%.*s' is '%.*s', expected 'random' or 'sequence'", WR_FMT(kind->key), WR_FMT(kind->value));
        return false;
    }
    if (past && !wr_parse_duration(past->value, &f->past_us)) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", past->at, "option '%.*s' is '%.*s', expected a duration such as '5 min'", WR_FMT(past->key), WR_FMT(past->value));
        return false;
    }
    double dmin = (double)f->min, dmax = (double)f->max;
    if (type.id == WR_T_FLOAT || type.id == WR_T_DOUBLE) {
        if (!field_number(t, ctx, column->name, "min", &f->fmin) || !field_number(t, ctx, column->name, "max", &f->fmax)) return false;
    } else if (type.id == WR_T_DECIMAL) {
        double unit_ = wr_decimal_to_double(wr_pow10(type.scale), 0), lo = dmin / unit_, hi = dmax / unit_;
        if (!field_number(t, ctx, column->name, "min", &lo) || !field_number(t, ctx, column->name, "max", &hi)) return false;
        if (field_option(t, column->name, "min")) f->min = (int64_t)WR_MIN(WR_MAX(lo * unit_, -9e18), 9e18);
        if (field_option(t, column->name, "max")) f->max = (int64_t)WR_MIN(WR_MAX(hi * unit_, -9e18), 9e18);
    } else if (!field_int(t, ctx, column->name, "min", &f->min) || !field_int(t, ctx, column->name, "max", &f->max)) {
        return false;
    }
    if (!field_int(t, ctx, column->name, "length", &f->length) || !field_number(t, ctx, column->name, "null-rate", &f->null_rate)) return false;
    f->length = WR_MIN(WR_MAX(f->length, 0), 1 << 20);
    if (!f->sequence) {
        if (f->min <= f->max && f->fmin <= f->fmax) return true;
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", t->at, "datagen column '%.*s': min is greater than max", WR_FMT(column->name));
        return false;
    }
    const wr_option *start = field_option(t, column->name, "start"), *end = field_option(t, column->name, "end");
    if (!start || !end) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR122", kind->at, "a sequence needs 'fields.%.*s.start' and 'fields.%.*s.end'", WR_FMT(column->name), WR_FMT(column->name));
        return false;
    }
    if (!field_int(t, ctx, column->name, "start", &f->min) || !field_int(t, ctx, column->name, "end", &f->max)) return false;
    *n_rows = WR_MIN(*n_rows, f->max < f->min ? 0 : (uint64_t)f->max - (uint64_t)f->min + 1);
    return true;
}

/* "10x in 60 s" */
static bool read_ramp(const wr_table_info *t, wr_connect_ctx *ctx, int64_t rate, double *times, int64_t *us) {
    const wr_option *o = wr_options_find(&t->options, "rows-per-second.ramp");
    char             text[64], *end;
    *us = 0;
    if (!o) return true;
    snprintf(text, sizeof text, "%.*s", (int)WR_MIN(o->value.len, sizeof text - 1), o->value.ptr);
    *times = strtod(text, &end);
    if (end != text && !strncmp(end, "x in ", 5) && *times >= 1 && *times <= 1e6 && rate > 0 && wr_parse_duration(wr_str_of(end + 5), us) && *us > 0) return true;
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "option 'rows-per-second.ramp' is '%.*s', expected growth such as '10x in 60 s' of a rate", WR_FMT(o->value));
    return false;
}

static wr_status datagen_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    (void)err;
    int64_t rate, rows = 0, seed;
    *out = NULL;
    if (!wr_option_int(&t->options, specs, "rows-per-second", &rate, ctx->diags) || !wr_option_int(&t->options, specs, "number-of-rows", &rows, ctx->diags) ||
        !wr_option_int(&t->options, specs, "seed", &seed, ctx->diags))
        return WR_USER;
    double  times = 1;
    int64_t ramp_us;
    if (!read_ramp(t, ctx, rate, &times, &ramp_us)) return WR_USER;
    uint64_t   n_rows = wr_options_find(&t->options, "number-of-rows") ? (uint64_t)WR_MAX(rows, 0) : UINT64_MAX;
    gen_field *fields = wr_new_n(ctx->arena, gen_field, t->schema->n + 1);
    bool       ok = true;
    for (uint32_t c = 0; c < t->schema->n; c++) ok &= read_field(t, ctx, &t->schema->fields[c], &fields[c], &n_rows);
    if (!ok) return WR_USER;
    datagen_source *s = wr_calloc(1, sizeof *s);
    *s = (datagen_source){.base = {&source_vt}, .world = ctx->world, .schema = t->schema, .needed = t->needed, .fields = fields, .seed = wr_hash_mix((uint64_t)seed, wr_hash_bytes(t->name.ptr, t->name.len)), .n_rows = n_rows, .limit = UINT64_MAX,
                          .rate = rate, .times = times, .ramp_us = ramp_us, .base_us = wr_wall_us(ctx->world), .batch_rows = ctx->batch_rows ? WR_MIN(ctx->batch_rows, (uint32_t)WR_BATCH_MAX) : WR_BATCH_MAX};
    *out = &s->base;
    return WR_OK;
}

static bool bounded(const wr_table_info *t) {
    if (wr_options_find(&t->options, "number-of-rows")) return true;
    for (uint32_t i = 0; i < t->options.n; i++) {
        wr_str key = t->options.at[i].key;
        if (wr_str_starts(key, WR_STR("fields.")) && key.len > 4 && !memcmp(key.ptr + key.len - 4, ".end", 4)) return true;
    }
    return false;
}

const wr_connector wr_connector_datagen = {.name = "datagen", .doc = "made-up rows: random or sequences", .specs = specs, .source_new = datagen_new, .bounded = bounded, .lag_known = WR_LAG_ROWS};

/* catalog/types.c: a data type as written -> wr_type, with Flink's defaults and limits.
 *
 * Idea       one table would hide the rules; a switch by kind shows them. Columns are nullable unless NOT NULL was said.
 * Invariant  on true *out is a type that type/ can store; on false one diagnostic was added.                        */
#include "catalog/catalog.h"

static bool refuse(wr_diags *diags, wr_span at, const char *what, const char *hint) {
    wr_diags_add(diags, WR_SEV_ERROR, "0A000", at, "type %s is not supported", what);
    if (hint) wr_diags_hint(diags, "%s", hint);
    return false;
}

/* A precision within [low, high], `fallback` if not said. */
static bool precision(const wr_ast_type *ast, const char *name, int32_t low, int32_t high, int32_t fallback, wr_diags *diags, int32_t *out) {
    *out = ast->p < 0 ? fallback : ast->p;
    if (*out >= low && *out <= high) return true;
    wr_diags_add(diags, WR_SEV_ERROR, "42611", ast->at, "%s(%d): must be between %d and %d", name, ast->p, low, high);
    return false;
}

static bool decimal(const wr_ast_type *ast, wr_diags *diags, wr_type *out) {
    int32_t p, s = ast->s < 0 ? 0 : ast->s;
    if (!precision(ast, "DECIMAL", 1, 38, 10, diags, &p)) return false;
    if (s > p) {
        wr_diags_add(diags, WR_SEV_ERROR, "42611", ast->at, "DECIMAL(%d, %d): the scale must not exceed the precision", p, s);
        return false;
    }
    *out = wr_type_decimal(p, s);
    return true;
}

static bool with_precision(const wr_ast_type *ast, wr_tid id, int32_t low, int32_t high, int32_t fallback, wr_diags *diags, wr_type *out) {
    int32_t p;
    if (!precision(ast, wr_tid_name(id), low, high, fallback, diags, &p)) return false;
    *out = wr_type_prec(id, p);
    return true;
}

static bool interval(const wr_ast_type *ast, wr_type *out) {
    bool months = ast->unit_from == WR_UNIT_YEAR || ast->unit_from == WR_UNIT_MONTH || ast->unit_from == WR_UNIT_QUARTER;
    *out = wr_type_of(months ? WR_T_INTERVAL_YM : WR_T_INTERVAL_DS);
    return true;
}

static bool nested(wr_arena *arena, const wr_ast_type *ast, wr_diags *diags, wr_type *out) {
    if (ast->kind == WR_AST_TYPE_ROW) {
        wr_type *kids = wr_new_n(arena, wr_type, ast->fields.n);
        wr_str  *names = wr_new_n(arena, wr_str, ast->fields.n);
        for (uint32_t i = 0; i < ast->fields.n; i++) {
            if (!wr_catalog_type(arena, ast->fields.at[i].type, diags, &kids[i])) return false;
            names[i] = wr_str_dup(arena, ast->fields.at[i].name.text);
        }
        *out = (wr_type){.id = WR_T_ROW, .nullable = 1, .n_kids = ast->fields.n, .kids = kids, .names = names};
        return true;
    }
    uint32_t n = ast->kind == WR_AST_TYPE_MAP ? 2 : 1;
    wr_type *kids = wr_new_n(arena, wr_type, n);
    if (n == 2 && !wr_catalog_type(arena, ast->key, diags, &kids[0])) return false;
    if (!wr_catalog_type(arena, ast->elem, diags, &kids[n - 1])) return false;
    wr_tid id = ast->kind == WR_AST_TYPE_MAP ? WR_T_MAP : ast->kind == WR_AST_TYPE_ARRAY ? WR_T_ARRAY : WR_T_MULTISET;
    *out = (wr_type){.id = (uint8_t)id, .nullable = 1, .n_kids = n, .kids = kids};
    return true;
}

static bool named(const wr_ast_type *ast, wr_diags *diags) {
    wr_sbuf text = {0};
    wr_sql_name_text(ast->name, &text);
    static const char *const NAMES[] = {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "NUMERIC", "CHAR",
        "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "ARRAY", "MAP", "ROW", "MULTISET", "BITMAP", "VARIANT"};
    wr_str candidates[WR_COUNT_OF(NAMES)];
    for (size_t i = 0; i < WR_COUNT_OF(NAMES); i++) candidates[i] = wr_str_of(NAMES[i]);
    static const char *const ELSEWHERE[][2] = { /* what other databases call them */
        {"TEXT", "STRING"}, {"NVARCHAR", "STRING"}, {"VARCHAR2", "STRING"}, {"CLOB", "STRING"}, {"UUID", "STRING"}, {"JSON", "STRING"}, {"JSONB", "STRING"}, {"BOOL", "BOOLEAN"},
        {"INT2", "SMALLINT"}, {"INT4", "INT"}, {"INT8", "BIGINT"}, {"LONG", "BIGINT"}, {"SERIAL", "INT"}, {"BIGSERIAL", "BIGINT"}, {"FLOAT4", "FLOAT"}, {"FLOAT8", "DOUBLE"},
        {"NUMBER", "DECIMAL(p, s)"}, {"MONEY", "DECIMAL(18, 2)"}, {"BLOB", "BYTES"}, {"BYTEA", "BYTES"}, {"DATETIME", "TIMESTAMP(3)"}, {"TIMESTAMPTZ", "TIMESTAMP_LTZ(3)"}};
    for (size_t i = 0; i < WR_COUNT_OF(ELSEWHERE); i++)
        if (wr_str_ieq(wr_sbuf_str(&text), wr_str_of(ELSEWHERE[i][0]))) {
            wr_diags_add(diags, WR_SEV_ERROR, "42704", ast->at, "type '%.*s' not found; here it is %s", WR_FMT(wr_sbuf_str(&text)), ELSEWHERE[i][1]);
            wr_sbuf_free(&text);
            return false;
        }
    int at = wr_nearest(wr_sbuf_str(&text), candidates, WR_COUNT_OF(NAMES));
    if (at >= 0) {
        wr_diags_add(diags, WR_SEV_ERROR, "42704", ast->at, "type '%.*s' not found; did you mean %s?", WR_FMT(wr_sbuf_str(&text)), NAMES[at]);
    } else {
        wr_diags_add(diags, WR_SEV_ERROR, "42704", ast->at, "type '%.*s' not found", WR_FMT(wr_sbuf_str(&text)));
    }
    wr_sbuf_free(&text);
    return false;
}

static bool base(wr_arena *arena, const wr_ast_type *ast, wr_diags *diags, wr_type *out) {
    switch (ast->kind) {
    case WR_AST_TYPE_BOOLEAN: return *out = wr_type_of(WR_T_BOOLEAN), true;
    case WR_AST_TYPE_TINYINT: return *out = wr_type_of(WR_T_TINYINT), true;
    case WR_AST_TYPE_SMALLINT: return *out = wr_type_of(WR_T_SMALLINT), true;
    case WR_AST_TYPE_INT: return *out = wr_type_of(WR_T_INT), true;
    case WR_AST_TYPE_BIGINT: return *out = wr_type_of(WR_T_BIGINT), true;
    case WR_AST_TYPE_FLOAT: return *out = wr_type_of(WR_T_FLOAT), true;
    case WR_AST_TYPE_DOUBLE: return *out = wr_type_of(WR_T_DOUBLE), true;
    case WR_AST_TYPE_DECIMAL: return decimal(ast, diags, out);
    case WR_AST_TYPE_CHAR: return with_precision(ast, WR_T_CHAR, 1, WR_LENGTH_MAX, 1, diags, out);
    case WR_AST_TYPE_VARCHAR: return with_precision(ast, WR_T_VARCHAR, 1, WR_LENGTH_MAX, WR_LENGTH_MAX, diags, out); /* as in DDL of Flink's docs: VARCHAR alone is used as STRING */
    case WR_AST_TYPE_STRING: return *out = wr_type_string(), true;
    case WR_AST_TYPE_BINARY: return with_precision(ast, WR_T_BINARY, 1, WR_LENGTH_MAX, 1, diags, out);
    case WR_AST_TYPE_VARBINARY: return with_precision(ast, WR_T_VARBINARY, 1, WR_LENGTH_MAX, 1, diags, out);
    case WR_AST_TYPE_BYTES: return *out = wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX), true;
    case WR_AST_TYPE_DATE: return *out = wr_type_of(WR_T_DATE), true;
    case WR_AST_TYPE_TIME: return with_precision(ast, WR_T_TIME, 0, 9, 0, diags, out) && (out->prec = WR_MIN(out->prec, 3), true);
    case WR_AST_TYPE_TIMESTAMP: return with_precision(ast, WR_T_TIMESTAMP, 0, 9, 6, diags, out);
    case WR_AST_TYPE_TIMESTAMP_LTZ: return with_precision(ast, WR_T_TIMESTAMP_LTZ, 0, 9, 6, diags, out);
    case WR_AST_TYPE_TIMESTAMP_TZ: return refuse(diags, ast->at, "TIMESTAMP WITH TIME ZONE", "use TIMESTAMP_LTZ, an instant shown in 'table.local-time-zone'");
    case WR_AST_TYPE_INTERVAL: return interval(ast, out);
    case WR_AST_TYPE_ARRAY:
    case WR_AST_TYPE_MULTISET:
    case WR_AST_TYPE_MAP:
    case WR_AST_TYPE_ROW: return nested(arena, ast, diags, out);
    case WR_AST_TYPE_NULL: return *out = wr_type_of(WR_T_NULL), true;
    case WR_AST_TYPE_VARIANT: return *out = wr_type_of(WR_T_VARIANT), true;
    case WR_AST_TYPE_NAMED:
        if (ast->name.n == 1 && wr_str_ieq(ast->name.part[0].text, WR_STR("BITMAP"))) return *out = wr_type_of(WR_T_BITMAP), true;
        return named(ast, diags);
    }
    return false;
}

bool wr_catalog_type(wr_arena *arena, const wr_ast_type *ast, wr_diags *diags, wr_type *out) {
    if (!base(arena, ast, diags, out)) return false;
    out->nullable = ast->nullable != 0;
    return true;
}

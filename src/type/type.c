/* type/type.c: see type.h.
 *
 * Idea       one table row per wr_tid (name, storage, class bits); every question about a type is a look-up.
 * Invariant  the binary form of wr_type_save is part of checkpoints: field order is fixed. Loading never trusts counts or depth.
 * Thread     pure functions.                                                                                            */
#include "type/type.h"

enum { IS_INTEGER = 1, IS_NUMERIC = 2, IS_STRING = 4, IS_BINARY = 8, IS_TIME = 16, IS_NESTED = 32 };
enum { NESTING_MAX = 64 };

static const struct tid_info {
    const char *name;
    uint8_t     storage, bits;
} infos[WR_T_COUNT] = {
    [WR_T_NULL] = {"NULL", WR_S_NONE, 0},
    [WR_T_BOOLEAN] = {"BOOLEAN", WR_S_BOOL, 0},
    [WR_T_TINYINT] = {"TINYINT", WR_S_I8, IS_INTEGER | IS_NUMERIC},
    [WR_T_SMALLINT] = {"SMALLINT", WR_S_I16, IS_INTEGER | IS_NUMERIC},
    [WR_T_INT] = {"INT", WR_S_I32, IS_INTEGER | IS_NUMERIC},
    [WR_T_BIGINT] = {"BIGINT", WR_S_I64, IS_INTEGER | IS_NUMERIC},
    [WR_T_FLOAT] = {"FLOAT", WR_S_F32, IS_NUMERIC},
    [WR_T_DOUBLE] = {"DOUBLE", WR_S_F64, IS_NUMERIC},
    [WR_T_DECIMAL] = {"DECIMAL", WR_S_I128, IS_NUMERIC},
    [WR_T_CHAR] = {"CHAR", WR_S_STR, IS_STRING},
    [WR_T_VARCHAR] = {"VARCHAR", WR_S_STR, IS_STRING},
    [WR_T_BINARY] = {"BINARY", WR_S_STR, IS_BINARY},
    [WR_T_VARBINARY] = {"VARBINARY", WR_S_STR, IS_BINARY},
    [WR_T_DATE] = {"DATE", WR_S_I32, IS_TIME},
    [WR_T_TIME] = {"TIME", WR_S_I32, IS_TIME},
    [WR_T_TIMESTAMP] = {"TIMESTAMP", WR_S_I64, IS_TIME},
    [WR_T_TIMESTAMP_LTZ] = {"TIMESTAMP_LTZ", WR_S_I64, IS_TIME},
    [WR_T_INTERVAL_YM] = {"INTERVAL YEAR TO MONTH", WR_S_I32, 0},
    [WR_T_INTERVAL_DS] = {"INTERVAL DAY TO SECOND", WR_S_I64, 0},
    [WR_T_ARRAY] = {"ARRAY", WR_S_LIST, IS_NESTED},
    [WR_T_MULTISET] = {"MULTISET", WR_S_LIST, IS_NESTED},
    [WR_T_MAP] = {"MAP", WR_S_LIST, IS_NESTED},
    [WR_T_ROW] = {"ROW", WR_S_ROW, IS_NESTED},
    [WR_T_BITMAP] = {"BITMAP", WR_S_STR, 0},
    [WR_T_VARIANT] = {"VARIANT", WR_S_STR, 0},
};

static const struct tid_info *info_of(wr_type t) {
    wr_assert(t.id < WR_T_COUNT);
    return &infos[t.id];
}

wr_storage wr_type_storage(wr_type t) { return (wr_storage)info_of(t)->storage; }

size_t wr_storage_size(wr_storage s) {
    static const uint8_t sizes[] = {[WR_S_NONE] = 0, [WR_S_BOOL] = 1, [WR_S_I8] = 1,   [WR_S_I16] = 2, [WR_S_I32] = 4,  [WR_S_I64] = 8,
                                    [WR_S_I128] = 16, [WR_S_F32] = 4, [WR_S_F64] = 8, [WR_S_STR] = 16, [WR_S_LIST] = 8, [WR_S_ROW] = 0};
    return sizes[s];
}

const char *wr_tid_name(wr_tid id) { return (unsigned)id < WR_T_COUNT ? infos[id].name : "?"; }
bool wr_type_is_numeric(wr_type t) { return info_of(t)->bits & IS_NUMERIC; }
bool wr_type_is_integer(wr_type t) { return info_of(t)->bits & IS_INTEGER; }
bool wr_type_is_string(wr_type t) { return info_of(t)->bits & IS_STRING; }
bool wr_type_is_binary(wr_type t) { return info_of(t)->bits & IS_BINARY; }
bool wr_type_is_time_point(wr_type t) { return info_of(t)->bits & IS_TIME; }
bool wr_type_is_nested(wr_type t) { return info_of(t)->bits & IS_NESTED; }
int64_t wr_type_ticks_per_second(wr_type t) { return t.prec > 6 ? INT64_C(1000000000) : INT64_C(1000000); }

static bool has_prec(wr_type t) {
    return t.id == WR_T_DECIMAL || (info_of(t)->bits & (IS_STRING | IS_BINARY)) || (t.id >= WR_T_TIME && t.id <= WR_T_TIMESTAMP_LTZ);
}

bool wr_type_same(wr_type a, wr_type b) {
    if (a.id != b.id || a.n_kids != b.n_kids) return false;
    if (has_prec(a) && a.prec != b.prec) return false;
    if (a.id == WR_T_DECIMAL && a.scale != b.scale) return false;
    for (uint32_t i = 0; i < a.n_kids; i++) {
        if (!wr_type_same(a.kids[i], b.kids[i])) return false;
        if (a.id == WR_T_ROW && !wr_str_eq(a.names[i], b.names[i])) return false;
    }
    return true;
}

static void name_text(wr_str name, wr_sbuf *out) {
    wr_sbuf_addc(out, '`');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '`') wr_sbuf_addc(out, '`');
        wr_sbuf_addc(out, name.ptr[i]);
    }
    wr_sbuf_addc(out, '`');
}

static void kids_text(wr_type t, wr_sbuf *out) {
    wr_sbuf_addc(out, '<');
    for (uint32_t i = 0; i < t.n_kids; i++) {
        if (i) wr_sbuf_addz(out, ", ");
        if (t.id == WR_T_ROW) name_text(t.names[i], out), wr_sbuf_addc(out, ' ');
        wr_type_text(t.kids[i], out);
    }
    wr_sbuf_addc(out, '>');
}

void wr_type_text(wr_type t, wr_sbuf *out) {
    const char *name = info_of(t)->name;
    switch (t.id) {
    case WR_T_DECIMAL: wr_sbuf_printf(out, "DECIMAL(%d, %d)", t.prec, t.scale); break;
    case WR_T_VARCHAR:
    case WR_T_VARBINARY:
        if (t.prec == WR_LENGTH_MAX) wr_sbuf_addz(out, t.id == WR_T_VARCHAR ? "STRING" : "BYTES");
        else wr_sbuf_printf(out, "%s(%d)", name, t.prec);
        break;
    case WR_T_CHAR:
    case WR_T_BINARY:
    case WR_T_TIME:
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_printf(out, "%s(%d)", name, t.prec); break;
    case WR_T_ARRAY:
    case WR_T_MULTISET:
    case WR_T_MAP:
    case WR_T_ROW:
        wr_sbuf_addz(out, name);
        kids_text(t, out);
        break;
    default: wr_sbuf_addz(out, name);
    }
    if (!t.nullable && t.id != WR_T_NULL) wr_sbuf_addz(out, " NOT NULL");
    if (t.attr != WR_TIME_NONE) wr_sbuf_addz(out, t.attr == WR_TIME_ROWTIME ? " *ROWTIME*" : " *PROCTIME*");
}

/* Digits before the point of an exact number (BIGINT: 19, as least-restrictive rules count it; arithmetic counts 20, see decimal.h). */
static int exact_prec(wr_type t) {
    switch (t.id) {
    case WR_T_TINYINT: return 3;
    case WR_T_SMALLINT: return 5;
    case WR_T_INT: return 10;
    case WR_T_BIGINT: return 19;
    default: return t.prec;
    }
}

static wr_type common_numeric(wr_type a, wr_type b) {
    bool a_float = a.id == WR_T_FLOAT || a.id == WR_T_DOUBLE, b_float = b.id == WR_T_FLOAT || b.id == WR_T_DOUBLE;
    if (a_float || b_float) {
        bool wide = a.id == WR_T_DOUBLE || b.id == WR_T_DOUBLE || a.id == WR_T_DECIMAL || b.id == WR_T_DECIMAL;
        return wr_type_of(wide ? WR_T_DOUBLE : WR_T_FLOAT);
    }
    if (a.id != WR_T_DECIMAL && b.id != WR_T_DECIMAL) return wr_type_of(WR_MAX(a.id, b.id));
    int whole = WR_MAX(exact_prec(a) - a.scale, exact_prec(b) - b.scale), scale = WR_MAX(a.scale, b.scale);
    whole = WR_MIN(whole, 38);
    scale = WR_MIN(scale, 38 - whole);
    return wr_type_decimal(whole + scale, scale);
}

static bool common_kids(wr_type a, wr_type b, wr_type *out);

static bool common_base(wr_type a, wr_type b, wr_type *out) {
    if (a.id == WR_T_NULL) return *out = b, true;
    if (b.id == WR_T_NULL) return *out = a, true;
    if (wr_type_is_nested(a) || wr_type_is_nested(b)) return common_kids(a, b, out);
    if (wr_type_same(a, b)) return *out = a, true;
    if (wr_type_is_numeric(a) && wr_type_is_numeric(b)) return *out = common_numeric(a, b), true;
    if (wr_type_is_string(a) && wr_type_is_string(b)) return *out = wr_type_prec(WR_T_VARCHAR, WR_MAX(a.prec, b.prec)), true;
    if (wr_type_is_binary(a) && wr_type_is_binary(b)) return *out = wr_type_prec(WR_T_VARBINARY, WR_MAX(a.prec, b.prec)), true;
    if (a.id == WR_T_TIME && b.id == WR_T_TIME) return *out = wr_type_prec(WR_T_TIME, WR_MAX(a.prec, b.prec)), true;
    bool a_moment = wr_type_is_time_point(a) && a.id != WR_T_TIME, b_moment = wr_type_is_time_point(b) && b.id != WR_T_TIME;
    if (a_moment && b_moment) { /* DATE < TIMESTAMP < TIMESTAMP_LTZ */
        int prec = WR_MAX(a.id == WR_T_DATE ? 0 : a.prec, b.id == WR_T_DATE ? 0 : b.prec);
        return *out = wr_type_prec((wr_tid)WR_MAX(a.id, b.id), prec), true;
    }
    return false;
}

/* Without an arena no new child list can be made: the answer is a or b, whichever all children go into. */
static bool common_kids(wr_type a, wr_type b, wr_type *out) {
    if (a.id != b.id || a.n_kids != b.n_kids) return false;
    bool a_does = true, b_does = true, a_nulls = true;
    for (uint32_t i = 0; i < a.n_kids; i++) {
        wr_type kid;
        if (!wr_type_common(a.kids[i], b.kids[i], &kid)) return false;
        a_does &= wr_type_same(kid, a.kids[i]);
        b_does &= wr_type_same(kid, b.kids[i]);
        a_nulls &= a.kids[i].nullable >= b.kids[i].nullable;
    }
    if (a_does && (a_nulls || !b_does)) return *out = a, true;
    if (b_does) return *out = b, true;
    return false;
}

bool wr_type_common(wr_type a, wr_type b, wr_type *out) {
    wr_type t;
    if (!common_base(a, b, &t)) return false;
    t.nullable = a.nullable || b.nullable || a.id == WR_T_NULL || b.id == WR_T_NULL;
    t.attr = a.id == b.id && a.attr == b.attr ? a.attr : WR_TIME_NONE;
    *out = t;
    return true;
}

wr_type wr_type_copy(wr_arena *arena, wr_type t) {
    if (!t.n_kids) return t.kids = NULL, t.names = NULL, t;
    wr_type *kids = wr_new_n(arena, wr_type, t.n_kids);
    wr_str  *names = t.names ? wr_new_n(arena, wr_str, t.n_kids) : NULL;
    for (uint32_t i = 0; i < t.n_kids; i++) {
        kids[i] = wr_type_copy(arena, t.kids[i]);
        if (names) names[i] = wr_str_dup(arena, t.names[i]);
    }
    t.kids = kids;
    t.names = names;
    return t;
}

void wr_type_save(wr_type t, wr_sbuf *out) {
    wr_put_u8(out, t.id);
    wr_put_u8(out, t.nullable);
    wr_put_u8(out, t.attr);
    wr_put_u8(out, t.scale);
    wr_put_u32(out, (uint32_t)t.prec);
    wr_put_u32(out, t.n_kids);
    for (uint32_t i = 0; i < t.n_kids; i++) {
        if (t.id == WR_T_ROW) wr_put_bytes(out, t.names[i].ptr, t.names[i].len);
        wr_type_save(t.kids[i], out);
    }
}

static bool kid_count_ok(wr_type t) {
    switch (t.id) {
    case WR_T_ARRAY:
    case WR_T_MULTISET: return t.n_kids == 1;
    case WR_T_MAP: return t.n_kids == 2;
    case WR_T_ROW: return true;
    default: return t.n_kids == 0;
    }
}

static bool prec_ok(wr_type t) {
    if (t.id == WR_T_DECIMAL) return t.prec >= 1 && t.prec <= 38 && t.scale <= t.prec;
    if (t.id >= WR_T_TIME && t.id <= WR_T_TIMESTAMP_LTZ) return t.prec >= 0 && t.prec <= 9;
    return t.prec >= 0;
}

static wr_type load(wr_arena *arena, wr_reader *in, int depth) {
    wr_type t = {.id = wr_get_u8(in), .nullable = wr_get_u8(in), .attr = wr_get_u8(in), .scale = wr_get_u8(in)};
    t.prec = (int32_t)wr_get_u32(in);
    t.n_kids = wr_get_u32(in);
    /* a child takes at least 12 bytes, so damaged counts cannot ask for much memory */
    if (in->bad || t.id >= WR_T_COUNT || t.nullable > 1 || t.attr > WR_TIME_PROCTIME || depth > NESTING_MAX || !kid_count_ok(t) || !prec_ok(t) ||
        t.n_kids > (size_t)(in->end - in->at) / 12) {
        in->bad = true;
        return wr_type_of(WR_T_NULL);
    }
    if (!t.n_kids) return t;
    wr_type *kids = wr_new_n(arena, wr_type, t.n_kids);
    wr_str  *names = t.id == WR_T_ROW ? wr_new_n(arena, wr_str, t.n_kids) : NULL;
    for (uint32_t i = 0; i < t.n_kids && !in->bad; i++) {
        if (names) names[i] = wr_str_dup(arena, wr_get_bytes(in));
        kids[i] = load(arena, in, depth + 1);
    }
    t.kids = kids;
    t.names = names;
    return in->bad ? wr_type_of(WR_T_NULL) : t;
}

wr_type wr_type_load(wr_arena *arena, wr_reader *in) { return load(arena, in, 0); }

int wr_schema_find(const wr_schema *schema, wr_str name) {
    for (uint32_t i = 0; i < schema->n; i++)
        if (wr_str_eq(schema->fields[i].name, name)) return (int)i;
    return -1;
}

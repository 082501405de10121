/* expr/fn_json.c: JSON_VALUE, JSON_QUERY, JSON_EXISTS, IS JSON, JSON_STRING, JSON_OBJECT, JSON_ARRAY.
 *
 * Idea       the path is compiled once a step, the document is parsed once a row (jdoc.h). A constant path that is not valid is
 *            refused when the function is bound.
 * Behaviour  paths are strict unless they say `lax`: then a missing member is ON EMPTY, else ON ERROR (Flink's default).
 *            ON EMPTY / ON ERROR arrive as constant arguments: JSON_VALUE(doc, path, on_empty, empty_default, on_error, error_default)
 *            with on_* one of 'NULL', 'ERROR', 'DEFAULT'; JSON_QUERY(doc, path, wrapper, on_empty, on_error) with wrapper 'WITHOUT',
 *            'CONDITIONAL', 'UNCONDITIONAL' and on_* 'NULL', 'ERROR', 'EMPTY ARRAY', 'EMPTY OBJECT'; JSON_EXISTS(doc, path, on_error)
 *            with 'TRUE', 'FALSE', 'UNKNOWN', 'ERROR'. RETURNING is a cast around JSON_VALUE (TRY_CAST unless ERROR ON ERROR). */
#include "fn.h"
#include "jdoc.h"

typedef struct wr_json_state {
    wr_sbuf  text; /* the path as given; steps borrow from it */
    wr_jpath path;
    bool     ready, ok;
    wr_jdoc  doc;
    wr_jhits hits;
    wr_sbuf  out;
} wr_json_state;

static void state_free(void *p) {
    wr_json_state *s = p;
    wr_jpath_free(&s->path), wr_jdoc_free(&s->doc), wr_arr_free(&s->hits.nodes);
    wr_sbuf_free(&s->text), wr_sbuf_free(&s->out);
    wr_free(s);
}
static wr_json_state *state_of(wr_call *c) {
    if (!*c->state) *c->state = wr_calloc(1, sizeof(wr_json_state)), *c->state_free = state_free;
    return *c->state;
}
static bool set_path(wr_json_state *s, wr_str path) {
    if (s->ready && wr_str_eq(path, wr_sbuf_str(&s->text))) return s->ok;
    wr_jpath_free(&s->path);
    wr_sbuf_clear(&s->text);
    wr_sbuf_add_str(&s->text, path);
    s->ready = true;
    return s->ok = wr_jpath_parse(wr_sbuf_str(&s->text), &s->path);
}

typedef enum wr_found { FOUND_BAD, FOUND_NONE, FOUND_NULL, FOUND_SCALAR, FOUND_OBJECT, FOUND_ARRAY } wr_found;
/* What the path leads to; its text is in s->out. */
static wr_found find(wr_json_state *s, wr_str doc, bool scalar) {
    bool many = false; /* a path with * leads to a list of all hits, as in Flink */
    for (uint32_t i = 0; i < s->path.steps.n; i++) many |= s->path.steps.at[i].kind == WR_STEP_ANY;
    wr_sbuf_clear(&s->out);
    if (!wr_jdoc_parse(&s->doc, doc)) return FOUND_BAD;
    wr_jpath_find(&s->path, &s->doc, &s->hits);
    if (many) wr_sbuf_addc(&s->out, '[');
    for (uint32_t i = 0; i < s->hits.nodes.n; i++) {
        if (i) wr_sbuf_addc(&s->out, ',');
        wr_jdoc_print(&s->doc, s->hits.nodes.at[i], scalar && !many, &s->out);
    }
    if (many) return wr_sbuf_addc(&s->out, ']'), FOUND_ARRAY;
    if (s->hits.nodes.n == 0) return FOUND_NONE;
    switch (s->doc.nodes.at[s->hits.nodes.at[0]].kind) {
    case WR_J_NULL: return FOUND_NULL;
    case WR_J_OBJECT: return FOUND_OBJECT;
    case WR_J_ARRAY: return FOUND_ARRAY;
    default: return FOUND_SCALAR;
    }
}
static wr_status bad_path(wr_call *c, uint32_t r, wr_str path) {
    return call_fail(c, r, "2203A", "'%.*s' is not a JSON path: expected $, .name, ['name'], [0] or [*]", (int)WR_MIN(path.len, (size_t)100), path.ptr);
}
static wr_status json_error(wr_call *c, uint32_t r, bool empty) {
    return call_fail(c, r, empty ? "22035" : "22032", "%s: %s", c->expr->fn->name, empty ? "the JSON path leads nowhere" : "the text is not valid JSON, or the value at the path has the wrong kind");
}

/* ---- JSON_VALUE ---- */
static wr_status json_value(wr_call *c) {
    wr_json_state *s = state_of(c);
    bool           more = c->n_args == 6;
    for ROWS(c, r) {
        if (arg_null(c, 0, r) || arg_null(c, 1, r)) {
            call_null(c, r);
            continue;
        }
        if (!set_path(s, arg_str(c, 1, r))) return bad_path(c, r, arg_str(c, 1, r));
        wr_found f = find(s, arg_str(c, 0, r), true);
        if (f == FOUND_SCALAR) {
            call_put(c, r, s->out.at ? s->out.at : "", s->out.len);
            continue;
        }
        if (f == FOUND_NULL) {
            call_null(c, r);
            continue;
        }
        bool     empty = f == FOUND_NONE && s->path.lax;
        uint32_t k = empty ? 2 : 4;
        wr_str   how = more ? arg_str(c, k, r) : WR_STR("NULL");
        if (wr_str_eq(how, WR_STR("ERROR"))) return json_error(c, r, empty);
        if (wr_str_eq(how, WR_STR("DEFAULT")) && !arg_null(c, k + 1, r)) {
            wr_str text = arg_str(c, k + 1, r);
            call_put(c, r, text.ptr, text.len);
        } else {
            call_null(c, r);
        }
    }
    return WR_OK;
}
static bool check_path(wr_resolve *r) {
    wr_str path;
    if (r->n < 2 || !res_const_str(r, 1, &path)) return true;
    wr_jpath p;
    if (wr_jpath_parse(path, &p)) return wr_jpath_free(&p), true;
    return res_error(r, "2203A", "'%.*s' is not a JSON path: expected $, .name, ['name'], [0] or [*]", WR_FMT(path));
}
bool res_json_value(wr_resolve *r) {
    if (r->n != 2 && r->n != 6) return false;
    for (uint32_t i = 0; i < r->n; i++) {
        bool text = wr_type_is_string(r->args[i]->type);
        if (i < 2 && !text && r->args[i]->type.id != WR_T_NULL) return false;
        if (!text && !res_cast(r, i, wr_type_string())) return false; /* defaults become text; RETURNING casts the result */
    }
    return check_path(r) && res_set(r, wr_type_string(), json_value, 0);
}

/* ---- JSON_QUERY ---- */
static wr_status query_else(wr_call *c, uint32_t r, uint32_t k, bool empty) {
    wr_str how = c->n_args > k ? arg_str(c, k, r) : WR_STR("NULL");
    if (wr_str_eq(how, WR_STR("ERROR"))) return json_error(c, r, empty);
    if (wr_str_eq(how, WR_STR("EMPTY ARRAY"))) call_put(c, r, "[]", 2);
    else if (wr_str_eq(how, WR_STR("EMPTY OBJECT"))) call_put(c, r, "{}", 2);
    else call_null(c, r);
    return WR_OK;
}
wr_status fn_json_query(wr_call *c) {
    wr_json_state *s = state_of(c);
    for ROWS(c, r) {
        if (!set_path(s, arg_str(c, 1, r))) return bad_path(c, r, arg_str(c, 1, r));
        wr_str       wrapper = c->n_args > 2 ? arg_str(c, 2, r) : WR_STR("WITHOUT");
        wr_found     f = find(s, arg_str(c, 0, r), false);
        bool wrap = wr_str_eq(wrapper, WR_STR("UNCONDITIONAL")) || (wr_str_eq(wrapper, WR_STR("CONDITIONAL")) && f != FOUND_ARRAY);
        if (f == FOUND_BAD || f == FOUND_NONE) {
            bool empty = f == FOUND_NONE && s->path.lax;
            WR_TRY(query_else(c, r, empty ? 3 : 4, empty));
        } else if (wrap && f != FOUND_NULL) {
            char *p = call_text(c, s->out.len + 2);
            p[0] = '[', memcpy(p + 1, s->out.at, s->out.len), p[s->out.len + 1] = ']';
            call_view(c, r, p, s->out.len + 2);
        } else if (f == FOUND_OBJECT || f == FOUND_ARRAY) {
            call_put(c, r, s->out.at, s->out.len);
        } else if (f == FOUND_NULL) {
            call_null(c, r);
        } else {
            WR_TRY(query_else(c, r, 4, false));
        }
    }
    return WR_OK;
}

wr_status fn_json_exists(wr_call *c) {
    wr_json_state *s = state_of(c);
    for ROWS(c, r) {
        if (!set_path(s, arg_str(c, 1, r))) return bad_path(c, r, arg_str(c, 1, r));
        wr_found f = find(s, arg_str(c, 0, r), false);
        OUT(c, uint8_t)[r] = f > FOUND_NULL; /* a JSON null does not exist, as in Flink */
        if (c->n_args < 3 || f > FOUND_NONE || (f == FOUND_NONE && s->path.lax)) continue;
        wr_str how = arg_str(c, 2, r);
        if (wr_str_eq(how, WR_STR("ERROR"))) return json_error(c, r, false);
        if (wr_str_eq(how, WR_STR("TRUE"))) OUT(c, uint8_t)[r] = 1;
        if (wr_str_eq(how, WR_STR("UNKNOWN"))) call_null(c, r);
    }
    return WR_OK;
}

wr_status fn_is_json(wr_call *c) {
    wr_json_state *s = state_of(c);
    set_path(s, WR_STR("$"));
    for ROWS(c, r) {
        OUT(c, uint8_t)[r] = 0;
        if (arg_null(c, 0, r)) continue;
        wr_found f = find(s, arg_str(c, 0, r), false);
        wr_str   kind = c->n_args > 1 ? arg_str(c, 1, r) : WR_STR("VALUE");
        wr_jkind top = f == FOUND_BAD ? WR_J_NULL : s->doc.nodes.at[0].kind;
        bool     ok = f != FOUND_BAD;
        if (wr_str_eq(kind, WR_STR("OBJECT"))) ok &= top == WR_J_OBJECT;
        else if (wr_str_eq(kind, WR_STR("ARRAY"))) ok &= top == WR_J_ARRAY;
        else if (wr_str_eq(kind, WR_STR("SCALAR"))) ok &= top < WR_J_OBJECT;
        OUT(c, uint8_t)[r] = ok;
    }
    return WR_OK;
}

/* ---- values to JSON ---- */
/* Nesting is bounded by the type, which the parser bounds. */
static void value_json(const wr_vec *v, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    if (wr_vec_is_null(v, row)) {
        wr_sbuf_addz(out, "null");
        return;
    }
    wr_sbuf text = {0};
    switch (v->type.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, ((const uint8_t *)v->data)[row] ? "true" : "false"); break;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT:
    case WR_T_FLOAT:
    case WR_T_DOUBLE:
    case WR_T_DECIMAL: wr_vec_text(v, row, tz, out); break;
    case WR_T_VARIANT: wr_vec_text(v, row, NULL, out); break;
    case WR_T_CHAR:
    case WR_T_VARCHAR: wr_sbuf_add_json(out, wr_sview_str(&((const wr_sview *)v->data)[row])); break;
    case WR_T_ARRAY:
    case WR_T_MULTISET: {
        wr_list l = ((const wr_list *)v->data)[row];
        wr_sbuf_addc(out, '[');
        for (uint32_t i = 0; i < l.len; i++) {
            if (i) wr_sbuf_addc(out, ',');
            value_json(&v->kids[0], l.offset + i, tz, out);
        }
        wr_sbuf_addc(out, ']');
        break;
    }
    case WR_T_MAP: {
        wr_list l = ((const wr_list *)v->data)[row];
        wr_sbuf_addc(out, '{');
        for (uint32_t i = 0; i < l.len; i++) {
            if (i) wr_sbuf_addc(out, ',');
            wr_sbuf_clear(&text);
            wr_vec_text(&v->kids[0], l.offset + i, tz, &text);
            wr_sbuf_add_json(out, wr_sbuf_str(&text));
            wr_sbuf_addc(out, ':');
            value_json(&v->kids[1], l.offset + i, tz, out);
        }
        wr_sbuf_addc(out, '}');
        break;
    }
    case WR_T_ROW:
        wr_sbuf_addc(out, '{');
        for (uint32_t k = 0; k < v->type.n_kids; k++) {
            if (k) wr_sbuf_addc(out, ',');
            wr_sbuf_add_json(out, v->type.names[k]);
            wr_sbuf_addc(out, ':');
            value_json(&v->kids[k], row, tz, out);
        }
        wr_sbuf_addc(out, '}');
        break;
    default: /* times, intervals, bytes: as text */
        wr_vec_text(v, row, tz, &text);
        wr_sbuf_add_json(out, wr_sbuf_str(&text));
    }
    wr_sbuf_free(&text);
}
/* Objects print with sorted keys: the text made so far is parsed and printed again. */
static void put_sorted(wr_call *c, uint32_t r, wr_jdoc *doc, wr_sbuf *text, wr_sbuf *out) {
    wr_sbuf_clear(out);
    if (memchr(text->at, '{', text->len) && wr_jdoc_parse(doc, wr_sbuf_str(text))) wr_jdoc_print(doc, 0, false, out);
    else wr_sbuf_add_str(out, wr_sbuf_str(text));
    call_put(c, r, out->at, out->len);
}
wr_status fn_json_string(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_sbuf_clear(&buf);
        value_json(c->arg[0].vec, r & c->arg[0].mask, c->tz, &buf);
        put_sorted(c, r, &state_of(c)->doc, &buf, &state_of(c)->out);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
wr_status fn_json_quote(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_sbuf_clear(&buf);
        wr_sbuf_add_json(&buf, arg_str(c, 0, r));
        call_put(c, r, buf.at, buf.len);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
wr_status fn_json_unquote(wr_call *c) {
    wr_json_state *s = state_of(c);
    set_path(s, WR_STR("$"));
    for ROWS(c, r) {
        wr_str text = arg_str(c, 0, r);
        bool   quoted = text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';
        if (!quoted) {
            call_view(c, r, text.ptr, text.len);
        } else if (find(s, text, true) == FOUND_SCALAR) {
            call_put(c, r, s->out.at ? s->out.at : "", s->out.len);
        } else {
            call_view(c, r, text.ptr, text.len); /* not JSON: unchanged, as Flink */
        }
    }
    return WR_OK;
}

wr_status fn_json(wr_call *c) {
    wr_jdoc *doc = &state_of(c)->doc;
    wr_sbuf *out = &state_of(c)->out;
    for ROWS(c, r) {
        if (!wr_jdoc_parse(doc, arg_str(c, 0, r))) return json_error(c, r, false);
        wr_sbuf_clear(out);
        wr_jdoc_print(doc, 0, false, out);
        call_put(c, r, out->at, out->len);
    }
    return WR_OK;
}

/* A call of a JSON function as argument is JSON already. */
static bool is_json_call(const wr_expr *e) {
    static const char *const names[] = {"JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECT_ABSENT", "JSON_ARRAY_NULLS", "JSON_QUERY", "JSON"};
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (wr_expr_is_call(e, names[i])) return true;
    return false;
}
static int64_t json_args(const wr_resolve *r) { /* as bits; known when bound, for folding makes constants of them */
    int64_t bits = 0;
    for (uint32_t i = 0; i < r->n && i < 62; i++) bits |= (int64_t)is_json_call(r->args[i]) << i;
    return bits;
}
static void arg_json(const wr_call *c, uint32_t k, uint32_t r, wr_sbuf *out) {
    if (k < 62 && c->impl->extra[1] >> k & 1 && !arg_null(c, k, r)) wr_sbuf_add_str(out, arg_str(c, k, r));
    else value_json(c->arg[k].vec, r & c->arg[k].mask, c->tz, out);
}
static wr_status json_make(wr_call *c) {
    bool    object = c->impl->extra[0] & 1, absent = c->impl->extra[0] & 2;
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        bool any = false;
        wr_sbuf_clear(&buf);
        wr_sbuf_addc(&buf, object ? '{' : '[');
        for (uint32_t k = 0; k < c->n_args; k += 1 + object) {
            uint32_t v = k + object;
            if (absent && arg_null(c, v, r)) continue;
            if (object && arg_null(c, k, r)) {
                wr_sbuf_free(&buf);
                return call_fail(c, r, "22004", "JSON_OBJECT: a key is NULL");
            }
            if (any) wr_sbuf_addc(&buf, ',');
            any = true;
            if (object) wr_sbuf_add_json(&buf, arg_str(c, k, r)), wr_sbuf_addc(&buf, ':');
            arg_json(c, v, r, &buf);
        }
        wr_sbuf_addc(&buf, object ? '}' : ']');
        put_sorted(c, r, &state_of(c)->doc, &buf, &state_of(c)->out);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
bool res_json_object(wr_resolve *r) {
    if (r->n % 2) return false;
    for (uint32_t i = 0; i < r->n; i += 2)
        if (!wr_type_is_string(r->args[i]->type)) return res_error(r, "42804", "the keys of JSON_OBJECT must be texts");
    for (uint32_t i = 1; i < r->n; i += 2)
        if (r->args[i]->type.id == WR_T_NULL && !res_cast(r, i, wr_type_string())) return false;
    r->extra[0] = strcmp(r->fn->name, "JSON_OBJECT_ABSENT") == 0 ? 3 : 1, r->extra[1] = json_args(r);
    return res_set(r, wr_type_string(), json_make, 0);
}
bool res_json_array(wr_resolve *r) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->args[i]->type.id == WR_T_NULL && !res_cast(r, i, wr_type_string())) return false;
    r->extra[0] = strcmp(r->fn->name, "JSON_ARRAY") == 0 ? 2 : 0, r->extra[1] = json_args(r);
    return res_set(r, wr_type_string(), json_make, 0);
}

/* ---- JSON_ARRAYAGG, JSON_OBJECTAGG: of the list that ARRAY_AGG kept; arguments: list, whether NULLs are left out, whether values are JSON already ---- */
typedef struct wr_jkeys { WR_ARR(wr_str) list; } wr_jkeys;

static void element_json(const wr_call *c, const wr_vec *v, uint32_t row, bool raw, wr_sbuf *out) {
    if (raw && wr_type_is_string(v->type) && !wr_vec_is_null(v, row)) wr_sbuf_add_str(out, wr_sview_str(&((const wr_sview *)v->data)[row]));
    else value_json(v, row, c->tz, out);
}
static int by_key(const void *a, const void *b) { return wr_str_cmp(*(const wr_str *)a, *(const wr_str *)b); }
static bool same_key(wr_jkeys *keys, wr_str *which) { /* sorts them */
    if (keys->list.n > 1) qsort(keys->list.at, keys->list.n, sizeof(wr_str), by_key);
    for (uint32_t i = 1; i < keys->list.n; i++)
        if (wr_str_eq(*which = keys->list.at[i], keys->list.at[i - 1])) return true;
    return false;
}
static wr_status json_of_row(wr_call *c, uint32_t r, wr_jkeys *seen, wr_sbuf *buf) {
    const bool    object = c->impl->extra[0], absent = ARG(c, 1, uint8_t, r), raw = ARG(c, 2, uint8_t, r);
    const wr_vec *kid = &c->arg[0].vec->kids[0], *keys = object ? &kid->kids[0] : NULL, *values = object ? &kid->kids[1] : kid;
    wr_list       l = arg_null(c, 0, r) ? (wr_list){0, 0} : ARG(c, 0, wr_list, r);
    wr_str        key;
    bool          any = false;
    seen->list.n = 0;
    wr_sbuf_addc(buf, object ? '{' : '[');
    for (uint32_t x = l.offset; x < l.offset + l.len; x++) {
        if (object && wr_vec_is_null(keys, x)) return call_fail(c, r, "22004", "JSON_OBJECTAGG: a key is NULL");
        if (object) wr_arr_push(&seen->list, wr_sview_str(&((const wr_sview *)keys->data)[x]));
        if (absent && wr_vec_is_null(values, x)) continue;
        if (any) wr_sbuf_addc(buf, ',');
        any = true;
        if (object) wr_sbuf_add_json(buf, seen->list.at[seen->list.n - 1]), wr_sbuf_addc(buf, ':');
        element_json(c, values, x, raw, buf);
    }
    wr_sbuf_addc(buf, object ? '}' : ']');
    if (same_key(seen, &key)) return call_fail(c, r, "22030", "JSON_OBJECTAGG: two rows have the key '%.*s'", (int)WR_MIN(key.len, (size_t)100), key.ptr);
    put_sorted(c, r, &state_of(c)->doc, buf, &state_of(c)->out);
    return WR_OK;
}
static wr_status json_of(wr_call *c) {
    wr_jkeys  seen = {0};
    wr_sbuf   buf = {0};
    wr_status st = WR_OK;
    for ROWS(c, r) {
        wr_sbuf_clear(&buf);
        if ((st = json_of_row(c, r, &seen, &buf)) != WR_OK) break;
    }
    wr_sbuf_free(&buf);
    wr_arr_free(&seen.list);
    return st;
}
bool res_json_array_of(wr_resolve *r) {
    const bool object = strcmp(r->fn->name, "JSON_OBJECT_OF") == 0;
    if (r->n != 3 || r->args[0]->type.id != WR_T_ARRAY) return false;
    if (object && (r->args[0]->type.kids[0].id != WR_T_ROW || !wr_type_is_string(r->args[0]->type.kids[0].kids[0]))) return res_error(r, "42804", "the keys of JSON_OBJECTAGG must be texts");
    r->extra[0] = object;
    return res_set(r, wr_type_string(), json_of, 0);
}

/* ---- JSON_QUERY ... RETURNING ARRAY<STRING>: the elements of the array as texts ---- */
static wr_status json_strings(wr_call *c) {
    wr_jdoc *doc = &state_of(c)->doc;
    wr_sbuf *out = &state_of(c)->out;
    wr_vec  *kid = &c->out->kids[0];
    for ROWS(c, r) {
        wr_list row = {kid->n, 0};
        if (!wr_jdoc_parse(doc, arg_str(c, 0, r)) || doc->nodes.at[0].kind != WR_J_ARRAY) {
            call_null(c, r);
        } else {
            row = (wr_list){wr_vec_grow(kid, doc->nodes.at[0].n, c->mem), doc->nodes.at[0].n};
            for (uint32_t i = 0, node = 1; i < row.len; i++, node = doc->nodes.at[node].next) {
                wr_sbuf_clear(out);
                wr_jdoc_print(doc, node, true, out);
                ((wr_sview *)kid->data)[row.offset + i] = wr_sview_copy(c->mem, out->at ? out->at : "", out->len);
                if (doc->nodes.at[node].kind == WR_J_NULL) wr_vec_set_null(kid, row.offset + i, c->mem);
            }
        }
        OUT(c, wr_list)[r] = row;
    }
    return WR_OK;
}
bool res_json_strings(wr_resolve *r) {
    if (r->n != 1 || !wr_type_is_string(r->args[0]->type)) return false;
    wr_type *kid = wr_new(r->ctx->arena, wr_type);
    *kid = wr_type_string();
    return res_set(r, (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kid}, json_strings, 0);
}

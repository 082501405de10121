/* plan/user_functions.c: CREATE, ALTER, DROP, SHOW and DESCRIBE FUNCTION; which function a name means; what a query asks of one.
 *
 * Idea       the library is loaded when the statement is planned, so what is wrong with it is said there. Names mean, as in Flink: temporary system
 *            functions, then the built-in ones, then temporary ones, then the others; a name with the database before it is never a built-in one.
 * Memory     declarations live as long as the catalog.                                                                  */
#include "plan/ddl.h"
#include "plan/physical.h"
#include <stdio.h>

/* ---- names ---- */

static bool is_built_in(const wr_catalog *c, wr_str name) { return wr_catalog_has_core(c) && (wr_fn_exists(name) || wr_agg_exists(name)); }

const wr_udf *pl_user_function(const pl *p, const wr_ast_name *name) {
    const wr_catalog  *c = p->ctx->catalog;
    wr_str             n = name->part[name->n - 1].text;
    const wr_function *f = name->n == 1 ? wr_catalog_function(c, n, true, true) : NULL;
    if (!wr_catalog_n_functions(c)) return NULL;
    if (!f && (name->n > 1 || !is_built_in(c, n))) {
        const wr_space *s = wr_catalog_current(c);
        if (name->n > 1) s = name->n > 3 ? NULL : wr_catalog_find_space(c, name->n == 3 ? name->part[0].text : s->catalog, name->part[name->n - 2].text);
        if (!s) return NULL;
        wr_str key = wr_catalog_name_in(c, s, n);
        f = wr_catalog_function(c, key, true, false);
        if (!f) f = wr_catalog_function(c, key, false, false);
    }
    return f ? f->udf : NULL;
}

void pl_user_names(pl *p) {
    const wr_catalog *c = p->ctx->catalog;
    uint32_t          n = wr_catalog_n_functions(c);
    wr_str           *names = wr_new_n(p->arena, wr_str, n + 1);
    for (uint32_t i = 0; i < n; i++) names[i] = wr_catalog_function_at(c, i)->name;
    p->ec.user_names = names;
    p->ec.n_user_names = n;
}

static void not_found(pl *p, const wr_ast_name *name) {
    wr_str n = name->part[name->n - 1].text;
    int    near = wr_nearest(n, p->ec.user_names, p->ec.n_user_names);
    pl_error(p, "42883", name->at, "function '%.*s' not found", WR_FMT(n));
    if (is_built_in(p->ctx->catalog, n)) wr_diags_hint(p->diags, "it is a built-in function, which stays; CREATE TEMPORARY SYSTEM FUNCTION goes before it");
    else if (near >= 0) wr_diags_hint(p->diags, "did you mean %.*s?", WR_FMT(p->ec.user_names[near]));
}

/* ---- CREATE, ALTER, DROP ---- */

/* A path of the script: relative to the file it stands in. */
static const char *beside_script(pl *p, const wr_ast_text *path) {
    wr_str file = path->at.file && path->at.file <= p->diags->sources.n ? p->diags->sources.at[path->at.file - 1].name : WR_STR("");
    size_t dir = file.len;
    while (dir && file.ptr[dir - 1] != '/') dir--;
    if (!dir || (path->text.len && path->text.ptr[0] == '/')) return wr_arena_strndup(p->arena, path->text.ptr, path->text.len);
    return wr_arena_printf(p->arena, "%.*s%.*s", (int)dir, file.ptr, WR_FMT(path->text));
}

static bool language_fits(pl *p, const wr_ast_create_function *f, bool has_library) {
    bool said = f->language.text.ptr != NULL;
    if (said ? wr_str_ieq(f->language.text, WR_STR("C")) && !f->jars.n : has_library && !f->jars.n) return true;
    wr_span at = said ? f->language.at : f->jars.n ? f->jars.at[0].at : f->implementation.at;
    pl_error(p, "0A000", at, "a function in %.*s does not run here: weir takes functions from a shared object", said ? (int)f->language.text.len : 4, said ? f->language.text.ptr : "Java");
    wr_diags_hint(p->diags, "CREATE FUNCTION f AS 'symbol' LANGUAGE C USING LIBRARY './libmine.so', with weir_udf.h");
    return false;
}

static const wr_udf *load(pl *p, const wr_ast_create_function *f, wr_str name, const wr_ast_text *library) {
    const wr_udf *u = NULL;
    wr_err        err = {0};
    const char   *symbol = wr_arena_strndup(p->arena, f->implementation.text.ptr, f->implementation.text.len);
    if (wr_udf_load(p->arena, name, symbol, beside_script(p, library), &u, &err) == WR_OK) return u;
    pl_error(p, err.code, strcmp(err.code, "WR341") == 0 ? library->at : f->implementation.at, "%s", err.message);
    if (err.hint[0]) wr_diags_hint(p->diags, "%s", err.hint);
    return NULL;
}

/* What the catalog knows it by. */
static bool function_name(pl *p, const wr_ast_name *name, bool system, wr_str *out) {
    if (!system) return pl_object_name(p, name, out);
    if (name->n > 1) return pl_error(p, "42601", name->at, "a system function belongs to no database: its name has one part"), false;
    *out = name->part[0].text;
    return true;
}

void pl_create_function(pl *p, const wr_ast_stmt *s) {
    const wr_ast_create_function *f = &s->create_function;
    const wr_function            *old;
    wr_str                        name;
    if (!function_name(p, &f->name, f->system, &name)) return;
    old = wr_catalog_function(p->ctx->catalog, name, f->temporary, f->system);
    if (old ? !f->or_alter && f->if_not_exists : f->or_alter && f->if_not_exists) return; /* there already; IF EXISTS and it is not */
    if (!old && f->or_alter) {
        not_found(p, &f->name);
        return;
    }
    if (old && !f->or_alter) {
        pl_error(p, "42723", f->name.at, "function '%.*s' exists already", WR_FMT(name));
        wr_diags_hint(p->diags, "CREATE FUNCTION IF NOT EXISTS, ALTER FUNCTION, or DROP FUNCTION first");
        return;
    }
    if (f->libraries.n > 1) {
        pl_error(p, "42601", f->libraries.at[1].at, "a function comes from one library");
        return;
    }
    if (f->system && !f->temporary) {
        pl_error(p, "42601", f->name.at, "a system function is always temporary: CREATE TEMPORARY SYSTEM FUNCTION");
        return;
    }
    if (!language_fits(p, f, f->libraries.n || old)) return;
    if (!f->libraries.n && !old) {
        pl_error(p, "42601", f->implementation.at, "the library of function '%.*s' is missing: USING LIBRARY './libmine.so'", WR_FMT(name));
        return;
    }
    wr_ast_text   library = f->libraries.n ? f->libraries.at[0] : old->library;
    const wr_udf *u = load(p, f, f->name.part[f->name.n - 1].text, &library);
    if (!u) {
        pl_mark_broken(p, name);
        return;
    }
    if (!f->system && is_built_in(p->ctx->catalog, name)) {
        wr_diags_add(p->diags, WR_SEV_WARNING, "WR344", f->name.at, "'%.*s' is a built-in function, which goes before this one", WR_FMT(name));
        wr_diags_hint(p->diags, "call it as database.%.*s, or CREATE TEMPORARY SYSTEM FUNCTION", WR_FMT(name));
    }
    wr_catalog_set_function(p->ctx->catalog, (wr_function){.name = name, .symbol = f->implementation.text, .library = library, .temporary = f->temporary, .system = f->system, .udf = u});
    pl_user_names(p);
}

void pl_drop_function(pl *p, const wr_ast_drop *d) {
    wr_str name;
    if (!function_name(p, &d->name, d->system, &name)) return;
    if (wr_catalog_drop_function(p->ctx->catalog, name, d->temporary, d->system)) {
        pl_user_names(p);
        return;
    }
    if (d->if_exists || pl_is_broken(p, name)) return;
    for (int k = 0; k < 3; k++) { /* of another kind? */
        bool temporary = k < 2, system = k == 1;
        if (!wr_catalog_function(p->ctx->catalog, name, temporary, system)) continue;
        pl_error(p, "42883", d->name.at, "function '%.*s' is %s function", WR_FMT(name), system ? "a temporary system" : temporary ? "a temporary" : "not a temporary");
        wr_diags_hint(p->diags, "DROP %sFUNCTION %.*s", system ? "TEMPORARY SYSTEM " : temporary ? "TEMPORARY " : "", WR_FMT(name));
        return;
    }
    not_found(p, &d->name);
}

/* ---- SHOW, DESCRIBE ---- */

void pl_user_function_line(const wr_function *f, wr_sbuf *out) {
    char kind[32];
    snprintf(kind, sizeof kind, "user %s", wr_udf_kind(f->udf));
    wr_sbuf_printf(out, "%-28.*s %-14s %s\n", WR_FMT(f->name), kind, f->udf->decl->summary ? f->udf->decl->summary : "");
}

static void describe_user(const wr_function *f, bool extended, wr_sbuf *out) {
    const weir_function *d = f->udf->decl;
    wr_sbuf_printf(out, "%-24s %.*s\n", "name", WR_FMT(f->name));
    wr_sbuf_printf(out, "%-24s %s\n", "kind", wr_udf_kind(f->udf));
    wr_sbuf_printf(out, "%-24s %s\n", "is system function", f->system ? "true" : "false");
    wr_sbuf_printf(out, "%-24s %s\n", "is temporary", f->temporary ? "true" : "false");
    wr_sbuf_printf(out, "%-24s C\n%-24s %.*s\n%-24s %.*s\n", "language", "library", WR_FMT(f->library.text), "symbol", WR_FMT(f->symbol));
    if (d->summary) wr_sbuf_printf(out, "%-24s %s\n", "summary", d->summary);
    if (!extended) return;
    wr_sbuf sigs = {0};
    wr_udf_signatures(f->udf, &sigs);
    for (char *line = strtok(sigs.at, "\n"); line; line = strtok(NULL, "\n")) wr_sbuf_printf(out, "%-24s %s\n", "signature", line);
    wr_sbuf_free(&sigs);
    wr_sbuf_printf(out, "%-24s %s\n", "determinism", wr_udf_determinism(f->udf));
    if (d->kind != WEIR_AGGREGATE) return;
    const weir_aggregate *a = f->udf->sigs[0].decl->aggregate;
    wr_sbuf_printf(out, "%-24s accumulate%s%s%s\n", "algebra", a->retract ? ", retract" : "", a->merge ? ", merge" : "", d->flags & WEIR_ANY_ORDER ? ", any order" : "");
    wr_sbuf_printf(out, "%-24s %u B%s\n", "state", a->state_bytes, a->destroy ? " and what it owns" : "");
}

bool pl_describe_function(pl *p, const wr_ast_stmt *s, wr_sbuf *out) {
    const wr_ast_name *name = &s->describe.name;
    wr_str             n = name->part[name->n - 1].text;
    const wr_udf      *u = pl_user_function(p, name);
    for (uint32_t i = 0; u && i < wr_catalog_n_functions(p->ctx->catalog); i++) {
        const wr_function *f = wr_catalog_function_at(p->ctx->catalog, i);
        if (f->udf == u) return describe_user(f, s->describe.extended, out), true;
    }
    for (size_t i = 0; i < wr_fn_count(); i++) {
        wr_str fn, kind, signatures, summary;
        wr_fn_describe(i, &fn, &kind, &signatures, &summary);
        if (!wr_str_ieq(fn, n) || wr_str_eq(kind, WR_STR("operator"))) continue;
        wr_sbuf_printf(out, "%-24s %.*s\n%-24s scalar, %.*s\n%-24s true\n%-24s %.*s\n", "name", WR_FMT(fn), "kind", WR_FMT(kind), "is system function", "summary", WR_FMT(summary));
        if (s->describe.extended) wr_sbuf_printf(out, "%-24s %.*s\n", "signature", WR_FMT(signatures));
        return true;
    }
    if (wr_agg_exists(n)) return wr_sbuf_printf(out, "%-24s %.*s\n%-24s aggregate\n%-24s true\n", "name", WR_FMT(n), "kind", "is system function"), true;
    not_found(p, name);
    return false;
}

/* ---- what a query needs ---- */

static void lacks(phys *h, const wr_pnode *n, const wr_agg *a, bool retract, bool merge, const char *why_retract, const char *why_merge) {
    const char *what = wr_agg_lacks(a, retract, merge);
    if (!what) return;
    bool        is_retract = strcmp(what, "retract") == 0;
    const char *why = is_retract ? why_retract : why_merge; /* NULL: not asked for, so not lacking */
    pl_error(h->p, "0A000", n->at, "%s has no %s, but %s", wr_agg_title(a), what, why ? why : "it is needed");
    wr_diags_hint(h->p->diags, "add %s to its weir_aggregate%s", what, is_retract ? ", or aggregate rows that are only added" : ", or use a TUMBLE window");
}

/* Aggregates of the user have what this node asks of them; else a diagnostic. */
void ph_check_user_aggs(phys *h, const wr_pnode *n) {
    static const char *const TAKES_BACK = "the rows that it gets here can be taken back";
    if (n->kind == WR_P_GROUP_AGG)
        for (uint32_t i = 0; i < n->group_agg.n_aggs; i++) lacks(h, n, &n->group_agg.aggs[i], n->group_agg.retract_input, false, TAKES_BACK, NULL);
    if (n->kind == WR_P_WINDOW_AGG) {
        const wr_window_agg_opts *o = &n->window_agg;
        bool merge = !o->input_is_windowed && o->window.kind != WR_WINDOW_TUMBLE;
        for (uint32_t i = 0; i < o->n_aggs; i++)
            lacks(h, n, &o->aggs[i], o->retract_input, merge, TAKES_BACK, o->window.kind == WR_WINDOW_SESSION ? "two sessions become one when a row comes between them" : "these windows are put together from parts");
    }
    for (uint32_t i = 0; n->kind == WR_P_OVER && i < n->over.n_fns; i++) {
        const wr_over_fn *fn = &n->over.fns[i];
        if (fn->kind != WR_OVER_AGG || fn->frame.unbounded) continue;
        bool merges = fn->agg.kind == WR_AGG_USER && !wr_agg_lacks(&fn->agg, false, true) && !fn->agg.user->decl->aggregate->destroy; /* op/over.c keeps sums of rows */
        if (fn->agg.distinct || !merges) lacks(h, n, &fn->agg, true, false, "rows leave the frame of OVER (merge would do too, where a state owns no memory)", NULL);
    }
}

/* A row that is taken back takes back what was made of it: that must be the same again. */
void ph_check_unnest(phys *h, const wr_pnode *n) {
    const wr_pnode *in = n->inputs[0].node;
    const wr_expr  *e = in->kind == WR_P_CALC ? in->calc.exprs[n->unnest.col] : in->kind == WR_P_SOURCE ? in->source.exprs[n->unnest.col] : NULL;
    if (!e || (in->kind == WR_P_CALC && in->calc.pass) || wr_expr_volatility(e) == WR_VOL_PURE || !ph_info(h, in)->updating) return;
    wr_sbuf text = {0};
    wr_expr_text(e, NULL, &text);
    pl_error(h->p, "0A000", n->at, "%.*s is not deterministic, and the rows before it can be taken back: it would not give the same rows again", (int)WR_MIN(text.len, 100u), text.at);
    wr_diags_hint(h->p->diags, "apply it to rows that are only added, before the aggregation or join that updates them");
    wr_sbuf_free(&text);
}

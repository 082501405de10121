/* api/contract.c: see contract.h. */
#include "api/contract.h"
#include "api/internal.h"

static wr_arena *arena_of(wr_contract_book *book) {
    if (!book->arena) book->arena = wr_arena_new(NULL);
    return book->arena;
}

void wr_contract_book_free(wr_contract_book *book) {
    for (uint32_t i = 0; i < book->sessions.n; i++) wr_session_free(book->sessions.at[i]);
    wr_arr_free(&book->sessions);
    wr_arena_free(book->arena);
    *book = (wr_contract_book){0};
}

/* ---- reading ---- */

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n > m && !strcmp(path + n - m, end);
}

/* contracts/billing.sql -> billing */
static wr_str base_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return (wr_str){name, dot && dot > name ? (size_t)(dot - name) : strlen(name)};
}

wr_str wr_contract_publisher(const wr_session *session, const char *path) {
    wr_str name = wr_catalog_get(wr_session_catalog(session), "pipeline.name");
    return name.len ? name : base_of(path);
}

/* Of one reader and table the one that was read last: a script says more than what was kept of it. */
static void drop_former(wr_contract_book *book, uint32_t from) {
    uint32_t kept = 0, n = book->needs.n;
    for (uint32_t i = 0; i < n; i++) {
        bool former = false;
        for (uint32_t k = from; i < from && k < n; k++) former |= wr_str_eq(book->needs.at[i].party, book->needs.at[k].party) && wr_str_eq(book->needs.at[i].table, book->needs.at[k].table);
        if (!former) book->needs.at[kept++] = book->needs.at[i];
    }
    book->needs.n = kept;
}

void wr_contract_book_take(wr_contract_book *book, wr_session *session, const char *path) {
    wr_arena *arena = arena_of(book);
    wr_str    file = wr_str_dup(arena, wr_str_of(path)), name = wr_str_dup(arena, wr_contract_publisher(session, path));
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) {
        const wr_step *step = wr_session_step(session, i);
        if (step->kind == WR_STEP_JOB) wr_contracts_of(step->job, name, file, arena, wr_session_diags(session), &book->promises, &book->needs);
    }
}

static void take_declared(wr_contract_book *book, wr_session *session, const char *path) {
    wr_arena         *arena = arena_of(book);
    const wr_catalog *catalog = wr_session_catalog(session);
    wr_diags         *diags = wr_session_diags(session);
    wr_str            file = wr_str_dup(arena, wr_str_of(path));
    for (uint32_t i = 0; i < wr_catalog_count(catalog); i++) {
        const wr_table *t = wr_catalog_at(catalog, i);
        wr_contract     c;
        bool            promise = wr_str_eq(t->connector, WR_STR("contract")), need = wr_str_eq(t->connector, WR_STR("needs"));
        if (t->is_view || (!promise && !need)) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR349", t->at, "'%.*s' is no contract", WR_FMT(t->name));
            wr_diags_hint(diags, "what a team publishes has 'connector' = 'contract', what a reader needs 'connector' = 'needs'; 'weir contract' writes both");
        } else if (!wr_contract_read(t, file, arena, diags, &c)) {
            continue; /* it has been said */
        } else if (need && !c.party.len) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR349", t->at, "who needs this of '%.*s'?", WR_FMT(t->name));
            wr_diags_hint(diags, "'needs.consumer' = 'a name'");
        } else if (promise) wr_arr_apush(arena, &book->promises, c);
        else wr_arr_apush(arena, &book->needs, c);
    }
}

wr_status wr_contract_book_add(wr_contract_book *book, const char *path, const char *const *sets, uint32_t n_sets, wr_sbuf *report, wr_err *err) {
    wr_session *session = wr_session_new(NULL);
    bool        script = ends_with(path, ".sql");
    wr_status   status = WR_OK;
    wr_arr_push(&book->sessions, session);
    if (!script) session->plan_ctx.connector = NULL; /* a contract is of none: its options are read by wr_contract_read */
    for (uint32_t i = 0; i < n_sets && script && status == WR_OK; i++) status = wr_session_set(session, sets[i], err);
    if (status == WR_OK) status = wr_session_load_file(session, path, err);
    if (status != WR_OK) return status;
    status = wr_session_plan(session);
    uint32_t promised = book->promises.n, needed = book->needs.n;
    if (status == WR_OK && !script) take_declared(book, session, path);
    if (status == WR_OK && script) wr_contract_book_take(book, session, path);
    bool none = !script && book->promises.n == promised && book->needs.n == needed;
    if (script) book->promises.n = promised; /* what it writes is promised where there is a contract of it */
    drop_former(book, needed);
    bool wrong = status != WR_OK || wr_session_diags(session)->n_errors;
    if (!wrong && none) return wr_fail(err, WR_USER, "WR349", "%s holds no contract", path);
    if (!wrong) return WR_OK;
    wr_session_report(session, NULL, false, report);
    wr_fail(err, WR_USER, "WR349", "%s cannot be used as %s", path, script ? "a reader's script" : "a contract");
    if (script) wr_err_hint(err, "'weir contract needs %s > %.*s.needs' keeps what it needs without the script", path, WR_FMT(base_of(path)));
    return WR_USER;
}

wr_status wr_contract_book_load(wr_contract_book *book, const char *dir, const char *const *sets, uint32_t n_sets, wr_sbuf *report, wr_err *err) {
    wr_world     *w = wr_world_posix();
    wr_file_info *names = NULL;
    size_t        n = 0;
    wr_sbuf       path = {0};
    wr_status     status = w->vt->list(w, dir, &names, &n, err);
    uint32_t      read = 0;
    if (status != WR_OK) return status;
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        bool ours = ends_with(names[i].name, ".contract") || ends_with(names[i].name, ".needs") || ends_with(names[i].name, ".sql");
        if (names[i].is_dir || !ours || names[i].name[0] == '.') continue;
        wr_sbuf_clear(&path);
        wr_sbuf_printf(&path, "%s/%s", dir, names[i].name);
        status = wr_contract_book_add(book, path.at, sets, n_sets, report, err);
        read++;
    }
    if (n) wr_free(names);
    wr_sbuf_free(&path);
    if (status == WR_OK && !read) {
        status = wr_fail(err, WR_USER, "WR349", "the directory '%s' has no contracts", dir);
        wr_err_hint(err, "weir contract job.sql > %s/job.contract; weir contract needs reader.sql > %s/reader.needs", dir, dir);
    }
    return status;
}

/* ---- judging ---- */

static const wr_contract *by_name(const wr_contracts *promises, wr_str table) {
    for (uint32_t i = 0; i < promises->n; i++)
        if (wr_str_eq(promises->at[i].table, table)) return &promises->at[i];
    return NULL;
}

static const wr_contract *promise_for(const wr_contracts *promises, const wr_contract *need) {
    const wr_contract *found = by_name(promises, need->table);
    for (uint32_t i = 0; i < promises->n && !found; i++)
        if (wr_contract_is_of(&promises->at[i], need)) found = &promises->at[i];
    return found;
}

static void find(wr_contract_book *book, wr_contract_findings *out, wr_verdict verdict, const wr_contract *promise, const wr_contract *need, const wr_contract_point *point) {
    wr_contract_finding f = {.verdict = verdict, .promise = promise, .need = need};
    if (point) f.point = *point;
    wr_arr_apush(arena_of(book), out, f);
}

static bool has_point(const wr_contract_points *points, const wr_contract_point *p) {
    for (uint32_t i = 0; i < points->n; i++)
        if (!strcmp(points->at[i].what, p->what) && wr_str_eq(points->at[i].column, p->column)) return true;
    return false;
}

/* One promise as it is now against its readers, and against what it was. */
static void judge_promise(wr_contract_book *book, const wr_contract *was, const wr_contract *now, wr_contract_findings *out) {
    wr_contract_points changes = {0}, minded = {0};
    if (was) wr_contract_changes(was, now, arena_of(book), &changes);
    for (uint32_t i = 0; i < book->needs.n; i++) {
        const wr_contract *need = &book->needs.at[i];
        wr_contract_points breaks = {0};
        if (!wr_contract_is_of(now, need) && !(was && wr_contract_is_of(was, need))) continue;
        wr_contract_breaks(now, need, arena_of(book), &breaks);
        for (uint32_t k = 0; k < changes.n; k++)
            if (!has_point(&breaks, &changes.at[k]) && wr_contract_touches(&changes.at[k], was, need)) wr_arr_apush(arena_of(book), &breaks, changes.at[k]);
        for (uint32_t k = 0; k < breaks.n; k++) {
            find(book, out, WR_VERDICT_BREAKS, now, need, &breaks.at[k]);
            wr_arr_apush(arena_of(book), &minded, breaks.at[k]);
        }
    }
    for (uint32_t k = 0; k < changes.n; k++)
        if (!has_point(&minded, &changes.at[k])) find(book, out, changes.at[k].weaker ? WR_VERDICT_WEAKER : WR_VERDICT_CHANGED, now, NULL, &changes.at[k]);
}

/* It was published by this job and is not any more. */
static void judge_gone(wr_contract_book *book, const wr_contract *was, wr_contract_findings *out) {
    wr_contract_point gone = {"table", WR_STR(""), true, WR_STR("it is not published any more")};
    uint32_t          before = out->n;
    for (uint32_t i = 0; i < book->needs.n; i++)
        if (wr_contract_is_of(was, &book->needs.at[i])) find(book, out, WR_VERDICT_BREAKS, was, &book->needs.at[i], &gone);
    if (out->n == before) find(book, out, WR_VERDICT_WEAKER, was, NULL, &gone);
}

void wr_contract_judge(wr_contract_book *book, const wr_contract_book *now, wr_str publisher, wr_contract_findings *out) {
    for (uint32_t i = 0; i < book->promises.n; i++) {
        const wr_contract *was = &book->promises.at[i];
        if ((!publisher.len || wr_str_eq(was->publisher, publisher)) && !by_name(&now->promises, was->table)) judge_gone(book, was, out);
    }
    for (uint32_t i = 0; i < now->promises.n; i++) {
        const wr_contract *p = &now->promises.at[i];
        judge_promise(book, by_name(&book->promises, p->table), p, out);
    }
    for (uint32_t i = 0; i < now->needs.n; i++) {
        const wr_contract *need = &now->needs.at[i], *promise = promise_for(&now->promises, need) ? NULL : promise_for(&book->promises, need);
        wr_contract_points breaks = {0};
        if (promise) wr_contract_breaks(promise, need, arena_of(book), &breaks);
        for (uint32_t k = 0; k < breaks.n; k++) find(book, out, WR_VERDICT_LACKS, promise, need, &breaks.at[k]);
    }
}

void wr_contract_judge_all(wr_contract_book *book, wr_contract_findings *out) {
    for (uint32_t i = 0; i < book->promises.n; i++) judge_promise(book, NULL, &book->promises.at[i], out);
    for (uint32_t i = 0; i < book->needs.n; i++)
        if (!promise_for(&book->promises, &book->needs.at[i])) find(book, out, WR_VERDICT_ORPHAN, NULL, &book->needs.at[i], NULL);
}

const char *wr_verdict_name(wr_verdict verdict) {
    static const char *const NAMES[] = {"breaks", "lacks", "weaker", "changed", "orphan"};
    return NAMES[verdict];
}

void wr_contract_findings_json(const wr_contract_findings *findings, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < findings->n; i++) {
        const wr_contract_finding *f = &findings->at[i];
        wr_sbuf_printf(out, "%s{\"verdict\":\"%s\",\"table\":", i ? "," : "", wr_verdict_name(f->verdict));
        wr_sbuf_add_json(out, f->promise ? f->promise->table : f->need->table);
        wr_sbuf_addz(out, ",\"owner\":");
        if (f->promise && f->promise->party.len) wr_sbuf_add_json(out, f->promise->party);
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"consumer\":");
        if (f->need) wr_sbuf_add_json(out, f->need->party);
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"file\":");
        if (f->need) wr_sbuf_add_json(out, f->need->file);
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"what\":");
        if (f->point.what) wr_sbuf_add_json(out, wr_str_of(f->point.what));
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"column\":");
        if (f->point.column.len) wr_sbuf_add_json(out, f->point.column);
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"said\":");
        wr_sbuf_add_json(out, f->point.said.ptr ? f->point.said : WR_STR("nobody promises this table"));
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, ']');
}

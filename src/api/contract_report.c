/* api/contract_report.c: see contract_report.h. Here: reading the tree, and what is asked of it; how it is shown is in contract_report_show.c. */
#include "api/contract_report.h"
#include "api/contract_report_parts.h"
#include "api/internal.h"
#include "type/datetime.h"
#include <stdlib.h>

static bool ends_with(wr_str path, const char *end) {
    size_t m = strlen(end);
    return path.len > m && !memcmp(path.ptr + path.len - m, end, m);
}

static void add_error(wr_contract_report *r, wr_str team, wr_str path, wr_session *session, const wr_err *err) {
    wr_sbuf said = {0};
    if (session) wr_session_report(session, err, false, &said);
    else wr_err_print(err, NULL, &said);
    const char *nl = said.len ? memchr(said.at, '\n', said.len) : NULL;
    wr_arr_push(&r->errors, (wr_report_error){team, path, wr_str_dup(r->arena, (wr_str){said.at, nl ? (size_t)(nl - said.at) : said.len})});
    wr_sbuf_free(&said);
}

/* ---- dead letters ---- */
/* When the first letter of a file was refused, which is the oldest: letters are added at the end. Else: WR_TIME_MIN. */
static int64_t first_refused(wr_str text) {
    static const wr_str NAME = {"\"refused_at\":\"", 14};
    const char *nl = memchr(text.ptr, '\n', text.len), *at = memmem(text.ptr, nl ? (size_t)(nl - text.ptr) : text.len, NAME.ptr, NAME.len), *end;
    int64_t     us;
    int32_t     nanos;
    bool        zoned;
    if (!at || !(end = memchr(at + NAME.len, '"', (size_t)(text.ptr + text.len - at) - NAME.len))) return WR_TIME_MIN;
    return wr_parse_timestamp((wr_str){at + NAME.len, (size_t)(end - at) - NAME.len}, &us, &nanos, &zoned) ? us : WR_TIME_MIN;
}

static wr_report_letters letters_in(const char *path, const wr_file_info *info) {
    enum { MOST = 64 << 20 };
    wr_report_letters l = {.n = UINT64_MAX, .oldest_us = info->mtime_us}; /* too long to be counted */
    wr_sbuf           text = {0};
    wr_err            err = {0};
    if (wr_file_read_all(wr_world_posix(), path, MOST, &text, &err) == WR_OK) {
        int64_t first = first_refused(wr_sbuf_str(&text));
        l.n = 0;
        for (size_t i = 0; i < text.len; i++) l.n += text.at[i] == '\n';
        if (first != WR_TIME_MIN) l.oldest_us = first;
    }
    wr_sbuf_free(&text);
    return l;
}

static void find_letters(wr_contract_report *r, wr_str team, wr_str path, const wr_session *session) {
    const wr_catalog *catalog = wr_session_catalog(session);
    const char       *slash = memrchr(path.ptr, '/', path.len);
    for (uint32_t i = 0; i < wr_catalog_count(catalog); i++) {
        const wr_table *t = wr_catalog_at(catalog, i);
        wr_str          given = wr_table_option_get(t, "dead-letter.path");
        wr_file_info    info;
        wr_err          err = {0};
        wr_sbuf         at = {0};
        bool            exists = false;
        if (!given.ptr || !given.len) continue;
        if (given.ptr[0] != '/' && slash) wr_sbuf_printf(&at, "%.*s/", (int)(slash - path.ptr), path.ptr);
        wr_sbuf_add_str(&at, given);
        if (wr_world_posix()->vt->stat(wr_world_posix(), at.at, &info, &exists, &err) == WR_OK && exists && !info.is_dir && info.size_bytes) {
            wr_report_letters l = letters_in(at.at, &info);
            l.team = team, l.path = wr_str_dup(r->arena, wr_sbuf_str(&at)), l.table = wr_str_dup(r->arena, t->name);
            wr_arr_push(&r->letters, l);
        }
        wr_sbuf_free(&at);
    }
}

/* ---- files ---- */
/* Where the place of a table is: two clusters may have a topic of one name, two folders a file. */
static wr_str realm_of(wr_contract_report *r, const wr_table *t, wr_str path) {
    const char *slash = memrchr(path.ptr, '/', path.len);
    wr_str      brokers = t ? wr_table_option_get(t, "properties.bootstrap.servers") : WR_STR(""), file = t ? wr_table_option_get(t, "path") : WR_STR("");
    if (brokers.ptr && brokers.len) return wr_str_dup(r->arena, brokers);
    if (file.ptr && file.len && file.ptr[0] != '/' && slash) return wr_str_dup(r->arena, (wr_str){path.ptr, (size_t)(slash - path.ptr)});
    return WR_STR("");
}

/* The script's table of a contract: by its name, or by what it is published as. */
static const wr_table *table_of(const wr_session *session, wr_str table) {
    const wr_catalog *catalog = wr_session_catalog(session);
    for (uint32_t i = 0; i < wr_catalog_count(catalog); i++) {
        const wr_table *t = wr_catalog_at(catalog, i);
        wr_str          name = wr_table_option_get(t, "contract.name");
        if (wr_str_eq(t->name, table) || (name.ptr && wr_str_eq(name, table))) return t;
    }
    return NULL;
}

static wr_report_out out_of(wr_contract_report *r, const wr_table *t) {
    wr_report_out out = {.table = t ? wr_str_dup(r->arena, t->name) : WR_STR("")};
    wr_diags      ignored; /* the plan has checked them */
    wr_diags_init(&ignored);
    if (t) (void)wr_slo_options_read(&(wr_options){t->n_options, (const wr_option *)(const void *)t->options}, &out.slo, &ignored);
    wr_diags_free(&ignored);
    return out;
}

static void read_job(wr_contract_report *r, wr_str team, const char *path, const char *const *sets, uint32_t n_sets) {
    wr_session    *session = wr_session_new(NULL);
    wr_err         err = {0};
    wr_status      status = WR_OK;
    wr_report_file f = {.team = team, .path = wr_str_dup(r->arena, wr_str_of(path)), .job = true, .promises = {r->jobs.promises.n, 0}, .needs = {r->jobs.needs.n, 0}};
    wr_arr_push(&r->jobs.sessions, session);
    for (uint32_t i = 0; i < n_sets && status == WR_OK; i++) status = wr_session_set(session, sets[i], &err);
    if (status == WR_OK) status = wr_session_load_file(session, path, &err);
    if (status == WR_OK) status = wr_session_plan(session);
    wr_contract_book one = {.arena = report_arena(&r->jobs)}; /* two jobs that write one table stay two */
    if (status == WR_OK) wr_contract_book_take(&one, session, path);
    if (status != WR_OK || wr_session_diags(session)->n_errors) {
        add_error(r, team, f.path, session, &err);
        return;
    }
    for (uint32_t i = 0; i < one.promises.n; i++) {
        wr_arr_apush(one.arena, &r->jobs.promises, one.promises.at[i]);
        const wr_table *t = table_of(session, one.promises.at[i].table);
        wr_arr_push(&r->out_realm, realm_of(r, t, f.path));
        wr_arr_push(&r->outs, out_of(r, t));
    }
    for (uint32_t i = 0; i < one.needs.n; i++) {
        wr_arr_apush(one.arena, &r->jobs.needs, one.needs.at[i]);
        const wr_table *t = table_of(session, one.needs.at[i].table);
        wr_arr_push(&r->in_realm, realm_of(r, t, f.path));
        wr_arr_push(&r->in_table, t ? wr_str_dup(r->arena, t->name) : one.needs.at[i].table);
    }
    f.promises[1] = r->jobs.promises.n, f.needs[1] = r->jobs.needs.n;
    wr_arr_push(&r->files, f);
    find_letters(r, team, f.path, session);
}

static void read_contract(wr_contract_report *r, wr_str team, const char *path) {
    wr_sbuf        report = {0};
    wr_err         err = {0};
    wr_report_file f = {.team = team, .path = wr_str_dup(r->arena, wr_str_of(path)), .promises = {r->declared.promises.n, 0}, .needs = {r->declared.needs.n, 0}};
    if (wr_contract_book_add(&r->declared, path, NULL, 0, &report, &err) != WR_OK) {
        r->declared.promises.n = f.promises[0], r->declared.needs.n = WR_MIN(r->declared.needs.n, f.needs[0]);
        const char *nl = report.len ? memchr(report.at, '\n', report.len) : NULL;
        if (nl) wr_arr_push(&r->errors, (wr_report_error){team, f.path, wr_str_dup(r->arena, (wr_str){report.at, (size_t)(nl - report.at)})});
        else add_error(r, team, f.path, NULL, &err);
    } else {
        f.promises[1] = r->declared.promises.n, f.needs[1] = r->declared.needs.n;
        wr_arr_push(&r->files, f);
    }
    wr_sbuf_free(&report);
}

static void read_state(wr_contract_report *r, wr_str team, const char *path) {
    wr_job_status s;
    wr_err        err = {0};
    if (wr_ledger_at_rest(wr_world_posix(), path, &s, &err) != WR_OK) return add_error(r, team, wr_str_dup(r->arena, wr_str_of(path)), NULL, &err);
    wr_report_state st = {.team = team, .path = wr_str_dup(r->arena, wr_str_of(path)), .closes = true};
    wr_sbuf tables = {0};
    for (uint32_t i = 0; i < s.n_nodes; i++) {
        const wr_ledger *l = &s.nodes[i].ledger;
        const wr_pnode  *n = s.nodes[i].node;
        const char      *open = n->kind == WR_P_SINK ? strstr(n->title, " (") : NULL; /* "orders (kafka)" */
        if (open) wr_sbuf_printf(&tables, "%.*s\n", (int)(open - n->title), n->title);
        st.closes = st.closes && wr_node_closes(&s, &s.nodes[i]);
        st.late += l->dropped[WR_REASON_LATE];
        if (s.nodes[i].node->kind != WR_P_SOURCE) continue;
        uint64_t refused = l->dropped[WR_REASON_MALFORMED] + l->dropped[WR_REASON_DEAD_LETTER];
        st.refused += refused, st.left_out += refused + l->dropped[WR_REASON_SHED] + l->dropped[WR_REASON_FUTURE] + l->dropped[WR_REASON_LATE];
        st.in += l->out + refused + l->dropped[WR_REASON_SHED] + l->dropped[WR_REASON_FUTURE] + l->dropped[WR_REASON_LATE];
    }
    st.tables = wr_str_dup(r->arena, wr_sbuf_str(&tables));
    wr_sbuf_free(&tables);
    wr_arr_push(&r->states, st);
    report_read_slos(r, team, path);
    wr_arena_free(s.arena);
}

static bool is_state(const wr_file_info *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (wr_str_starts(wr_str_of(names[i].name), WR_STR("checkpoint-")) && ends_with(wr_str_of(names[i].name), ".weir")) return true;
    return false;
}

static int by_name(const void *a, const void *b) { return strcmp(((const wr_file_info *)a)->name, ((const wr_file_info *)b)->name); }

static wr_status walk(wr_contract_report *r, const char *dir, wr_str team, uint32_t depth, const char *const *sets, uint32_t n_sets, wr_err *err) {
    wr_world     *w = wr_world_posix();
    wr_file_info *names = NULL;
    size_t        n = 0;
    WR_TRY(w->vt->list(w, dir, &names, &n, err));
    if (n) qsort(names, n, sizeof *names, by_name);
    wr_sbuf path = {0};
    if (is_state(names, n)) read_state(r, team, dir);
    else
        for (size_t i = 0; i < n; i++) {
            wr_str name = wr_str_of(names[i].name);
            wr_err below = {0};
            if (name.ptr[0] == '.') continue;
            wr_sbuf_clear(&path);
            wr_sbuf_printf(&path, "%s/%s", dir, names[i].name);
            if (names[i].is_dir && depth >= WR_REPORT_DEPTH_MAX) {
                wr_fail(&below, WR_USER, "WR470", "%s: folders below this one are not looked at: they are %d deep", path.at, WR_REPORT_DEPTH_MAX);
                add_error(r, team, wr_str_dup(r->arena, wr_sbuf_str(&path)), NULL, &below);
            } else if (names[i].is_dir) {
                if (walk(r, path.at, depth ? team : wr_str_dup(r->arena, name), depth + 1, sets, n_sets, &below) != WR_OK) add_error(r, team, wr_str_dup(r->arena, wr_sbuf_str(&path)), NULL, &below);
            } else if (ends_with(name, ".sql")) read_job(r, team, path.at, sets, n_sets);
            else if (ends_with(name, ".contract") || ends_with(name, ".needs")) read_contract(r, team, path.at);
        }
    if (n) wr_free(names);
    wr_sbuf_free(&path);
    return WR_OK;
}

wr_status wr_contract_report_make(const char *dir, const char *against, const char *const *sets, uint32_t n_sets, wr_contract_report *r, wr_err *err) {
    *r = (wr_contract_report){.arena = wr_arena_new(NULL)};
    WR_TRY(walk(r, dir, WR_STR("."), 0, sets, n_sets, err));
    /* Who reads needs what was agreed, with a contract file of its own or by its script. */
    for (uint32_t i = 0; i < r->jobs.needs.n; i++) wr_arr_apush(report_arena(&r->declared), &r->declared.needs, r->jobs.needs.at[i]);
    uint32_t first = r->declared.needs.n - r->jobs.needs.n;
    wr_contract_judge_all(&r->declared, &r->broken);
    for (uint32_t i = 0; i < r->broken.n;) { /* a table without a contract is a matter of coverage */
        if (r->broken.at[i].verdict == WR_VERDICT_ORPHAN) r->broken.at[i] = r->broken.at[--r->broken.n];
        else i++;
    }
    r->declared.needs.n = first;
    report_judge_kept(r);
    if (against) {
        wr_contract_report was;
        WR_TRY(wr_contract_report_make(against, NULL, sets, n_sets, &was, err));
        wr_contract_book now = {.arena = r->declared.arena, .promises = r->declared.promises, .needs = {0}};
        wr_contract_findings changes = {0};
        wr_contract_judge(&was.declared, &now, WR_STR(""), &changes);
        for (uint32_t i = 0; i < changes.n; i++)
            if (changes.at[i].verdict == WR_VERDICT_BREAKS || changes.at[i].verdict == WR_VERDICT_WEAKER) wr_arr_apush(report_arena(&r->declared), &r->broken, changes.at[i]);
        for (uint32_t i = 0; i < was.declared.sessions.n; i++) wr_arr_push(&r->declared.sessions, was.declared.sessions.at[i]); /* findings point into them */
        for (uint32_t i = 0; i < was.jobs.sessions.n; i++) wr_arr_push(&r->declared.sessions, was.jobs.sessions.at[i]);
        r->former[0] = was.arena, r->former[1] = was.declared.arena, r->former[2] = was.jobs.arena;
        wr_arr_free(&was.files), wr_arr_free(&was.errors), wr_arr_free(&was.states), wr_arr_free(&was.letters), wr_arr_free(&was.out_realm), wr_arr_free(&was.in_realm), wr_arr_free(&was.measured), wr_arr_free(&was.kept), wr_arr_free(&was.outs), wr_arr_free(&was.in_table), wr_arr_free(&was.declared.sessions), wr_arr_free(&was.jobs.sessions);
    }
    return WR_OK;
}

void wr_contract_report_free(wr_contract_report *r) {
    wr_arr_free(&r->files), wr_arr_free(&r->errors), wr_arr_free(&r->states), wr_arr_free(&r->letters), wr_arr_free(&r->out_realm), wr_arr_free(&r->in_realm), wr_arr_free(&r->measured), wr_arr_free(&r->kept), wr_arr_free(&r->outs), wr_arr_free(&r->in_table);
    wr_contract_book_free(&r->declared), wr_contract_book_free(&r->jobs);
    for (int i = 0; i < 3; i++) wr_arena_free(r->former[i]);
    wr_arena_free(r->arena);
}

/* ---- what is asked ---- */
wr_arena *report_arena(wr_contract_book *book) {
    if (!book->arena) book->arena = wr_arena_new(NULL);
    return book->arena;
}

wr_str report_team(const wr_contract_report *r, const wr_contract *c) {
    for (uint32_t i = 0; i < r->files.n; i++)
        if (wr_str_eq(r->files.at[i].path, c->file)) return r->files.at[i].team;
    return WR_STR(".");
}

/* Places where nothing is kept for others. */
bool report_is_output(const wr_contract *c) {
    static const char *const ends[] = {"blackhole", "print"};
    for (size_t i = 0; i < WR_COUNT_OF(ends); i++)
        if (wr_str_eq(c->place, wr_str_of(ends[i]))) return false;
    return c->place.len > 0;
}

/* The place decides, where both say it; else the name. */
const wr_contract *report_contract_of(const wr_contract_report *r, const wr_contract *c) {
    for (uint32_t i = 0; i < r->declared.promises.n; i++) {
        const wr_contract *p = &r->declared.promises.at[i];
        if (p->place.len && c->place.len ? wr_str_eq(p->place, c->place) : wr_str_eq(p->table, c->table)) return p;
    }
    return NULL;
}

static wr_str realm(const wr_contract_report *r, const wr_contract *c) {
    return c->needs ? r->in_realm.at[c - r->jobs.needs.at] : r->out_realm.at[c - r->jobs.promises.at];
}

static bool same_place(const wr_contract_report *r, const wr_contract *a, const wr_contract *b) { return wr_str_eq(a->place, b->place) && wr_str_eq(realm(r, a), realm(r, b)); }

bool report_reads(const wr_contract_report *r, const wr_contract *need, const wr_contract *written) { return report_is_output(written) && same_place(r, need, written); }

uint32_t report_readers(const wr_contract_report *r, const wr_contract *written) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->jobs.needs.n; i++) n += report_reads(r, &r->jobs.needs.at[i], written) && !wr_str_eq(r->jobs.needs.at[i].file, written->file);
    for (uint32_t i = 0; i < r->declared.needs.n; i++) n += wr_str_eq(r->declared.needs.at[i].table, written->table);
    return n;
}

bool report_first(const wr_contract_report *r, const wr_contracts *all, uint32_t i) { /* of its place */
    for (uint32_t k = 0; k < i; k++)
        if (same_place(r, &all->at[k], &all->at[i])) return false;
    return true;
}

uint32_t report_producers(const wr_contract_report *r, const wr_contract *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->jobs.promises.n; i++) n += same_place(r, &r->jobs.promises.at[i], c);
    return n;
}

bool report_is_unused(const wr_contract_report *r, const wr_contract *promise) {
    for (uint32_t i = 0; i < r->jobs.needs.n; i++)
        if (report_contract_of(r, &r->jobs.needs.at[i]) == promise) return false;
    for (uint32_t i = 0; i < r->declared.needs.n; i++)
        if (wr_contract_is_of(promise, &r->declared.needs.at[i])) return false;
    return true;
}

wr_str report_owner(const wr_contract_report *r, const wr_contract *promise, bool *by_folder) {
    wr_str team = report_team(r, promise);
    *by_folder = !promise->party.len && !wr_str_eq(team, WR_STR("."));
    return *by_folder ? team : promise->party;
}

bool report_is_orphan(const wr_contract_report *r, const wr_contract *c) { return report_is_output(c) && !report_readers(r, c) && !report_contract_of(r, c); }

int64_t wr_contract_report_count(const wr_contract_report *r, wr_str rule, int64_t now_us) {
    int64_t             n = 0;
    const wr_contracts *out = &r->jobs.promises, *in = &r->jobs.needs;
    if (wr_str_eq(rule, WR_STR("errors"))) return r->errors.n;
    if (wr_str_eq(rule, WR_STR("breaks"))) return r->broken.n;
    if (wr_str_eq(rule, WR_STR("uncovered"))) {
        for (uint32_t i = 0; i < out->n; i++) n += report_is_output(&out->at[i]) && report_first(r, out, i) && !report_contract_of(r, &out->at[i]);
        for (uint32_t i = 0; i < in->n; i++) n += report_first(r, in, i) && !report_producers(r, &in->at[i]) && !report_contract_of(r, &in->at[i]);
    } else if (wr_str_eq(rule, WR_STR("orphans"))) {
        for (uint32_t i = 0; i < out->n; i++) n += report_first(r, out, i) && report_is_orphan(r, &out->at[i]);
    } else if (wr_str_eq(rule, WR_STR("producers"))) {
        for (uint32_t i = 0; i < out->n; i++) n += report_is_output(&out->at[i]) && report_first(r, out, i) && report_producers(r, &out->at[i]) > 1;
    } else if (wr_str_eq(rule, WR_STR("letters"))) {
        for (uint32_t i = 0; i < r->letters.n; i++) n += now_us - r->letters.at[i].oldest_us > WR_LETTERS_OLD_S * INT64_C(1000000);
    } else if (wr_str_eq(rule, WR_STR("unowned"))) {
        for (uint32_t i = 0; i < r->declared.promises.n; i++) {
            bool by_folder;
            n += !report_owner(r, &r->declared.promises.at[i], &by_folder).len;
        }
    } else if (wr_str_eq(rule, WR_STR("unused"))) {
        for (uint32_t i = 0; i < r->declared.promises.n; i++) n += report_is_unused(r, &r->declared.promises.at[i]);
    } else if (wr_str_eq(rule, WR_STR("unkept"))) return report_count_kept(r, (wr_str){0}, WR_KEPT_NO);
    else return -1;
    return n;
}

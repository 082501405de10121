/* tests/golden/main.c: runs golden files under the whole matrix and compares.
 *
 * Use        golden [--quick] [--views] [--case NAME] [--setting NAME] [--verbose] FILE.test ...
 * Output     one line a failing (case, setting) with expected and got; last line "N passed, N failed" counts cases.                  */
#include "golden.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct options { bool quick, verbose, views; uint32_t n_skipped; const char *only_case, *only_setting; } options;

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

typedef WR_ARR(char *) lines;
static void sort_lines(lines *l) { if (l->n) qsort(l->at, l->n, sizeof *l->at, by_text); }
static void split(char *text, lines *out) {
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) wr_arr_push(out, line);
}

/* Folds a changelog into the rows that are left; a retraction of a row that is not there stays visible as "-D row". */
static void fold(const char *changes, lines *out, char **owned) {
    char *text = wr_strdup(changes);
    lines all = {0};
    split(text, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        char *line = all.at[i];
        if (line[0] == '+') {
            wr_arr_push(out, line + 3);
            continue;
        }
        uint32_t k = 0;
        while (k < out->n && strcmp(out->at[k], line + 3) != 0) k++;
        if (k == out->n) wr_arr_push(out, line);
        else out->at[k] = out->at[--out->n];
    }
    sort_lines(out);
    wr_arr_free(&all);
    *owned = text;
}

static bool same_lines(const lines *a, const lines *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i], b->at[i]) != 0) return false;
    return true;
}

static void print_lines(const char *title, const lines *l) {
    printf("    %s (%u rows)\n", title, l->n);
    for (uint32_t i = 0; i < l->n && i < 12; i++) printf("      %s\n", l->at[i]);
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* In place: 2026-01-01T00:00:09.500Z -> 2026-01-01 00:00:09.5, 1.50 -> 1.5, 2.0 -> 2, TRUE -> true. */
static void loosen(char *line) {
    char *to = line;
    for (char *at = line; *at;) {
        if (*at == 'T' && at > line && digit(at[-1]) && digit(at[1])) {
            *to++ = ' ';
            at++;
        } else if (*at == '.' && at > line && digit(at[-1]) && digit(at[1])) {
            char *end = at + 1, *keep = at;
            for (; digit(*end); end++)
                if (*end != '0') keep = end + 1;
            memmove(to, at, (size_t)(keep - at));
            to += keep - at;
            at = end;
        } else if (*at == 'Z' && at > line && digit(at[-1])) {
            at++;
        } else if (!strncmp(at, "TRUE", 4) || !strncmp(at, "FALSE", 5)) {
            for (int n = *at == 'T' ? 4 : 5; n-- > 0;) *to++ = (char)(*at++ | 0x20);
        } else {
            *to++ = *at++;
        }
    }
    *to = 0;
}

static void loosen_all(lines *l) {
    for (uint32_t i = 0; i < l->n; i++) loosen(l->at[i]);
    sort_lines(l);
}

static bool check_rows(const golden_case *c, const golden_result *r) {
    lines got = {0}, want = {0};
    char *got_text, *want_text = wr_strdup(c->rows);
    fold(r->rows.at ? r->rows.at : "", &got, &got_text);
    split(want_text, &want);
    sort_lines(&want);
    if (c->loose) loosen_all(&got), loosen_all(&want);
    bool ok = r->status == WR_OK && same_lines(&got, &want);
    if (!ok) {
        print_lines("expected", &want);
        print_lines("got", &got);
        if (r->messages.len) printf("    messages: %s\n", r->messages.at);
    }
    wr_arr_free(&got), wr_arr_free(&want);
    wr_free(got_text), wr_free(want_text);
    return ok;
}

static bool check_changelog(const golden_case *c, const golden_result *r) {
    const char *got = r->rows.at ? r->rows.at : "";
    if (r->status == WR_OK && strcmp(got, c->changelog) == 0) return true;
    printf("    expected changelog\n%s    got\n%s%s\n", c->changelog, got, r->messages.at ? r->messages.at : "");
    return false;
}

static bool check_error(const golden_case *c, const golden_result *r) {
    char *text = wr_strdup(c->error);
    lines want = {0};
    split(text, &want);
    bool ok = r->status != WR_OK;
    for (uint32_t i = 0; i < want.n; i++) ok = ok && r->messages.at && strstr(r->messages.at, want.at[i]);
    if (!ok) printf("    expected an error with\n%s    got (%s)\n%s\n", c->error, wr_status_name(r->status), r->messages.at ? r->messages.at : "");
    wr_arr_free(&want);
    wr_free(text);
    return ok;
}

static bool check_ledger(const golden_case *c, const golden_result *r) {
    char *text = wr_strdup(c->ledger);
    lines want = {0};
    split(text, &want);
    bool ok = r->status == WR_OK;
    for (uint32_t i = 0; i < want.n; i++) {
        char *count = strrchr(want.at[i], ' ');
        wr_assert(count);
        *count++ = 0;
        char *what = strrchr(want.at[i], '|');
        wr_assert(what);
        *what++ = 0;
        uint64_t n = 0;
        for (uint32_t k = 0; k < r->counts.n; k++)
            if (strstr(r->counts.at[k].who, want.at[i]) && strcmp(r->counts.at[k].what, what) == 0) n += r->counts.at[k].n;
        if (n != strtoull(count, NULL, 10)) {
            printf("    ledger: expected %s %s = %s, got %llu\n", want.at[i], what, count, (unsigned long long)n);
            ok = false;
        }
    }
    if (!ok) printf("    ledger:\n%s%s\n", r->ledger_text.at ? r->ledger_text.at : "", r->messages.at ? r->messages.at : "");
    wr_arr_free(&want);
    wr_free(text);
    return ok;
}

static bool check(const golden_case *c, const golden_setting *s, const golden_result *r) {
    bool ok = true;
    if (c->error) return check_error(c, r);
    if (c->rows) ok = check_rows(c, r);
    if (c->changelog && s->workers == 1 && s->batch == 1 && !s->crash && !s->tail) ok = check_changelog(c, r) && ok;
    if (c->ledger && !s->crash) ok = check_ledger(c, r) && ok;
    if (!c->rows && r->status != WR_OK) {
        printf("    failed: %s\n", r->messages.at ? r->messages.at : "");
        ok = false;
    }
    return ok;
}

static bool run_case(const golden_case *c, options *o) {
    const golden_setting *settings;
    uint32_t              n = golden_settings(&settings, o->quick);
    bool                  all = true;
    for (uint32_t i = 0; i < n; i++) {
        if (o->only_setting && strcmp(settings[i].name, o->only_setting) != 0) continue;
        if (c->error && i > 0) break; /* refusals do not depend on the setting */
        char dir[] = "/tmp/weir-golden-XXXXXX";
        wr_assert(mkdtemp(dir));
        golden_write_files(c, dir);
        golden_result r = {0};
        golden_run(c, &settings[i], dir, &r);
        if (r.skipped) {
            o->n_skipped += i == 0;
        } else if (!check(c, &settings[i], &r)) {
            printf("FAIL %s:%u %s [%s]\n", c->path, c->line, c->name, settings[i].name);
            all = false;
        } else if (o->verbose) {
            printf("ok   %s %s [%s]%s\n", c->path, c->name, settings[i].name, r.crashes ? " with crashes" : "");
        }
        fflush(stdout);
        golden_result_free(&r);
        golden_remove_tree(dir);
        if (!all && !o->verbose) break;
    }
    return all;
}

int main(int argc, char **argv) {
    options  o = {0};
    uint32_t passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) o.quick = true;
        else if (!strcmp(argv[i], "--views")) o.views = true;
        else if (!strcmp(argv[i], "--verbose")) o.verbose = true;
        else if (!strcmp(argv[i], "--case") && i + 1 < argc) o.only_case = argv[++i];
        else if (!strcmp(argv[i], "--setting") && i + 1 < argc) o.only_setting = argv[++i];
        else {
            char        *text = golden_read_file(argv[i]), message[512];
            golden_cases cases = {0};
            if (!text || !golden_parse(argv[i], text, &cases, message, sizeof message)) {
                printf("FAIL %s\n", text ? message : argv[i]);
                failed++;
            } else {
                for (uint32_t k = 0; k < cases.n; k++) {
                    if (o.only_case && strcmp(cases.at[k].name, o.only_case) != 0) continue;
                    golden_case *c = &cases.at[k];
                    if (o.views && (c->error || !c->rows)) {
                        o.n_skipped++;
                        continue;
                    }
                    if (o.views) c->as_view = true, c->changelog = c->ledger = NULL;
                    if (run_case(c, &o)) passed++;
                    else failed++;
                }
            }
            for (uint32_t k = 0; k < cases.n; k++) wr_arr_free(&cases.at[k].files), wr_arr_free(&cases.at[k].settings);
            wr_arr_free(&cases);
            wr_free(text);
        }
    }
    if (o.views) printf("%u are not read through a view\n", o.n_skipped);
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}

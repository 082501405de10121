/* tests/golden/fault.c: every call to the world fails once.
 *
 * Idea       (SQLite's malloc and I/O tests) a case runs with the k-th file call failing, for k = 1, 2, ... until a run makes fewer calls than k. The run
 *            must end with an error that says what happened (or not notice, where the call did not matter), never crash or hang; then the same job
 *            goes on from its state directory in the real world and must give the expected rows, each once.
 * Use        golden_fault FILE.test ...: cases with a rows block. Last line: N passed, N failed (one count a case).                    */
#include "golden.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Final rows of "+I row" lines, sorted, as one text; the expected block sorted likewise. */
static char *sorted(const char *text, bool changes) {
    char *copy = wr_strdup(text), *save;
    WR_ARR(char *) rows = {0};
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!changes || line[0] == '+') {
            wr_arr_push(&rows, changes ? line + 3 : line);
            continue;
        }
        for (uint32_t k = 0; k < rows.n; k++)
            if (strcmp(rows.at[k], line + 3) == 0) {
                rows.at[k] = rows.at[--rows.n];
                break;
            }
    }
    if (rows.n) qsort(rows.at, rows.n, sizeof *rows.at, by_text);
    wr_sbuf out = {0};
    for (uint32_t i = 0; i < rows.n; i++) wr_sbuf_printf(&out, "%s\n", rows.at[i]);
    if (!out.at) wr_sbuf_addz(&out, "");
    wr_arr_free(&rows);
    wr_free(copy);
    return out.at;
}

static bool run_faults(const golden_case *c) {
    char *want = sorted(c->rows, false);
    bool  ok = true;
    for (uint64_t k = 1; ok; k += 1 + k / 16) { /* every call at first, then ever fewer of the many alike */
        fault_world    world = golden_world(k);
        golden_setting s = {.name = "fault", .workers = 2, .batch = 2, .simulate = true, .tier = k % 2 == 0, .seed = k, .faulty = &world.base};
        char dir[] = "/tmp/weir-fault-XXXXXX";
        wr_assert(mkdtemp(dir));
        golden_write_files(c, dir);
        golden_result r = {0};
        golden_run(c, &s, dir, &r);
        char *got = sorted(r.rows.at ? r.rows.at : "", true);
        if (r.status != WR_OK || strcmp(got, want) != 0) {
            printf("FAIL %s:%u %s: with the %llu-th call failing: %s\n  expected\n%s  got\n%s%s\n", c->path, c->line, c->name, (unsigned long long)k,
                   wr_status_name(r.status), want, got, r.messages.at ? r.messages.at : "");
            ok = false;
        }
        bool reached = world.calls >= k;
        wr_free(got);
        golden_result_free(&r);
        golden_remove_tree(dir);
        if (!reached) break;
    }
    wr_free(want);
    return ok;
}

int main(int argc, char **argv) {
    uint32_t passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        char        *text = golden_read_file(argv[i]), message[512];
        golden_cases cases = {0};
        if (!text || !golden_parse(argv[i], text, &cases, message, sizeof message)) {
            printf("FAIL %s\n", text ? message : argv[i]);
            failed++;
        }
        for (uint32_t k = 0; text && k < cases.n; k++) {
            if (!cases.at[k].rows || cases.at[k].loose || cases.at[k].error) continue;
            if (run_faults(&cases.at[k])) passed++;
            else failed++;
        }
        for (uint32_t k = 0; k < cases.n; k++) wr_arr_free(&cases.at[k].files), wr_arr_free(&cases.at[k].settings);
        wr_arr_free(&cases);
        wr_free(text);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}

/* sql/parse_fuzz.c: any bytes: no crash; what parses must print to a text that parses and prints the same.  (libFuzzer) */
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses `text`; every statement is printed into out, separated by ";\n". False if there was an error. */
static bool print_all(wr_str text, wr_sbuf *out) {
    wr_diags   diags;
    wr_arena  *arena = wr_arena_new(NULL);
    wr_script *script;
    wr_diags_init(&diags);
    uint32_t  file = wr_diags_add_source(&diags, WR_STR("fuzz"), text);
    wr_status status = wr_sql_parse(arena, file, text, &diags, &script);
    wr_assert((status == WR_OK) == (diags.n_errors == 0));
    for (uint32_t i = 0; i < script->stmts.n; i++) {
        wr_sql_format(script->stmts.at[i], out);
        wr_sbuf_addz(out, ";\n");
    }
    wr_sbuf shown = {0};
    wr_diags_print(&diags, &shown);
    wr_sbuf_free(&shown);
    wr_diags_free(&diags);
    wr_arena_free(arena);
    return status == WR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wr_sbuf once = {0}, twice = {0};
    print_all((wr_str){(const char *)data, size}, &once);
    bool ok = print_all(wr_sbuf_str(&once), &twice);
    wr_assert(ok);
    wr_assert(wr_str_eq(wr_sbuf_str(&once), wr_sbuf_str(&twice)));
    wr_sbuf_free(&once);
    wr_sbuf_free(&twice);
    return 0;
}

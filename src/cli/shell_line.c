/* cli/shell_line.c: a line from the terminal: editing, history and completion by libedit, or plain reading where it is not installed.
 *
 * Idea       libedit is opened when the first line is read from a terminal, so that nothing else of weir carries it (as http/curl.h does with
 *            libcurl). Completion looks at the word before the cursor: words of SQL, functions, tables and their columns, settings inside quotes,
 *            files behind \i, \commands at the start.
 * Signals    Ctrl-C gives up the line: reading is ours (get_char), since libedit's own begins again after a signal.
 * History    one entry a statement, in $XDG_STATE_HOME/weir/history (else ~/.local/state/weir/history).                               */
#include "shell.h"
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_MAX = 5000, CANDIDATES_SHOWN = 200 };

struct line_editor {
    shell    *sh;
    EditLine *el;
    History  *history;
    char     *history_path;  /* NULL: nothing is kept */
    const char *prompt;
    mbstate_t partial;
    WR_ARR(char *) found;    /* candidates of one completion */
};

static struct {
    EditLine *(*init)(const char *, FILE *, FILE *, FILE *);
    void (*end)(EditLine *);
    const char *(*gets)(EditLine *, int *);
    int (*set)(EditLine *, int, ...), (*get)(EditLine *, int, ...);
    const LineInfo *(*line)(EditLine *);
    int (*insert)(EditLine *, const char *);
    int (*source)(EditLine *, const char *);
    History *(*history_init)(void);
    void (*history_end)(History *);
    int (*history)(History *, HistEvent *, int, ...);
} lib;

static bool load_library(void) {
    static const wr_import imports[] = {
        {"el_init", &lib.init}, {"el_end", &lib.end}, {"el_gets", &lib.gets}, {"el_set", &lib.set}, {"el_get", &lib.get}, {"el_line", &lib.line}, {"el_insertstr", &lib.insert},
        {"el_source", &lib.source}, {"history_init", &lib.history_init}, {"history_end", &lib.history_end}, {"history", &lib.history}};
    return !wr_library_import("libedit.so.2", imports, WR_COUNT_OF(imports));
}

/* ---- completion ---- */
static void offer(line_editor *e, const char *word, size_t len, wr_str prefix, bool lower) {
    if (len < prefix.len || !wr_str_ieq((wr_str){word, prefix.len}, prefix)) return;
    char *copy = wr_malloc(len + 1);
    for (size_t i = 0; i < len; i++) copy[i] = lower && word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] + 32) : word[i];
    copy[len] = '\0';
    for (uint32_t i = 0; i < e->found.n; i++)
        if (!strcmp(e->found.at[i], copy)) {
            wr_free(copy);
            return;
        }
    wr_arr_push(&e->found, copy);
}

static void offer_sql(line_editor *e, wr_str prefix) {
    const wr_catalog *catalog = wr_session_catalog(e->sh->session);
    bool              lower = prefix.len && prefix.ptr[0] >= 'a' && prefix.ptr[0] <= 'z'; /* as the writer writes */
    const char       *word;
    for (uint32_t i = 0; i < wr_catalog_count(catalog); i++) {
        const wr_table *t = wr_catalog_at(catalog, i);
        offer(e, t->name.ptr, t->name.len, prefix, false);
        for (uint32_t c = 0; c < t->n_columns; c++) offer(e, t->columns[c].name.ptr, t->columns[c].name.len, prefix, false);
        for (uint32_t c = 0; c < t->n_view_columns; c++) offer(e, t->view_columns[c].ptr, t->view_columns[c].len, prefix, false);
    }
    for (size_t i = 0; (word = wr_sql_word_at(i)); i++) offer(e, word, strlen(word), prefix, lower);
    for (size_t i = 0; i < wr_fn_count(); i++) {
        wr_str name, kind, signatures, summary;
        wr_fn_describe(i, &name, &kind, &signatures, &summary);
        if (!wr_str_eq(kind, WR_STR("operator"))) offer(e, name.ptr, name.len, prefix, lower);
    }
    for (int k = 0; k < WR_AGG_KIND_COUNT; k++) {
        const char *name = wr_agg_name((wr_agg_kind)k);
        if (wr_agg_exists(wr_str_of(name))) offer(e, name, strlen(name), prefix, lower);
    }
}

static void offer_settings(line_editor *e, wr_str prefix) {
    size_t                 n;
    const wr_setting_info *all = wr_settings(&n);
    for (size_t i = 0; i < n; i++) offer(e, all[i].key, strlen(all[i].key), prefix, false);
}

static void offer_files(line_editor *e, wr_str prefix) {
    wr_err        err = {0};
    wr_file_info *files = NULL;
    size_t        n = 0;
    const char   *slash = memrchr(prefix.ptr, '/', prefix.len);
    size_t        dir_len = slash ? (size_t)(slash - prefix.ptr) + 1 : 0;
    wr_sbuf       dir = {0}, path = {0};
    wr_sbuf_add(&dir, dir_len ? prefix.ptr : ".", dir_len ? dir_len : 1);
    wr_sbuf_addc(&dir, '\0');
    if (wr_world_posix()->vt->list(wr_world_posix(), dir.at, &files, &n, &err) != WR_OK) n = 0;
    for (size_t i = 0; i < n; i++) {
        wr_sbuf_clear(&path);
        wr_sbuf_printf(&path, "%.*s%s%s", (int)dir_len, prefix.ptr, files[i].name, files[i].is_dir ? "/" : "");
        offer(e, path.at, path.len, prefix, false);
    }
    wr_free(files);
    wr_sbuf_free(&dir), wr_sbuf_free(&path);
}

static bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80; }

/* What the word before the cursor can be; its beginning. */
static wr_str collect(line_editor *e, const char *line, const char *cursor) {
    const char *from = cursor, *quote = NULL;
    for (const char *at = line; at < cursor; at++)
        if (*at == '\'') quote = quote ? NULL : at + 1;
    if (line < cursor && line[0] == '\\') {
        const char *space = memchr(line, ' ', (size_t)(cursor - line));
        if (!space) {
            static const char *const words[] = {"\\d", "\\dt", "\\dv", "\\df", "\\timing", "\\x", "\\format", "\\changelog", "\\i", "\\e", "\\explain", "\\infer", "\\set", "\\q", "\\?"};
            wr_str prefix = {line, (size_t)(cursor - line)};
            for (size_t i = 0; i < WR_COUNT_OF(words); i++) offer(e, words[i], strlen(words[i]), prefix, false);
            return prefix;
        }
        bool file = !strncmp(line, "\\i ", 3) || !strncmp(line, "\\infer ", 7);
        while (from > space + 1 && (file ? from[-1] != ' ' : is_word(from[-1]))) from--;
        wr_str prefix = {from, (size_t)(cursor - from)};
        if (file) offer_files(e, prefix);
        else offer_sql(e, prefix);
        return prefix;
    }
    if (quote) {
        wr_str prefix = {quote, (size_t)(cursor - quote)};
        offer_settings(e, prefix);
        return prefix;
    }
    while (from > line && is_word(from[-1])) from--;
    wr_str prefix = {from, (size_t)(cursor - from)};
    if (prefix.len || (from > line && from[-1] == '.')) offer_sql(e, prefix);
    return prefix;
}

static void forget_found(line_editor *e) {
    for (uint32_t i = 0; i < e->found.n; i++) wr_free(e->found.at[i]);
    e->found.n = 0;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void show_found(line_editor *e) {
    uint32_t columns, lines, width = 0;
    shell_size(&columns, &lines);
    qsort(e->found.at, e->found.n, sizeof *e->found.at, by_text);
    for (uint32_t i = 0; i < e->found.n; i++) width = WR_MAX(width, (uint32_t)strlen(e->found.at[i]));
    uint32_t per_line = WR_MAX(columns / (width + 2), 1u), n = WR_MIN(e->found.n, (uint32_t)CANDIDATES_SHOWN);
    fputc('\n', stdout);
    for (uint32_t i = 0; i < n; i++) printf("%-*s%s", (int)width, e->found.at[i], (i + 1) % per_line == 0 || i + 1 == n ? "\n" : "  ");
    if (n < e->found.n) printf("... and %u more\n", e->found.n - n);
    fflush(stdout);
}

static line_editor *of(EditLine *el) {
    void *data = NULL;
    lib.get(el, EL_CLIENTDATA, &data);
    return data;
}

static unsigned char complete(EditLine *el, int ch) {
    line_editor    *e = of(el);
    const LineInfo *info = lib.line(el);
    (void)ch;
    forget_found(e);
    wr_str prefix = collect(e, info->buffer, info->cursor);
    if (!e->found.n) return CC_REFRESH_BEEP;
    size_t common = strlen(e->found.at[0]);
    for (uint32_t i = 1; i < e->found.n; i++) {
        size_t same = 0;
        while (same < common && (e->found.at[i][same] | 32) == (e->found.at[0][same] | 32)) same++;
        common = same;
    }
    const char *first = e->found.at[0];
    wr_sbuf     more = {0};
    if (common > prefix.len) wr_sbuf_add(&more, first + prefix.len, common - prefix.len);
    size_t len = strlen(first);
    if (e->found.n == 1 && len && first[len - 1] != '/') wr_sbuf_addc(&more, prefix.len && memchr(info->buffer, '\'', (size_t)(info->cursor - info->buffer)) && first[0] != '\\' ? '\'' : ' ');
    wr_sbuf_addc(&more, '\0');
    bool several = e->found.n > 1 && more.len == 1;
    if (more.len > 1) lib.insert(el, more.at);
    wr_sbuf_free(&more);
    if (!several) return CC_REFRESH;
    show_found(e);
    return CC_REDISPLAY;
}

/* ---- reading ---- */
static char *prompt_of(EditLine *el) { return (char *)(uintptr_t)of(el)->prompt; }

/* Waits for a byte; false: Ctrl-C. The signals are let in only while it waits, so that none comes between the look and the waiting. */
static bool wait_input(void) {
    sigset_t      ours, before;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT), sigaddset(&ours, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    while (!shell_interrupted() && ppoll(&in, 1, NULL, &before) < 0 && errno == EINTR) {} /* the window's size, too */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !shell_interrupted();
}

/* One character from the terminal; -1: Ctrl-C, the end is 0. */
static int get_char(EditLine *el, wchar_t *out) {
    line_editor *e = of(el);
    for (;;) {
        char c;
        if (!wait_input()) return -1;
        ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n == 0) return 0;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        size_t used = mbrtowc(out, &c, 1, &e->partial);
        if (used == (size_t)-2) continue;
        if (used != (size_t)-1) return 1;
        memset(&e->partial, 0, sizeof e->partial);
        *out = L'?';
        return 1;
    }
}

static void open_history(line_editor *e) {
    HistEvent   event;
    wr_err      err = {0};
    wr_sbuf     path = {0};
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    e->history = lib.history_init();
    lib.history(e->history, &event, H_SETSIZE, HISTORY_MAX);
    lib.history(e->history, &event, H_SETUNIQUE, 1);
    if (state && state[0] == '/') wr_sbuf_printf(&path, "%s/weir", state);
    else if (home && home[0] == '/') wr_sbuf_printf(&path, "%s/.local/state/weir", home);
    if (path.len && wr_world_posix()->vt->make_dirs(wr_world_posix(), path.at, &err) == WR_OK) {
        wr_sbuf_addz(&path, "/history");
        e->history_path = wr_strdup(path.at);
        lib.history(e->history, &event, H_LOAD, e->history_path);
    }
    wr_sbuf_free(&path);
    lib.set(e->el, EL_HIST, lib.history, e->history);
}

line_editor *line_editor_new(shell *sh) {
    line_editor *e = wr_calloc(1, sizeof *e);
    e->sh = sh;
    const char *term = getenv("TERM");
    bool        dumb = !term || !strcmp(term, "dumb") || !isatty(STDOUT_FILENO);
    if (dumb || !load_library()) return e;
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
    e->el = lib.init("weir", stdin, stdout, stderr);
    if (!e->el) return e;
    lib.set(e->el, EL_CLIENTDATA, e);
    lib.set(e->el, EL_PROMPT, prompt_of);
    lib.set(e->el, EL_EDITOR, "emacs");
    lib.set(e->el, EL_SIGNAL, 0);
    lib.set(e->el, EL_GETCFN, get_char);
    lib.set(e->el, EL_ADDFN, "weir-complete", "complete the word", complete);
    lib.set(e->el, EL_BIND, "^I", "weir-complete", NULL);
    lib.set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    open_history(e);
    lib.source(e->el, NULL); /* ~/.editrc */
    return e;
}

void line_editor_free(line_editor *e) {
    if (!e) return;
    if (e->history) lib.history_end(e->history);
    if (e->el) lib.end(e->el);
    forget_found(e);
    wr_arr_free(&e->found);
    wr_free(e->history_path);
    wr_free(e);
}

static line_read read_plainly(const char *prompt, wr_sbuf *out) {
    fputs(prompt, stdout);
    fflush(stdout);
    for (;;) {
        char c;
        if (!wait_input()) return LINE_INTERRUPTED;
        ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return out->len ? LINE_OK : LINE_END;
        if (c == '\n') return LINE_OK;
        wr_sbuf_addc(out, c);
    }
}

line_read line_editor_read(line_editor *e, const char *prompt, wr_sbuf *out) {
    if (!e->el) return read_plainly(prompt, out);
    e->prompt = prompt;
    int         n = 0;
    const char *line = lib.gets(e->el, &n);
    if (shell_interrupted()) return fputc('\n', stdout), LINE_INTERRUPTED;
    if (!line || n <= 0) return LINE_END;
    wr_sbuf_add(out, line, (size_t)n);
    if (out->len && out->at[out->len - 1] == '\n') out->len--;
    return LINE_OK;
}

void line_editor_remember(line_editor *e, wr_str statement) {
    HistEvent event;
    wr_sbuf   text = {0};
    if (!e || !e->history || !statement.len) return;
    wr_sbuf_add_str(&text, statement);
    wr_sbuf_addc(&text, '\0');
    lib.history(e->history, &event, H_ENTER, text.at);
    wr_sbuf_free(&text);
    if (!e->history_path) return;
    lib.history(e->history, &event, H_SAVE, e->history_path);
    chmod(e->history_path, S_IRUSR | S_IWUSR); /* statements may hold secrets */
}

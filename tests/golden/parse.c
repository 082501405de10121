/* tests/golden/parse.c: reads a .test file into cases; see golden.h for the format. */
#include "golden.h"
#include <stdio.h>

typedef struct reader { char *at; uint32_t line; } reader;

static char *next_line(reader *r) {
    if (!*r->at) return NULL;
    char *line = r->at, *end = strchr(line, '\n');
    if (end) *end = 0, r->at = end + 1;
    else r->at = line + strlen(line);
    r->line++;
    return line;
}

/* The lines up to "----", as one text; the block's bytes are moved together in place. */
static char *block(reader *r) {
    char *start = r->at, *to = r->at;
    for (char *line; (line = next_line(r));) {
        if (strcmp(line, "----") == 0) break;
        size_t len = strlen(line);
        memmove(to, line, len);
        to += len;
        *to++ = '\n';
    }
    *to = 0;
    return start;
}

static bool word(char *line, const char *key, char **rest) {
    size_t len = strlen(key);
    if (strncmp(line, key, len) != 0 || (line[len] && line[len] != ' ')) return false;
    *rest = line[len] ? line + len + 1 : line + len;
    return true;
}

static bool case_line(golden_case *c, reader *r, char *line) {
    char *rest;
    if (word(line, "oracle", &rest)) c->oracle = rest;
    else if (word(line, "set", &rest)) {
        char *value = strchr(rest, ' ');
        if (!value) return false;
        *value++ = 0;
        wr_arr_push(&c->settings, (golden_block){rest, value});
    } else if (word(line, "file", &rest)) {
        char *text = block(r);
        wr_arr_push(&c->files, (golden_block){rest, text});
    } else if (word(line, "sql", &rest)) c->sql = block(r);
    else if (word(line, "rows", &rest)) c->rows = block(r);
    else if (word(line, "rows-loose", &rest)) c->rows = block(r), c->loose = true;
    else if (word(line, "changelog", &rest)) c->changelog = block(r);
    else if (word(line, "error", &rest)) c->error = block(r);
    else if (word(line, "ledger", &rest)) c->ledger = block(r);
    else return false;
    return true;
}

static const char *lacking(const golden_case *c) {
    if (!c->oracle) return "has no oracle line";
    if (!c->sql) return "has no sql block";
    if (!c->rows && !c->changelog && !c->error && !c->ledger) return "expects nothing";
    return NULL;
}

bool golden_parse(const char *path, char *text, golden_cases *out, char *message, size_t cap) {
    reader r = {.at = text};
    for (char *line; (line = next_line(&r));) {
        char *rest;
        if (!*line || *line == '#') continue;
        if (word(line, "case", &rest)) {
            wr_arr_push(out, (golden_case){.path = path, .line = r.line, .name = rest});
            continue;
        }
        if (!out->n || !case_line(&out->at[out->n - 1], &r, line)) {
            snprintf(message, cap, "%s:%u: not understood: %s", path, r.line, line);
            return false;
        }
    }
    for (uint32_t i = 0; i < out->n; i++)
        if (lacking(&out->at[i])) {
            snprintf(message, cap, "%s:%u: case %s %s", path, out->at[i].line, out->at[i].name, lacking(&out->at[i]));
            return false;
        }
    return true;
}

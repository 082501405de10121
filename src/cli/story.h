/* cli/story.h: parts of `weir story`. Private to cli/.
 *
 * Idea       a story is data: a directory of examples/stories with story.txt, SQL and whatever else its commands read; all of them are in the binary. The text is told line by line, and a
 *            line that begins with '@' is done: examples/stories/README.md lists what there is. Commands are weir's own, run as processes in a scratch directory.
 * Memory     a story and what is taken while it is told live in its arena. One thread. */
#pragma once
#include "cli.h"
#include "story_json.h"
#include "sys/process.h"

typedef struct story_step {
    wr_str   word, arg;    /* "run", "weir run job.sql"; word "" is a paragraph, a line as it is begins with two spaces */
    uint32_t line;
    WR_ARR(wr_str) body;   /* the lines below it that begin with two spaces, without these */
} story_step;
typedef struct story_file { wr_str name, bytes; } story_file;
typedef struct story {
    wr_arena *arena;
    wr_str    name, title;   /* "3_panes", of @title */
    uint32_t  number;
    WR_ARR(story_step) steps;
    WR_ARR(story_file) files;
} story;
typedef WR_ARR(story) story_list;

/* story_text.c */
wr_status story_all(wr_arena *arena, story_list *out, wr_err *err);                      /* those in the binary, by number */
wr_status story_of_dir(wr_arena *arena, const char *dir, story *out, wr_err *err);
wr_status story_parse(story *s, wr_err *err);                                            /* files -> steps */

/* story_vars.c: what a story knows by name, as text. */
typedef struct story_var { wr_str name, text; } story_var;
typedef struct story_vars {
    wr_arena *arena;
    WR_ARR(story_var) at;
} story_vars;
void story_set(story_vars *vars, wr_str name, wr_str text);
void story_set_number(story_vars *vars, wr_str name, double value);
/* `text` with $name and ${name} in it replaced; people: numbers as 1,234, $name:size as 1.2 MiB, $name:2 with two digits. */
wr_status story_expand(const story_vars *vars, wr_str text, bool people, wr_sbuf *out, wr_err *err);

/* story_tell.c */
typedef struct story_opts {
    bool        json, yes, quick;
    uint64_t    seed;
    const char *keep;    /* NULL: a scratch directory that is removed */
} story_opts;
int story_tell(const story *s, const story_opts *opts);                                  /* exit code */

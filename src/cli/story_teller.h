/* cli/story_teller.h: a story that is being told: between story_tell.c (what is said) and story_do.c (what is run). Private to them. */
#pragma once
#include "story.h"
#include <signal.h>

typedef struct story_check { wr_str said, left, relation, right; bool held; } story_check;
typedef struct story_process { wr_str name, command; wr_process *process; char out[300], err[300]; wr_file *drain; bool held; } story_process;
typedef struct teller {
    const story      *story;
    const story_opts *opts;
    wr_world         *world;
    wr_arena         *arena;
    const story_step *step;
    story_vars        vars;
    char              dir[4096], self[4096];
    bool              colour, tty;      /* of stdout; of stderr: progress is drawn there */
    int               width;
    wr_sbuf           out, err, commands; /* what the last command printed; all commands, for --keep */
    uint32_t          n_runs;
    char              guess;
    wr_str            rule;
    WR_ARR(story_check)   checks;
    WR_ARR(story_process) jobs;
} teller;

typedef wr_status step_fn(teller *t, wr_err *err);
/* story_tell.c */
WR_PRINTF(2, 3) void say(teller *t, const char *fmt, ...);              /* to stdout; nothing with --json */
void say_wrapped(teller *t, wr_str text, const char *indent, const char *turn); /* turn: what stands at a line's end when it goes on */
wr_status expand(teller *t, wr_str text, bool people, wr_str *out, wr_err *err); /* story_expand, kept */
bool first_word(wr_str *text, wr_str *word);                           /* takes it; false: there is none */
bool pattern(wr_str *text, wr_str *regex);                             /* takes /.../ */
wr_status lines_of(teller *t, wr_str name, wr_sbuf *text, wr_err *err); /* a file of the scratch directory, whole */
/* story_do.c */
step_fn do_run, do_background, do_until, do_wait, do_stop, do_kill, do_release;
void    jobs_end(teller *t);
extern volatile sig_atomic_t story_stopped;

/* sys/process.h: other programs: started, waited for, signalled. (contract)
 *
 * Idea       a program's output goes to files, or its standard output to a pipe that is read when the owner likes: a reader that takes nothing is a slow one.
 * Invariant  a process that is started ends with its owner: by wr_process_free, and by the kernel if the owner dies.
 * Errors     WR_IO with the path.
 * Thread     one at a time; started from the thread that lives as long as the process may.                                     */
#pragma once
#include "sys/world.h"

typedef struct wr_process wr_process;
typedef struct wr_process_opts {
    const char *const *argv; /* [0]: path of the program; NULL behind the last */
    const char *dir;         /* where it works; NULL: here */
    const char *out, *err;   /* files, made or emptied */
    bool        piped;       /* standard output goes to a pipe; `out` is not used */
} wr_process_opts;
wr_status wr_process_start(const wr_process_opts *opts, wr_process **out, wr_err *err);
bool      wr_process_ended(wr_process *p, int64_t wait_us, int *code); /* its exit code, or 128 + the signal that ended it */
void      wr_process_signal(wr_process *p, int signal);                /* does nothing once it has ended */
size_t    wr_process_read(wr_process *p, void *buf, size_t len);       /* of the pipe, what is there now; 0: nothing, or its end */
void      wr_process_free(wr_process *p);                              /* a running one is killed; NULL is legal */
/* The path of the program that this process runs; NULL: not known. */
const char *wr_process_self(char path[4096]);

/* sys/local.h: questions between processes of one machine, over a socket that is a file: who may use it is what the file's rights say. (contract)
 *
 * Idea       one connection, one line that asks, one text that answers, the end. The listener never waits: whoever owns it looks for questions now and then.
 * Bounds     a question up to WR_LOCAL_ASK_MAX bytes; an answer up to what the asker allows. A side that does not go on is given up.
 * Errors     WR_IO, WR400: there is nobody at that path, or it cannot be made.
 * Thread     one at a time.                                                                                                   */
#pragma once
#include "sys/world.h"

enum { WR_LOCAL_ASK_MAX = 4096 };
typedef struct wr_local wr_local;
/* `path` is made, with rights for its owner alone; one that a dead process left is replaced. Paths too long for a socket are reached through a short link. */
wr_status wr_local_listen(const char *path, wr_local **out, wr_err *err);
void      wr_local_close(wr_local *local);                     /* removes it; NULL is legal */
/* The next question, if one is there: *peer is what wr_local_answer takes. */
bool      wr_local_next(wr_local *local, char question[WR_LOCAL_ASK_MAX], int *peer);
void      wr_local_answer(int peer, wr_str text);              /* closes it */
/* Asks who listens at `path`. */
wr_status wr_local_ask(const char *path, const char *question, int64_t timeout_us, size_t max_bytes, wr_sbuf *answer, wr_err *err);

/* sys/notify.h: being told when something changes in a directory, so that who waits for input need not look again and again. (contract)
 *
 * Idea       one thread in a process reads the system's events (inotify) and calls those who asked; each asks for one call at a time (arm), so that a file that is
 *            written all the time costs no more than one that is not. What is told is "look again", nothing more: who asked looks by itself, and looks now and
 *            then without being told, since not every file system tells (NFS).
 * Thread     any; `changed` runs in the thread of this, and not after wr_notify_close has returned.                                  */
#pragma once
#include "sys/world.h"

typedef struct wr_notify wr_notify;
wr_notify *wr_notify_new(void (*changed)(void *arg), void *arg);  /* NULL: this system does not tell */
void       wr_notify_dir(wr_notify *n, const char *dir);          /* also; again is nothing. One that cannot be watched is not */
void       wr_notify_arm(wr_notify *n);                           /* the next change calls; NULL is legal */
void       wr_notify_close(wr_notify *n);                         /* NULL is legal */

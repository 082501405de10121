/* api/pile.h: records of two strings, any number of them, given back in the order of the first: for comparing what does not fit into memory.
 *
 * Idea       an external merge sort: records gather in a buffer; full, it is sorted and written as a run; at the end the runs are merged. Records with equal
 *            keys come back in the order in which they went in. Runs that become many are merged into one on the way, so open files stay few.
 * Memory     the buffer, one block a run while merging; all within memory_bytes.
 * Thread     one at a time.                                                                                            */
#pragma once
#include "base/str.h"
#include "sys/world.h"

typedef struct pile pile;
/* Its files lie in dir, which the caller makes and removes. */
pile     *pile_new(wr_world *world, const char *dir, size_t memory_bytes);
void      pile_free(pile *p);                                   /* NULL is legal */
wr_status pile_add(pile *p, wr_str key, wr_str value, wr_err *err);
wr_status pile_sort(pile *p, wr_err *err);                      /* no more is added */
/* *key and *value hold until the next call. *got false: that was all. */
wr_status pile_next(pile *p, bool *got, wr_str *key, wr_str *value, wr_err *err);
uint64_t  pile_count(const pile *p);

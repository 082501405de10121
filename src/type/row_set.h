/* type/row_set.h: the table that a stream of changes adds up to: a multiset of rows, in order of arrival or sorted.
 *
 * Idea       rows encoded one after the other (rowcodec) with a count each, found by hash. Counts may pass through negative numbers, since a
 *            retraction may come first; only positive ones are rows. A row that comes back goes to the end of the order.
 * Memory     a row costs its encoding and 32 bytes, charged to the account (NULL: to nobody).  Thread: one.                          */
#pragma once
#include "type/rowcodec.h"

typedef struct wr_row_set wr_row_set;
typedef struct wr_row_key { uint32_t col; bool desc, nulls_last; } wr_row_key;
typedef struct wr_row_at { uint32_t row; int32_t copy; } wr_row_at; /* zero: the first row */

wr_row_set *wr_row_set_new(const wr_schema *schema, wr_account *acct); /* borrows the schema */
void        wr_row_set_free(wr_row_set *set);                          /* NULL is legal */
void        wr_row_set_change(wr_row_set *set, const wr_batch *batch); /* the live rows with their kinds */
void        wr_row_set_append(wr_row_set *set, const wr_batch *batch); /* only inserts will ever come: rows are not looked up */
uint64_t    wr_row_set_rows(const wr_row_set *set);
void        wr_row_set_sort(wr_row_set *set, const wr_row_key *keys, uint32_t n); /* equal rows keep their order */
/* The next rows as a batch (the caller unrefs it), at most `most` and WR_BATCH_MAX; NULL: no more. No change in between. */
wr_batch   *wr_row_set_next(const wr_row_set *set, wr_row_at *at, uint64_t most);

/* op/assign_lemon.h: C door to LEMON's network simplex (Dezső, Jüttner, Kovács, "LEMON – an open source C++ graph template library", 2011).
 *
 * Idea       each left node goes to one right node, or to none for a price that is more than all else: a minimum-cost flow.
 * Invariant  no exception leaves; what was allocated is given back; the same arcs in the same order give the same answer.
 * Thread     any.                                                                                                              */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
typedef struct wr_assign_arc { uint32_t left, right; int64_t cost; } wr_assign_arc; /* cost >= 0 */
/* right_of: n_left; UINT32_MAX: none. nobody: the price of none. false: no answer (out of memory, costs out of range). */
bool wr_assign_lemon(uint32_t n_left, uint32_t n_right, const wr_assign_arc *arcs, uint32_t n_arcs, int64_t nobody, uint32_t *right_of);
#ifdef __cplusplus
}
#endif

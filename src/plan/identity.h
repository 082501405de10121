/* plan/identity.h: what the state of a node means, independent of names, aliases and places in the script. Used by upgrade and state addressing. */
#pragma once
#include "plan/plan.h"

typedef struct wr_identities wr_identities;
wr_identities *wr_identities_new(const wr_job_plan *job); /* of all nodes; the plan must outlive it */
void           wr_identities_free(wr_identities *x);
/* Which rows the node remembers (or passes on), by which key and window; equal text = same state content, whatever it keeps of each row. */
wr_str wr_identity_meaning(const wr_identities *x, const wr_pnode *n);
/* The same with every filter of what comes in left out: equal here and unequal above = only a WHERE was changed. */
wr_str wr_identity_unfiltered(const wr_identities *x, const wr_pnode *n);
/* What is kept, one component a line: an aggregate with its types, or a stored column with its type. false: the node
 * keeps nothing; of a sink the text is what it writes. */
bool   wr_identity_layout(const wr_identities *x, const wr_pnode *n, wr_sbuf *out);

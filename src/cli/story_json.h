/* cli/story_json.h: sums and JSON paths of a story. It stands alone, since a JSON tree's names are also those of SQL's functions. Private to cli/. */
#pragma once
#include "base/err.h"
#include "base/str.h"

bool story_number(wr_str text, double *out);                                             /* an expression: 2 * (3 + 4); up(x): the next whole number */
/* Of a JSON text: $.jobs[0].nodes[name~join].bytes; [key~x] the first element whose member has x in it, [] the sum over all elements, # their number. */
wr_status story_json(wr_str text, wr_str path, wr_sbuf *out, wr_err *err);

/* serve/ids.h: the body {"ids": ["...", ...]} of a request. Private to serve/; apart from the rest because the JSON tree and the SQL tree have names in common. */
#pragma once
#include "base/mem.h"
#include "base/str.h"

typedef struct serve_ids { uint32_t n; wr_str *at; } serve_ids;
bool serve_ids_parse(wr_arena *arena, wr_str body, serve_ids *out); /* false: it is something else */

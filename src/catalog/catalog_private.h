/* catalog/catalog_private.h: what catalog.c and settings.c share. Private to this folder. */
#pragma once
#include "catalog/catalog.h"

typedef struct wr_setting_value { wr_str key, value; } wr_setting_value;
struct wr_catalog {
    wr_arena *arena;
    WR_ARR(wr_table *) tables;
    WR_ARR(wr_function) functions;
    WR_ARR(wr_setting_value) settings; /* those that were set */
    WR_ARR(wr_space *) spaces;         /* [0] default_catalog, [1] its default_database */
    const wr_space *current;
    bool no_core;                      /* UNLOAD MODULE core */
};
void wr_catalog_spaces_init(wr_catalog *c);

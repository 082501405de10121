/* api/export_store.h: ingestion specs of analytical stores from a table's schema: Druid reads a topic by a supervisor, Pinot by a REALTIME table. */
#pragma once
#include "base/diag.h"
#include "catalog/catalog.h"

typedef enum wr_store { WR_STORE_DRUID, WR_STORE_PINOT } wr_store;
/* The table to export when none is named: the only Kafka table of the script; NULL: there is none, or several (*n says how many). */
const wr_table *wr_store_only_table(const wr_catalog *catalog, uint32_t *n);
/* The spec as JSON. What the store keeps in another form is a note in diags, what it cannot take an error (WR480 to WR483), and then WR_USER. */
wr_status wr_export_store(wr_store store, const wr_table *table, wr_diags *diags, wr_sbuf *out);

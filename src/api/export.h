/* api/export.h: the same script for Flink, with what differs. */
#pragma once
#include "sql/sql.h"

typedef struct wr_export_note { uint32_t line; char text[400]; } wr_export_note; /* line of the statement in the original */
typedef WR_ARR(wr_export_note) wr_export_notes;
/* Flink SQL of the script `text` (file: its index in diags), appended to out; every difference in meaning as a comment above its statement
 * and in notes (heap; free with wr_arr_free). ${NAME} is kept. WR_USER: the script does not parse; diags say where. */
wr_status wr_export_flink(uint32_t file, wr_str text, wr_diags *diags, wr_sbuf *out, wr_export_notes *notes);

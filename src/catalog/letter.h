/* catalog/letter.h: what is kept of a record that was refused: the columns of dead letters.
 *
 * Idea       a file of dead letters has all of them, as JSON; a table that is named by 'dead-letter.table' declares those that it wants, by name.
 *            What is text and is not valid UTF-8 is in the column with _base64 instead, unless the column is BYTES, which takes any bytes.   */
#pragma once
#include "type/type.h"

typedef enum wr_letter_field {
    WR_LETTER_ID,          /* of a source's: TABLE/PARTITION@OFFSET: the record's place, the same whenever it is read; of a sink's: TABLE#STATE-EPOCH-NUMBER */
    WR_LETTER_ORIGIN,      /* 'source', 'sink' or 'join': a row that left a join without a partner (partition_name: its side) */
    WR_LETTER_TABLE, WR_LETTER_PARTITION, WR_LETTER_OFFSET, WR_LETTER_LINE,
    WR_LETTER_CODE, WR_LETTER_REASON,
    WR_LETTER_RAW, WR_LETTER_RAW_BASE64, WR_LETTER_KEY, WR_LETTER_KEY_BASE64,
    WR_LETTER_CONTEXT,     /* JSON: what came beside the record */
    WR_LETTER_JOB, WR_LETTER_JOB_VERSION, WR_LETTER_WEIR_VERSION,
    WR_LETTER_STATE,       /* which state refused it: a job that begins anew has another one */
    WR_LETTER_TIME,
    WR_LETTER_FIELDS
} wr_letter_field;

typedef struct wr_letter_column { const char *name; wr_tid type; const char *doc; } wr_letter_column; /* VARCHAR: BYTES is fine too */
static const wr_letter_column wr_letter_columns[WR_LETTER_FIELDS] = {
    [WR_LETTER_ID] = {"id", WR_T_VARCHAR, "identity of the refused record: replaying goes by it"},
    [WR_LETTER_ORIGIN] = {"origin", WR_T_VARCHAR, "'source', 'sink' or 'join'"},
    [WR_LETTER_TABLE] = {"table_name", WR_T_VARCHAR, "the table that refused it; the join that it left"},
    [WR_LETTER_PARTITION] = {"partition_name", WR_T_VARCHAR, "file, or topic and partition"},
    [WR_LETTER_OFFSET] = {"record_offset", WR_T_BIGINT, "byte in the file, or offset of the message"},
    [WR_LETTER_LINE] = {"record_line", WR_T_BIGINT, "line in the file, from 1"},
    [WR_LETTER_CODE] = {"code", WR_T_VARCHAR, "SQLSTATE of the reason"},
    [WR_LETTER_REASON] = {"reason", WR_T_VARCHAR, "what is wrong with it"},
    [WR_LETTER_RAW] = {"raw", WR_T_VARCHAR, "the record's bytes; of a sink: the row as JSON. NULL if they are not UTF-8 and the column is STRING"},
    [WR_LETTER_RAW_BASE64] = {"raw_base64", WR_T_VARCHAR, "the same in base64 where raw is NULL"},
    [WR_LETTER_KEY] = {"record_key", WR_T_VARCHAR, "key of the message"},
    [WR_LETTER_KEY_BASE64] = {"record_key_base64", WR_T_VARCHAR, "the same in base64 where record_key is NULL though there is a key"},
    [WR_LETTER_CONTEXT] = {"context", WR_T_VARCHAR, "JSON: timestamp and headers of the message; of a sink: kind of change"},
    [WR_LETTER_JOB] = {"job", WR_T_VARCHAR, "name of the job"},
    [WR_LETTER_JOB_VERSION] = {"job_version", WR_T_VARCHAR, "hash of the script"},
    [WR_LETTER_WEIR_VERSION] = {"weir_version", WR_T_VARCHAR, "version of weir"},
    [WR_LETTER_STATE] = {"state_id", WR_T_VARCHAR, "state that the job had: it is another one after --fresh"},
    [WR_LETTER_TIME] = {"refused_at", WR_T_TIMESTAMP_LTZ, "when"},
};
/* The field that a column of that name holds; -1: none. */
WR_INLINE int wr_letter_field_of(wr_str name) {
    for (int i = 0; i < WR_LETTER_FIELDS; i++)
        if (wr_str_ieq(name, wr_str_of(wr_letter_columns[i].name))) return i;
    return -1;
}

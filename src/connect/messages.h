/* connect/messages.h: what connectors whose records are messages (key, value, headers, a place in a partition) share. Private to connect/.
 *
 * Idea       a source fills a message_note for the messages that one decoder call takes; the columns of metadata come out of it. A sink splits its columns into those of
 *            the record and those that become the message's time and headers.                                                           */
#pragma once
#include "connect/parts.h"
#include "format/records.h"

/* partition:0,offset:42;partition:1,offset:300. False: the list is not written so; *found: the partition is in it (-1: only checks). */
bool message_offset(wr_str list, int64_t partition, int64_t *offset, bool *found);

/* ---- sources ---- */
typedef struct message_note {
    wr_records records;
    wr_str     topic;          /* lives as long as the source; ptr NULL: each has its own, in ids */
    int32_t    partition;
    int64_t   *offsets, *timestamps_ms; /* of each message */
    uint8_t   *timestamp_types; /* of Kafka: none, the producer's, the broker's; the caller's, else NULL */
    wr_str    *ids;            /* what tells the messages apart, where a queue has no offsets; the caller's, else NULL (ptr NULL: not known) */
    wr_str    *topics;         /* each message's own topic or subject, where it is wanted; the caller's, else NULL */
    uint32_t  *header_from;    /* records.n + 1, into names and values; NULL: headers are not wanted */
    uint32_t   header_room;
    wr_str    *header_names, *header_values;
} message_note;
void message_note_open(message_note *note, wr_mem *mem, size_t key_bytes, size_t value_bytes, bool headers);
/* False: no room. Headers are added for the message just noted, in order. */
bool message_note_add(message_note *note, wr_str key, wr_str value, int64_t offset, int64_t timestamp_ms);
void message_note_header(message_note *note, wr_str name, wr_str value); /* copied */

/* What decodes the messages of a table, one reader for each worker. */
typedef enum message_kind { MESSAGE_TEXT, MESSAGE_INT, MESSAGE_BIGINT, MESSAGE_TIME, MESSAGE_HEADERS } message_kind;
typedef struct message_key { const char *name; message_kind kind; } message_key; /* of metadata; a list ends with NULL */
typedef struct message_reader {
    wr_record_format   format;
    const wr_schema   *schema;    /* of the table: columns of the record, then metadata */
    uint32_t           n_physical, n;
    const wr_str      *metadata_keys;
    wr_record_reader **list;
} message_reader;
/* `keys`: the connector's metadata. WR_USER: diagnostics about options or columns. */
wr_status message_reader_open(message_reader *out, const wr_table_info *t, const message_key *keys, bool upsert, wr_arena *arena, wr_connect_ctx *ctx);
void      message_reader_close(message_reader *r);
bool      message_reader_wants(const message_reader *r, const char *key); /* is it a column? */
/* Decodes the note's messages; the batches that it adds to out have all columns of the table. Bad records get the message's offset. */
void message_decode(const message_reader *r, uint32_t worker, const message_note *note, wr_decoded *out);

/* wr_source_vt.glance and beside, for chunks whose rows_from is a note. */
bool message_source_glance(wr_source *, const wr_chunk *chunk, wr_decoded *out, int64_t *came_us);
void message_source_beside(wr_source *, const wr_chunk *chunk, const wr_bad_record *bad, wr_str *raw, wr_str *key, wr_sbuf *context);
/* Dead letters: message `i` as it was; and a note with one message made of a letter. False: it is too long. note: topic, partition. */
void message_beside(const message_note *note, uint64_t i, wr_str *raw, wr_str *key, wr_sbuf *context);
bool message_again(message_note *note, wr_mem *mem, const wr_again *letter, bool with_key, bool headers);
/* The context of a letter: headers in base64, every byte of them; what follows "NAME": in it (NULL: it is not there). */
void        message_put_headers(const wr_str *names, const wr_str *values, uint32_t n, wr_sbuf *context);
uint32_t    message_get_headers(wr_str context, wr_mem *mem, wr_str **names, wr_str **values);
const char *message_member(wr_str context, const char *name);

/* ---- sinks ---- */
typedef struct message_columns {
    wr_schema stored;          /* columns of the record */
    uint32_t *columns;         /* where they are in the table */
    int32_t   timestamp, headers; /* columns of the table; -1: none */
} message_columns;
/* Diagnostics and false: metadata that cannot be written. */
bool message_columns_split(message_columns *out, const wr_table_info *t, wr_arena *arena, wr_diags *diags);
/* The record's columns of all live rows to `put`. */
wr_status message_write(const message_columns *c, wr_record_writer *writer, const wr_batch *batch, wr_record_put put, void *self, wr_err *err);

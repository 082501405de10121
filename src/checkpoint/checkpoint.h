/* checkpoint/checkpoint.h: one file that holds a whole consistent cut of a job: positions, operator state, ledgers, staged sink rows.
 *
 * Idea       sections (kind, owner id, instance) with a checksum each, a header with version, and a footer that repeats count and total: a
 *            file is valid or it is not. Written to a temporary name, synced, renamed, directory synced; the two newest are kept, so a
 *            damaged one leaves its predecessor.
 * Invariant  a reader never sees a partial file under the final name; wr_checkpoint_open verifies every byte before it returns.
 * Format     little-endian. "WEIRCKP1", u32 version, u64 epoch, then per section: u32 kind, bytes owner, u32 instance, bytes content, u64 XXH3 of
 *            all that; then "WEIREND1", u32 sections, u64 XXH3 of everything before.
 * Thread     one.                                                                                                              */
#pragma once
#include "sys/world.h"

enum { WR_CHECKPOINT_VERSION = 1, WR_CHECKPOINTS_KEPT = 2 };
typedef enum wr_section_kind {
    WR_SECTION_JOB,       /* fingerprint, key groups, finished flag */
    WR_SECTION_SOURCE,    /* owner: source node id; positions and watermarks */
    WR_SECTION_OPERATOR,  /* owner: node id, instance: worker; operator image */
    WR_SECTION_LEDGER,    /* owner: node id; counts */
    WR_SECTION_SINK,      /* owner: sink node id; staged rows */
} wr_section_kind;

typedef struct wr_section {
    wr_section_kind kind;
    wr_str          owner;
    uint32_t        instance;
    wr_str          content;
} wr_section;

typedef struct wr_checkpoint_writer { wr_sbuf buf; uint32_t n; } wr_checkpoint_writer;
void      wr_checkpoint_begin(wr_checkpoint_writer *w, uint64_t epoch);
void      wr_checkpoint_put(wr_checkpoint_writer *w, wr_section_kind kind, wr_str owner, uint32_t instance, wr_str content);
/* Writes dir/checkpoint-<epoch>.weir and removes all but the newest WR_CHECKPOINTS_KEPT. *bytes is the size written. */
wr_status wr_checkpoint_commit(wr_checkpoint_writer *w, wr_world *world, const char *dir, uint64_t epoch, uint64_t *bytes, wr_err *err);
void      wr_checkpoint_abandon(wr_checkpoint_writer *w);

typedef struct wr_checkpoint {
    uint64_t epoch;
    wr_sbuf  file;                 /* owns the bytes that sections point into */
    WR_ARR(wr_section) sections;
    char     path[512];
} wr_checkpoint;
/* The newest valid checkpoint of dir. *found = false when there is none at all. A damaged newest file: WR_CORRUPT naming it, with the older
 * one (if valid) offered in the hint; accept_older takes that one instead. */
wr_status wr_checkpoint_open(wr_world *world, const char *dir, bool accept_older, wr_checkpoint *out, bool *found, wr_err *err);
void      wr_checkpoint_close(wr_checkpoint *ck);
wr_status wr_checkpoint_clear(wr_world *world, const char *dir, wr_err *err); /* removes every checkpoint of dir; no directory is fine */
const wr_section *wr_checkpoint_find(const wr_checkpoint *ck, wr_section_kind kind, wr_str owner); /* first; NULL if absent */

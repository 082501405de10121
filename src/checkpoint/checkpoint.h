/* checkpoint/checkpoint.h: a whole consistent cut of a job on disk: positions, operator state, ledgers, staged sink rows, and the files of the tier.
 *
 * Idea       a manifest, checkpoint-<epoch>.weir, holds sections (kind, owner id, instance) with a checksum each, a header with version, and a footer
 *            that repeats count and total: a file is valid or it is not. Large state is in immutable files that several checkpoints share; they lie
 *            once in files/ under a name made of their content (hash and size), and the manifest lists them. So a checkpoint costs what changed.
 * Protocol   new files are moved into files/ and synced, the directory synced, then the manifest is written to a temporary name, synced, renamed,
 *            directory synced. The newest few are kept, with the files they name; files that none names are removed. A crash anywhere leaves whole
 *            checkpoints and perhaps orphans, which the next commit removes.
 * Invariant  a reader never sees a partial manifest under its final name; wr_checkpoint_open verifies every byte of the manifest and of every file
 *            that it lists before it returns, in bounded memory.
 * Format     little-endian. "WEIRCKP1", u32 version, u64 epoch, then per section: u32 kind, bytes owner, u32 instance, u64 length, content, u64 XXH3
 *            of all that; then "WEIREND1", u32 sections, u64 XXH3 of everything before. Version 1 had no sections of the tier's files, version 2
 *            none of channels.
 * Thread     one at a time.                                                                                                    */
#pragma once
#include "sys/world.h"

enum { WR_CHECKPOINT_VERSION = 3, WR_CHECKPOINTS_KEPT = 2 };
typedef enum wr_section_kind {
    WR_SECTION_JOB,       /* fingerprint, key groups, finished flag */
    WR_SECTION_SOURCE,    /* owner: source node id; positions and watermarks */
    WR_SECTION_OPERATOR,  /* owner: node id, instance: worker; operator image */
    WR_SECTION_LEDGER,    /* owner: node id; counts */
    WR_SECTION_SINK,      /* owner: sink node id; staged rows */
    WR_SECTION_FILES,     /* list of the tier's immutable files: name, stored name, size, XXH3 (written and read by checkpoint/) */
    WR_SECTION_FILE,      /* owner: name; one small file of the tier, whole */
    WR_SECTION_ABOUT,     /* owner: node id, instance: worker; what the state is and how much, for people (run/image.c) */
    WR_SECTION_PLAN,      /* what the state of each node means and keeps (run/upgrade.h) */
    WR_SECTION_CHANNELS,  /* owner: node id, instance: worker; rows in flight in front of it (run/inflight.c): u64 their number, then the rest */
    WR_SECTION_REFUSED,   /* owner: "job": which state this is; a sink's node id: what it refused (run/letters.h) */
} wr_section_kind;

typedef struct wr_section {
    wr_section_kind kind;
    wr_str          owner;
    uint32_t        instance;
    wr_str          content;
} wr_section;

/* Not of a node of the plan, but of the job's dead letters: which state this is, and what their places staged ("dead-letters file NAME", "... table NAME"). */
#define WR_LETTERS_OWNER "dead-letters "
WR_INLINE bool wr_section_of_letters(const wr_section *s) {
    return (s->kind == WR_SECTION_REFUSED && wr_str_eq(s->owner, WR_STR("job"))) || (s->kind == WR_SECTION_SINK && wr_str_starts(s->owner, WR_STR(WR_LETTERS_OWNER)));
}

/* Content: the epoch (u64) under which the rows that a sink has staged were staged, where that is not the checkpoint's: a backfill that left the sink's output as it is has
 * put them into a checkpoint with a number of its own. */
#define WR_STAGED_EPOCH_OWNER "epoch of "

typedef struct wr_checkpoint_file { /* immutable, of the tier */
    char     name[64];              /* as the tier names it */
    char     stored[64];            /* in files/ */
    uint64_t bytes, sum;
} wr_checkpoint_file;

/* ---- writing ---- */
typedef struct wr_checkpoint_part { wr_section_kind kind; char *owner; uint32_t instance; wr_sbuf content; } wr_checkpoint_part;
typedef struct wr_checkpoint_writer {
    uint64_t epoch;
    WR_ARR(wr_checkpoint_part) parts;
    WR_ARR(wr_checkpoint_file) files;
    uint64_t new_bytes;                 /* of files that were not there yet */
    uint32_t new_files;
} wr_checkpoint_writer;
void wr_checkpoint_begin(wr_checkpoint_writer *w, uint64_t epoch);
void wr_checkpoint_put(wr_checkpoint_writer *w, wr_section_kind kind, wr_str owner, uint32_t instance, wr_sbuf *content /* (takes) */);
void wr_checkpoint_abandon(wr_checkpoint_writer *w);

typedef struct wr_checkpoint_store wr_checkpoint_store;  /* the directory of one job, and what is known of it */
wr_checkpoint_store *wr_checkpoint_store_new(wr_world *world, const char *dir, uint32_t kept /* 0 = WR_CHECKPOINTS_KEPT */);
void                 wr_checkpoint_store_free(wr_checkpoint_store *store); /* NULL is legal */
/* Takes a file of the tier's image that lies at `path` (same file system) into the checkpoint: a shared one is moved into files/ unless it is there
 * (known by name: names are never used again while a store lives), a small one becomes a section. `path` is gone afterwards. */
wr_status wr_checkpoint_add_file(wr_checkpoint_store *store, wr_checkpoint_writer *w, const char *name, const char *path, bool shared, wr_err *err);
typedef struct wr_checkpoint_written { uint64_t new_bytes, total_bytes; uint32_t new_files, total_files; } wr_checkpoint_written; /* with the manifest */
/* Writes the manifest and removes what is too old. The writer stays as it is (after an error it may be tried again); abandon it. */
wr_status wr_checkpoint_commit(wr_checkpoint_store *store, wr_checkpoint_writer *w, wr_checkpoint_written *out, wr_err *err);

/* ---- reading ---- */
typedef struct wr_checkpoint {
    uint64_t epoch;
    uint32_t version;
    wr_sbuf  file;                 /* the manifest: owns the bytes that sections point into */
    WR_ARR(wr_section) sections;
    WR_ARR(wr_checkpoint_file) files;
    char     path[512];
} wr_checkpoint;
/* The newest valid checkpoint of dir. *found = false when there is none at all. A damaged newest one: WR_CORRUPT naming the damaged file, with the
 * older one (if valid) offered in the hint; accept_older takes that one instead. */
wr_status wr_checkpoint_open(wr_world *world, const char *dir, bool accept_older, wr_checkpoint *out, bool *found, wr_err *err);
typedef WR_ARR(uint64_t) wr_checkpoint_epochs;
wr_status wr_checkpoint_list(wr_world *world, const char *dir, wr_checkpoint_epochs *out, wr_err *err); /* ascending; no directory: none */
wr_status wr_checkpoint_read(wr_world *world, const char *dir, uint64_t epoch, wr_checkpoint *out, wr_err *err); /* the manifest only, verified */
wr_status wr_checkpoint_check_file(wr_world *world, const char *dir, const wr_checkpoint_file *file, wr_err *err); /* every byte of one file */
void      wr_checkpoint_close(wr_checkpoint *ck);
void      wr_checkpoint_in_flight(const wr_checkpoint *ck, uint64_t *rows, uint64_t *bytes); /* of the sections of channels; 0: it is aligned */
wr_status wr_checkpoint_check_settled(const wr_checkpoint *ck, const char *what, wr_err *err); /* WR311: it holds such rows, which `what` would lose */
const wr_section *wr_checkpoint_find(const wr_checkpoint *ck, wr_section_kind kind, wr_str owner); /* first; NULL if absent */
/* After a restore: ck's files are known to be there (so they need not be written again). */
void      wr_checkpoint_store_know(wr_checkpoint_store *store, const wr_checkpoint *ck);
/* Puts the files of the tier into to_dir (which exists) under their names: hard links of the shared ones, or copies where links are refused. */
wr_status wr_checkpoint_place(wr_world *world, const char *dir, const wr_checkpoint *ck, const char *to_dir, wr_err *err);
/* A copy of ck that stands alone in the directory to (made): a savepoint. dir may belong to a running job. */
wr_status wr_checkpoint_export(wr_world *world, const char *dir, const wr_checkpoint *ck, const char *to, wr_err *err);
wr_status wr_checkpoint_clear(wr_world *world, const char *dir, wr_err *err); /* removes every checkpoint of dir; no directory is fine */

/* ---- the copy in an object store (away.c) ---- */
typedef struct wr_checkpoint_away wr_checkpoint_away;
typedef struct wr_checkpoint_uploaded { uint64_t bytes; uint32_t files; } wr_checkpoint_uploaded; /* with the manifest */
/* Lists what url (s3://bucket/prefix) holds. Credentials: remote/remote.h. */
wr_status wr_checkpoint_away_open(wr_world *world, const char *dir, const char *url, uint32_t kept, wr_checkpoint_away **out, wr_err *err);
void      wr_checkpoint_away_free(wr_checkpoint_away *away);   /* NULL is legal */
void      wr_checkpoint_away_cancel(wr_checkpoint_away *away); /* NULL is legal; any thread: requests under way fail soon */
/* The newest whole checkpoint is put into the directory, which has none. *found = false: the store has none. Damage: as wr_checkpoint_open. take: the
 * directory goes on there too (wr_checkpoint_away_take). */
wr_status wr_checkpoint_away_fetch(wr_checkpoint_away *away, bool accept_older, bool take, bool *found, wr_err *err);
/* A copy of what is there, for looking, as it is: what is damaged stays so, a file that is missing is missing here. The directory must not go on from it.
 * epoch: this one, WR_MIRROR_NEWEST or WR_MIRROR_ALL; files: not the manifests only. */
enum { WR_MIRROR_ALL = 0 };
#define WR_MIRROR_NEWEST UINT64_MAX
wr_status wr_checkpoint_away_mirror(wr_checkpoint_away *away, uint64_t epoch, bool files, wr_err *err);
bool      wr_checkpoint_away_is_empty(const wr_checkpoint_away *away);
/* May the directory, which goes on from local_epoch, be copied there? WR332: somebody else's checkpoints; WR333: newer ones. */
wr_status wr_checkpoint_away_check(wr_checkpoint_away *away, uint64_t local_epoch, bool accept_older, wr_err *err);
wr_status wr_checkpoint_away_take(wr_checkpoint_away *away, wr_err *err);  /* from now on this directory is copied there, and no other */
wr_status wr_checkpoint_away_clear(wr_checkpoint_away *away, wr_err *err); /* removes every checkpoint there */
/* What the store does not have of a checkpoint of the directory, then its manifest, then what is too old there is removed. May be tried again;
 * adds to *out. WR332: somebody else has taken over meanwhile. */
wr_status wr_checkpoint_away_upload(wr_checkpoint_away *away, uint64_t epoch, const wr_checkpoint_file *files, uint32_t n, wr_checkpoint_uploaded *out, wr_err *err);

/* ---- who runs on a directory (live.c) ---- */
/* Takes the directory for this process: *lock (close it to give it up), or NULL and *holder = the process that has it (-1: unknown). */
wr_status wr_state_lock(wr_world *world, const char *dir, wr_file **lock, long *holder, wr_err *err);
/* Asks the job that runs there for a checkpoint and waits for it. *epoch = 0: none runs there (any more). WR_LIMIT: it took too long. */
wr_status wr_state_ask(wr_world *world, const char *dir, int64_t timeout_us, uint64_t *epoch, wr_err *err);
/* Asks it to stop behind a last checkpoint and waits until it has gone. *ran = false: none runs there. WR_LIMIT: it took too long. */
wr_status wr_state_stop(wr_world *world, const char *dir, int64_t timeout_us, bool *ran, wr_err *err);
bool      wr_state_asked(wr_world *world, const char *dir);                                 /* the job: does someone ask? */
bool      wr_state_asked_to_stop(wr_world *world, const char *dir);                         /* the same, and then to stop? */
wr_status wr_state_answer(wr_world *world, const char *dir, uint64_t epoch, wr_err *err);   /* the job: here it is */

/* state/tier_rocks.cpp: see tier_rocks.h. RocksDB with its files in the world, options for one job's state, and a memory bound.
 *
 * Idea       universal compaction: what a checkpoint costs is what is rewritten between two of them, and merging runs of like size rewrites an
 *            entry a few times in its life instead of ten. No write-ahead log. Filters and indexes stay outside the block cache (in
 *            it they evict each other); they have filter_bytes of their own, and what they take beyond that the cache gives up. When there are more keys
 *            than filter_bytes can take at 10 bits, new files get fewer bits (memory_policy).
 * Invariant  no exception and no C++ type leaves this file. A failure of a background thread is kept (listener), never retried by RocksDB.
 * Thread     any; a wr_rocks_scan belongs to one at a time.                                                              */
#include "state/tier_rocks.h"
#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/system_clock.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using rocksdb::Status;

/* Debian's RocksDB and the C++ library are not built for the thread sanitizer, which therefore sees none of their atomics and none of the frames
 * between: what it reports with a frame of either in a stack (a string appended to inside RocksDB, say) says nothing. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
extern "C" const char *__tsan_default_suppressions(void);
extern "C" const char *__tsan_default_suppressions(void) { return "race:librocksdb.so\nrace:libstdc++.so\n"; }
#endif

/* ---- statuses: the world's SQLSTATE travels through RocksDB in square brackets in front of the text ---- */

static IOStatus status_of(const wr_err &e) {
    std::string text = std::string("[") + e.code + "] " + e.message;
    return !strcmp(e.code, "58P01") ? IOStatus::PathNotFound(text) : IOStatus::IOError(text);
}

static wr_status fail(const Status &s, const char *doing, wr_err *err) {
    std::string text = s.ToString(), code = "58030";
    size_t at = text.find('[');
    bool   ours = at != std::string::npos && at + 8 <= text.size() && text[at + 6] == ']';
    if (ours) {
        code = text.substr(at + 1, 5);
        text = text.substr(at + 8);
    }
    bool      damaged = s.IsCorruption();
    wr_status status = damaged ? wr_fail(err, WR_CORRUPT, "XX001", "cannot %s the state on disk: %s", doing, text.c_str())
                               : wr_fail(err, WR_IO, code.c_str(), "cannot %s the state on disk: %s", doing, text.c_str());
    if (err && code == "53100") wr_err_hint(err, "free space on the disk of the state directory, or give another one with --state-dir");
    return status;
}

/* ---- files ---- */

namespace {

struct sequential_file : rocksdb::FSSequentialFile {
    struct wr_world *world;
    struct wr_file  *file;
    uint64_t         at = 0;
    sequential_file(struct wr_world *w, struct wr_file *f) : world(w), file(f) {}
    ~sequential_file() override { wr_rocks_file_close(world, file); }
    IOStatus Read(size_t n, const IOOptions &, Slice *result, char *scratch, IODebugContext *) override {
        wr_err err;
        size_t got = 0;
        if (wr_rocks_file_read(world, file, scratch, n, at, &got, &err) != WR_OK) return status_of(err);
        at += got;
        *result = Slice(scratch, got);
        return IOStatus::OK();
    }
    IOStatus Skip(uint64_t n) override {
        at += n;
        return IOStatus::OK();
    }
};

struct read_cost { std::atomic<uint64_t> reads{0}, ns{0}; };
struct random_file : rocksdb::FSRandomAccessFile {
    enum { SMALL = 64 << 10 };
    struct wr_world *world;
    struct wr_file  *file;
    read_cost       *cost; /* of blocks; what compactions read at a time is more, and says nothing of the disk's promptness */
    random_file(struct wr_world *w, struct wr_file *f, read_cost *c) : world(w), file(f), cost(c) {}
    ~random_file() override { wr_rocks_file_close(world, file); }
    IOStatus Read(uint64_t offset, size_t n, const IOOptions &, Slice *result, char *scratch, IODebugContext *) const override {
        wr_err err;
        size_t got = 0;
        uint64_t from = wr_rocks_clock_ns();
        if (wr_rocks_file_read(world, file, scratch, n, offset, &got, &err) != WR_OK) return status_of(err);
        if (n <= SMALL) cost->reads.fetch_add(1, std::memory_order_relaxed), cost->ns.fetch_add(wr_rocks_clock_ns() - from, std::memory_order_relaxed);
        *result = Slice(scratch, got);
        return IOStatus::OK();
    }
};

struct writable_file : rocksdb::FSWritableFile {
    struct wr_world       *world;
    struct wr_file        *file;
    uint64_t               size = 0;
    std::atomic<uint64_t> *written; /* NULL: not counted */
    bool                   lasting; /* else it is not synced */
    writable_file(struct wr_world *w, struct wr_file *f, const rocksdb::FileOptions &o, std::atomic<uint64_t> *count, bool lasts)
        : FSWritableFile(o), world(w), file(f), written(count), lasting(lasts) {}
    ~writable_file() override { close(); }
    void close() {
        if (file) wr_rocks_file_close(world, file);
        file = nullptr;
    }
    IOStatus Append(const Slice &data, const IOOptions &, IODebugContext *) override {
        wr_err err;
        if (wr_rocks_file_write(world, file, data.data(), data.size(), &err) != WR_OK) return status_of(err);
        size += data.size();
        if (written) written->fetch_add(data.size(), std::memory_order_relaxed);
        return IOStatus::OK();
    }
    using FSWritableFile::Append;
    IOStatus Close(const IOOptions &, IODebugContext *) override {
        close();
        return IOStatus::OK();
    }
    IOStatus Flush(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
    IOStatus Sync(const IOOptions &, IODebugContext *) override {
        wr_err err;
        if (!lasting) return IOStatus::OK();
        return wr_rocks_file_sync(world, file, &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    uint64_t GetFileSize(const IOOptions &, IODebugContext *) override { return size; }
};

struct directory : rocksdb::FSDirectory {
    struct wr_world *world;
    std::string      path;
    directory(struct wr_world *w, const std::string &p) : world(w), path(p) {}
    IOStatus Fsync(const IOOptions &, IODebugContext *) override {
        wr_err err;
        return wr_rocks_sync_dir(world, path.c_str(), &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus Close(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
};

bool is_table(const std::string &name) {
    return (name.size() > 4 && name.compare(name.size() - 4, 4, ".sst") == 0) || name.find("/batch-") != std::string::npos;
}

struct world_files : rocksdb::FileSystem {
    struct wr_world      *world;
    std::atomic<uint64_t> written{0}; /* bytes of sorted files */
    read_cost             cost;
    bool                  lasting;
    world_files(struct wr_world *w, bool lasts) : world(w), lasting(lasts) {}
    const char *Name() const override { return "weir"; }

    IOStatus open_file(const std::string &name, bool write, struct wr_file **out) {
        wr_err err;
        return wr_rocks_file_open(world, name.c_str(), write, out, &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus NewSequentialFile(const std::string &name, const rocksdb::FileOptions &, std::unique_ptr<rocksdb::FSSequentialFile> *result,
                               IODebugContext *) override {
        struct wr_file *f = nullptr;
        IOStatus        s = open_file(name, false, &f);
        if (s.ok()) result->reset(new sequential_file(world, f));
        return s;
    }
    IOStatus NewRandomAccessFile(const std::string &name, const rocksdb::FileOptions &, std::unique_ptr<rocksdb::FSRandomAccessFile> *result,
                                 IODebugContext *) override {
        struct wr_file *f = nullptr;
        IOStatus        s = open_file(name, false, &f);
        if (s.ok()) result->reset(new random_file(world, f, &cost));
        return s;
    }
    IOStatus NewWritableFile(const std::string &name, const rocksdb::FileOptions &o, std::unique_ptr<rocksdb::FSWritableFile> *result,
                             IODebugContext *) override {
        struct wr_file *f = nullptr;
        IOStatus        s = open_file(name, true, &f);
        if (s.ok()) result->reset(new writable_file(world, f, o, is_table(name) ? &written : nullptr, lasting));
        return s;
    }
    IOStatus NewDirectory(const std::string &name, const IOOptions &, std::unique_ptr<rocksdb::FSDirectory> *result, IODebugContext *) override {
        result->reset(new directory(world, name));
        return IOStatus::OK();
    }
    IOStatus stat(const std::string &name, wr_rocks_file_info *info) {
        wr_err err;
        if (wr_rocks_file_stat(world, name.c_str(), info, &err) != WR_OK) return status_of(err);
        return info->exists ? IOStatus::OK() : IOStatus::PathNotFound("there is no '" + name + "'");
    }
    IOStatus FileExists(const std::string &name, const IOOptions &, IODebugContext *) override {
        wr_rocks_file_info info; /* no other failure is told: Debian's build keeps asserts, and one in WalManager takes it for a bug. The use fails then */
        return stat(name, &info).ok() ? IOStatus::OK() : IOStatus::NotFound();
    }
    IOStatus GetChildren(const std::string &dir, const IOOptions &, std::vector<std::string> *result, IODebugContext *) override {
        wr_err err;
        result->clear();
        auto each = [](void *self, const char *name) { static_cast<std::vector<std::string> *>(self)->emplace_back(name); };
        return wr_rocks_file_list(world, dir.c_str(), each, result, &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus DeleteFile(const std::string &name, const IOOptions &, IODebugContext *) override { return remove(name); }
    IOStatus DeleteDir(const std::string &name, const IOOptions &, IODebugContext *) override { return remove(name); }
    IOStatus remove(const std::string &name) {
        wr_err err;
        return wr_rocks_file_remove(world, name.c_str(), &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus CreateDir(const std::string &name, const IOOptions &o, IODebugContext *d) override { return CreateDirIfMissing(name, o, d); }
    IOStatus CreateDirIfMissing(const std::string &name, const IOOptions &, IODebugContext *) override {
        wr_err err;
        return wr_rocks_make_dirs(world, name.c_str(), &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus GetFileSize(const std::string &name, const IOOptions &, uint64_t *size, IODebugContext *) override {
        wr_rocks_file_info info;
        IOStatus           s = stat(name, &info);
        if (s.ok()) *size = info.bytes;
        return s;
    }
    IOStatus GetFileModificationTime(const std::string &name, const IOOptions &, uint64_t *mtime_s, IODebugContext *) override {
        wr_rocks_file_info info;
        IOStatus           s = stat(name, &info);
        if (s.ok()) *mtime_s = uint64_t(info.mtime_us / 1000000);
        return s;
    }
    IOStatus RenameFile(const std::string &from, const std::string &to, const IOOptions &, IODebugContext *) override {
        wr_err err;
        return wr_rocks_file_rename(world, from.c_str(), to.c_str(), &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus LinkFile(const std::string &from, const std::string &to, const IOOptions &, IODebugContext *) override {
        wr_err err;
        return wr_rocks_file_link(world, from.c_str(), to.c_str(), &err) == WR_OK ? IOStatus::OK() : status_of(err);
    }
    IOStatus IsDirectory(const std::string &name, const IOOptions &, bool *is_dir, IODebugContext *) override {
        wr_rocks_file_info info;
        IOStatus           s = stat(name, &info);
        if (s.ok()) *is_dir = info.is_dir;
        return s;
    }
    /* The directory is the job's own: nobody to be locked out. */
    struct no_lock : rocksdb::FileLock {};
    IOStatus LockFile(const std::string &, const IOOptions &, rocksdb::FileLock **lock, IODebugContext *) override {
        *lock = new no_lock;
        return IOStatus::OK();
    }
    IOStatus UnlockFile(rocksdb::FileLock *lock, const IOOptions &, IODebugContext *) override {
        delete lock;
        return IOStatus::OK();
    }
    IOStatus GetTestDirectory(const IOOptions &, std::string *, IODebugContext *) override { return IOStatus::NotSupported("weir"); }
    IOStatus GetAbsolutePath(const std::string &path, const IOOptions &, std::string *out, IODebugContext *) override {
        *out = path;
        return IOStatus::OK();
    }
    IOStatus NewLogger(const std::string &, const IOOptions &, std::shared_ptr<rocksdb::Logger> *, IODebugContext *) override {
        return IOStatus::NotSupported("weir");
    }
};

struct silent : rocksdb::Logger {
    silent() : Logger(rocksdb::InfoLogLevel::HEADER_LEVEL) {}
    using Logger::Logv;
    void Logv(const char *, va_list) override {}
};

/* After a failed flush or compaction RocksDB's thread sleeps a second before it sees that there will be no other: a stopping job need not wait for that. */
struct short_sleeps : rocksdb::SystemClockWrapper {
    short_sleeps() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
    const char *Name() const override { return "weir"; }
    void SleepForMicroseconds(int us) override { SystemClockWrapper::SleepForMicroseconds(std::min(us, 10000)); }
};
struct world_env : rocksdb::EnvWrapper {
    explicit world_env(const std::shared_ptr<world_files> &files) : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
        file_system_ = files;
        system_clock_ = std::make_shared<short_sleeps>();
    }
};

/* ---- filters: Ribbon (30 % smaller than Bloom of the same power) with as many bits a key as the memory can take. Building one takes some 30 bytes
 * a key for a moment: nothing for files of target_file_size, too much for those of level 0, which are never split: they get Bloom. ---- */

struct memory_policy : rocksdb::FilterPolicy {
    enum { BITS = 10 };
    std::unique_ptr<const rocksdb::FilterPolicy> of_bits[BITS + 1], young[BITS + 1]; /* Bloom equivalent; 0 = none */
    std::atomic<uint64_t>                        keys{0};           /* entries on disk, about */
    double                                       share_bits;
    explicit memory_policy(int64_t bytes) : share_bits(double(bytes) * 8) {
        for (int i = 1; i <= BITS; i++) {
            of_bits[i].reset(rocksdb::NewRibbonFilterPolicy(i, 0));
            young[i].reset(rocksdb::NewBloomFilterPolicy(i));
        }
    }
    const char *Name() const override { return "weir.memory"; }
    const char *CompatibilityName() const override { return of_bits[BITS]->CompatibilityName(); }
    rocksdb::FilterBitsBuilder *GetBuilderWithContext(const rocksdb::FilterBuildingContext &context) const override {
        double n = double(keys.load(std::memory_order_relaxed)) * 0.75; /* Ribbon's size against Bloom's */
        int    bits = n * BITS <= share_bits ? int(BITS) : int(share_bits / n);
        return bits < 1 ? nullptr : (context.level_at_creation > 0 ? of_bits : young)[bits]->GetBuilderWithContext(context);
    }
    rocksdb::FilterBitsReader *GetFilterBitsReader(const Slice &contents) const override { return of_bits[BITS]->GetFilterBitsReader(contents); }
};

} // namespace

/* ---- the database ---- */

enum { FILES_STOP = 80, FILES_WAIT_US = 1000, FILES_WAITS = 5000 }; /* young files: as many make a writer wait for merges, 5 s at most */

struct wr_rocks {
    std::shared_ptr<world_files>    files;
    std::unique_ptr<rocksdb::Env>   env;
    std::shared_ptr<rocksdb::Cache> cache;
    std::shared_ptr<memory_policy>  filters;
    rocksdb::DB                    *db = nullptr;
    int64_t                         cache_bytes = 0, cache_floor = 0, filter_bytes = 0; /* the cache gives way to filters and indexes above filter_bytes, down to the floor */
    size_t                          piece_bytes = 0;                  /* of a write */
    std::mutex                      lock;
    Status                          background; /* first failure of a background thread */
    std::atomic<bool>               failed{false};
    std::atomic<uint64_t>           merged{0};  /* bytes that compactions wrote */
    std::mutex                      order;      /* of writes and ingested files: see seal_memtable */
};

namespace {
int64_t number(rocksdb::DB *db, const std::string &property) {
    uint64_t v = 0;
    return db->GetIntProperty(property, &v) ? int64_t(v) : 0;
}

/* db: a background thread may be here before open has returned */
int64_t fit_cache(wr_rocks *r, rocksdb::DB *db) {
    int64_t readers = number(db, rocksdb::DB::Properties::kEstimateTableReadersMem);
    size_t  room = size_t(std::max(r->cache_bytes - std::max(readers - r->filter_bytes, int64_t(0)), r->cache_floor));
    if (r->cache->GetCapacity() != room) r->cache->SetCapacity(room);
    r->filters->keys.store(uint64_t(number(db, rocksdb::DB::Properties::kEstimateNumKeys)), std::memory_order_relaxed);
    return readers;
}

struct listener : rocksdb::EventListener {
    wr_rocks *r;
    explicit listener(wr_rocks *rocks) : r(rocks) {}
    void OnFlushCompleted(rocksdb::DB *db, const rocksdb::FlushJobInfo &) override { fit_cache(r, db); }
    void OnCompactionCompleted(rocksdb::DB *db, const rocksdb::CompactionJobInfo &job) override {
        r->merged.fetch_add(job.stats.total_output_bytes, std::memory_order_relaxed);
        fit_cache(r, db);
    }
    void OnBackgroundError(rocksdb::BackgroundErrorReason, Status *s) override {
        std::lock_guard<std::mutex> hold(r->lock);
        if (!r->background.ok()) return;
        r->background = *s;
        r->failed.store(true, std::memory_order_release);
    }
};

rocksdb::Options options_of(wr_rocks *r, const wr_rocks_opts *o) {
    rocksdb::Options opt;
    int64_t          memory = o->memory_bytes, buffers = memory - r->cache_bytes;
    opt.env = r->env.get();
    opt.create_if_missing = o->create;
    opt.info_log = std::make_shared<silent>();
    opt.max_open_files = -1;
    opt.max_background_jobs = 3; /* one flush; two compactions, so that small merges go on beside a large one */
    opt.stats_dump_period_sec = 0;
    opt.stats_persist_period_sec = 0;
    opt.allow_fallocate = false;
    opt.allow_concurrent_memtable_write = false;
    opt.enable_write_thread_adaptive_yield = false;
    opt.avoid_flush_during_shutdown = true;
    opt.skip_stats_update_on_db_open = true;
    opt.max_bgerror_resume_count = 0;
    opt.max_manifest_file_size = 512 * 1024; /* each image takes a copy of it */
    opt.keep_log_file_num = 1;
    opt.write_buffer_size = size_t(buffers / 2);
    opt.arena_block_size = size_t(std::clamp<int64_t>(buffers / 64, 4096, 1 << 20));
    opt.max_write_buffer_number = 2;
    opt.memtable_whole_key_filtering = true; /* most keys that are looked for are not in it: a filter is cheaper than the list */
    opt.memtable_prefix_bloom_size_ratio = 0.1;
    opt.max_write_buffer_size_to_maintain = 0;
    r->piece_bytes = size_t(std::clamp<int64_t>(buffers / 32, 4096, 1 << 20));

    opt.compaction_style = rocksdb::kCompactionStyleUniversal;
    opt.compaction_options_universal.max_size_amplification_percent = 100;
    opt.compaction_options_universal.size_ratio = o->scratch ? 10 : 1;
    opt.compaction_options_universal.min_merge_width = 4;
    opt.level0_file_num_compaction_trigger = o->scratch ? 10 : 24; /* an image pays for what is merged: wait for more; else lookups pay for what is not */
    opt.level0_slowdown_writes_trigger = 48;
    opt.level0_stop_writes_trigger = FILES_STOP;
    opt.target_file_size_base = uint64_t(std::clamp<int64_t>(memory / 24, 1 << 20, 8 << 20)); /* building a Ribbon filter takes some 50 bytes a key of the file */
    opt.compression = rocksdb::kLZ4Compression;
    opt.periodic_compaction_seconds = 0;
    opt.ttl = 0;

    rocksdb::BlockBasedTableOptions table;
    table.block_cache = r->cache;
    table.block_size = 4 * 1024; /* a filter that is wrong, once in a hundred, costs a block */
    table.index_block_restart_interval = 16;
    table.format_version = 5;
    table.filter_policy = r->filters;
    table.whole_key_filtering = true;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    opt.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    opt.listeners.push_back(std::make_shared<listener>(r));
    return opt;
}
} // namespace

extern "C" wr_status wr_rocks_open(const wr_rocks_opts *opts, wr_rocks **out, wr_err *err) {
    *out = nullptr;
    std::unique_ptr<wr_rocks> r(new wr_rocks);
    r->files = std::make_shared<world_files>(opts->world, !opts->scratch);
    r->env.reset(new world_env(r->files));
    r->cache_bytes = opts->scratch ? opts->memory_bytes * 3 / 4 : opts->memory_bytes * 3 / 5; /* large batches do not go through write buffers then */
    r->cache_floor = opts->memory_bytes / 16;
    r->cache = rocksdb::NewLRUCache(size_t(r->cache_bytes));
    r->filter_bytes = opts->filter_bytes;
    r->filters = std::make_shared<memory_policy>(opts->filter_bytes);
    Status s = rocksdb::DB::Open(options_of(r.get(), opts), opts->dir, &r->db);
    if (!s.ok()) return fail(s, "open", err);
    fit_cache(r.get(), r->db);
    *out = r.release();
    return WR_OK;
}

extern "C" void wr_rocks_close(wr_rocks *r) {
    if (!r) return;
    delete r->db; /* stops and awaits its background work */
    r->db = nullptr;
    delete r;
}

extern "C" wr_status wr_rocks_background_error(wr_rocks *r, wr_err *err) {
    if (!r->failed.load(std::memory_order_acquire)) return WR_OK;
    std::lock_guard<std::mutex> hold(r->lock);
    return fail(r->background, "write", err);
}

extern "C" wr_status wr_rocks_write(wr_rocks *r, const char *const *ops, size_t n, bool sorted, wr_err *err) {
    rocksdb::WriteOptions how;
    how.disableWAL = true;
    how.memtable_insert_hint_per_batch = sorted;
    rocksdb::WriteBatch batch(r->piece_bytes + r->piece_bytes / 4);
    for (size_t i = 0; i < n; i++) {
        wr_rocks_op op;
        const char *from = ops[i];
        memcpy(&op, from, sizeof op);
        Slice  key(from + sizeof op, op.key_len), value(from + sizeof op + op.key_len, op.value_len);
        Status s = op.kind == WR_ROCKS_PUT ? batch.Put(key, value) : op.kind == WR_ROCKS_DELETE ? batch.Delete(key) : batch.DeleteRange(key, value);
        if (s.ok() && (batch.GetDataSize() >= r->piece_bytes || i + 1 == n)) {
            std::lock_guard<std::mutex> hold(r->order);
            s = r->db->Write(how, &batch);
            batch.Clear();
        }
        if (!s.ok()) return fail(s, "write", err);
    }
    return WR_OK;
}

/* RocksDB lets writers wait for merges, but not who ingests. */
static void await_merges(wr_rocks *r) {
    for (int i = 0; i < FILES_WAITS && !r->failed.load(std::memory_order_acquire); i++) {
        if (number(r->db, rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0") < FILES_STOP) return;
        rocksdb::SystemClock::Default()->SleepForMicroseconds(FILES_WAIT_US);
    }
}

/* An ingested file gets the next sequence number. A memtable with entries on both sides of it would become a file whose range holds the other's, and a merge of such
 * files is refused as a corruption: so all memtables become files before. Held: r->order. */
static Status seal_memtable(wr_rocks *r) {
    if (!number(r->db, rocksdb::DB::Properties::kNumEntriesActiveMemTable) && !number(r->db, rocksdb::DB::Properties::kNumImmutableMemTable)) return Status::OK();
    rocksdb::FlushOptions how; /* waits: memtables that are still to be flushed become one file together */
    how.allow_write_stall = true;
    return r->db->Flush(how);
}

extern "C" wr_status wr_rocks_ingest(wr_rocks *r, const char *path, const char *const *ops, size_t n, wr_err *err) {
    await_merges(r);
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), r->db->GetOptions());
    Status                 s = writer.Open(path);
    wr_rocks_op            op, next;
    for (size_t i = 0; s.ok() && i < n; i++) {
        const char *from = ops[i] + sizeof op;
        memcpy(&op, ops[i], sizeof op);
        if (i + 1 < n) { /* of equal keys only the last */
            memcpy(&next, ops[i + 1], sizeof next);
            if (next.key_len == op.key_len && !memcmp(from, ops[i + 1] + sizeof next, op.key_len)) continue;
        }
        Slice key(from, op.key_len);
        s = op.kind == WR_ROCKS_PUT ? writer.Put(key, Slice(from + op.key_len, op.value_len)) : writer.Delete(key);
    }
    if (s.ok()) s = writer.Finish();
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    how.write_global_seqno = false;
    {
        std::lock_guard<std::mutex> hold(r->order);
        if (s.ok()) s = seal_memtable(r);
        if (s.ok()) s = r->db->IngestExternalFile({path}, how);
    }
    if (!s.ok()) r->files->remove(path); /* what RocksDB did not take */
    return s.ok() ? WR_OK : fail(s, "write", err);
}

extern "C" wr_status wr_rocks_get(wr_rocks *r, const wr_rocks_bytes *keys, uint32_t n, void (*take)(void *self, uint32_t i, const char *value, size_t len),
                                  void *self, wr_err *err) {
    rocksdb::ReadOptions   how;
    Slice                  slices[WR_ROCKS_GETS];
    rocksdb::PinnableSlice values[WR_ROCKS_GETS];
    Status                 statuses[WR_ROCKS_GETS];
    for (uint32_t i = 0; i < n; i++) slices[i] = Slice(keys[i].ptr, keys[i].len);
    if (n == 1) statuses[0] = r->db->Get(how, r->db->DefaultColumnFamily(), slices[0], &values[0]);
    else r->db->MultiGet(how, r->db->DefaultColumnFamily(), n, slices, values, statuses);
    for (uint32_t i = 0; i < n; i++) {
        if (statuses[i].ok()) take(self, i, values[i].data(), values[i].size());
        else if (!statuses[i].IsNotFound()) return fail(statuses[i], "read", err);
    }
    return WR_OK;
}

struct wr_rocks_scan {
    std::string                        to;
    Slice                              bound;
    std::unique_ptr<rocksdb::Iterator> it;
    bool                               started = false;
};

extern "C" wr_rocks_scan *wr_rocks_scan_new(wr_rocks *r, wr_rocks_bytes from, wr_rocks_bytes to) {
    std::unique_ptr<wr_rocks_scan> scan(new wr_rocks_scan);
    scan->to.assign(to.ptr, to.len);
    scan->bound = Slice(scan->to);
    rocksdb::ReadOptions how;
    how.iterate_upper_bound = &scan->bound;
    how.fill_cache = false; /* a scan must not drive out what lookups use */
    scan->it.reset(r->db->NewIterator(how));
    scan->it->Seek(Slice(from.ptr, from.len));
    return scan.release();
}

extern "C" bool wr_rocks_scan_next(wr_rocks_scan *scan, wr_rocks_bytes *key, wr_rocks_bytes *value) {
    if (scan->started && scan->it->Valid()) scan->it->Next();
    scan->started = true;
    if (!scan->it->Valid()) return false;
    Slice k = scan->it->key(), v = scan->it->value();
    *key = {k.data(), k.size()};
    *value = {v.data(), v.size()};
    return true;
}

extern "C" wr_status wr_rocks_scan_free(wr_rocks_scan *scan, wr_err *err) {
    Status s = scan->it->status();
    delete scan;
    return s.ok() ? WR_OK : fail(s, "read", err);
}

extern "C" wr_status wr_rocks_image(wr_rocks *r, const char *dir, wr_err *err) {
    rocksdb::Checkpoint *made = nullptr;
    Status               s = rocksdb::Checkpoint::Create(r->db, &made);
    std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    if (s.ok()) s = checkpoint->CreateCheckpoint(dir);
    return s.ok() ? WR_OK : fail(s, "make an image of", err);
}

extern "C" void wr_rocks_read_cost(wr_rocks *r, uint64_t *reads, uint64_t *ns) {
    *reads = r->files->cost.reads.load(std::memory_order_relaxed);
    *ns = r->files->cost.ns.load(std::memory_order_relaxed);
}

void wr_rocks_stats_get(wr_rocks *r, wr_rocks_stats *out) {
    using P = rocksdb::DB::Properties;
    out->reader_bytes = fit_cache(r, r->db);
    out->memtable_bytes = number(r->db, P::kSizeAllMemTables);
    out->cache_bytes = int64_t(r->cache->GetUsage());
    out->disk_bytes = number(r->db, P::kTotalSstFilesSize);
    out->pending_bytes = number(r->db, P::kEstimatePendingCompactionBytes);
    out->written_bytes = r->files->written.load(std::memory_order_relaxed);
    out->merged_bytes = r->merged.load(std::memory_order_relaxed);
}

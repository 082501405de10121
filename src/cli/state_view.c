/* cli/state_view.c: see state.h. */
#include "state.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdlib.h>

static wr_reader reader_of(wr_str s) { return (wr_reader){.at = (const uint8_t *)s.ptr, .end = (const uint8_t *)s.ptr + s.len}; }

static state_op *op_of(state_view *v, wr_str id) {
    for (uint32_t i = 0; i < v->ops.n; i++)
        if (wr_str_eq(v->ops.at[i].id, id)) return &v->ops.at[i];
    wr_arr_push(&v->ops, (state_op){.id = id});
    return &v->ops.at[v->ops.n - 1];
}

static void read_about(state_op *op, wr_str content) {
    wr_reader r = reader_of(content);
    op->kind = wr_get_bytes(&r), op->title = wr_get_bytes(&r);
    op->keys += wr_get_u64(&r), op->rows += wr_get_u64(&r);
    op->state_bytes += wr_get_i64(&r);
    op->n_keys = wr_get_u32(&r);
    op->decodable = op->n_keys <= STATE_KEYS_MAX;
    for (uint32_t i = 0; i < op->n_keys && i < STATE_KEYS_MAX && !r.bad; i++) {
        op->key_names[i] = wr_get_bytes(&r);
        op->key_types[i] = (wr_type){.id = wr_get_u8(&r), .nullable = 1};
        op->key_types[i].scale = wr_get_u8(&r);
        op->key_types[i].prec = (int32_t)wr_get_u32(&r);
        if (wr_get_u32(&r)) op->decodable = false; /* of parts, which are not described */
    }
    if (r.bad) op->decodable = false;
}

static void read_sections(state_view *v) {
    for (uint32_t i = 0; i < v->ck.sections.n; i++) {
        const wr_section *s = &v->ck.sections.at[i];
        if (s->kind == WR_SECTION_JOB) {
            wr_reader r = reader_of(s->content);
            v->n_groups = wr_get_u32(&r);
        }
        if (s->kind == WR_SECTION_OPERATOR) {
            state_op *op = op_of(v, s->owner);
            op->inline_bytes += s->content.len;
            op->instances++;
        }
        if (s->kind == WR_SECTION_CHANNELS && wr_checkpoint_find(&v->ck, WR_SECTION_OPERATOR, s->owner)) op_of(v, s->owner)->in_flight_bytes += s->content.len;
        if (s->kind == WR_SECTION_ABOUT) read_about(op_of(v, s->owner), s->content);
    }
    wr_checkpoint_in_flight(&v->ck, &v->in_flight_rows, &v->in_flight_bytes);
    for (uint32_t i = 0; i < v->ck.files.n; i++) v->tier_bytes += v->ck.files.at[i].bytes;
}

static wr_status open_tier(state_view *v, wr_err *err) {
    wr_world   *world = wr_world_posix();
    const char *temp = getenv("TMPDIR");
    snprintf(v->tier_dir, sizeof v->tier_dir, "%s/weir-state-%016" PRIx64, temp && *temp ? temp : "/tmp", world->vt->random(world));
    wr_account_init(&v->acct, NULL, "state", 0);
    v->tier = wr_tier_new(&(wr_tier_opts){.world = world, .dir = v->tier_dir, .acct = &v->acct, .memory_bytes = 32 << 20});
    WR_TRY(world->vt->make_dirs(world, v->tier_dir, err));
    WR_TRY(wr_checkpoint_place(world, v->dir, &v->ck, v->tier_dir, err));
    return wr_tier_restore(v->tier, err);
}

wr_status state_open(const char *dir, uint64_t epoch, bool with_tier, state_view *v, wr_err *err) {
    *v = (state_view){.dir = dir};
    bool      found = true;
    wr_status status = epoch ? wr_checkpoint_read(wr_world_posix(), dir, epoch, &v->ck, err)
                             : wr_checkpoint_open(wr_world_posix(), dir, false, &v->ck, &found, err);
    if (status == WR_OK && !found) status = wr_fail(err, WR_USER, "WR307", "there is no checkpoint in %s", dir);
    for (uint32_t i = 0; status == WR_OK && epoch && with_tier && i < v->ck.files.n; i++)
        status = wr_checkpoint_check_file(wr_world_posix(), dir, &v->ck.files.at[i], err);
    if (status == WR_OK) {
        read_sections(v);
        if (with_tier && v->ck.files.n) status = open_tier(v, err);
    }
    if (status != WR_OK) state_close(v);
    return status;
}

void state_close(state_view *v) {
    wr_err ignored;
    wr_tier_free(v->tier);
    if (v->tier_dir[0]) (void)!wr_dir_remove(wr_world_posix(), v->tier_dir, &ignored);
    wr_checkpoint_close(&v->ck);
    wr_arr_free(&v->ops);
    v->tier = NULL;
    v->tier_dir[0] = 0;
}

state_op *state_find_op(state_view *v, const char *name, wr_err *err) {
    wr_str    want = wr_str_of(name);
    state_op *found = NULL;
    uint32_t  n = 0;
    for (uint32_t i = 0; i < v->ops.n; i++) {
        state_op *op = &v->ops.at[i];
        if (wr_str_eq(op->id, want)) return op;
        if (wr_str_starts(op->id, want) || wr_str_eq(op->kind, want)) found = op, n++;
    }
    if (n == 1) return found;
    wr_sbuf names = {0};
    for (uint32_t i = 0; i < v->ops.n; i++) wr_sbuf_printf(&names, "%s%.*s", i ? ", " : "", WR_FMT(v->ops.at[i].id));
    wr_fail(err, WR_USER, "WR309", n ? "'%s' may be several operators of this checkpoint" : "this checkpoint has no operator '%s'", name);
    if (names.len) wr_err_hint(err, "it has: %.400s", names.at);
    wr_sbuf_free(&names);
    return NULL;
}

wr_status state_walk(state_view *v, const state_op *op, bool (*visit)(void *arg, const wr_state_entry *e), void *arg, wr_err *err) {
    for (uint32_t i = 0; i < v->ck.sections.n; i++) {
        const wr_section *s = &v->ck.sections.at[i];
        if (s->kind == WR_SECTION_OPERATOR && wr_str_eq(s->owner, op->id)) WR_TRY(wr_state_walk(s->content, v->tier, visit, arg, NULL, err));
    }
    return WR_OK;
}

static bool decode_key(const state_op *op, const wr_state_entry *e, wr_sbuf *out) {
    if (!op->decodable || e->n_key_types != op->n_keys) return false;
    wr_arena *arena = wr_arena_new(NULL);
    wr_mem   *mem = wr_mem_new(1024);
    wr_vec    vecs[STATE_KEYS_MAX];
    memset(vecs, 0, sizeof vecs);
    for (uint32_t i = 0; i < op->n_keys; i++) wr_vec_init(&vecs[i], op->key_types[i], 1, true, mem);
    const wr_tz *utc = NULL;
    wr_err       ignored;
    bool ok = wr_tz_load(wr_world_posix(), WR_STR("UTC"), &utc, &ignored) == WR_OK && wr_rowcodec_get(wr_rowcodec_new(arena, op->key_types, op->n_keys), e->key, vecs, 0, mem);
    for (uint32_t i = 0; ok && i < op->n_keys; i++) {
        bool text = op->key_types[i].id == WR_T_VARCHAR || op->key_types[i].id == WR_T_CHAR;
        if (i) wr_sbuf_addz(out, ", ");
        if (wr_vec_is_null(&vecs[i], 0)) {
            wr_sbuf_addz(out, "NULL");
            continue;
        }
        if (text) wr_sbuf_addc(out, '\'');
        wr_vec_text(&vecs[i], 0, utc, out);
        if (text) wr_sbuf_addc(out, '\'');
    }
    wr_mem_unref(mem);
    wr_arena_free(arena);
    return ok;
}

void state_key_text(const state_op *op, const wr_state_entry *e, wr_sbuf *out) {
    size_t from = out->len;
    if (!e->n_key_types) {
        wr_sbuf_addz(out, "(one for all)");
        return;
    }
    if (decode_key(op, e, out)) return;
    out->len = from;
    wr_sbuf_addz(out, "x'");
    for (size_t i = 0; i < e->key.len; i++) wr_sbuf_printf(out, "%02x", (uint8_t)e->key.ptr[i]);
    wr_sbuf_addc(out, '\'');
}

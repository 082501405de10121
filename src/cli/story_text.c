/* cli/story_text.c: stories of the binary or of a directory, and their text as steps. See story.h.
 *
 * Idea       CMake packs examples/stories into one tar archive (ustar, no names longer than 100 bytes), which is embedded as it is. */
#include "story.h"
#include "base/embed.h"
#include <stdlib.h>

/* WR_STORIES: the archive, from CMakeLists.txt. */
WR_EMBED(story_archive, WR_STORIES);

enum { BLOCK = 512, NAME = 100, SIZE_AT = 124, SIZE = 12, FILE_BYTES_MAX = 4 << 20 };

static story *story_named(wr_arena *arena, story_list *list, wr_str name) {
    if (list->n && wr_str_eq(list->at[list->n - 1].name, name)) return &list->at[list->n - 1];
    wr_arr_apush(arena, list, (story){.arena = arena, .name = name, .number = (uint32_t)strtoul(name.ptr, NULL, 10)});
    return &list->at[list->n - 1];
}

wr_status story_all(wr_arena *arena, story_list *out, wr_err *err) {
    const char *end = story_archive_end;
    for (const char *at = story_archive; at + BLOCK <= end && *at;) {
        char   octal[SIZE + 1] = {0};
        memcpy(octal, at + SIZE_AT, SIZE);
        size_t size = strtoul(octal, NULL, 8);
        wr_str path = {at, strnlen(at, NAME)}, dir;
        if (size > (size_t)(end - at - BLOCK)) return wr_fail(err, WR_CORRUPT, "WR478", "the stories in this binary are damaged at '%.*s'", WR_FMT(path));
        wr_str file = path;
        if (wr_str_next(&file, '/', &dir) && file.len) {
            story *s = story_named(arena, out, dir);
            wr_arr_apush(arena, &s->files, (story_file){file, {at + BLOCK, size}});
        }
        at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    }
    for (uint32_t i = 0; i < out->n; i++) WR_TRY(story_parse(&out->at[i], err));
    return WR_OK;
}

wr_status story_of_dir(wr_arena *arena, const char *dir, story *out, wr_err *err) {
    wr_world     *world = wr_world_posix();
    wr_file_info *found = NULL;
    size_t        n = 0;
    WR_TRY(world->vt->list(world, dir, &found, &n, err));
    *out = (story){.arena = arena, .name = wr_str_of(dir)};
    wr_status status = WR_OK;
    for (size_t i = 0; status == WR_OK && i < n; i++) {
        wr_sbuf path = {0}, bytes = {0};
        if (found[i].is_dir) continue;
        wr_sbuf_printf(&path, "%s/%s", dir, found[i].name);
        status = wr_file_read_all(world, path.at, FILE_BYTES_MAX, &bytes, err);
        if (status == WR_OK) wr_arr_apush(arena, &out->files, (story_file){wr_str_dup(arena, wr_str_of(found[i].name)), wr_str_dup(arena, wr_sbuf_str(&bytes))});
        wr_sbuf_free(&path);
        wr_sbuf_free(&bytes);
    }
    wr_free(found);
    return status == WR_OK ? story_parse(out, err) : status;
}

/* One line: a paragraph goes on until an empty line; what is indented belongs to the instruction above it, or stands as it is. */
static void take_line(story *s, wr_str line, uint32_t at, bool *open) {
    story_step *last = s->steps.n ? &s->steps.at[s->steps.n - 1] : NULL;
    wr_str      text = wr_str_trim(line);
    if (!text.len || text.ptr[0] == '#') {
        *open = false;
    } else if (text.ptr[0] == '@' && line.ptr[0] == '@') {
        wr_str word, rest = {text.ptr + 1, text.len - 1};
        if (!wr_str_next(&rest, ' ', &word)) word = (wr_str){0};
        wr_arr_apush(s->arena, &s->steps, (story_step){.word = word, .arg = wr_str_trim(rest), .line = at});
        if (wr_str_eq(word, WR_STR("title"))) s->title = wr_str_trim(rest);
        *open = true;
    } else if (wr_str_starts(line, WR_STR("  "))) {
        wr_str kept = {line.ptr + 2, line.len - 2};
        if (*open && last && last->word.len) wr_arr_apush(s->arena, &last->body, kept);
        else wr_arr_apush(s->arena, &s->steps, (story_step){.arg = line, .line = at});
    } else if (*open && last && !last->word.len && !wr_str_starts(last->arg, WR_STR("  "))) {
        last->arg = wr_str_of(wr_arena_printf(s->arena, "%.*s %.*s", WR_FMT(last->arg), WR_FMT(text)));
    } else {
        wr_arr_apush(s->arena, &s->steps, (story_step){.arg = text, .line = at});
        *open = true;
    }
}

wr_status story_parse(story *s, wr_err *err) {
    wr_str text = {0};
    for (uint32_t i = 0; i < s->files.n; i++)
        if (wr_str_eq(s->files.at[i].name, WR_STR("story.txt"))) text = s->files.at[i].bytes;
    if (!text.ptr) return wr_fail(err, WR_USER, "WR478", "there is no story.txt in '%.*s'", WR_FMT(s->name));
    bool open = false;
    for (uint32_t at = 1; text.len; at++) {
        const char *nl = memchr(text.ptr, '\n', text.len);
        wr_str      line = {text.ptr, nl ? (size_t)(nl - text.ptr) : text.len};
        text.ptr += line.len + (nl ? 1 : 0), text.len -= line.len + (nl ? 1 : 0);
        take_line(s, line, at, &open);
    }
    return WR_OK;
}

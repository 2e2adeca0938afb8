#include <stdlib.h>
#include <xxhash.h>

#include "base/grow.h"
#include "input/etl/etl_copy.h"
#include "input/file/input_file_own.h"
#include "platform/plat_file.h"

/* The files of the session: what its patterns match, searched repeatedly if files may be added. A
 * known path stays known. A trace is identified by its identity, whatever its name; a second one
 * with the same identity, usually a copy, by identity and name. Records of a copy keep the position
 * of the original trace, so that outputs recognise duplicates. */

static struct input_path *add_path(struct input *in, const char *path)
{
    struct span copy;
    struct input_path *added = arena_alloc(&in->arena, sizeof(*added));
    if (!added || !arena_copy(&in->arena, span_text(path), &copy) ||
        !grow_list(&in->paths, in->path_count, &in->path_capacity, sizeof(*in->paths)) ||
        !map_put(&in->by_path, copy, added)) {
        return NULL;
    }
    added->in = in;
    added->path = (const char *)copy.data;
    in->paths[in->path_count++] = added;
    return added;
}

static bool too_many(struct input *in, const char *path)
{
    struct error why;
    error_set(&why, ERR_LIMIT, "%s: too many files for one session", path);
    input_file_remember(in, &why);
    return false;
}

bool input_paths_add_boxed(struct input *in, struct trace_box *box, size_t index)
{
    const char *name = box->traces[index].name;
    if (map_get(&in->by_path, span_text(name))) {
        return true;
    }
    struct input_path *path = add_path(in, name);
    if (!path) {
        return too_many(in, name);
    }
    path->box = box;
    path->box_index = index;
    return true;
}

static bool on_path(void *self, const char *path)
{
    struct input *in = self;
    if (map_get(&in->by_path, span_text(path)) || map_get(&in->by_box, span_text(path))) {
        return true;
    }
    /* growing files are examined once they have content */
    if (!in->settings.follow && input_boxes_take(in, path)) {
        return !input_file_is_stopped(in);
    }
    return add_path(in, path) || too_many(in, path);
}

/* If the caller has opened the packed file ${path} already, use that and return true. */
static bool take_given(struct input *in, const char *path)
{
    const struct input_file_settings *s = &in->settings;
    if (!s->given || strcmp(s->given->path, path) != 0) {
        return false;
    }
    input_boxes_adopt(in, s->given);
    size_t first = s->given_one ? s->given_index : 0;
    size_t end = s->given_one ? first + 1 : s->given->count;
    for (size_t i = first; i < end && input_paths_add_boxed(in, s->given, i); i++) {}
    return true;
}

/* Add up the sizes of all files for progress reports. */
static void add_sizes(struct input *in)
{
    for (size_t i = 0; in->sink->progress && i < in->path_count; i++) {
        if (in->paths[i]->box) {
            continue; /* its size is known once it is unpacked */
        }
        in->total_bytes += 2 * plat_path_stamp(in->paths[i]->path).size;
    }
}

void input_paths_find(struct input *in, bool quiet)
{
    for (size_t i = 0; i < in->settings.paths.count; i++) {
        struct error why;
        if (!take_given(in, in->settings.paths.items[i]) &&
            !plat_glob(in->settings.paths.items[i], on_path, in, &why) && !quiet) {
            input_file_remember(in, &why);
        }
    }
    if (!quiet) {
        add_sizes(in);
    }
}

struct input_path *input_paths_by_id(struct input *in, const uint8_t file_id[16])
{
    return map_get(&in->by_id, span_make(file_id, 16));
}

/* Without memory, the path is not found by its identity: it may be read again after a restart. */
static void set_id(struct input *in, struct input_path *path, const uint8_t id[16])
{
    struct span copy;
    if (arena_copy(&in->arena, span_make(id, 16), &copy) && map_put(&in->by_id, copy, path)) {
        path->id = copy.data;
    }
}

enum relation { IS_COPY, IS_APART };

/* Derive an identity for a trace that shares its own with another path. The kind of relation is
 * included, because the other path may be gone in the next run. */
static void derive_id(const struct input_path *path, enum relation relation, uint8_t ret_id[16])
{
    XXH128_canonical_t id;
    XXH128_hash_t trace = XXH3_128bits(path->trace, sizeof(path->trace));
    XXH128_hash_t both = XXH3_128bits_withSeed(
        path->path, strlen(path->path), (trace.low64 ^ trace.high64) + relation);
    XXH128_canonicalFromHash(&id, both);
    memcpy(ret_id, id.digest, sizeof(id.digest));
}

/* True if an earlier run knew this identity. */
static bool was_known(const struct input *in, const uint8_t id[16])
{
    const struct input_sink *sink = in->sink;
    return map_get(&in->restored.by_id, span_make(id, 16)) ||
           (sink->is_done && sink->is_done(sink->self, id));
}

static bool is_copy_of(const struct input_path *known, const struct input_path *path)
{
    struct etl_place a;
    struct etl_place b;
    return input_boxes_place(known, &a) && input_boxes_place(path, &b) && etl_copy_is(&a, &b);
}

/* True if the trace found at ${path} is the known file ${known} under another name instead of a
 * copy. During a rename only one of the two names may exist. */
static bool is_same_file(struct input *in, const struct input_path *known,
    const struct input_path *path, const uint8_t trace[16])
{
    uint8_t there[16];
    if (known != path && (known->box || path->box)) {
        return false; /* packed files have one name */
    }
    if (known == path || !input_paths_read_id(in, known->path, there) ||
        memcmp(there, trace, sizeof(there)) != 0) {
        return true;
    }
    struct plat_file *file = plat_file_open(known->path, PLAT_FILE_READ, NULL);
    bool same = !file || plat_file_is_at(file, path->path) ||
                plat_path_kind(path->path) == PLAT_PATH_NONE;
    plat_file_close(file);
    return same;
}

/* ${known}: the path with the trace's own identity; NULL: none. */
static void claim_id(struct input *in, struct input_path *path, const struct input_path *known)
{
    uint8_t copy[16];
    uint8_t apart[16];
    derive_id(path, IS_COPY, copy);
    derive_id(path, IS_APART, apart);
    bool was_apart = was_known(in, apart);
    bool is_copy = !was_apart && (was_known(in, copy) || (known && is_copy_of(known, path)));
    set_id(in, path, is_copy ? copy : was_apart || known ? apart : path->trace);
    path->apart = path->id && (was_apart || (known && !is_copy));
}

void input_paths_renew(struct input_path *path)
{
    path->state = PATH_NEW;
    path->id = NULL;
    path->apart = false;
}

bool input_paths_read_id_of(struct input *in, const struct input_path *path, uint8_t ret_id[16])
{
    return path->box ? input_boxes_read_id(path, ret_id)
                     : input_paths_read_id(in, path->path, ret_id);
}

bool input_paths_read_id(struct input *in, const char *path, uint8_t ret_id[16])
{
    enum { HEADER_BYTES = 64 * 1024 };
    struct arena arena;
    arena_init(&arena, HEADER_BYTES);
    struct etl_file *file = etl_file_open(path, &in->naming, &in->handles, &arena, NULL);
    if (file) {
        memcpy(ret_id, file->id, sizeof(file->id));
    }
    etl_file_destroy(file);
    arena_fini(&arena);
    return file != NULL;
}

void input_paths_identify(struct input *in)
{
    for (size_t i = 0; i < in->path_count; i++) {
        struct input_path *path = in->paths[i];
        uint8_t id[16];
        if (path->state == PATH_NEW && input_paths_read_id_of(in, path, id)) {
            memcpy(path->trace, id, sizeof(id));
            claim_id(in, path, input_paths_by_id(in, id));
            input_boxes_release(in, path);
        }
    }
    input_boxes_release(in, NULL);
}

/* Both names are in the map already, so no memory is needed. */
void input_paths_swap_names(struct input *in, struct input_path *a, struct input_path *b)
{
    const char *name = a->path;
    a->path = b->path;
    b->path = name;
    map_put(&in->by_path, span_text(a->path), a);
    map_put(&in->by_path, span_text(b->path), b);
}

bool input_paths_is_taken(struct input *in, struct input_path *path, const uint8_t trace[16])
{
    const struct input_sink *sink = in->sink;
    bool remembers = sink->is_done || in->settings.follow;
    if (!path->id) {
        const struct input_path *known = input_paths_by_id(in, trace);
        memcpy(path->trace, trace, sizeof(path->trace));
        if (remembers && known && is_same_file(in, known, path, trace)) {
            return true;
        }
        claim_id(in, path, known);
    }
    return path->id && sink->is_done && sink->is_done(sink->self, path->id);
}

struct etl_file *input_paths_open(struct input *in, const struct input_path *path)
{
    struct error why;
    struct etl_file *file = path->box ? input_boxes_open(in, path, &why)
                                      : etl_file_open(path->path, &in->naming, &in->handles,
                                            &in->arena, &why);
    if (!file) {
        if (why.code != ERR_STOPPED) {
            input_file_remember(in, &why);
        }
        return NULL;
    }
    if (path->id) {
        memcpy(file->id, path->id, sizeof(file->id));
        memcpy(file->records, input_paths_records(path), sizeof(file->records));
    }
    return file;
}

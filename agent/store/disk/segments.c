/*
 * The files as a set: which there are, how large, and what is done with whole ones. Writing is in
 * segments_write.c, reading in segments_read.c, the ballast in segments_ballast.c.
 */
#include "store/disk/segments_own.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/grow.h"
#include "base/order.h"

static const char suffix[] = ".seg";
enum { ID_DIGITS = 16 };

bool segments_path(const struct segments *segments, uint64_t id, char ret_path[SEGMENTS_PATH_BYTES],
    struct error *err)
{
    int size = snprintf(ret_path, SEGMENTS_PATH_BYTES, "%s/%016" PRIx64 "%s",
        segments->settings.folder, id, suffix);
    return (size > 0 && size < SEGMENTS_PATH_BYTES) ||
           error_set(err, ERR_CONFIG, "%s: this path is too long", segments->settings.folder);
}

void segments_step(const struct segments *segments, const char *name)
{
    if (segments->settings.step) {
        segments->settings.step(segments->settings.step_self, name);
    }
}

_Static_assert(offsetof(struct segment_info, id) == 0, "order_place");

/* The place of a file in the list, or where it belongs. */
static size_t place_of(const struct segments *segments, uint64_t id)
{
    return order_place(segments->files, segments->file_count, sizeof(*segments->files), id);
}

static bool is_at(const struct segments *segments, size_t place, uint64_t id)
{
    return place < segments->file_count && segments->files[place].id == id;
}

static bool set_file(struct segments *segments, uint64_t id, uint64_t bytes)
{
    size_t place = place_of(segments, id);
    if (is_at(segments, place, id)) {
        segments->files[place].bytes = bytes;
        return true;
    }
    if (!grow_list(&segments->files, segments->file_count, &segments->file_capacity,
            sizeof(*segments->files))) {
        return false;
    }
    memmove(segments->files + place + 1, segments->files + place,
        (segments->file_count - place) * sizeof(*segments->files));
    segments->files[place] = (struct segment_info){.id = id, .bytes = bytes};
    segments->file_count++;
    return true;
}

bool segments_set_file(struct segments *segments, uint64_t id, uint64_t bytes)
{
    plat_mutex_lock(&segments->lock);
    bool good = set_file(segments, id, bytes);
    plat_mutex_unlock(&segments->lock);
    return good;
}

void segments_set_void(struct segments *segments, uint64_t id)
{
    plat_mutex_lock(&segments->lock);
    size_t place = place_of(segments, id);
    if (is_at(segments, place, id)) {
        segments->void_count += !segments->files[place].is_void;
        segments->files[place].is_void = true;
    }
    plat_mutex_unlock(&segments->lock);
}

void segments_remove_file(struct segments *segments, uint64_t id)
{
    plat_mutex_lock(&segments->lock);
    size_t place = place_of(segments, id);
    if (is_at(segments, place, id)) {
        segments->void_count -= segments->files[place].is_void;
        segments->file_count--;
        memmove(segments->files + place, segments->files + place + 1,
            (segments->file_count - place) * sizeof(*segments->files));
    }
    plat_mutex_unlock(&segments->lock);
}

bool segments_is_missing(struct segments *segments, uint64_t id)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    bool there;
    uint64_t bytes;
    if (!segments_path(segments, id, path, NULL) ||
        !disk->ops->find(disk, path, &there, &bytes, NULL) || there) {
        return false;
    }
    segments_close_handles(segments, id);
    segments_remove_file(segments, id);
    return true;
}

/* ${name} as the agent writes it, or 0. */
static uint64_t id_of_name(const char *name)
{
    uint64_t id = 0;
    for (size_t i = 0; i < ID_DIGITS; i++) {
        const char *digits = "0123456789abcdef";
        const char *found = name[i] ? strchr(digits, name[i]) : NULL;
        if (!found) {
            return 0;
        }
        id = id << 4 | (uint64_t)(found - digits);
    }
    /* Others are not the agent's: it counts from 1, and continues after the highest. */
    return strcmp(name + ID_DIGITS, suffix) == 0 && id < UINT64_C(1) << 48 ? id : 0;
}

struct listing {
    struct segments *segments;
    struct error *err;
    bool good;
};

static bool each_name(void *self, const char *name)
{
    struct listing *listing = self;
    struct segments *segments = listing->segments;
    uint64_t id = id_of_name(name);
    if (id == 0) {
        return true;
    }
    char path[SEGMENTS_PATH_BYTES];
    struct disk *disk = segments->settings.disk;
    bool there = false;
    uint64_t bytes = 0;
    listing->good = segments_path(segments, id, path, listing->err) &&
                    disk->ops->find(disk, path, &there, &bytes, listing->err);
    if (listing->good && there && !set_file(segments, id, bytes)) {
        listing->good = error_set(listing->err, ERR_MEMORY, "out of memory");
    }
    if (there && id >= segments->next_id) {
        segments->next_id = id + 1;
    }
    return listing->good;
}

static bool find_files(struct segments *segments, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    const char *folder = segments->settings.folder;
    struct listing listing = {segments, err, true};
    return disk->ops->make_folder(disk, folder, err) &&
           disk->ops->list(disk, folder, each_name, &listing, err) && listing.good;
}

struct segments *segments_create(const struct segments_settings *settings, struct error *err)
{
    struct segments *segments = calloc(1, sizeof(*segments));
    char *folder = span_copy(span_text(settings->folder));
    if (!segments || !folder) {
        free(segments);
        free(folder);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    segments->settings = *settings;
    segments->settings.folder = folder;
    segments->next_id = 1;
    segments->ended = true;
    plat_mutex_init(&segments->lock);
    buf_init(&segments->sources, FRAME_MAX_SOURCES_BYTES);
    if (settings->zstd) {
        segments->packer = body_packer_create(err);
    }
    if ((settings->zstd && !segments->packer) || !find_files(segments, err)) {
        segments_destroy(segments);
        return NULL;
    }
    segments_find_ballast(segments);
    return segments;
}

void segments_destroy(struct segments *segments)
{
    if (!segments) {
        return;
    }
    struct disk *disk = segments->settings.disk;
    for (size_t i = 0; i < segments->writing_count; i++) {
        disk->ops->close(disk, segments->writing[i].file);
    }
    for (size_t i = 0; i < SEGMENTS_HANDLES; i++) {
        if (segments->handles[i].file) {
            disk->ops->close(disk, segments->handles[i].file);
        }
    }
    for (size_t i = 0; i < segments->stream_count; i++) {
        buf_fini(&segments->streams[i].body);
    }
    body_packer_destroy(segments->packer);
    buf_fini(&segments->sources);
    plat_mutex_fini(&segments->lock);
    free(segments->streams);
    free(segments->writing);
    free(segments->files);
    free((char *)(uintptr_t)segments->settings.folder);
    free(segments);
}

size_t segments_count(struct segments *segments)
{
    plat_mutex_lock(&segments->lock);
    size_t count = segments->file_count;
    plat_mutex_unlock(&segments->lock);
    return count;
}

bool segments_get(struct segments *segments, size_t index, struct segment_info *ret_info)
{
    plat_mutex_lock(&segments->lock);
    bool found = index < segments->file_count;
    if (found) {
        *ret_info = segments->files[index];
    }
    plat_mutex_unlock(&segments->lock);
    return found;
}

void segments_usage(struct segments *segments, struct segments_usage *ret_usage)
{
    plat_mutex_lock(&segments->lock);
    struct segments_usage usage = {.files = segments->file_count, .ballast = segments->has_ballast};
    for (size_t i = 0; i < segments->file_count; i++) {
        usage.bytes += segments->files[i].bytes;
    }
    plat_mutex_unlock(&segments->lock);
    *ret_usage = usage;
}

bool segments_free_bytes(struct segments *segments, uint64_t *ret_bytes, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    return disk->ops->free_bytes(disk, segments->settings.folder, ret_bytes, err);
}

bool segments_cut(struct segments *segments, uint64_t id, uint64_t bytes, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    bool there;
    uint64_t size;
    if (!segments_path(segments, id, path, err) ||
        !disk->ops->find(disk, path, &there, &size, err)) {
        return false;
    }
    if (!there || size < bytes) {
        return error_set(
            err, ERR_FORMAT, "%s: %s", path, there ? "is shorter than it was" : "is missing");
    }
    if (size == bytes) {
        return true;
    }
    struct disk_file *file = disk->ops->open_append(disk, path, err);
    if (!file) {
        return false;
    }
    segments_step(segments, "segment cut");
    bool good = disk->ops->truncate(disk, file, bytes, err) && disk->ops->sync(disk, file, err);
    disk->ops->close(disk, file);
    return good &&
           (segments_set_file(segments, id, bytes) || error_set(err, ERR_MEMORY, "out of memory"));
}

bool segments_unlink(struct segments *segments, uint64_t id, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    if (!segments_path(segments, id, path, err)) {
        return false;
    }
    segments_abandon(segments, id);
    segments_close_handles(segments, id);
    segments_step(segments, "segment unlink");
    if (!disk->ops->unlink(disk, path, err)) {
        return false;
    }
    /* A program that has opened it meanwhile would keep its room. */
    segments_close_handles(segments, id);
    segments_remove_file(segments, id);
    segments_step(segments, "segment unlinked");
    return true;
}

bool segments_sync_folder(struct segments *segments, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    return disk->ops->sync_folder(disk, segments->settings.folder, err);
}

bool segments_set_aside(
    struct segments *segments, uint64_t id, const char *folder, const char *name, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char from[SEGMENTS_PATH_BYTES];
    char to[SEGMENTS_PATH_BYTES];
    int size = snprintf(to, sizeof(to), "%s/%s", folder, name);
    if (size < 0 || size >= SEGMENTS_PATH_BYTES) {
        return error_set(err, ERR_CONFIG, "%s: this path is too long", folder);
    }
    if (!segments_path(segments, id, from, err) || !disk->ops->make_folder(disk, folder, err)) {
        return false;
    }
    segments_abandon(segments, id);
    segments_close_handles(segments, id);
    if (!disk->ops->rename(disk, from, to, err)) {
        return false;
    }
    segments_remove_file(segments, id);
    return disk->ops->sync_folder(disk, folder, err) && segments_sync_folder(segments, err);
}

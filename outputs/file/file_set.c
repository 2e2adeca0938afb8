#include "outputs/file/file_set.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "outputs/file/file_number.h"
#include "outputs/file/file_undo.h"
#include "platform/plat_clock.h"
#include "platform/plat_path.h"

/*
 * Undo (file_undo.h). A batch is in the files completely or not at all, after a failed write, a
 * failed rotation, or a kill at any moment. For this the output keeps the state of each file after
 * the last delivered batch: its identity (which survives renames) and its size. A batch only
 * appends to the file, and may rotate it: rename it to PATH.N, with N above all existing numbers,
 * and begin a new one at PATH. So the undo is the same wherever a batch was interrupted:
 *
 *   1. If not PATH but some PATH.N is the file, it was rotated. The files at PATH and with numbers
 *      above N are newer: remove them if they are marked (file_marks.h) or empty, then rename
 *      PATH.N back. If a file remains at PATH, it belongs to another program: the file keeps the
 *      name PATH.N, and is truncated there.
 *   2. If PATH is the file now and longer than it was: truncate it.
 *   3. If the file is missing, another program removed or replaced it: do not truncate the file at
 *      PATH.
 *
 * Each step keeps the conditions of the previous ones, so a killed undo can be repeated. The output
 * compresses or removes a file only after a checkpoint is stored that does not need it.
 *
 * The host stores a checkpoint (the states of all entries) with its position. Before the first
 * write to a file that is not in the stored checkpoint (`covered`), the output has one stored.
 */
enum { MAGIC = 0x31465745, /* "EWF1" */ MAX_PATH_BYTES = 32 * 1024 };

void file_set_init(struct file_set *set, struct file_marks *marks, bool syncs)
{
    *set = (struct file_set){.marks = marks, .syncs = syncs};
    map_init(&set->by_path, SIZE_MAX / 64);
}

static void free_entry(struct file_entry *entry)
{
    free(entry->path);
    free(entry);
}

void file_set_fini(struct file_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        plat_file_close(set->entries[i]->file);
        free_entry(set->entries[i]);
    }
    free(set->entries);
    map_fini(&set->by_path);
    *set = (struct file_set){0};
}

/* ---- entries --------------------------------------------------------------------------------- */

struct file_entry *file_set_find(const struct file_set *set, struct span path)
{
    return map_get(&set->by_path, path);
}

struct file_entry *file_set_get(struct file_set *set, struct span path, struct error *err)
{
    struct file_entry *entry = file_set_find(set, path);
    if (!entry) {
        entry = calloc(1, sizeof(*entry));
        char *copy = span_copy(path);
        if (!entry || !copy ||
            !grow_list(&set->entries, set->count, &set->capacity, sizeof(*set->entries))) {
            free(entry);
            free(copy);
            error_set(err, ERR_MEMORY, "out of memory");
            return NULL;
        }
        entry->path = copy;
        if (!map_put(&set->by_path, span_text(copy), entry)) {
            free_entry(entry);
            error_set(err, ERR_MEMORY, "out of memory");
            return NULL;
        }
        set->entries[set->count++] = entry;
    }
    entry->used = ++set->uses;
    return entry;
}

/* The map cannot remove, so it is rebuilt. It only shrinks, so this cannot fail. */
static void rebuild_map(struct file_set *set)
{
    map_clear(&set->by_path);
    for (size_t i = 0; i < set->count; i++) {
        map_put(&set->by_path, span_text(set->entries[i]->path), set->entries[i]);
    }
}

void file_set_remove(struct file_set *set, struct file_entry *entry)
{
    file_set_close(set, entry);
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->entries[i] != entry) {
            set->entries[kept++] = set->entries[i];
        }
    }
    set->count = kept;
    rebuild_map(set);
    free_entry(entry);
}

static int by_use(const void *a_, const void *b_)
{
    const struct file_entry *const *a = a_;
    const struct file_entry *const *b = b_;
    return ((*a)->used < (*b)->used) - ((*a)->used > (*b)->used);
}

void file_set_trim(struct file_set *set)
{
    size_t bytes = 0;
    for (size_t i = 0; i < set->count; i++) {
        bytes += strlen(set->entries[i]->path);
    }
    if (set->count <= FILE_SET_MAX_KNOWN && bytes <= FILE_SET_MAX_PATHS_BYTES) {
        return;
    }
    qsort(set->entries, set->count, sizeof(struct file_entry *), by_use);
    size_t kept = 0;
    for (bytes = 0; kept < set->count && kept < FILE_SET_MAX_KNOWN / 2; kept++) {
        bytes += strlen(set->entries[kept]->path);
        if (bytes > FILE_SET_MAX_PATHS_BYTES / 2) {
            break;
        }
    }
    for (size_t i = kept; i < set->count; i++) {
        file_set_close(set, set->entries[i]);
        free_entry(set->entries[i]);
    }
    set->count = kept;
    rebuild_map(set);
}

/* ---- open and close -------------------------------------------------------------------------- */

void file_set_close(struct file_set *set, struct file_entry *entry)
{
    if (!entry->file) {
        return;
    }
    if (set->syncs && entry->unsynced) {
        plat_file_sync(entry->file, NULL); /* a failure has no consequence any more */
    }
    plat_file_close(entry->file);
    entry->file = NULL;
    entry->unsynced = false;
    set->open_count--;
}

void file_set_close_all(struct file_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        file_set_close(set, set->entries[i]);
    }
}

static void make_room(struct file_set *set)
{
    while (set->open_count >= FILE_SET_MAX_OPEN) {
        struct file_entry *oldest = NULL;
        for (size_t i = 0; i < set->count; i++) {
            struct file_entry *entry = set->entries[i];
            if (entry->file && (!oldest || entry->used < oldest->used)) {
                oldest = entry;
            }
        }
        if (!oldest) {
            return;
        }
        file_set_close(set, oldest);
    }
}

/* Create the folder of ${path}. */
static bool create_parent(const char *path, struct error *err)
{
    char *folder = file_number_folder(path);
    if (!folder) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool good = plat_path_kind(folder) == PLAT_PATH_DIR || plat_dir_create(folder, err);
    free(folder);
    return good;
}

static bool sync_parent(const char *path, struct error *err)
{
    char *folder = file_number_folder(path);
    bool good = folder ? plat_path_sync_folder(folder, err)
                       : error_set(err, ERR_MEMORY, "out of memory");
    free(folder);
    return good;
}

/* True if the file at ${path} ends in the middle of a line. An unreadable file (write-only) counts
 * as complete. */
static bool is_unfinished(const char *path)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, NULL);
    if (!file) {
        return false;
    }
    uint64_t size = 0;
    uint8_t last = '\n';
    size_t read = 0;
    bool good = plat_file_size(file, &size, NULL) && size > 0 &&
                plat_file_read_at(file, size - 1, &last, 1, &read, NULL);
    plat_file_close(file);
    return good && read == 1 && last != '\n';
}

struct file_entry *file_set_find_same(const struct file_set *set, const struct file_entry *entry)
{
    struct plat_file_id id;
    if (!plat_file_id_at(entry->path, &id)) {
        return NULL;
    }
    for (size_t i = 0; i < set->count; i++) {
        struct file_entry *other = set->entries[i];
        if (other != entry && other->state == FILE_KNOWN && other->ordinary &&
            plat_file_id_equal(&id, &other->id)) {
            return other;
        }
    }
    return NULL;
}

/* Continue in the file that is at the path now. */
static void adopt(struct file_entry *entry, const struct plat_file_id *id, uint64_t bytes)
{
    bool fresh = entry->state == FILE_FRESH;
    entry->id = *id;
    entry->bytes = bytes;
    entry->state = FILE_KNOWN;
    entry->started_at = id->born && bytes ? id->born : plat_now_filetime();
    entry->unfinished = bytes && entry->ordinary && is_unfinished(entry->path);
    if (!fresh) {
        entry->acked_id = *id;
        entry->acked_bytes = bytes;
        entry->covered = false;
    }
}

/* True if the opened file is the one that was written before. */
static bool look_at(struct file_set *set, struct file_entry *entry, struct error *err)
{
    uint64_t bytes = 0;
    struct plat_file_id id = {0};
    entry->ordinary = plat_file_id(entry->file, &id);
    if (!entry->ordinary) {
        adopt(entry, &id, 0);
        entry->covered = true; /* a device cannot be truncated */
        return true;
    }
    if (!plat_file_lock(entry->file, err) || !plat_file_size(entry->file, &bytes, err)) {
        return false;
    }
    if (entry->state == FILE_KNOWN && plat_file_id_equal(&id, &entry->id) &&
        bytes == entry->bytes) {
        return true;
    }
    if (entry->dirty && entry->state != FILE_FRESH) {
        return error_set(
            err, ERR_IO, "%s: changed by another program while it was written", entry->path);
    }
    if (set->syncs && bytes == 0 && !sync_parent(entry->path, err)) {
        return false;
    }
    adopt(entry, &id, bytes);
    return true;
}

static bool is_still_there(const struct file_entry *entry)
{
    uint64_t bytes;
    return !entry->ordinary ||
           (plat_file_is_at(entry->file, entry->path) &&
               plat_file_size(entry->file, &bytes, NULL) && bytes == entry->bytes);
}

/* Mark a file that may be rotated or removed before writing to it. */
static bool mark(struct file_set *set, const struct file_entry *entry, struct error *err)
{
    struct span path = span_text(entry->path);
    return !set->marks || !entry->ordinary ||
           file_marks_add(set->marks, path, path.size, &entry->id, err);
}

bool file_set_open(struct file_set *set, struct file_entry *entry, struct error *err)
{
    if (entry->file && is_still_there(entry)) {
        return true;
    }
    file_set_close(set, entry);
    make_room(set);
    if (!create_parent(entry->path, err)) {
        return false;
    }
    entry->file = plat_file_open(entry->path, PLAT_FILE_APPEND, err);
    if (!entry->file && set->open_count) {
        /* The process may have too many open files: close these and reopen them on demand. */
        file_set_close_all(set);
        entry->file = plat_file_open(entry->path, PLAT_FILE_APPEND, err);
    }
    if (!entry->file) {
        return false;
    }
    set->open_count++;
    if (!look_at(set, entry, err) || !mark(set, entry, err)) {
        file_set_close(set, entry);
        return false;
    }
    return true;
}

bool file_set_write(struct file_entry *entry, struct span bytes, struct error *err)
{
    entry->dirty = true;
    entry->unsynced = true;
    if (entry->unfinished) {
        if (!plat_file_write(entry->file, span_text("\n"), err)) {
            return false;
        }
        entry->unfinished = false;
        entry->bytes++;
    }
    if (!plat_file_write(entry->file, bytes, err)) {
        return false;
    }
    entry->bytes += bytes.size;
    return true;
}

void file_set_cover(struct file_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        set->entries[i]->covered = set->entries[i]->state == FILE_KNOWN;
    }
}

void file_set_commit(struct file_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct file_entry *entry = set->entries[i];
        if (entry->dirty) {
            entry->acked_id = entry->id;
            entry->acked_bytes = entry->bytes;
            entry->dirty = false;
        }
    }
}

bool file_set_sync(struct file_set *set, struct error *err)
{
    for (size_t i = 0; i < set->count; i++) {
        struct file_entry *entry = set->entries[i];
        if (entry->file && entry->unsynced) {
            if (!plat_file_sync(entry->file, err)) {
                return false;
            }
            entry->unsynced = false;
        }
    }
    return true;
}

bool file_set_is_synced(const struct file_set *set)
{
    bool synced = true;
    for (size_t i = 0; synced && i < set->count; i++) {
        synced = !set->entries[i]->file || !set->entries[i]->unsynced;
    }
    return synced;
}

/* ---- undo ------------------------------------------------------------------------------------ */

static bool undo_entry(struct file_set *set, struct file_entry *entry, struct error *err)
{
    struct plat_file_id now;
    const struct file_undo_left left = {.path = entry->path,
        .id = entry->acked_id,
        .bytes = entry->acked_bytes,
        .syncs = set->syncs};
    file_set_close(set, entry);
    entry->next_number = 0;
    entry->id = entry->acked_id;
    entry->bytes = entry->acked_bytes;
    entry->state = FILE_UNKNOWN;
    if (entry->ordinary) {
        bool found = file_marks_is_file(entry->path) && plat_file_id_at(entry->path, &now) &&
                     plat_file_id_equal(&now, &entry->acked_id);
        if (!found && !file_undo_rotation(set->marks, &left, &found, err)) {
            return false;
        }
        entry->state = found ? FILE_KNOWN : FILE_UNKNOWN;
        uint64_t file_bytes = entry->acked_bytes;
        if (found &&
            !file_undo_cut(entry->path, entry->acked_bytes, set->syncs, &file_bytes, err)) {
            return false;
        }
        if (file_bytes < entry->acked_bytes) {
            set->shorter = true;
            entry->state = FILE_UNKNOWN;
        }
        entry->unfinished = found && is_unfinished(entry->path);
        entry->started_at = entry->acked_id.born && entry->acked_bytes ? entry->acked_id.born
                                                                       : plat_now_filetime();
    }
    entry->dirty = false;
    return true;
}

bool file_set_undo(struct file_set *set, struct error *err)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->entries[i]->dirty && !undo_entry(set, set->entries[i], err)) {
            return false;
        }
    }
    return true;
}

/* ---- checkpoint: magic, then { size of path u16, path, bytes, id.file, id.born u64 } and a 0 - */

static void add_number(struct buf *out, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    store_le64(bytes, value);
    buf_add(out, bytes, size);
}

void file_set_save(const struct file_set *set, size_t max_bytes, struct buf *out)
{
    size_t start = out->size;
    add_number(out, MAGIC, 4);
    for (size_t i = 0; i < set->count; i++) {
        const struct file_entry *entry = set->entries[i];
        size_t size = strlen(entry->path);
        size_t after = out->size - start + size + 2 + 3 * sizeof(uint64_t) + 2;
        bool has_state = entry->dirty || entry->state == FILE_KNOWN;
        if (!has_state || !entry->ordinary || size > MAX_PATH_BYTES || after > max_bytes) {
            continue;
        }
        add_number(out, size, 2);
        buf_add(out, entry->path, size);
        add_number(out, entry->acked_bytes, 8);
        add_number(out, entry->acked_id.file, 8);
        add_number(out, entry->acked_id.born, 8);
    }
    add_number(out, 0, 2);
}

static bool load_entry(struct file_set *set, struct span path, struct reader *in, struct error *err)
{
    struct file_entry *entry = file_set_get(set, path, err);
    if (!entry) {
        return false;
    }
    entry->acked_bytes = reader_u64(in);
    entry->acked_id.file = reader_u64(in);
    entry->acked_id.born = reader_u64(in);
    entry->ordinary = true;
    entry->dirty = true;
    entry->covered = true;
    return true;
}

/* True if the checkpoint ends where its structure says; ${in} is then after its end. */
static bool is_sound(struct reader *in)
{
    if (reader_u32(in) != MAGIC) {
        return false;
    }
    for (;;) {
        size_t size = reader_u16(in);
        if (in->failed || size == 0) {
            return !in->failed;
        }
        struct span path = reader_take(in, size);
        reader_take(in, 3 * sizeof(uint64_t));
        if (in->failed || size > MAX_PATH_BYTES || memchr(path.data, 0, size)) {
            return false;
        }
    }
}

bool file_set_load(struct file_set *set, struct reader *in,
    bool (*accept)(void *self, struct span path), void *self, struct error *err)
{
    struct reader first = *in;
    if (!is_sound(in)) {
        return error_set(err, ERR_FORMAT, "the checkpoint is damaged");
    }
    reader_u32(&first);
    for (size_t size = reader_u16(&first); size; size = reader_u16(&first)) {
        struct span path = reader_take(&first, size);
        if (!accept(self, path)) {
            reader_take(&first, 3 * sizeof(uint64_t));
        } else if (!load_entry(set, path, &first, err)) {
            return false;
        }
    }
    return true;
}

#include "store/letters/letter_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/grow.h"
#include "base/order.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "store/disk/disk.h"
#include "store/disk/frame.h"
#include "store/letters/letter_files_own.h"

enum {
    LOCK_WAIT_MS = 10,
    LOCK_TRIES = 1000,
    GONE_AT_ONCE = 100000,
    TEXTS = 6,
    ROOM_MAX_BYTES = 2 * (LETTER_BODY_MAX_BYTES + FRAME_HEAD_BYTES) + 8 * GONE_AT_ONCE,
    ROOM_BYTES = 1 << 20, /* written when there is more */
};

/* ---- files ----------------------------------------------------------------------------------- */

bool letter_files_path(const char *folder, const struct letter_file *file, const char *ending,
    char ret_path[LETTER_PATH_BYTES])
{
    int size = snprintf(ret_path, LETTER_PATH_BYTES, "%s/%016" PRIx64 "-%016" PRIx64 ".let%s",
        folder, file->number, file->first, ending);
    return size > 0 && size < LETTER_PATH_BYTES;
}

static bool read_hex(const char *text, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (int i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) {
            return false;
        }
        number = number << 4 | (uint64_t)(digit - digits);
    }
    *ret_number = number;
    return true;
}

static bool add_file(void *self, const char *name)
{
    struct letter_file_list *list = self;
    struct letter_file file = {.bytes = 0};
    char path[LETTER_PATH_BYTES];
    if (strlen(name) != 16 + 1 + 16 + 4 || strcmp(name + 33, ".let") != 0 || name[16] != '-' ||
        !read_hex(name, &file.number) || !read_hex(name + 17, &file.first) ||
        !letter_files_path(list->folder, &file, "", path)) {
        return true;
    }
    if (!grow_list(&list->files, list->count, &list->capacity, sizeof(*list->files))) {
        list->failed = true;
        return false;
    }
    bool there = false;
    struct disk *disk = disk_system();
    if (disk->ops->find(disk, path, &there, &file.bytes, NULL) && there) {
        list->files[list->count++] = file;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    return order_u64(
        ((const struct letter_file *)a)->number, ((const struct letter_file *)b)->number);
}

bool letter_files_list(const char *folder, struct letter_file_list *ret_list, struct error *err)
{
    struct letter_file_list list = {.folder = folder};
    struct disk *disk = disk_system();
    *ret_list = list;
    if (plat_path_kind(folder) == PLAT_PATH_NONE) {
        return true;
    }
    if (!disk->ops->list(disk, folder, add_file, &list, err) || list.failed) {
        free(list.files);
        *ret_list = (struct letter_file_list){.folder = folder};
        return list.failed ? error_set(err, ERR_MEMORY, "out of memory") : false;
    }
    if (list.count) {
        qsort(list.files, list.count, sizeof(list.files[0]), by_number);
    }
    *ret_list = list;
    return true;
}

uint64_t letter_files_bytes(const char *folder, uint64_t *ret_files)
{
    struct letter_file_list list;
    uint64_t bytes = 0;
    *ret_files = 0;
    if (!letter_files_list(folder, &list, NULL)) {
        return 0;
    }
    for (size_t i = 0; i < list.count; i++) {
        bytes += list.files[i].bytes;
    }
    *ret_files = list.count;
    free(list.files);
    return bytes;
}

/* Until the file is closed no other process changes anything. */
static struct plat_file *lock_folder(const char *folder, struct error *err)
{
    char path[LETTER_PATH_BYTES];
    struct error why = {.code = ERR_NONE};
    if (snprintf(path, sizeof(path), "%s/lock", folder) >= LETTER_PATH_BYTES) {
        error_set(err, ERR_CONFIG, "%s: this path is too long", folder);
        return NULL;
    }
    struct disk *disk = disk_system();
    bool is_there = plat_path_kind(folder) != PLAT_PATH_NONE ||
                    disk->ops->make_folder(disk, folder, err);
    struct plat_file *lock = is_there ? plat_file_open(path, PLAT_FILE_APPEND, err) : NULL;
    for (int i = 0; lock && !plat_file_lock(lock, &why); i++) {
        if (why.code != ERR_STOPPED || i == LOCK_TRIES) {
            plat_file_close(lock);
            error_set(err, why.code, "%s", why.text);
            return NULL;
        }
        plat_sleep_ms(LOCK_WAIT_MS);
    }
    return lock;
}

/* ---- one file that is written ---------------------------------------------------------------- */

struct writer {
    struct disk *disk;
    struct disk_file *file;
    struct letter_file about; /* its bytes: with what is in the room */
    uint64_t epoch;
    bool is_new;
    struct buf room;
};

static bool flush(struct writer *writer, struct error *err)
{
    struct span bytes = buf_span(&writer->room);
    if (writer->room.failed) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool ok = bytes.size == 0 ||
              writer->disk->ops->append(writer->disk, writer->file, &bytes, 1, err);
    buf_reset(&writer->room);
    return ok;
}

static bool add_frame(
    struct writer *writer, struct frame *frame, struct span body, struct error *err)
{
    static const uint8_t no_sources[4] = {0};
    uint8_t head[FRAME_HEAD_BYTES];
    frame->kind = FRAME_BATCH;
    frame->segment = writer->about.number;
    frame->offset = writer->about.bytes;
    frame->epoch = writer->epoch;
    frame->sources = span_make(no_sources, sizeof(no_sources));
    frame->body = body;
    frame->raw_bytes = (uint32_t)body.size;
    if (!frame_put_head(frame, head, err)) {
        return false;
    }
    buf_add(&writer->room, head, sizeof(head));
    buf_add(&writer->room, no_sources, sizeof(no_sources));
    buf_add_span(&writer->room, body);
    writer->about.bytes += frame_bytes(frame);
    return writer->room.size < ROOM_BYTES ? true : flush(writer, err);
}

static void add_number(struct buf *out, uint64_t number)
{
    uint8_t bytes[8];
    store_le64(bytes, number);
    buf_add(out, bytes, sizeof(bytes));
}

static bool add_letter(
    struct writer *writer, const struct catalogue_letter *letter, struct error *err)
{
    const struct span texts[TEXTS] = {letter->output, letter->type, letter->reason, letter->index,
        letter->route, letter->document_id};
    struct buf body;
    buf_init(&body, LETTER_BODY_MAX_BYTES);
    add_number(&body, (uint64_t)letter->status);
    add_number(&body, letter->epoch);
    add_number(&body, letter->record);
    for (size_t i = 0; i < TEXTS; i++) {
        struct span text = span_first(texts[i], CATALOGUE_TEXT_MAX_BYTES);
        add_number(&body, text.size);
        buf_add_span(&body, text);
    }
    buf_add_span(&body, letter->document);
    struct frame frame = {.stream = LETTER_STREAM,
        .batch = letter->id,
        .records = 1,
        .first_time = letter->time,
        .last_time = letter->time,
        .entered = letter->time};
    bool ok = body.failed ? error_set(err, ERR_MEMORY, "out of memory")
                          : add_frame(writer, &frame, buf_span(&body), err);
    buf_fini(&body);
    return ok;
}

static bool add_gone(
    struct writer *writer, uint64_t to, const uint64_t *ids, size_t count, struct error *err)
{
    struct buf body;
    buf_init(&body, ROOM_MAX_BYTES);
    add_number(&body, to);
    for (size_t i = 0; i < count; i++) {
        add_number(&body, ids[i]);
    }
    struct frame frame = {.stream = GONE_STREAM, .batch = 1, .records = (uint32_t)count};
    bool ok = body.failed ? error_set(err, ERR_MEMORY, "out of memory")
                          : add_frame(writer, &frame, buf_span(&body), err);
    buf_fini(&body);
    return ok;
}

static bool begin_file(struct writer *writer, struct error *err)
{
    uint8_t head[FRAME_SEGMENT_HEAD_BYTES];
    bool ok = plat_random(&writer->epoch, sizeof(writer->epoch), err);
    if (ok) {
        frame_put_segment_head(writer->about.number, writer->epoch, head);
        buf_add(&writer->room, head, sizeof(head));
        writer->about.bytes = sizeof(head);
        writer->is_new = true;
    }
    return ok;
}

/* Does the file begin as it should? Its epoch is that of what is appended. */
static bool read_epoch(struct writer *writer, const char *path)
{
    uint8_t head[FRAME_SEGMENT_HEAD_BYTES];
    size_t size = 0;
    struct disk *disk = writer->disk;
    struct disk_file *file = disk->ops->open_read(disk, path, NULL);
    bool ok = file && disk->ops->read_at(disk, file, 0, head, sizeof(head), &size, NULL) &&
              frame_read_segment_head(
                  span_make(head, size), writer->about.number, &writer->epoch, NULL);
    if (file) {
        disk->ops->close(disk, file);
    }
    return ok;
}

/* Continue with the newest file, or begin another one. */
static bool open_writer(struct writer *writer, const char *folder,
    const struct letter_file_list *list, uint64_t next, struct error *err)
{
    char path[LETTER_PATH_BYTES];
    const struct letter_file *newest = list->count ? &list->files[list->count - 1] : NULL;
    *writer = (struct writer){.disk = disk_system()};
    buf_init(&writer->room, ROOM_MAX_BYTES);
    bool is_empty = newest && newest->bytes == 0; /* as a full disk, or a kill, has left it */
    bool goes_on = newest && newest->bytes < LETTER_FILES_FILE_BYTES;
    if (goes_on) {
        writer->about = *newest;
        goes_on = letter_files_path(folder, newest, "", path) && read_epoch(writer, path);
    }
    if (!goes_on) {
        if (!is_empty) {
            writer->about = (struct letter_file){
                .number = newest ? newest->number + 1 : 1, .first = next};
        }
        if (!begin_file(writer, err)) {
            return false;
        }
    }
    if (!letter_files_path(folder, &writer->about, "", path)) {
        return error_set(err, ERR_CONFIG, "%s: this path is too long", folder);
    }
    writer->file = writer->disk->ops->open_append(writer->disk, path, err);
    return writer->file != NULL;
}

/* A new file is durable with its folder, which a killed process may have made. */
static bool sync_names(struct disk *disk, const char *folder, struct error *err)
{
    return disk->ops->make_folder(disk, folder, err) && disk->ops->sync_folder(disk, folder, err);
}

/* Sync what was appended, or cut it off as far as the disk allows. */
static bool close_writer(
    struct writer *writer, const char *folder, uint64_t before, bool ok, struct error *err)
{
    struct disk *disk = writer->disk;
    if (writer->file) {
        ok = ok && flush(writer, err) && disk->ops->sync(disk, writer->file, err) &&
             (!writer->is_new || sync_names(disk, folder, err));
        if (!ok) {
            disk->ops->truncate(disk, writer->file, before, NULL);
        }
        disk->ops->close(disk, writer->file);
    }
    buf_fini(&writer->room);
    return ok;
}

/* ---- what callers do ------------------------------------------------------------------------- */

static bool add_change(
    struct writer *writer, const struct letter_files_change *change, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < change->count; i++) {
        ok = change->letters[i].id == 0 || add_letter(writer, &change->letters[i], err);
    }
    uint64_t to = change->gone_to;
    size_t at = 0;
    while (ok && (to || at < change->gone_count)) {
        size_t left = change->gone_count - at;
        size_t part = left < GONE_AT_ONCE ? left : GONE_AT_ONCE;
        ok = add_gone(writer, to, part ? change->gone + at : NULL, part, err);
        at += part;
        to = 0;
    }
    return ok;
}

bool letter_files_append(
    const char *folder, const struct letter_files_change *change, struct error *err)
{
    struct letter_file_list list = {.count = 0};
    struct writer writer;
    struct plat_file *lock = lock_folder(folder, err);
    bool ok = lock && letter_files_list(folder, &list, err);
    if (ok) {
        ok = open_writer(&writer, folder, &list, change->next, err);
        uint64_t before = writer.is_new ? 0 : writer.about.bytes;
        ok = ok && add_change(&writer, change, err);
        ok = close_writer(&writer, folder, before, ok, err);
    }
    free(list.files);
    plat_file_close(lock);
    return ok;
}

/* The oldest first, because a newer file lists letters of older ones that were removed. */
static void trim(const struct letter_file_list *list, uint64_t first)
{
    bool ok = true;
    for (size_t i = 0; ok && i + 1 < list->count && list->files[i + 1].first <= first; i++) {
        char path[LETTER_PATH_BYTES];
        ok = letter_files_path(list->folder, &list->files[i], "", path) &&
             plat_path_remove(path, NULL);
    }
}

void letter_files_trim(const char *folder, uint64_t first)
{
    struct letter_file_list list = {.count = 0};
    struct plat_file *lock = plat_path_kind(folder) == PLAT_PATH_NONE ? NULL
                                                                      : lock_folder(folder, NULL);
    if (lock && letter_files_list(folder, &list, NULL)) {
        trim(&list, first);
    }
    free(list.files);
    plat_file_close(lock);
}

struct rewrite {
    struct writer writer;
    struct error *err;
    bool ok;
};

static bool rewrite_letter(void *self, const struct catalogue_letter *letter)
{
    struct rewrite *rewrite = self;
    rewrite->ok = add_letter(&rewrite->writer, letter, rewrite->err);
    return rewrite->ok;
}

/* Under another name until it is whole. */
static bool write_all(struct rewrite *rewrite, const char *folder, struct catalogue *catalogue)
{
    char fresh[LETTER_PATH_BYTES];
    char path[LETTER_PATH_BYTES];
    struct writer *writer = &rewrite->writer;
    struct error *err = rewrite->err;
    if (!letter_files_path(folder, &writer->about, ".new", fresh) ||
        !letter_files_path(folder, &writer->about, "", path)) {
        return error_set(err, ERR_CONFIG, "%s: this path is too long", folder);
    }
    if (!plat_path_remove(fresh, err) || !begin_file(writer, err)) {
        return false;
    }
    writer->file = writer->disk->ops->open_append(writer->disk, fresh, err);
    bool ok = writer->file && catalogue_letters(catalogue, rewrite_letter, rewrite, err) &&
              rewrite->ok;
    ok = close_writer(writer, folder, 0, ok, err);
    return ok && plat_path_rename(fresh, path, err) && plat_path_sync_folder(folder, err);
}

bool letter_files_rewrite(const char *folder, struct catalogue *catalogue, struct error *err)
{
    struct letter_file_list list = {.count = 0};
    struct catalogue_info info;
    struct rewrite rewrite = {.writer.disk = disk_system(), .err = err, .ok = true};
    struct plat_file *lock = lock_folder(folder, err);
    bool ok = lock && letter_files_list(folder, &list, err) &&
              catalogue_info(catalogue, &info, err);
    if (ok) {
        rewrite.writer.about.number = list.count ? list.files[list.count - 1].number + 1 : 1;
        rewrite.writer.about.first = info.next.letter;
        buf_init(&rewrite.writer.room, ROOM_MAX_BYTES);
        ok = write_all(&rewrite, folder, catalogue);
        buf_fini(&rewrite.writer.room);
    }
    for (size_t i = 0; ok && i < list.count; i++) {
        char path[LETTER_PATH_BYTES];
        if (!letter_files_path(folder, &list.files[i], "", path) || !plat_path_remove(path, NULL)) {
            break;
        }
    }
    free(list.files);
    plat_file_close(lock);
    return ok;
}

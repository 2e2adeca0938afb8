#include <stdlib.h>

#include "base/reader.h"
#include "store/disk/disk.h"
#include "store/disk/frame_scan.h"
#include "store/letters/letter_files_own.h"

enum { UNREADABLE_BYTES = 64 << 10 };

struct reading {
    const struct letter_files_reader *reader;
    struct disk_file *file;
    uint64_t skipped;
    struct error *err;
};

static bool read_at(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    const struct reading *reading = self;
    struct disk *disk = disk_system();
    return disk->ops->read_at(disk, reading->file, offset, data, size, ret_read, err);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct span take_text(struct reader *r)
{
    uint64_t size = reader_u64(r);
    return reader_take(r, size <= CATALOGUE_TEXT_MAX_BYTES ? (size_t)size : SIZE_MAX);
}

static bool read_letter(const struct frame *frame, struct catalogue_letter *ret_letter)
{
    struct reader r = reader_make(frame->body);
    struct catalogue_letter letter = {.id = frame->batch, .time = frame->entered};
    letter.status = (int64_t)reader_u64(&r);
    letter.epoch = reader_u64(&r);
    letter.record = reader_u64(&r);
    letter.output = take_text(&r);
    letter.type = take_text(&r);
    letter.reason = take_text(&r);
    letter.index = take_text(&r);
    letter.route = take_text(&r);
    letter.document_id = take_text(&r);
    letter.document = reader_rest(&r);
    bool good = !r.failed && frame->batch <= INT64_MAX / 2 &&
                letter.output.size <= CATALOGUE_NAME_MAX_BYTES &&
                letter.document.size <= CATALOGUE_DOCUMENT_MAX_BYTES;
    if (good) {
        *ret_letter = letter;
    }
    return good;
}

static bool take_frame(struct reading *reading, const struct frame *frame, uint64_t bytes)
{
    const struct letter_files_reader *reader = reading->reader;
    struct catalogue_letter letter;
    if (frame->kind != FRAME_BATCH || frame->zstd) {
        reading->skipped += bytes;
        return true;
    }
    if (frame->stream == GONE_STREAM && frame->body.size >= 8 && frame->body.size % 8 == 0) {
        struct reader r = reader_make(frame->body);
        uint64_t to = reader_u64(&r);
        return reader->gone(reader->self, to, reader_rest(&r));
    }
    if (frame->stream == LETTER_STREAM && read_letter(frame, &letter)) {
        return reader->letter(reader->self, &letter);
    }
    reading->skipped += bytes;
    return true;
}

static bool take_damaged(struct reading *reading, const struct frame *frame, uint64_t bytes)
{
    if (frame->kind == FRAME_BATCH && frame->stream == LETTER_STREAM) {
        return reading->reader->damaged(reading->reader->self, frame->batch);
    }
    reading->skipped += bytes;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Unreadable bytes are left out. False: no memory, or a newer version. */
static bool pass_unreadable(
    struct reading *reading, struct frame_scan *scan, const struct error *why)
{
    uint64_t left = scan->end - scan->at;
    uint64_t passed = left < UNREADABLE_BYTES ? left : UNREADABLE_BYTES;
    scan->at += passed;
    reading->skipped += passed;
    return why->code == ERR_IO || error_set(reading->err, why->code, "%s", why->text);
}

static bool scan_frames(struct reading *reading, struct frame_scan *scan)
{
    bool ok = true;
    while (ok) {
        struct frame frame;
        struct frame_extent extent;
        struct error why = {.code = ERR_NONE};
        switch (frame_scan_next(scan, &frame, &extent, &why)) {
        case FRAME_FOUND:
            ok = take_frame(reading, &frame, extent.bytes);
            break;
        case FRAME_DAMAGED:
            ok = take_damaged(reading, &frame, extent.bytes);
            break;
        case FRAME_SKIPPED:
            reading->skipped += extent.bytes;
            break;
        case FRAME_FAILED:
            ok = pass_unreadable(reading, scan, &why);
            break;
        default:
            return true;
        }
    }
    return false;
}

static bool read_file(struct reading *reading, const char *folder, const struct letter_file *file)
{
    char path[LETTER_PATH_BYTES];
    struct disk *disk = disk_system();
    struct frame_scan scan;
    reading->file = letter_files_path(folder, file, "", path)
                        ? disk->ops->open_read(disk, path, NULL)
                        : NULL;
    if (!reading->file) {
        reading->skipped += file->bytes;
        return true;
    }
    frame_scan_init(&scan, read_at, reading, file->number, file->bytes);
    bool ok = scan_frames(reading, &scan);
    frame_scan_fini(&scan);
    disk->ops->close(disk, reading->file);
    return ok;
}

static bool read_files(const char *folder, const struct letter_files_reader *reader, bool newest,
    uint64_t *ret_skipped, struct error *err)
{
    struct letter_file_list list;
    struct reading reading = {.reader = reader, .err = err};
    bool ok = letter_files_list(folder, &list, err);
    for (size_t i = newest && list.count ? list.count - 1 : 0; ok && i < list.count; i++) {
        ok = read_file(&reading, folder, &list.files[i]);
    }
    free(list.files);
    *ret_skipped = reading.skipped;
    return ok;
}

bool letter_files_read(const char *folder, const struct letter_files_reader *reader,
    uint64_t *ret_skipped, struct error *err)
{
    return read_files(folder, reader, false, ret_skipped, err);
}

bool letter_files_read_newest(const char *folder, const struct letter_files_reader *reader,
    uint64_t *ret_skipped, struct error *err)
{
    return read_files(folder, reader, true, ret_skipped, err);
}

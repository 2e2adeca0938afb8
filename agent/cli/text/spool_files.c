#include "cli/text/spool_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/order.h"
#include "store/disk/segments.h"
#include "store/letters/letter_files.h"
#include "store/state/ids.h"
#include "store/store.h"

enum { PATH_BYTES = 4096, TEXT_BYTES = 1024, UNREADABLE_BYTES = 1 << 20 };

struct job {
    struct spool_files *files;
    struct segments *segments;
    struct buf room;
    struct ids letters; /* existing ones, nearly ascending */
    void (*say)(void *self, const char *text);
    void *self;
    struct error *err;
};

/* ---- segments -------------------------------------------------------------------------------- */

static void say_place(
    const struct job *job, uint64_t segment, const struct frame_extent *extent, const char *what)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof(text), "%016" PRIx64 ".seg, %" PRIu64 " bytes at %" PRIu64 ": %s",
        segment, extent->bytes, extent->offset, what);
    job->say(job->self, text);
}

static void take_batch(
    struct job *job, uint64_t segment, const struct frame *frame, const struct frame_extent *extent)
{
    struct frame unpacked = *frame;
    struct error why;
    if (frame->kind != FRAME_BATCH) {
        return;
    }
    if (segments_unpack(&unpacked, &job->room, &why)) {
        job->files->batches++;
        job->files->records += frame->records;
    } else {
        job->files->damaged++;
        say_place(job, segment, extent, why.text);
    }
}

/* False: out of memory, or the file has a newer version. */
static bool scan_segment(struct job *job, struct segments_scan *scan, uint64_t id)
{
    for (;;) {
        struct frame frame;
        struct frame_extent extent = {.offset = scan->scan.at};
        struct error why = {.code = ERR_NONE};
        switch (frame_scan_next(&scan->scan, &frame, &extent, &why)) {
        case FRAME_FOUND:
            take_batch(job, id, &frame, &extent);
            break;
        case FRAME_DAMAGED:
            job->files->damaged += frame.kind == FRAME_BATCH;
            say_place(job, id, &extent, "damaged data");
            break;
        case FRAME_SKIPPED:
            job->files->skipped += extent.bytes;
            say_place(job, id, &extent, "not a file of a spool");
            break;
        case FRAME_END:
            return true;
        case FRAME_FAILED:
            extent.bytes = scan->scan.end - scan->scan.at;
            extent.bytes = extent.bytes < UNREADABLE_BYTES ? extent.bytes : UNREADABLE_BYTES;
            job->files->skipped += extent.bytes;
            scan->scan.at += extent.bytes;
            say_place(job, id, &extent, why.text);
            if (why.code != ERR_IO) {
                return error_set(job->err, why.code, "%s", why.text);
            }
            break;
        }
    }
}

static bool read_segments(struct job *job, const char *folder)
{
    const struct segments_settings settings = {.disk = disk_system(), .folder = folder};
    struct segment_info info;
    job->segments = segments_create(&settings, job->err);
    bool ok = job->segments != NULL;
    for (size_t i = 0; ok && segments_get(job->segments, i, &info); i++) {
        struct segments_scan scan;
        job->files->segments++;
        job->files->bytes += info.bytes;
        ok = segments_scan_begin(job->segments, info.id, &scan, job->err);
        if (ok) {
            ok = scan_segment(job, &scan, info.id);
            segments_scan_end(&scan);
        }
    }
    segments_destroy(job->segments);
    return ok;
}

/* ---- dead letters ---------------------------------------------------------------------------- */

static void remove_letter(struct ids *letters, uint64_t id)
{
    size_t left = 0;
    for (size_t i = 0; i < letters->count; i++) {
        if (letters->at[i] != id) {
            letters->at[left++] = letters->at[i];
        }
    }
    letters->count = left;
}

static bool on_letter(void *self, const struct catalogue_letter *letter)
{
    struct job *job = self;
    bool known = job->letters.count && job->letters.at[job->letters.count - 1] >= letter->id;
    if (known) { /* given again, or written again */
        remove_letter(&job->letters, letter->id);
    }
    return ids_add(&job->letters, letter->id, job->err);
}

static bool on_gone(void *self, uint64_t to, struct span ids)
{
    struct job *job = self;
    struct ids *letters = &job->letters;
    size_t count = ids.size / 8;
    uint64_t *gone = malloc(ids.size + 1);
    size_t left = 0;
    if (!gone) {
        return error_set(job->err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        gone[i] = load_le64(ids.data + 8 * i);
    }
    qsort(gone, count, sizeof(*gone), order_numbers);
    for (size_t i = 0; i < letters->count; i++) {
        uint64_t id = letters->at[i];
        if (id > to && !bsearch(&id, gone, count, sizeof(*gone), order_numbers)) {
            letters->at[left++] = id;
        }
    }
    letters->count = left;
    free(gone);
    return true;
}

static bool on_damaged(void *self, uint64_t id)
{
    struct job *job = self;
    char text[TEXT_BYTES];
    job->files->damaged_letters++;
    snprintf(text, sizeof(text), "dead letter %" PRIu64 ": damaged", id);
    job->say(job->self, text);
    return true;
}

static bool read_letters(struct job *job, const char *folder)
{
    char path[PATH_BYTES];
    uint64_t skipped = 0;
    const struct letter_files_reader reader = {
        .letter = on_letter, .gone = on_gone, .damaged = on_damaged, .self = job};
    int size = snprintf(path, sizeof(path), "%s/%s", folder, STORE_LETTERS_FOLDER);
    if (size < 0 || size >= PATH_BYTES) {
        return error_set(job->err, ERR_CONFIG, "%s: this path is too long", folder);
    }
    letter_files_bytes(path, &job->files->letter_files);
    bool ok = letter_files_read(path, &reader, &skipped, job->err);
    job->files->skipped += skipped;
    job->files->letters = job->letters.count;
    return ok;
}

bool spool_files_read(const char *folder, void (*say)(void *self, const char *text), void *self,
    struct spool_files *ret_files, struct error *err)
{
    struct job job = {.files = ret_files, .say = say, .self = self, .err = err};
    *ret_files = (struct spool_files){.segments = 0};
    buf_init(&job.room, STORE_READ_ROOM_BYTES);
    bool ok = read_segments(&job, folder) && read_letters(&job, folder);
    buf_fini(&job.room);
    ids_fini(&job.letters);
    return ok;
}

/*
 * A crash leaves frames that were written and not committed, after what the catalogue knows of a
 * file or in a file of which it knows nothing. No output was given them, and their sources begin
 * before them again, so they are cut off.
 *
 * A catalogue that has lost something would look alike: another program has put an older copy in
 * its place, or removed its log. Then cutting would lose what was accepted. So the frames decide:
 * the catalogue gets every epoch, and every block of numbers, before a frame with them is written,
 * and has those of its last run; later runs have handled the remains of earlier ones. Without a log
 * nothing is uncommitted: only a run without a failed commit removes it at its end.
 */
#include "store/tails.h"

#include <inttypes.h>

#include "base/grow.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/epochs.h"

/* Files, and what the catalogue says of them. */
struct tails {
    const struct tails_parts *parts;
    const struct catalogue_info *info;
    bool log_is_lost;
    struct catalogue_segment *known;
    size_t known_count;
    size_t known_capacity;
    struct ids adopted; /* pairs: segment, from where on */
    uint64_t cut_bytes;
    struct error *err;
    bool ok;
};

static bool keep_known(void *self, const struct catalogue_segment *segment)
{
    struct tails *tails = self;
    tails->ok = grow_list(
        &tails->known, tails->known_count, &tails->known_capacity, sizeof(*tails->known));
    if (!tails->ok) {
        return error_set(tails->err, ERR_MEMORY, "out of memory");
    }
    tails->known[tails->known_count++] = *segment;
    return true;
}

static const struct catalogue_segment *find_known(const struct tails *tails, uint64_t id)
{
    for (size_t i = 0; i < tails->known_count; i++) {
        if (tails->known[i].id == id) {
            return &tails->known[i];
        }
    }
    return NULL;
}

static bool is_known_epoch(const struct catalogue_info *info, uint64_t epoch)
{
    return epoch == info->epoch || epochs_has(info->earlier, epoch);
}

/* Is there a frame from ${from} on that the catalogue must have known of? */
static bool is_newer(
    struct tails *tails, uint64_t id, uint64_t from, bool *ret_newer, struct error *err)
{
    struct segments_scan scan;
    bool newer = false;
    enum frame_found found = FRAME_SKIPPED;
    if (!segments_scan_begin(tails->parts->segments, id, &scan, err)) {
        return false;
    }
    scan.scan.at = from;
    while (!newer && found != FRAME_END && found != FRAME_FAILED) {
        struct frame frame;
        struct frame_extent extent;
        found = frame_scan_next(&scan.scan, &frame, &extent, err);
        newer = found == FRAME_FOUND && frame.kind == FRAME_BATCH &&
                (tails->log_is_lost || !is_known_epoch(tails->info, frame.epoch) ||
                    frame.batch >= tails->info->next.batch);
    }
    segments_scan_end(&scan);
    *ret_newer = newer;
    return found != FRAME_FAILED || (err && err->code == ERR_IO);
}

/* Frames that cannot be cut off now do not count, because the catalogue decides which do; it stores
 * the size of the file. The next commit removes a file without batches. */
static bool ignore(
    const struct tails_parts *parts, const struct segment_info *file, struct error *err)
{
    const struct catalogue_segment seen = {.id = file->id, .bytes = file->bytes};
    return catalogue_begin(parts->catalogue, err) &&
           catalogue_put_segment(parts->catalogue, &seen, err) &&
           catalogue_commit(parts->catalogue, err);
}

/* For good: a file that a loss of power brings back would be taken for a later run's. */
static bool unlink_durably(const struct tails_parts *parts, uint64_t id)
{
    struct error why;
    return segments_unlink(parts->segments, id, &why) &&
           segments_sync_folder(parts->segments, &why);
}

/* A file without a word in the catalogue. */
static bool settle_unknown(struct tails *tails, const struct segment_info *file)
{
    const struct tails_parts *parts = tails->parts;
    bool newer;
    if (!is_newer(tails, file->id, 0, &newer, tails->err)) {
        return false;
    }
    if (newer) {
        return ids_add(&tails->adopted, file->id, tails->err) &&
               ids_add(&tails->adopted, 0, tails->err);
    }
    tails->cut_bytes += file->bytes;
    return unlink_durably(parts, file->id) || ignore(parts, file, tails->err);
}

static bool settle_tail(
    struct tails *tails, const struct segment_info *file, const struct catalogue_segment *known)
{
    const struct tails_parts *parts = tails->parts;
    bool newer;
    if (!is_newer(tails, file->id, known->bytes, &newer, tails->err)) {
        return false;
    }
    if (newer) {
        return ids_add(&tails->adopted, file->id, tails->err) &&
               ids_add(&tails->adopted, known->bytes, tails->err);
    }
    struct error why;
    tails->cut_bytes += file->bytes - known->bytes;
    if (!segments_cut(parts->segments, file->id, known->bytes, &why)) {
        return ignore(parts, file, tails->err);
    }
    return true;
}

static bool settle_file(struct tails *tails, const struct segment_info *file)
{
    const struct catalogue_segment *known = find_known(tails, file->id);
    const struct tails_parts *parts = tails->parts;
    if (!known) {
        return settle_unknown(tails, file);
    }
    if (known->state == CATALOGUE_SEGMENT_DELETING) {
        return true;
    }
    if (file->bytes < known->bytes) {
        report_news(parts->report, STORE_NEWS_DAMAGED,
            "segment %016" PRIx64 " is shorter than it was: %" PRIu64 " of %" PRIu64
            " bytes; what came after them is lost",
            file->id, file->bytes, known->bytes);
    }
    return file->bytes <= known->bytes || settle_tail(tails, file, known);
}

static bool settle_files(struct tails *tails)
{
    const struct tails_parts *parts = tails->parts;
    struct segment_info file;
    struct ids ids = {.at = NULL};
    bool ok = true;
    for (size_t i = 0; ok && segments_get(parts->segments, i, &file); i++) {
        ok = ids_add(&ids, file.id, tails->err) && ids_add(&ids, file.bytes, tails->err);
    }
    for (size_t i = 0; ok && i < ids.count; i += 2) {
        file = (struct segment_info){.id = ids.at[i], .bytes = ids.at[i + 1]};
        ok = settle_file(tails, &file);
    }
    ids_fini(&ids);
    return ok;
}

static bool is_there(const struct tails_parts *parts, uint64_t id)
{
    struct segment_info file;
    for (size_t i = 0; segments_get(parts->segments, i, &file); i++) {
        if (file.id == id) {
            return true;
        }
    }
    return false;
}

/* Rows without a file, and files that were given up. */
static bool settle_rows(struct tails *tails)
{
    const struct tails_parts *parts = tails->parts;
    for (size_t i = 0; i < tails->known_count; i++) {
        const struct catalogue_segment *known = &tails->known[i];
        if (known->state == CATALOGUE_SEGMENT_DELETING) {
            if (!unneeded_add(parts->unneeded, known->id, tails->err)) {
                return false;
            }
        } else if (!is_there(parts, known->id) && known->batches) {
            report_news(parts->report, STORE_NEWS_MISSING,
                "segment %016" PRIx64 " with %" PRIu64
                " batches is not there any more: they are lost",
                known->id, known->batches);
        }
    }
    return true;
}

bool tails_settle(const struct tails_parts *parts, bool log_is_lost, struct error *err)
{
    struct catalogue_info info;
    struct tails tails = {
        .parts = parts, .info = &info, .log_is_lost = log_is_lost, .err = err, .ok = true};
    report_step(parts->report, "recover");
    bool ok = catalogue_info(parts->catalogue, &info, err) &&
              catalogue_segments(parts->catalogue, keep_known, &tails, err) && tails.ok &&
              settle_rows(&tails) && settle_files(&tails) &&
              (tails.adopted.count == 0 ||
                  rebuild_adopt(parts->rebuild, parts->catalogue, &tails.adopted, err));
    if (ok && tails.cut_bytes) {
        report_news(parts->report, STORE_NEWS_UNCLEAN,
            "the last run ended in the middle of its work: %" PRIu64
            " bytes that it had not committed were cut off",
            tails.cut_bytes);
    }
    report_step(parts->report, "recovered");
    free(tails.known);
    ids_fini(&tails.adopted);
    return ok;
}

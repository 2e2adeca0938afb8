#include <inttypes.h>
#include <stdio.h>

#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/rebuild_own.h"
#include "store/state/stream_entry.h"

enum { UNREADABLE_BYTES = 1 << 20 };

bool rebuild_put_streams(struct rebuild *rebuild, struct error *err)
{
    if (!streams_write(rebuild->streams, rebuild->catalogue, err)) {
        return false;
    }
    streams_written(rebuild->streams);
    return true;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The stream that a frame describes. One whose number, or key, is known stays as it is, unless it
 * was not described yet. */
static bool adopt_stream(struct rebuild *rebuild, const struct frame *frame, struct error *err)
{
    struct frame_stream stream;
    if (!frame_read_stream(frame, &stream, NULL) || stream.stream >= NUMBERS_END ||
        streams_find(rebuild->streams, stream.key)) {
        return true;
    }
    const struct stream_entry *known = streams_get(rebuild->streams, stream.stream);
    if (known && !known->is_lost) {
        return true;
    }
    bool ok = known ? streams_rename(rebuild->streams, &stream, err)
                    : streams_add(rebuild->streams, &stream, err) != NULL;
    return ok && rebuild_put_streams(rebuild, err);
}

/* One that no frame has described so far gets a key that no other has. */
static struct stream_entry *stream_of(struct rebuild *rebuild, uint64_t id, struct error *err)
{
    struct stream_entry *entry = streams_get(rebuild->streams, id);
    if (entry) {
        return entry;
    }
    char key[64];
    snprintf(key, sizeof(key), "(lost %" PRIu64 ")", id);
    const struct frame_stream stream = {.stream = id, .key = span_text(key)};
    entry = streams_add(rebuild->streams, &stream, err);
    if (!entry || !rebuild_put_streams(rebuild, err)) {
        return NULL;
    }
    entry->is_lost = true;
    return entry;
}

/* ---- batches --------------------------------------------------------------------------------- */

static bool has_good_numbers(const struct frame *frame)
{
    bool ok = frame->batch < NUMBERS_END && frame->stream < NUMBERS_END &&
              frame->first_record < NUMBERS_END;
    struct frame_sources sources = frame_sources_begin(frame);
    struct frame_source source;
    while (ok && frame_sources_next(&sources, &source)) {
        ok = source.sequence < NUMBERS_END;
    }
    return ok;
}

static bool put_sources(struct rebuild *rebuild, const struct frame *frame, struct error *err)
{
    struct frame_sources sources = frame_sources_begin(frame);
    struct frame_source source;
    bool ok = true;
    while (ok && frame_sources_next(&sources, &source)) {
        const struct catalogue_source row = {
            .session = source.session, .stream = frame->stream, .sequence = source.sequence};
        uint64_t old = 0;
        bool found;
        ok =
            catalogue_find_source(rebuild->catalogue, row.session, row.stream, &old, &found, err) &&
            ((found && old >= row.sequence) || catalogue_put_source(rebuild->catalogue, &row, err));
    }
    return ok;
}

static void count(struct rebuild *rebuild, const struct frame *frame)
{
    struct catalogue_counters *next = &rebuild->next;
    uint64_t behind = frame->first_record + frame->records;
    rebuild->batches++;
    rebuild->records += frame->records;
    next->batch = frame->batch >= next->batch ? frame->batch + 1 : next->batch;
    next->record = behind > next->record ? behind : next->record;
}

enum adopted { ADOPTED, KNOWN, REFUSED, ADOPT_FAILED };

/* Put a good frame into the catalogue. As a rule ids ascend; but what was written again, because
 * its sync had failed, lies after what was not. */
static enum adopted adopt_batch(struct rebuild *rebuild, const struct frame *frame,
    const struct frame_extent *extent, struct error *err)
{
    struct catalogue_batch known;
    bool is_known;
    if (!has_good_numbers(frame)) {
        return REFUSED;
    }
    if (!catalogue_find_batch(rebuild->catalogue, frame->batch, &known, &is_known, err)) {
        return ADOPT_FAILED;
    }
    if (is_known) { /* as one whose sync had failed, and that was written again */
        bool is_same = known.epoch == frame->epoch && known.stream == frame->stream &&
                       known.first_record == frame->first_record && known.records == frame->records;
        return is_same ? KNOWN : REFUSED;
    }
    struct stream_entry *stream = stream_of(rebuild, frame->stream, err);
    if (!stream) {
        return ADOPT_FAILED;
    }
    const struct catalogue_batch row = {.id = frame->batch,
        .stream = frame->stream,
        .segment = frame->segment,
        .offset = extent->offset,
        .bytes = extent->bytes,
        .raw_bytes = frame->raw_bytes,
        .epoch = frame->epoch,
        .first_record = frame->first_record,
        .records = frame->records,
        .first_time = frame->first_time,
        .last_time = frame->last_time,
        .entered = frame->entered};
    if (!catalogue_put_batch(rebuild->catalogue, &row, err) || !put_sources(rebuild, frame, err)) {
        return ADOPT_FAILED;
    }
    if (stream->found == 0 || frame->batch < stream->found) {
        stream->found = frame->batch;
    }
    count(rebuild, frame);
    return ADOPTED;
}

static bool take_frame(struct rebuild *rebuild, const struct frame *frame,
    const struct frame_extent *extent, struct error *err)
{
    if (frame->kind == FRAME_STREAM) {
        return adopt_stream(rebuild, frame, err);
    }
    if (frame->batch > rebuild->last_id) {
        return true;
    }
    struct frame unpacked = *frame;
    struct error why = {.code = ERR_NONE};
    if (!segments_unpack(&unpacked, &rebuild->room, &why)) {
        if (why.code != ERR_FORMAT) {
            return error_set(err, why.code, "%s", why.text);
        }
        rebuild->unreadable++;
        damaged_copy(
            rebuild->damaged, frame->segment, extent->offset, extent->bytes, "batch-unreadable");
        return true;
    }
    enum adopted adopted = adopt_batch(rebuild, frame, extent, err);
    if (adopted == REFUSED) {
        rebuild->unreadable++;
        damaged_copy(
            rebuild->damaged, frame->segment, extent->offset, extent->bytes, "batch-out-of-place");
    }
    return adopted != ADOPT_FAILED;
}

/* ---- one segment ----------------------------------------------------------------------------- */

/* Unreadable bytes are left out, too. */
static bool pass_unreadable(
    struct rebuild *rebuild, struct frame_scan *scan, const struct error *err)
{
    uint64_t left = scan->end - scan->at;
    uint64_t passed = left < UNREADABLE_BYTES ? left : UNREADABLE_BYTES;
    scan->at += passed;
    rebuild->skipped_bytes += passed;
    return err->code == ERR_IO;
}

static bool scan_frames(
    struct rebuild *rebuild, struct segments_scan *scan, uint64_t *ret_frames, struct error *err)
{
    uint64_t id = scan->scan.segment;
    for (;;) {
        struct frame frame;
        struct frame_extent extent;
        switch (frame_scan_next(&scan->scan, &frame, &extent, err)) {
        case FRAME_FOUND:
            ++*ret_frames;
            if (!take_frame(rebuild, &frame, &extent, err)) {
                return false;
            }
            break;
        case FRAME_DAMAGED:
            ++*ret_frames;
            rebuild->unreadable += frame.kind == FRAME_BATCH && frame.batch <= rebuild->last_id;
            damaged_copy(rebuild->damaged, id, extent.offset, extent.bytes, "batch-damaged");
            break;
        case FRAME_SKIPPED:
            rebuild->skipped_bytes += extent.bytes;
            damaged_copy(rebuild->damaged, id, extent.offset, extent.bytes, "unreadable");
            break;
        case FRAME_END:
            return true;
        case FRAME_FAILED:
            if (!pass_unreadable(rebuild, &scan->scan, err)) {
                return false;
            }
            break;
        }
    }
}

bool rebuild_segment(struct rebuild *rebuild, uint64_t id, uint64_t from, struct error *err)
{
    struct segments_scan scan;
    uint64_t frames = 0;
    report_step(rebuild->report, "rebuild segment");
    if (!segments_scan_begin(rebuild->segments, id, &scan, err)) {
        return false;
    }
    const struct catalogue_segment segment = {.id = id, .bytes = scan.scan.end};
    scan.scan.at = from;
    bool ok = catalogue_put_segment(rebuild->catalogue, &segment, err) &&
              scan_frames(rebuild, &scan, &frames, err);
    segments_scan_end(&scan);
    if (ok && frames == 0 && from == 0 && damaged_move(rebuild->damaged, id)) {
        ok = catalogue_remove_segment(rebuild->catalogue, id, err);
    }
    rebuild->next.segment = id >= rebuild->next.segment ? id + 1 : rebuild->next.segment;
    return ok;
}

#include "store/rebuild.h"

#include <inttypes.h>
#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_system.h"
#include "store/catalogue_batches.h"
#include "store/catalogue_sources.h"
#include "store/damaged.h"

enum { UNREADABLE_BYTES = 1 << 20 };

void rebuild_init(struct rebuild *rebuild, struct store *store)
{
    *rebuild = (struct rebuild){.store = store, .last_id = UINT64_MAX};
    buf_init(&rebuild->room, STORE_READ_ROOM_BYTES);
    for (size_t i = 0; i < store->streams.count; i++) {
        store->streams.entries[i].found = 0;
    }
}

void rebuild_fini(struct rebuild *rebuild)
{
    buf_fini(&rebuild->room);
}

/* ---- streams -------------------------------------------------------------------------------------------- */

static bool write_streams(struct store *store, struct error *err)
{
    if (!streams_write(&store->streams, store->catalogue, err)) {
        return false;
    }
    streams_written(&store->streams);
    return true;
}

/* The stream that a frame describes. One whose number, or key, is known stays as it is, unless nobody
 * had described it yet. */
static bool adopt_stream(struct store *store, const struct frame *frame, struct error *err)
{
    struct frame_stream stream;
    if (!frame_read_stream(frame, &stream, NULL) || stream.stream >= STORE_NUMBER_END ||
        streams_find(&store->streams, stream.key)) {
        return true;
    }
    const struct stream_entry *known = streams_get(&store->streams, stream.stream);
    if (known && !known->is_lost) {
        return true;
    }
    bool ok = known ? streams_rename(&store->streams, &stream, err)
                    : streams_add(&store->streams, &stream, err) != NULL;
    return ok && write_streams(store, err);
}

/* One that no frame has described so far gets a key that no other has. */
static struct stream_entry *stream_of(struct store *store, uint64_t id, struct error *err)
{
    struct stream_entry *entry = streams_get(&store->streams, id);
    if (entry) {
        return entry;
    }
    char key[64];
    snprintf(key, sizeof(key), "(lost %" PRIu64 ")", id);
    const struct frame_stream stream = {.stream = id, .key = span_text(key)};
    entry = streams_add(&store->streams, &stream, err);
    if (!entry || !write_streams(store, err)) {
        return NULL;
    }
    entry->is_lost = true;
    return entry;
}

/* ---- batches -------------------------------------------------------------------------------------------- */

static bool has_good_numbers(const struct frame *frame)
{
    bool ok = frame->batch < STORE_NUMBER_END && frame->stream < STORE_NUMBER_END &&
              frame->first_record < STORE_NUMBER_END;
    struct frame_sources sources = frame_sources_begin(frame);
    struct frame_source source;
    while (ok && frame_sources_next(&sources, &source)) {
        ok = source.sequence < STORE_NUMBER_END;
    }
    return ok;
}

static bool put_sources(struct store *store, const struct frame *frame, struct error *err)
{
    struct frame_sources sources = frame_sources_begin(frame);
    struct frame_source source;
    bool ok = true;
    while (ok && frame_sources_next(&sources, &source)) {
        const struct catalogue_source row = {
            .session = source.session, .stream = frame->stream, .sequence = source.sequence};
        uint64_t old = 0;
        bool found;
        ok = catalogue_find_source(store->catalogue, row.session, row.stream, &old, &found, err) &&
             ((found && old >= row.sequence) || catalogue_put_source(store->catalogue, &row, err));
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

/* Put a good frame into the catalogue. As a rule ids ascend; but what was written again, because its sync
 * had failed, lies behind what was not. */
static enum adopted adopt_batch(struct rebuild *rebuild, const struct frame *frame,
    const struct frame_extent *extent, struct error *err)
{
    struct store *store = rebuild->store;
    struct catalogue_batch known;
    bool is_known;
    if (!has_good_numbers(frame)) {
        return REFUSED;
    }
    if (!catalogue_find_batch(store->catalogue, frame->batch, &known, &is_known, err)) {
        return ADOPT_FAILED;
    }
    if (is_known) { /* as one whose sync had failed, and that was written again */
        bool is_same = known.epoch == frame->epoch && known.stream == frame->stream &&
                       known.first_record == frame->first_record && known.records == frame->records;
        return is_same ? KNOWN : REFUSED;
    }
    struct stream_entry *stream = stream_of(store, frame->stream, err);
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
    if (!catalogue_put_batch(store->catalogue, &row, err) || !put_sources(store, frame, err)) {
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
        return adopt_stream(rebuild->store, frame, err);
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
        rebuild->damaged++;
        damaged_copy(
            rebuild->store, frame->segment, extent->offset, extent->bytes, "batch-unreadable");
        return true;
    }
    enum adopted adopted = adopt_batch(rebuild, frame, extent, err);
    if (adopted == REFUSED) {
        rebuild->damaged++;
        damaged_copy(
            rebuild->store, frame->segment, extent->offset, extent->bytes, "batch-out-of-place");
    }
    return adopted != ADOPT_FAILED;
}

/* ---- one segment ------------------------------------------------------------------------------------------ */

/* What the disk does not give back is left out, too. */
static bool pass_unreadable(
    struct rebuild *rebuild, struct frame_scan *scan, const struct error *err)
{
    uint64_t left = scan->end - scan->at;
    uint64_t passed = left < UNREADABLE_BYTES ? left : UNREADABLE_BYTES;
    scan->at += passed;
    rebuild->skipped_bytes += passed;
    rebuild->store->set_aside++;
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
            rebuild->damaged += frame.kind == FRAME_BATCH && frame.batch <= rebuild->last_id;
            damaged_copy(rebuild->store, id, extent.offset, extent.bytes, "batch-damaged");
            break;
        case FRAME_SKIPPED:
            rebuild->skipped_bytes += extent.bytes;
            damaged_copy(rebuild->store, id, extent.offset, extent.bytes, "unreadable");
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
    struct store *store = rebuild->store;
    struct segments_scan scan;
    uint64_t frames = 0;
    store_step(store, "rebuild segment");
    if (!segments_scan_begin(store->segments, id, &scan, err)) {
        return false;
    }
    const struct catalogue_segment segment = {.id = id, .bytes = scan.scan.end};
    scan.scan.at = from;
    bool ok = catalogue_put_segment(store->catalogue, &segment, err) &&
              scan_frames(rebuild, &scan, &frames, err);
    segments_scan_end(&scan);
    if (ok && frames == 0 && from == 0 && damaged_move(store, id)) {
        rebuild->files_aside++;
        ok = catalogue_remove_segment(store->catalogue, id, err);
    }
    rebuild->next.segment = id >= rebuild->next.segment ? id + 1 : rebuild->next.segment;
    return ok;
}

/* ---- what waits for its outputs ---------------------------------------------------------------------------- */

/* Does a known output read the stream without end? Then it comes to what was found by itself. */
static bool is_read(const struct store *store, uint64_t stream)
{
    for (size_t i = 0; i < store->chains.count; i++) {
        const struct chain_range *last = chain_last_range(store->chains.all[i]);
        if (last && last->stream == stream) {
            return true;
        }
    }
    return false;
}

static bool add_orphan(struct store *store, uint64_t stream, uint64_t after, struct error *err)
{
    struct span name = span_text(REBUILD_ORPHANS);
    struct chain *chain = chains_find(&store->chains, name);
    if (!chain) {
        chain = chains_add(&store->chains, name, err);
    }
    struct chain_range *range = chain ? chain_add_range(chain, span_make(NULL, 0), err) : NULL;
    if (!range) {
        return false;
    }
    range->ordinal = chain->range_count == 1 ? 1 : range[-1].ordinal + 1;
    range->stream = stream;
    range->after = after;
    range->last = UINT64_MAX;
    chain->seen = store_now(store);
    chain->is_changed = true;
    return true;
}

bool rebuild_finish(struct rebuild *rebuild, struct error *err)
{
    struct store *store = rebuild->store;
    for (size_t i = 0; i < store->streams.count; i++) {
        const struct stream_entry *stream = &store->streams.entries[i];
        uint64_t after;
        if (stream->found && !catalogue_sum_again(store->catalogue, stream->id, err)) {
            return false;
        }
        if (stream->found && !is_read(store, stream->id) &&
            !rebuild_orphans(store, stream->id, &after) &&
            !add_orphan(store, stream->id, stream->found - 1, err)) {
            return false;
        }
    }
    rebuild->next.stream = store->streams.next_id;
    rebuild->next.output = store->chains.next_id;
    return catalogue_raise(store->catalogue, &rebuild->next, err) &&
           chains_write(&store->chains, store->catalogue, err);
}

bool rebuild_orphans(const struct store *store, uint64_t stream, uint64_t *ret_after)
{
    const struct chain *chain = chains_find(&store->chains, span_text(REBUILD_ORPHANS));
    for (size_t i = 0; chain && i < chain->range_count; i++) {
        if (chain->ranges[i].stream == stream) {
            *ret_after = chain->ranges[i].after;
            return true;
        }
    }
    return false;
}

static bool is_claimed(const struct store *store, uint64_t stream, uint64_t after)
{
    for (size_t i = 0; i < store->chains.open_count; i++) {
        const struct chain *chain = store->chains.open[i];
        for (size_t j = chain->first_range; j < chain->range_count; j++) {
            if (chain->ranges[j].stream == stream && chain->ranges[j].after <= after) {
                return true;
            }
        }
    }
    return false;
}

void rebuild_claim(struct store *store)
{
    struct chain *chain = chains_find(&store->chains, span_text(REBUILD_ORPHANS));
    struct ids left = {.at = NULL};
    size_t claimed = 0;
    bool ok = true;
    for (size_t i = 0; ok && chain && i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        if (is_claimed(store, range->stream, range->after)) {
            claimed++;
        } else {
            ok = ids_add(&left, range->stream, NULL) && ids_add(&left, range->after, NULL);
        }
    }
    if (ok && claimed && chains_forget(&store->chains, chain, NULL)) {
        for (size_t i = 0; i < left.count; i += 2) {
            add_orphan(store, left.at[i], left.at[i + 1], NULL);
        }
        store->has_settled = true;
    }
    ids_fini(&left);
}

/* ---- all of them --------------------------------------------------------------------------------------------- */

/* In a running store somebody may have removed it. */
static bool is_missing(const struct rebuild *rebuild, uint64_t id)
{
    if (!segments_is_missing(rebuild->store->segments, id)) {
        return false;
    }
    store_tell(rebuild->store, STORE_NEWS_MISSING,
        "segment %016" PRIx64 " is not there any more: what was in it is lost", id);
    return true;
}

static bool scan_all(struct rebuild *rebuild, struct error *err)
{
    struct store *store = rebuild->store;
    struct ids ids = {.at = NULL};
    struct segment_info info;
    bool ok = true;
    for (size_t i = 0; ok && segments_get(store->segments, i, &info); i++) {
        ok = ids_add(&ids, info.id, err); /* files that are set aside leave the list */
    }
    for (size_t i = 0; ok && i < ids.count; i++) {
        ok = is_missing(rebuild, ids.at[i]) || rebuild_segment(rebuild, ids.at[i], 0, err);
    }
    ids_fini(&ids);
    return ok && rebuild_finish(rebuild, err);
}

static bool create(struct store *store, struct rebuild *rebuild, struct error *err)
{
    struct disk *disk = store->settings.disk;
    uint64_t epoch = 0;
    /* What was deleted is gone for good: what came back later would be of an epoch that nobody knows. */
    disk->ops->sync_folder(disk, store->settings.folder, NULL);
    while (epoch == 0) {
        if (!plat_random(&epoch, sizeof(epoch), err)) {
            return false;
        }
    }
    store->catalogue = catalogue_create(store->catalogue_path, epoch, span_make(NULL, 0), err);
    if (!store->catalogue) {
        return false;
    }
    if (!write_streams(store, err) || !scan_all(rebuild, err)) {
        return false;
    }
    store_step(store, "rebuild commit");
    if (!catalogue_commit(store->catalogue, err)) {
        return false;
    }
    store_step(store, "rebuilt");
    return true;
}

static void tell(
    struct store *store, const struct rebuild *rebuild, const char *aside, const char *why)
{
    store_tell(store, STORE_NEWS_REBUILT,
        "the spool's catalogue was made anew from its files (%s): %" PRIu64 " batches with %" PRIu64
        " records were found, and are delivered (again); %" PRIu64 " batches and %" PRIu64
        " other bytes cannot be read%s%s%s",
        why, rebuild->batches, rebuild->records, rebuild->damaged, rebuild->skipped_bytes,
        rebuild->damaged || rebuild->skipped_bytes ? ", see the folder 'damaged'" : "",
        aside[0] ? "; the old catalogue is now called " : "", aside);
}

/* Out of the way: a catalogue that cannot be read, another one in its place, or a log without one. An
 * empty one was about to be made, and can be. */
static bool set_aside(
    struct store *store, bool is_missing, char *ret_name, size_t size, struct error *err)
{
    char log_path[STORE_PATH_BYTES + 8];
    bool is_there = plat_path_kind(store->catalogue_path) != PLAT_PATH_NONE;
    snprintf(log_path, sizeof(log_path), "%s-wal", store->catalogue_path);
    if (is_there ? is_missing : plat_path_kind(log_path) == PLAT_PATH_NONE) {
        return true;
    }
    return damaged_catalogue(store, ret_name, size, err);
}

static bool remake(
    struct store *store, uint64_t last_id, bool is_missing, const char *why, struct error *err)
{
    char aside[64] = "";
    struct rebuild rebuild;
    catalogue_close(store->catalogue);
    store->catalogue = NULL;
    store_let_go(store);
    if (!set_aside(store, is_missing, aside, sizeof(aside), err)) {
        return false;
    }
    for (size_t i = 0; i < store->streams.count; i++) {
        store->streams.entries[i].is_written = false;
        store->streams.entries[i].settled = 0;
    }
    chains_unwritten(&store->chains);
    rebuild_init(&rebuild, store);
    rebuild.last_id = last_id;
    bool ok = create(store, &rebuild, err);
    if (ok) {
        chains_written(&store->chains);
        if (!store->is_fresh) {
            tell(store, &rebuild, aside, why);
        }
    } else {
        catalogue_close(store->catalogue); /* of which nothing was committed */
        store->catalogue = NULL;
    }
    rebuild_fini(&rebuild);
    return ok;
}

bool rebuild_all(struct store *store, const struct error *why, struct error *err)
{
    return remake(store, UINT64_MAX, why->code == ERR_MISSING, why->text, err);
}

bool rebuild_running(struct store *store, struct error *why)
{
    const struct error reason = *why;
    if (!remake(store, store->last_id, false, reason.text, why)) {
        return false;
    }
    store->is_announced = false;
    store->has_settled = true;
    store->deleting.count = 0; /* their files are found again, and given up again */
    store->gone.count = 0;
    return true;
}

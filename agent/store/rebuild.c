#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/catalogue/epochs.h"
#include "store/orphans.h"
#include "store/rebuild_own.h"
#include "store/state/stream_entry.h"

struct rebuild *rebuild_create(const struct folder *folder, struct segments *segments,
    struct streams *streams, struct chains *chains, struct ages *ages, struct damaged *damaged,
    const struct report *report)
{
    struct rebuild *rebuild = malloc(sizeof(*rebuild));
    if (rebuild) {
        *rebuild = (struct rebuild){.folder = folder,
            .segments = segments,
            .streams = streams,
            .chains = chains,
            .ages = ages,
            .damaged = damaged,
            .report = report};
    }
    return rebuild;
}

void rebuild_destroy(struct rebuild *rebuild)
{
    free(rebuild);
}

uint64_t rebuild_letters_lost(const struct rebuild *rebuild)
{
    return rebuild->letters_lost;
}

static void begin(struct rebuild *rebuild, struct catalogue *catalogue, uint64_t last_id)
{
    rebuild->catalogue = catalogue;
    rebuild->last_id = last_id;
    rebuild->batches = 0;
    rebuild->records = 0;
    rebuild->unreadable = 0;
    rebuild->skipped_bytes = 0;
    rebuild->next = (struct catalogue_counters){.batch = 0};
    buf_init(&rebuild->room, STORE_READ_ROOM_BYTES);
    struct stream_entry *stream;
    for (size_t i = 0; (stream = streams_at(rebuild->streams, i)); i++) {
        stream->found = 0;
    }
}

/* What was found waits for its outputs; numbers continue after all that were seen. */
static bool finish(struct rebuild *rebuild, struct error *err)
{
    const struct stream_entry *stream;
    for (size_t i = 0; (stream = streams_at(rebuild->streams, i)); i++) {
        if (stream->found &&
            (!catalogue_sum_again(rebuild->catalogue, stream->id, err) ||
                !orphans_add(rebuild->chains, rebuild->ages, stream->id, stream->found, err))) {
            return false;
        }
    }
    rebuild->next.stream = streams_next_id(rebuild->streams);
    rebuild->next.output = chains_next_id(rebuild->chains);
    return catalogue_raise(rebuild->catalogue, &rebuild->next, err) &&
           chains_write(rebuild->chains, rebuild->catalogue, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* In a running store another program may have removed it. */
static bool is_missing(const struct rebuild *rebuild, uint64_t id)
{
    if (!segments_is_missing(rebuild->segments, id)) {
        return false;
    }
    report_news(rebuild->report, STORE_NEWS_MISSING,
        "segment %016" PRIx64 " is not there any more: what was in it is lost", id);
    return true;
}

static bool scan_all(struct rebuild *rebuild, struct error *err)
{
    struct ids ids = {.at = NULL};
    struct segment_info info;
    bool ok = true;
    for (size_t i = 0; ok && segments_get(rebuild->segments, i, &info); i++) {
        ok = ids_add(&ids, info.id, err); /* files that are set aside leave the list */
    }
    for (size_t i = 0; ok && i < ids.count; i++) {
        ok = is_missing(rebuild, ids.at[i]) || rebuild_segment(rebuild, ids.at[i], 0, err);
    }
    ids_fini(&ids);
    return ok && finish(rebuild, err);
}

static bool fill(struct rebuild *rebuild, struct error *err)
{
    if (!rebuild_put_streams(rebuild, err) || !scan_all(rebuild, err) ||
        !rebuild_letters(rebuild, err)) {
        return false;
    }
    report_step(rebuild->report, "rebuild commit");
    if (!catalogue_commit(rebuild->catalogue, err)) {
        return false;
    }
    report_step(rebuild->report, "rebuilt");
    return true;
}

static struct catalogue *create(struct rebuild *rebuild, uint64_t last_id, struct error *err)
{
    uint64_t epoch;
    /* Deleted files stay deleted: a file that reappeared later would have an unknown epoch. */
    segments_sync_folder(rebuild->segments, NULL);
    if (!epochs_draw(&epoch, err)) {
        return NULL;
    }
    struct catalogue *catalogue = catalogue_create(
        folder_catalogue(rebuild->folder), epoch, span_make(NULL, 0), err);
    if (catalogue) {
        begin(rebuild, catalogue, last_id);
        if (!fill(rebuild, err)) {
            catalogue_close(catalogue); /* of which nothing was committed */
            catalogue = NULL;
        }
        buf_fini(&rebuild->room);
    }
    return catalogue;
}

static void tell(const struct rebuild *rebuild, const char *aside, const char *why)
{
    report_news(rebuild->report, STORE_NEWS_REBUILT,
        "the agent rebuilt the catalogue of the spool from its files (%s): %" PRIu64
        " batches with %" PRIu64 " records were found, and are delivered (again); %" PRIu64
        " batches and %" PRIu64 " other bytes cannot be read%s%s%s",
        why, rebuild->batches, rebuild->records, rebuild->unreadable, rebuild->skipped_bytes,
        rebuild->unreadable || rebuild->skipped_bytes ? ", see the folder 'damaged'" : "",
        aside[0] ? "; the old catalogue is now called " : "", aside);
}

static struct catalogue *remake(struct rebuild *rebuild, uint64_t last_id, bool is_missing,
    bool is_new, const char *why, struct error *err)
{
    char aside[64] = "";
    report_close_readers(rebuild->report);
    /* An empty one was about to be made, and can be. */
    bool is_empty = is_missing &&
                    plat_path_kind(folder_catalogue(rebuild->folder)) != PLAT_PATH_NONE;
    if (!is_empty && !damaged_catalogue(rebuild->damaged, aside, sizeof(aside), err)) {
        return NULL;
    }
    streams_unwritten(rebuild->streams);
    chains_unwritten(rebuild->chains);
    struct catalogue *catalogue = create(rebuild, last_id, err);
    if (catalogue) {
        /* Another program may have opened the old one again before it was out of the way. */
        report_close_readers(rebuild->report);
        chains_written(rebuild->chains);
        if (!is_new) {
            tell(rebuild, aside, why);
        }
    }
    return catalogue;
}

struct catalogue *rebuild_at_start(
    struct rebuild *rebuild, const struct error *why, bool is_new, struct error *err)
{
    return remake(rebuild, UINT64_MAX, why->code == ERR_MISSING, is_new, why->text, err);
}

struct catalogue *rebuild_running(struct rebuild *rebuild, uint64_t last_id, struct error *why)
{
    const struct error reason = *why;
    return remake(rebuild, last_id, false, false, reason.text, why);
}

bool rebuild_adopt(struct rebuild *rebuild, struct catalogue *catalogue, const struct ids *tails,
    struct error *err)
{
    begin(rebuild, catalogue, UINT64_MAX);
    report_step(rebuild->report, "adopt");
    bool ok = catalogue_begin(catalogue, err);
    for (size_t i = 0; ok && i < tails->count; i += 2) {
        ok = rebuild_segment(rebuild, tails->at[i], tails->at[i + 1], err);
    }
    ok = ok && finish(rebuild, err) && catalogue_commit(catalogue, err);
    if (ok) {
        report_step(rebuild->report, "adopted");
        chains_written(rebuild->chains);
        report_news(rebuild->report, STORE_NEWS_REBUILT,
            "the spool's catalogue is older than its files: %" PRIu64 " batches with %" PRIu64
            " records were put back into it; %" PRIu64 " cannot be read",
            rebuild->batches, rebuild->records, rebuild->unreadable);
    } else {
        catalogue_rollback(catalogue);
    }
    buf_fini(&rebuild->room);
    return ok;
}

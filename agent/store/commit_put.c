#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_progress.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/commit_own.h"
#include "store/state/stage.h"
#include "store/state/stage_entry.h"

static bool put_source(struct catalogue *catalogue, struct span session, uint64_t stream,
    uint64_t sequence, bool may_fall, struct error *err)
{
    const struct catalogue_source source = {
        .session = session, .stream = stream, .sequence = sequence};
    bool found;
    uint64_t old = 0;
    return catalogue_find_source(catalogue, session, stream, &old, &found, err) &&
           ((found && old >= sequence && !may_fall) ||
               catalogue_put_source(catalogue, &source, err));
}

/* Batches of one file follow each other: its row is put with the last of them in mind. */
static bool put_segments(const struct commit *commit, struct error *err)
{
    size_t count = pending_count(commit->pending);
    for (size_t i = 0; i < count; i++) {
        const struct store_row *row = pending_row(commit->pending, i);
        bool is_first = i == 0 || pending_row(commit->pending, i - 1)->segment != row->segment;
        bool is_last = i + 1 == count ||
                       pending_row(commit->pending, i + 1)->segment != row->segment;
        const struct catalogue_segment segment = {
            .id = row->segment, .bytes = row->offset + row->disk_bytes};
        if ((is_first || is_last) && !catalogue_put_segment(commit->catalogue, &segment, err)) {
            return false;
        }
    }
    return true;
}

static bool put_batch(struct commit *commit, size_t index, struct error *err)
{
    const struct store_row *from = pending_row(commit->pending, index);
    const struct catalogue_batch row = {.id = from->id,
        .stream = from->stream,
        .segment = from->segment,
        .offset = from->offset,
        .bytes = from->disk_bytes,
        .raw_bytes = from->body_bytes,
        .epoch = from->epoch,
        .first_record = from->first_record,
        .records = from->records,
        .first_time = from->first_time,
        .last_time = from->last_time,
        .entered = from->entered};
    commit->bytes += from->disk_bytes;
    return catalogue_put_batch(commit->catalogue, &row, err);
}

/* The last batch first, so that what earlier ones say of a session need not be written. */
static bool put_sources(const struct commit *commit, struct error *err)
{
    bool ok = true;
    for (size_t i = pending_count(commit->pending); ok && i-- > 0;) {
        size_t count;
        uint64_t stream = pending_row(commit->pending, i)->stream;
        const struct frame_source *sources = pending_sources(commit->pending, i, &count);
        for (size_t k = 0; ok && k < count; k++) {
            ok = put_source(
                commit->catalogue, sources[k].session, stream, sources[k].sequence, false, err);
        }
    }
    return ok;
}

bool commit_put_batches(struct commit *commit, struct error *err)
{
    bool ok = put_segments(commit, err);
    for (size_t i = 0; ok && i < pending_count(commit->pending); i++) {
        ok = put_batch(commit, i, err);
    }
    return ok && put_sources(commit, err);
}

static bool put_gap(struct catalogue *catalogue, const struct stage_entry *entry, struct error *err)
{
    const struct catalogue_gap gap = {.session = entry->texts[0],
        .output = entry->texts[1],
        .stage = entry->texts[2],
        .reason = entry->texts[3],
        .unit = entry->texts[4],
        .count = entry->numbers[0],
        .exact = entry->numbers[1] != 0,
        .from = entry->numbers[2],
        .to = entry->numbers[3]};
    return gap.count ? catalogue_put_gap(catalogue, &gap, err)
                     : catalogue_remove_gap(catalogue, &gap, err);
}

static bool put_done(
    struct catalogue *catalogue, const struct stage_entry *entry, struct error *err)
{
    struct catalogue_done done = {.session = entry->texts[0], .sequence = entry->numbers[0]};
    memcpy(done.file_id, entry->texts[1].data, sizeof(done.file_id));
    return catalogue_put_done(catalogue, &done, err);
}

/* Not of what is settled, or of an output that was removed meanwhile. */
static bool put_leftover(
    const struct commit *commit, const struct stage_entry *entry, struct error *err)
{
    const struct catalogue_leftover leftover = {
        .output = entry->numbers[0], .batch = entry->numbers[1], .left = entry->texts[0]};
    return leftover.batch <= chains_position(commit->chains, leftover.output) ||
           catalogue_put_leftover(commit->catalogue, &leftover, err);
}

static bool put_entry(struct commit *commit, const struct stage_entry *entry, struct error *err)
{
    struct catalogue *catalogue = commit->catalogue;
    switch (entry->kind) {
    case STAGE_SOURCE:
        return put_source(catalogue, entry->texts[0], entry->numbers[0], entry->numbers[1],
            entry->numbers[2] != 0, err);
    case STAGE_STATE:
        return catalogue_put_state(catalogue, entry->texts[0], entry->texts[1], err);
    case STAGE_LIVE:
        return catalogue_put_live(catalogue, entry->texts[0], entry->numbers[0], err);
    case STAGE_DONE:
        return put_done(catalogue, entry, err);
    case STAGE_GAP:
        return put_gap(catalogue, entry, err);
    case STAGE_LEFTOVER:
        return put_leftover(commit, entry, err);
    case STAGE_REMOVED:
        return catalogue_remove_batch(catalogue, entry->numbers[0], err);
    case STAGE_PROGRESS: {
        const struct catalogue_progress progress = {
            .output = entry->texts[0], .sessions = entry->texts[1], .checkpoint = entry->texts[2]};
        return catalogue_put_progress(catalogue, &progress, err);
    }
    case STAGE_KINDS:
        break;
    }
    return true;
}

bool commit_put_is_bound(const struct stage_entry *entry)
{
    return entry->kind == STAGE_SOURCE || entry->kind == STAGE_STATE || entry->kind == STAGE_LIVE ||
           entry->kind == STAGE_DONE || (entry->kind == STAGE_GAP && entry->numbers[0] == 0);
}

bool commit_put_stage(struct commit *commit, struct error *err)
{
    const struct stage_entry *entry;
    bool ok = true;
    for (size_t i = 0; ok && (entry = stage_at(commit->stage, i)); i++) {
        ok = (!commit->has_batches && commit_put_is_bound(entry)) || put_entry(commit, entry, err);
    }
    return ok;
}

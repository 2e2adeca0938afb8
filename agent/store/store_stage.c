#include "store/store_own.h"

#include "store/catalogue/catalogue_sources.h"
#include "store/state/stage.h"
#include "store/state/stage_entry.h"
#include "store/state/streams.h"

/* ---- what else becomes true with a commit ---------------------------------------------------- */

/* Values that the catalogue would refuse are refused here, before they can make every commit
 * fail. */
bool store_is_too_long(struct span name, struct span value, struct error *err)
{
    return (name.size == 0 || name.size > STORE_NAME_MAX || value.size > STORE_VALUE_MAX) &&
           !error_set(err, ERR_LIMIT, "a name has 1 to %d bytes, a value up to %d", STORE_NAME_MAX,
               STORE_VALUE_MAX);
}

static bool stage_source(struct store *store, struct span session, uint64_t stream,
    uint64_t sequence, bool may_fall, struct error *err)
{
    const struct stage_entry entry = {
        .kind = STAGE_SOURCE, .numbers = {stream, sequence, may_fall}, .texts = {session}};
    if (!streams_get(store->streams, stream)) {
        return error_set(err, ERR_MISSING, "there is no stream %llu", (unsigned long long)stream);
    }
    return numbers_check(sequence, err) && !store_is_too_long(session, span_make(NULL, 0), err) &&
           stage_put(store->stage, &entry, err);
}

bool store_source(
    struct store *store, struct span session, uint64_t stream, uint64_t sequence, struct error *err)
{
    return stage_source(store, session, stream, sequence, false, err);
}

bool store_source_from(
    struct store *store, struct span session, uint64_t stream, uint64_t sequence, struct error *err)
{
    return stage_source(store, session, stream, sequence, true, err);
}

bool store_source_state(
    struct store *store, struct span session, struct span state, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_STATE, .texts = {session, state}};
    return !store_is_too_long(session, state, err) && stage_put(store->stage, &entry, err);
}

bool store_done(struct store *store, struct span session, const uint8_t file_id[16],
    uint64_t sequence, struct error *err)
{
    const struct stage_entry entry = {
        .kind = STAGE_DONE, .numbers = {sequence}, .texts = {session, span_make(file_id, 16)}};
    return numbers_check(sequence, err) && !store_is_too_long(session, span_make(NULL, 0), err) &&
           stage_put(store->stage, &entry, err);
}

bool store_live(struct store *store, struct span session, uint64_t time, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_LIVE, .numbers = {time}, .texts = {session}};
    return !store_is_too_long(session, span_make(NULL, 0), err) &&
           stage_put(store->stage, &entry, err);
}

bool store_gap(struct store *store, const struct catalogue_gap *gap, struct error *err)
{
    const struct stage_entry entry = {.kind = STAGE_GAP,
        .numbers = {gap->count, gap->exact, gap->from, gap->to},
        .texts = {gap->session, gap->output, gap->stage, gap->reason, gap->unit}};
    for (size_t i = 0; i < 5; i++) {
        if (entry.texts[i].size > STORE_NAME_MAX) {
            return error_set(err, ERR_LIMIT, "a name has up to %d bytes", STORE_NAME_MAX);
        }
    }
    return numbers_check(gap->count, err) && stage_put(store->stage, &entry, err);
}

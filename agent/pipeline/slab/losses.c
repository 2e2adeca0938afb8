#include "pipeline/slab/losses.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/grow.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/store.h"

/*
 * A gap that an output loses is counted with the agent's own events and opens no gap, so an output
 * that refuses gaps causes no further ones. One that refuses events in every batch causes one gap
 * per gap_age.
 *
 * The mutex guards the open gaps and is held while one is handed to the queue: lock order is
 * losses, then queue. The thread that ships sleeps until `due_ns`; who sets that earlier, signals.
 */
enum {
    NO_MEMORY_WAIT_MS = 50,
    HELD = OUTPUT_DROP_COUNT, /* by limits */
    MAYBE_LOST,               /* in a connection that broke, perhaps */
    REASONS,
    MAX_STRANGERS = 1000, /* more of them stay in the store for the next run */
};

struct open_loss {
    uint64_t count; /* 0: nothing is open */
    struct time_range times;
    uint64_t due_ns;         /* not before */
    atomic_size_t in_flight; /* its last gap has not been sealed */

    /* Of what a store keeps. */
    struct { /* what was shipped, and may not be in the store yet */
        uint64_t count;
        struct time_range times;
    } shipped;
    bool sealed; /* that was in a batch when the commit began */
    bool stored; /* the store knows of it */
};

/* A loss whose session or output this run does not have. */
struct stranger {
    size_t session; /* that it is told in */
    char words[5][STORE_NAME_MAX + 1];
    bool exact;
    struct open_loss loss;
};
enum { WORD_SESSION, WORD_OUTPUT, WORD_STAGE, WORD_REASON, WORD_UNIT };

struct losses {
    size_t session_count;
    size_t output_count;
    uint64_t gap_age_ns;
    struct slab_queue *queue;
    bool *comes_again;
    atomic_bool passes_on;
    atomic_bool held;
    const char **outputs;
    const char *const *sessions;

    struct plat_mutex mutex;
    /* Losses have numbers: (session * rows + row) * REASONS + reason, strangers after them. */
    struct open_loss *open;
    size_t open_count; /* of those */
    struct stranger **strangers;
    size_t stranger_count;
    uint64_t due_ns;          /* of the first; UINT64_MAX: none is open */
    struct plat_cond changed; /* that, or it is over */
    struct plat_thread *thread;
    bool over;
};

/* Outputs, and what none has had. */
static size_t row_count(const struct losses *losses)
{
    return losses->output_count + 1;
}

struct losses *losses_create(const struct losses_settings *settings, struct error *err)
{
    struct losses *losses = calloc(1, sizeof(*losses));
    if (losses) {
        losses->session_count = settings->session_count;
        losses->output_count = settings->output_count;
        losses->gap_age_ns = settings->gap_age_ns;
        losses->queue = settings->queue;
        losses->sessions = settings->sessions;
        losses->open_count = settings->session_count * row_count(losses) * REASONS;
        plat_mutex_init(&losses->mutex);
        plat_cond_init(&losses->changed);
        losses->due_ns = UINT64_MAX;
        atomic_init(&losses->passes_on, !settings->ends_with_us);
        atomic_init(&losses->held, false);
        losses->comes_again = calloc(settings->session_count + 1, sizeof(*losses->comes_again));
        losses->outputs = calloc(settings->output_count + 1, sizeof(*losses->outputs));
        losses->open = calloc(losses->open_count + 1, sizeof(*losses->open));
    }
    if (!losses || !losses->comes_again || !losses->outputs || !losses->open) {
        losses_destroy(losses);
        error_set(err, ERR_MEMORY, "out of memory for gaps");
        return NULL;
    }
    for (size_t i = 0; i < settings->session_count; i++) {
        losses->comes_again[i] = settings->comes_again[i];
    }
    for (size_t i = 0; i < settings->output_count; i++) {
        losses->outputs[i] = settings->outputs[i];
    }
    for (size_t i = 0; i < losses->open_count; i++) {
        atomic_init(&losses->open[i].in_flight, 0);
    }
    return losses;
}

void losses_destroy(struct losses *losses)
{
    if (losses) {
        plat_cond_fini(&losses->changed);
        plat_mutex_fini(&losses->mutex);
        free(losses->comes_again);
        free(losses->outputs);
        for (size_t i = 0; i < losses->stranger_count; i++) {
            free(losses->strangers[i]);
        }
        free((void *)losses->strangers);
        free(losses->open);
        free(losses);
    }
}

bool losses_comes_again(const struct losses *losses, size_t session)
{
    return losses->comes_again[session] && atomic_load(&losses->passes_on);
}

void losses_expect_successor(struct losses *losses)
{
    atomic_store(&losses->passes_on, true);
}

void losses_hold(struct losses *losses)
{
    atomic_store(&losses->held, true);
}

bool losses_are_held(const struct losses *losses)
{
    return atomic_load(&losses->held);
}

/* ${open} has become open. Holds the mutex. */
static void note_due(struct losses *losses, const struct open_loss *open)
{
    if (open->due_ns < losses->due_ns) {
        losses->due_ns = open->due_ns;
        plat_cond_signal(&losses->changed);
    }
}

void losses_add(struct losses *losses, const struct loss *loss)
{
    size_t reason = loss->held ? HELD : loss->maybe_lost ? MAYBE_LOST : loss->reason;
    bool settled = reason != OUTPUT_DROP_ENDED && reason != OUTPUT_DROP_STOPPED;
    if (loss->count == 0 || (!settled && losses_comes_again(losses, loss->session))) {
        return;
    }
    size_t row = loss->output == SIZE_MAX ? losses->output_count : loss->output;
    size_t index = (loss->session * row_count(losses) + row) * REASONS + reason;
    plat_mutex_lock(&losses->mutex);
    struct open_loss *open = &losses->open[index];
    open->count += loss->count;
    time_range_add(&open->times, loss->times);
    note_due(losses, open);
    plat_mutex_unlock(&losses->mutex);
}

void losses_add_records(struct losses *losses, const struct batch *batch, size_t first,
    size_t count, size_t output, enum output_drop reason)
{
    size_t end = first + count;
    for (size_t i = batch_segment_of(batch, first); first < end; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        size_t stop = segment->record_end < end ? segment->record_end : end;
        struct loss loss = {.session = segment->session,
            .output = output,
            .reason = reason,
            .count = stop - first,
            .times = segment->times};
        losses_add(losses, &loss);
        first = stop;
    }
}

static size_t loss_count(const struct losses *losses)
{
    return losses->open_count + losses->stranger_count;
}

/* Loss number ${index}, if it is one. */
static const struct stranger *stranger_at(const struct losses *losses, size_t index)
{
    return index < losses->open_count ? NULL : losses->strangers[index - losses->open_count];
}

static struct open_loss *loss_at(struct losses *losses, size_t index)
{
    return index < losses->open_count ? &losses->open[index]
                                      : &losses->strangers[index - losses->open_count]->loss;
}

static size_t session_of(const struct losses *losses, size_t index)
{
    const struct stranger *stranger = stranger_at(losses, index);
    return stranger ? stranger->session : index / REASONS / row_count(losses);
}

/* The words of loss number ${index}. */
static struct gap words_of(const struct losses *losses, size_t index)
{
    const struct stranger *stranger = stranger_at(losses, index);
    if (stranger) {
        return (struct gap){.stage = stranger->words[WORD_STAGE],
            .reason = stranger->words[WORD_REASON],
            .unit = stranger->words[WORD_UNIT],
            .exact = stranger->exact,
            .output = stranger->words[WORD_OUTPUT][0] ? stranger->words[WORD_OUTPUT] : NULL};
    }
    size_t row = index / REASONS % row_count(losses);
    bool no_output = row == losses->output_count;
    bool held = index % REASONS == HELD;
    if (index % REASONS >= HELD) {
        return (struct gap){.stage = held ? "filter" : "output",
            .reason = held ? "limit" : "connection_broke",
            .unit = "events",
            .exact = held,
            .output = no_output ? NULL : losses->outputs[row]};
    }
    enum output_drop reason = (enum output_drop)(index % REASONS);
    bool undecoded = no_output && reason == OUTPUT_DROP_STOPPED;
    return (struct gap){.stage = undecoded ? ledger_session_drop_stage(SESSION_DROP_STOPPED)
                                           : ledger_output_drop_stage(reason),
        .reason = ledger_output_drop_reason(reason),
        .unit = "events",
        .exact = true,
        .output = no_output ? NULL : losses->outputs[row]};
}

static void fill_gap(struct losses *losses, size_t index, struct slab *slab)
{
    const struct open_loss *open = loss_at(losses, index);
    slab->gap = words_of(losses, index);
    slab->gap.count = open->count;
    slab->gap.from = open->times.from;
    slab->gap.to = open->times.to;
    slab->now = open->times.to ? open->times.to : plat_now_filetime();
    slab->counts.gaps = 1;
}

/* Hand one to the queue. False: there is no memory, and it stays open. Holds the mutex. */
static bool ship(struct losses *losses, size_t index)
{
    struct open_loss *open = loss_at(losses, index);
    size_t session = session_of(losses, index);
    struct slab *slab = slab_create(SLAB_GAP, (uint32_t)session, 0, NULL);
    if (!slab) {
        return false;
    }
    fill_gap(losses, index, slab);
    atomic_fetch_add(&open->in_flight, 1);
    slab->in_flight = &open->in_flight;
    if (slab_queue_push_now(losses->queue, slab) == SLAB_PUSHED) {
        open->shipped.count += open->count;
        time_range_add(&open->shipped.times, open->times);
        open->sealed = false;
        open->count = 0;
        open->times = (struct time_range){0};
    } else {
        slab_destroy(slab);
    }
    return true;
}

/* Ship what is due at ${now}; UINT64_MAX: all that is open. False: there is no memory for some. */
static bool ship_due(struct losses *losses, uint64_t now)
{
    bool all = now == UINT64_MAX;
    bool ok = true;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < loss_count(losses); i++) {
        struct open_loss *open = loss_at(losses, i);
        if (open->count && (all || now >= open->due_ns)) {
            if (all || atomic_load(&open->in_flight) == 0) {
                ok = ship(losses, i) && ok;
            }
            open->due_ns = all ? 0 : now + losses->gap_age_ns;
        }
        if (open->count && open->due_ns < next) {
            next = open->due_ns;
        }
    }
    losses->due_ns = next;
    return ok;
}

void losses_ship(struct losses *losses)
{
    plat_mutex_lock(&losses->mutex);
    if (!losses_are_held(losses)) {
        ship_due(losses, plat_monotonic_ns());
    }
    plat_mutex_unlock(&losses->mutex);
}

static void run(void *self)
{
    struct losses *losses = self;
    plat_mutex_lock(&losses->mutex);
    while (!losses->over) {
        uint64_t due = losses_are_held(losses) ? UINT64_MAX : losses->due_ns;
        if (due > plat_monotonic_ns()) {
            plat_cond_wait_until(&losses->changed, &losses->mutex, due);
            continue;
        }
        plat_mutex_unlock(&losses->mutex);
        losses_ship(losses);
        plat_mutex_lock(&losses->mutex);
    }
    plat_mutex_unlock(&losses->mutex);
}

bool losses_start(struct losses *losses, struct error *err)
{
    losses->thread = plat_thread_start("gaps", run, losses, err);
    return losses->thread != NULL;
}

void losses_stop(struct losses *losses)
{
    plat_mutex_lock(&losses->mutex);
    losses->over = true;
    plat_cond_signal(&losses->changed);
    plat_mutex_unlock(&losses->mutex);
    plat_thread_join(losses->thread);
    losses->thread = NULL;
}

void losses_close(struct losses *losses)
{
    plat_mutex_lock(&losses->mutex);
    while (!ship_due(losses, UINT64_MAX) && !slab_queue_is_cancelled(losses->queue)) {
        plat_mutex_unlock(&losses->mutex);
        plat_sleep_ms(NO_MEMORY_WAIT_MS);
        plat_mutex_lock(&losses->mutex);
    }
    plat_mutex_unlock(&losses->mutex);
}

/* ---- by their names -------------------------------------------------------------------------- */

/* The key of loss ${index} in the store. */
static struct catalogue_gap key_of(const struct losses *losses, size_t index)
{
    const struct stranger *stranger = stranger_at(losses, index);
    struct gap words = words_of(losses, index);
    return (struct catalogue_gap){
        .session = span_text(
            stranger ? stranger->words[WORD_SESSION] : losses->sessions[session_of(losses, index)]),
        .output = span_text(words.output),
        .stage = span_text(words.stage),
        .reason = span_text(words.reason),
        .unit = span_text(words.unit),
        .exact = words.exact};
}

static bool has_key(const struct losses *losses, size_t index, const struct catalogue_gap *gap)
{
    struct catalogue_gap key = key_of(losses, index);
    return span_equal(key.session, gap->session) && span_equal(key.output, gap->output) &&
           span_equal(key.stage, gap->stage) && span_equal(key.reason, gap->reason) &&
           span_equal(key.unit, gap->unit);
}

/* Without memory it stays in the store, for the next run. */
static struct open_loss *add_stranger(struct losses *losses, const struct catalogue_gap *gap)
{
    const struct span words[] = {[WORD_SESSION] = gap->session,
        [WORD_OUTPUT] = gap->output,
        [WORD_STAGE] = gap->stage,
        [WORD_REASON] = gap->reason,
        [WORD_UNIT] = gap->unit};
    bool has_room = grow_array(
        &losses->strangers, losses->stranger_count + 1, sizeof(*losses->strangers));
    struct stranger *stranger = has_room ? calloc(1, sizeof(*stranger)) : NULL;
    if (!stranger) {
        return NULL;
    }
    stranger->session = losses->session_count - 1; /* the agent itself */
    stranger->exact = gap->exact;
    for (size_t i = 0; i < losses->session_count; i++) {
        if (span_is(gap->session, losses->sessions[i])) {
            stranger->session = i;
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = words[i].size < STORE_NAME_MAX ? words[i].size : STORE_NAME_MAX;
        if (size) {
            memcpy(stranger->words[i], words[i].data, size);
        }
    }
    losses->strangers[losses->stranger_count++] = stranger;
    atomic_init(&stranger->loss.in_flight, 0);
    return &stranger->loss;
}

/* Add to the loss that the store calls so. NULL: there is no memory for it. Holds the mutex. */
static struct open_loss *add_named(struct losses *losses, const struct catalogue_gap *gap)
{
    struct open_loss *open = NULL;
    for (size_t i = 0; !open && i < loss_count(losses); i++) {
        open = has_key(losses, i, gap) ? loss_at(losses, i) : NULL;
    }
    if (!open && losses->stranger_count < MAX_STRANGERS) {
        open = add_stranger(losses, gap);
    }
    if (open) {
        open->count += gap->count;
        time_range_add(&open->times, (struct time_range){.from = gap->from, .to = gap->to});
        note_due(losses, open);
    }
    return open;
}

static bool load_one(void *self, const struct catalogue_gap *gap)
{
    struct open_loss *open = add_named(self, gap);
    if (open) {
        open->stored = true;
    }
    return true;
}

void losses_add_stranger(struct losses *losses, struct span output, enum output_drop reason,
    uint64_t count, struct time_range times)
{
    const struct catalogue_gap gap = {
        .session = span_text(losses->sessions[losses->session_count - 1]),
        .output = output,
        .stage = span_text(ledger_output_drop_stage(reason)),
        .reason = span_text(ledger_output_drop_reason(reason)),
        .unit = span_text("events"),
        .count = count,
        .exact = true,
        .from = times.from,
        .to = times.to};
    plat_mutex_lock(&losses->mutex);
    add_named(losses, &gap);
    plat_mutex_unlock(&losses->mutex);
}

/* ---- from one run to the next in this process ------------------------------------------------ */

struct loss_left {
    char words[5][STORE_NAME_MAX + 1];
    uint64_t count;
    bool exact;
    struct time_range times;
};

static void copy_word(char to[STORE_NAME_MAX + 1], struct span word)
{
    struct span part = span_first(word, STORE_NAME_MAX);
    if (part.size) {
        memcpy(to, part.data, part.size);
    }
}

static bool hand_over_one(struct losses *losses, size_t index, struct losses_left *left)
{
    struct open_loss *open = loss_at(losses, index);
    struct catalogue_gap key = key_of(losses, index);
    bool has_room = grow_array(&left->items, left->count + 1, sizeof(*left->items));
    struct loss_left *item = has_room ? calloc(1, sizeof(*item)) : NULL;
    if (!item) {
        return false;
    }
    copy_word(item->words[WORD_SESSION], key.session);
    copy_word(item->words[WORD_OUTPUT], key.output);
    copy_word(item->words[WORD_STAGE], key.stage);
    copy_word(item->words[WORD_REASON], key.reason);
    copy_word(item->words[WORD_UNIT], key.unit);
    item->count = open->count;
    item->exact = key.exact;
    item->times = open->times;
    left->items[left->count++] = item;
    open->count = 0;
    open->times = (struct time_range){0};
    return true;
}

bool losses_hand_over(struct losses *losses, struct losses_left *left)
{
    bool ok = true;
    plat_mutex_lock(&losses->mutex);
    for (size_t i = 0; i < loss_count(losses); i++) {
        ok = (loss_at(losses, i)->count == 0 || hand_over_one(losses, i, left)) && ok;
    }
    plat_mutex_unlock(&losses->mutex);
    return ok;
}

void losses_take(struct losses *losses, struct losses_left *left)
{
    size_t kept = 0;
    plat_mutex_lock(&losses->mutex);
    for (size_t i = 0; i < left->count; i++) {
        struct loss_left *item = left->items[i];
        const struct catalogue_gap gap = {.session = span_text(item->words[WORD_SESSION]),
            .output = span_text(item->words[WORD_OUTPUT]),
            .stage = span_text(item->words[WORD_STAGE]),
            .reason = span_text(item->words[WORD_REASON]),
            .unit = span_text(item->words[WORD_UNIT]),
            .count = item->count,
            .exact = item->exact,
            .from = item->times.from,
            .to = item->times.to};
        if (add_named(losses, &gap)) {
            free(item);
        } else {
            left->items[kept++] = item;
        }
    }
    left->count = kept;
    plat_mutex_unlock(&losses->mutex);
}

void losses_left_fini(struct losses_left *left)
{
    for (size_t i = 0; i < left->count; i++) {
        free(left->items[i]);
    }
    free((void *)left->items);
    *left = (struct losses_left){.items = NULL};
}

/* ---- over restarts, in a store --------------------------------------------------------------- */

bool losses_load(struct losses *losses, struct store *store, struct error *err)
{
    plat_mutex_lock(&losses->mutex);
    struct catalogue *catalogue = store_catalogue(store, err);
    bool ok = catalogue && catalogue_gaps(catalogue, load_one, losses, err);
    plat_mutex_unlock(&losses->mutex);
    return ok;
}

void losses_begin(struct losses *losses)
{
    plat_mutex_lock(&losses->mutex);
    for (size_t i = 0; i < loss_count(losses); i++) {
        struct open_loss *open = loss_at(losses, i);
        open->sealed = atomic_load(&open->in_flight) == 0;
    }
    plat_mutex_unlock(&losses->mutex);
}

/* Tell the store of a loss that it does not know as it is. */
static bool stage_one(struct losses *losses, size_t index, struct store *store, struct error *err)
{
    struct open_loss *open = loss_at(losses, index);
    struct catalogue_gap gap = key_of(losses, index);
    struct time_range times = open->times;
    time_range_add(&times, open->shipped.times);
    gap.count = open->count + open->shipped.count;
    gap.from = times.from;
    gap.to = times.to;
    bool ok = store_gap(store, &gap, err);
    open->stored = ok ? gap.count > 0 : open->stored;
    return ok;
}

bool losses_stage(struct losses *losses, struct store *store, bool all, struct error *err)
{
    bool ok = true;
    plat_mutex_lock(&losses->mutex);
    for (size_t i = 0; ok && i < loss_count(losses); i++) {
        struct open_loss *open = loss_at(losses, i);
        if (open->sealed && all) {
            open->shipped.count = 0;
            open->shipped.times = (struct time_range){0};
        }
        if (open->count || open->shipped.count || open->stored) {
            ok = stage_one(losses, i, store, err);
        }
    }
    plat_mutex_unlock(&losses->mutex);
    return ok;
}

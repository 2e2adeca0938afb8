#include "pipeline/work/tap.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_thread.h"

/*
 * Locks: the hub's mutex guards its list and the counts of users, and is held for a moment per slab
 * while a tap is open; a tap's mutex guards its room, and is held while a text is copied.
 * Scratches belong to one worker and session
 * each, and are made by that worker when it needs them.
 *
 * Workers read `tokens`, `looks` and `full` for every event, so these lie apart from what changes
 * often: fetching a number from another processor takes as long as decoding a small event.
 */
enum { CACHE_LINE_BYTES = 64 };

struct tap {
    struct tap_hub *hub;
    struct tap_settings settings;
    size_t users; /* workers, and the tap's owner; guarded by the hub's mutex */
    uint8_t gap_before[CACHE_LINE_BYTES];
    atomic_int_fast64_t tokens; /* events that may be given */
    atomic_int_fast64_t looks;  /* events that the filter may be asked about */
    atomic_bool full;           /* a text found no room: none is written until some is taken */
    uint8_t gap_after[CACHE_LINE_BYTES];
    atomic_bool over;
    atomic_uint_fast64_t omitted;
    uint64_t rest_ns; /* of the tap's owner: a fraction of a token */
    uint64_t rest_looks_ns;
    struct filter_scratch **scratches;

    struct plat_mutex mutex;
    struct buf room;
};

struct tap_hub {
    struct plat_mutex mutex;
    atomic_size_t count; /* of open taps, to be looked at without the mutex */
    struct tap *taps[TAP_MAX];
};

static const uint64_t second_ns = UINT64_C(1000000000);

struct tap_hub *tap_hub_create(struct error *err)
{
    struct tap_hub *hub = calloc(1, sizeof(*hub));
    if (!hub) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    plat_mutex_init(&hub->mutex);
    return hub;
}

void tap_hub_destroy(struct tap_hub *hub)
{
    if (hub) {
        plat_mutex_fini(&hub->mutex);
        free(hub);
    }
}

static void destroy(struct tap *tap)
{
    size_t count = tap->settings.worker_count * tap->settings.session_count;
    for (size_t i = 0; tap->scratches && i < count; i++) {
        if (tap->scratches[i]) {
            filter_scratch_fini(tap->scratches[i]);
            free(tap->scratches[i]);
        }
    }
    free(tap->scratches);
    filter_destroy(tap->settings.filter);
    buf_fini(&tap->room);
    plat_mutex_fini(&tap->mutex);
    free(tap);
}

/* With the hub's mutex. True: nothing uses it any more. */
static bool let_go(struct tap *tap)
{
    return --tap->users == 0;
}

/* With the hub's mutex. */
static void take_off(struct tap_hub *hub, const struct tap *tap)
{
    for (size_t i = 0; i < TAP_MAX; i++) {
        if (hub->taps[i] == tap) {
            hub->taps[i] = NULL;
            atomic_fetch_sub(&hub->count, 1);
        }
    }
}

void tap_hub_end(struct tap_hub *hub)
{
    if (!hub) {
        return;
    }
    plat_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < TAP_MAX; i++) {
        if (hub->taps[i]) {
            atomic_store(&hub->taps[i]->over, true);
            take_off(hub, hub->taps[i]);
        }
    }
    plat_mutex_unlock(&hub->mutex);
}

/* ---- clients --------------------------------------------------------------------------------- */

static bool put_on(struct tap_hub *hub, struct tap *tap)
{
    bool found = false;
    plat_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < TAP_MAX && !found; i++) {
        found = !hub->taps[i];
        if (found) {
            hub->taps[i] = tap;
            atomic_fetch_add(&hub->count, 1);
        }
    }
    plat_mutex_unlock(&hub->mutex);
    return found;
}

struct tap *tap_open(struct tap_hub *hub, const struct tap_settings *settings, struct error *err)
{
    struct tap *tap = calloc(1, sizeof(*tap));
    if (!tap) {
        filter_destroy(settings->filter);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    tap->hub = hub;
    tap->settings = *settings;
    tap->users = 1;
    /* Tokens of 0.1 s, so that the first events are shown at once. */
    atomic_init(&tap->tokens, settings->rate >= 10 ? settings->rate / 10 : 1);
    atomic_init(&tap->looks, TAP_LOOKS / 10);
    plat_mutex_init(&tap->mutex);
    buf_init(&tap->room, TAP_ROOM_BYTES);
    tap->scratches = calloc(
        settings->worker_count * settings->session_count + 1, sizeof(*tap->scratches));
    bool good = tap->scratches || error_set(err, ERR_MEMORY, "out of memory");
    good = good && (put_on(hub, tap) || error_set(err, ERR_LIMIT,
                                            "%d taps are open already. end one of them", TAP_MAX));
    if (!good) {
        destroy(tap);
        return NULL;
    }
    return tap;
}

void tap_close(struct tap *tap)
{
    struct tap_hub *hub = tap->hub;
    plat_mutex_lock(&hub->mutex);
    take_off(hub, tap);
    bool last = let_go(tap);
    plat_mutex_unlock(&hub->mutex);
    if (last) {
        destroy(tap);
    }
}

/* Unused tokens are lost: the tap shows so many events a second, not more after a quiet time. */
static void refill(
    atomic_int_fast64_t *tokens, uint64_t *rest_ns, unsigned rate, uint64_t passed_ns)
{
    uint64_t passed = passed_ns < second_ns ? passed_ns : second_ns;
    uint64_t due = *rest_ns + passed * rate;
    *rest_ns = due % second_ns;
    if (due >= second_ns) {
        atomic_store(tokens, (int_fast64_t)(due / second_ns));
    }
}

bool tap_take(struct tap *tap, uint64_t passed_ns, struct buf *out)
{
    bool over = atomic_load(&tap->over);
    plat_mutex_lock(&tap->mutex);
    buf_add_span(out, buf_span(&tap->room));
    buf_reset(&tap->room);
    atomic_store(&tap->full, false);
    plat_mutex_unlock(&tap->mutex);
    refill(&tap->tokens, &tap->rest_ns, tap->settings.rate, passed_ns);
    refill(&tap->looks, &tap->rest_looks_ns, TAP_LOOKS, passed_ns);
    return !over;
}

uint64_t tap_omitted(struct tap *tap)
{
    return atomic_exchange(&tap->omitted, 0);
}

/* ---- workers --------------------------------------------------------------------------------- */

void tap_acquire(struct tap_hub *hub, struct tap_view *ret_view)
{
    ret_view->count = 0;
    if (!hub || atomic_load_explicit(&hub->count, memory_order_relaxed) == 0) {
        return;
    }
    plat_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < TAP_MAX; i++) {
        if (hub->taps[i]) {
            hub->taps[i]->users++;
            ret_view->omitted[ret_view->count] = 0;
            ret_view->sessions[ret_view->count] = hub->taps[i]->settings.session;
            ret_view->streams[ret_view->count] = hub->taps[i]->settings.stream;
            ret_view->taps[ret_view->count++] = hub->taps[i];
        }
    }
    plat_mutex_unlock(&hub->mutex);
}

void tap_release(struct tap_hub *hub, struct tap_view *view)
{
    struct tap *last[TAP_MAX];
    size_t count = 0;
    if (!view->count) {
        return;
    }
    for (size_t i = 0; i < view->count; i++) {
        atomic_fetch_add_explicit(&view->taps[i]->omitted, view->omitted[i], memory_order_relaxed);
    }
    plat_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < view->count; i++) {
        if (let_go(view->taps[i])) {
            last[count++] = view->taps[i];
        }
    }
    plat_mutex_unlock(&hub->mutex);
    for (size_t i = 0; i < count; i++) {
        destroy(last[i]);
    }
    view->count = 0;
}

/* NULL: out of memory. */
static struct filter_scratch *scratch_of(struct tap *tap, const struct tap_asker *asker)
{
    struct filter_scratch **place =
        &tap->scratches[asker->worker * tap->settings.session_count + asker->session];
    if (!*place) {
        struct filter_scratch *made = calloc(1, sizeof(*made));
        if (made && !filter_scratch_init(made, asker->ansi, NULL)) {
            filter_scratch_fini(made);
            free(made);
            made = NULL;
        }
        *place = made;
    }
    return *place;
}

static bool keeps(struct tap *tap, const struct tap_asker *asker, const struct event *event)
{
    size_t rule;
    struct filter_scratch *scratch = scratch_of(tap, asker);
    if (!scratch) {
        return false;
    }
    scratch->paths.session = asker->paths->session;
    scratch->paths.agent = asker->paths->agent;
    return filter_event(tap->settings.filter, scratch, event, &rule) == FILTER_KEEP;
}

bool tap_may_want(struct tap_view *view, size_t index)
{
    struct tap *tap = view->taps[index];
    bool may = !atomic_load_explicit(&tap->full, memory_order_relaxed) &&
               atomic_load_explicit(&tap->tokens, memory_order_relaxed) > 0 &&
               (!tap->settings.filter ||
                   atomic_load_explicit(&tap->looks, memory_order_relaxed) > 0);
    view->omitted[index] += !may;
    return may;
}

bool tap_wants(
    struct tap_view *view, size_t index, const struct tap_asker *asker, const struct event *event)
{
    struct tap *tap = view->taps[index];
    bool looks = tap->settings.filter && atomic_fetch_sub(&tap->looks, 1) > 0;
    if (looks && !keeps(tap, asker, event)) {
        return false;
    }
    bool wanted = looks == (tap->settings.filter != NULL) && atomic_fetch_sub(&tap->tokens, 1) > 0;
    view->omitted[index] += !wanted;
    return wanted;
}

void tap_omit(struct tap_view *view, size_t index)
{
    view->omitted[index]++;
}

void tap_give(struct tap_view *view, size_t index, struct span text)
{
    struct tap *tap = view->taps[index];
    bool ended = text.size && text.data[text.size - 1] == '\n';
    plat_mutex_lock(&tap->mutex);
    bool fits = buf_reserve(&tap->room, text.size + 1);
    if (fits) {
        buf_add_span(&tap->room, text);
        buf_add_text(&tap->room, ended ? "" : "\n");
    }
    tap->room.failed = false;
    atomic_store(&tap->full, !fits);
    plat_mutex_unlock(&tap->mutex);
    if (!fits) {
        tap_omit(view, index);
    }
}

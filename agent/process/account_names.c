#include "process/account_names.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * Threads: any number look up, one queries the system. The mutex guards everything except `news`;
 * it is not held during a query.
 *
 * SIDs are kept in sets selected by their hash; a new one replaces the least recently used one of
 * its set. An entry with a pending query keeps its slot, so the queue is linked through the slots
 * and needs no limit of its own.
 *
 * If the querying thread hangs when its owner gives it up, everything passes to that thread
 * (`left`), which frees it if it ever returns.
 */
enum { WAYS = 8, SETS = ACCOUNT_NAMES_MAX / WAYS, MAX_SID_BYTES = 68, LEAVE_MS = 1000 };

struct place {
    uint8_t sid[MAX_SID_BYTES];
    uint8_t sid_bytes; /* 0: unused */
    bool asked;
    char *name; /* NULL: no name known. The domain follows its NUL, in one block */
    char *domain;
    uint64_t until_ns;  /* time of the next query */
    uint64_t used;      /* value of `uses` at the last look-up */
    struct place *next; /* in the queue */
};

struct account_names {
    struct account_names_settings settings;
    struct plat_mutex mutex;
    struct plat_cond asked; /* work is queued, or the end */
    struct plat_cond ended_now;
    struct plat_thread *thread;
    bool cannot; /* no thread could be started */
    bool closing;
    bool ended;
    bool left;
    uint64_t uses;
    struct place *first;
    struct place **last;
    atomic_uint_fast64_t news;
    struct place places[SETS][WAYS];
};

static enum plat_account_answer ask_system(
    void *self, struct span sid, struct plat_account *ret_account)
{
    (void)self;
    return plat_account_find(sid, ret_account);
}

static unsigned or_default(unsigned given_ms, unsigned otherwise_ms)
{
    return given_ms ? given_ms : otherwise_ms;
}

struct account_names *account_names_create(
    const struct account_names_settings *settings, struct error *err)
{
    struct account_names *names = calloc(1, sizeof(*names));
    if (!names) {
        error_set(err, ERR_MEMORY, "out of memory for the names of accounts");
        return NULL;
    }
    struct account_names_settings *own = &names->settings;
    *own = settings ? *settings : (struct account_names_settings){.find = ask_system};
    own->known_ms = or_default(own->known_ms, ACCOUNT_KNOWN_MS);
    own->none_ms = or_default(own->none_ms, ACCOUNT_NONE_MS);
    own->failed_ms = or_default(own->failed_ms, ACCOUNT_FAILED_MS);
    plat_mutex_init(&names->mutex);
    plat_cond_init(&names->asked);
    plat_cond_init(&names->ended_now);
    names->last = &names->first;
    return names;
}

static void free_names(struct account_names *names)
{
    for (size_t i = 0; i < ACCOUNT_NAMES_MAX; i++) {
        free(names->places[i / WAYS][i % WAYS].name);
    }
    plat_cond_fini(&names->ended_now);
    plat_cond_fini(&names->asked);
    plat_mutex_fini(&names->mutex);
    free(names);
}

void account_names_destroy(struct account_names *names)
{
    if (!names) {
        return;
    }
    const uint64_t until_ns = plat_monotonic_ns() + LEAVE_MS * UINT64_C(1000000);
    bool in_time = true;
    plat_mutex_lock(&names->mutex);
    names->closing = true;
    plat_cond_signal(&names->asked);
    while (names->thread && !names->ended && in_time) {
        in_time = plat_cond_wait_until(&names->ended_now, &names->mutex, until_ns);
    }
    struct plat_thread *thread = names->thread;
    names->left = thread && !names->ended;
    bool left = names->left;
    plat_mutex_unlock(&names->mutex);
    if (left) {
        plat_thread_detach(thread); /* from here on the thread owns everything */
        return;
    }
    plat_thread_join(thread);
    free_names(names);
}

/* ---- querying thread ------------------------------------------------------------------------- */

/* Store an answer. True if it differs from the previous one. */
static bool keep(struct place *place, const struct plat_account *account)
{
    size_t name_bytes = strlen(account->name) + 1;
    size_t domain_bytes = strlen(account->domain) + 1;
    if (place->name && strcmp(place->name, account->name) == 0 &&
        strcmp(place->domain, account->domain) == 0) {
        return false;
    }
    char *text = malloc(name_bytes + domain_bytes);
    if (!text) {
        return false;
    }
    memcpy(text, account->name, name_bytes);
    memcpy(text + name_bytes, account->domain, domain_bytes);
    free(place->name);
    place->name = text;
    place->domain = text + name_bytes;
    return true;
}

static void settle(struct account_names *names, struct place *place,
    enum plat_account_answer answer, const struct plat_account *account)
{
    unsigned wait_ms = names->settings.failed_ms; /* an old answer is better than none */
    bool changed = false;
    if (answer == PLAT_ACCOUNT_KNOWN) {
        wait_ms = names->settings.known_ms;
        changed = keep(place, account);
    } else if (answer == PLAT_ACCOUNT_NONE) {
        wait_ms = names->settings.none_ms;
        free(place->name);
        place->name = NULL;
    }
    place->asked = false;
    place->until_ns = plat_monotonic_ns() + wait_ms * UINT64_C(1000000);
    if (changed) {
        atomic_fetch_add_explicit(&names->news, 1, memory_order_release);
    }
}

static struct place *take(struct account_names *names)
{
    while (!names->first && !names->closing) {
        plat_cond_wait(&names->asked, &names->mutex);
    }
    struct place *place = names->closing ? NULL : names->first;
    if (place) {
        names->first = place->next;
        names->last = place->next ? names->last : &names->first;
    }
    return place;
}

static void run(void *self)
{
    struct account_names *names = self;
    struct place *place;
    plat_mutex_lock(&names->mutex);
    while ((place = take(names)) != NULL) {
        struct plat_account account;
        plat_mutex_unlock(&names->mutex);
        /* a slot with a pending query keeps its SID */
        enum plat_account_answer answer = names->settings.find(
            names->settings.find_self, span_make(place->sid, place->sid_bytes), &account);
        plat_mutex_lock(&names->mutex);
        settle(names, place, answer, &account);
    }
    names->ended = true;
    bool left = names->left;
    plat_cond_signal(&names->ended_now);
    plat_mutex_unlock(&names->mutex);
    if (left) {
        free_names(names);
    }
}

/* ---- look-ups; the mutex is held ------------------------------------------------------------- */

/* 64-bit FNV-1a. */
static size_t set_of(struct span sid)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sid.size; i++) {
        hash = (hash ^ sid.data[i]) * UINT64_C(0x100000001b3);
    }
    return (size_t)(hash % SETS);
}

/* Slot of the SID, or one that it may use; NULL: all possible slots have pending queries. */
static struct place *place_of(struct account_names *names, struct span sid)
{
    struct place *set = names->places[set_of(sid)];
    struct place *room = NULL;
    for (size_t i = 0; i < WAYS; i++) {
        if (span_equal(span_make(set[i].sid, set[i].sid_bytes), sid)) {
            return &set[i];
        }
        if (!set[i].asked && (!room || set[i].used < room->used)) {
            room = &set[i];
        }
    }
    if (room) {
        free(room->name);
        *room = (struct place){.sid_bytes = (uint8_t)sid.size};
        memcpy(room->sid, sid.data, sid.size);
    }
    return room;
}

static void ask(struct account_names *names, struct place *place)
{
    if (!names->thread && !names->cannot) {
        names->thread = plat_thread_start("accounts", run, names, NULL);
        names->cannot = !names->thread;
    }
    if (names->cannot) {
        return;
    }
    place->asked = true;
    place->next = NULL;
    *names->last = place;
    names->last = &place->next;
    plat_cond_signal(&names->asked);
}

static bool tell(const struct place *place, struct plat_account *ret_account)
{
    if (!place->name) {
        return false;
    }
    memcpy(ret_account->name, place->name, strlen(place->name) + 1);
    memcpy(ret_account->domain, place->domain, strlen(place->domain) + 1);
    return true;
}

bool account_names_find(
    struct account_names *names, struct span sid, struct plat_account *ret_account)
{
    bool known = false;
    if (account_known_find(sid, ret_account)) {
        return true;
    }
    if (!names || sid.size == 0 || sid.size > MAX_SID_BYTES) {
        return false;
    }
    plat_mutex_lock(&names->mutex);
    struct place *place = place_of(names, sid);
    if (place) {
        place->used = ++names->uses;
        known = tell(place, ret_account);
        if (!place->asked && plat_monotonic_ns() >= place->until_ns) {
            ask(names, place);
        }
    }
    plat_mutex_unlock(&names->mutex);
    return known;
}

uint64_t account_names_news(const struct account_names *names)
{
    return names ? atomic_load_explicit(&names->news, memory_order_acquire) : 0;
}

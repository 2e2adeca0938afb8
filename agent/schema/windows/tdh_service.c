#include "schema/windows/tdh_service.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "schema/windows/tdh_ask.h"
#include "schema/windows/tdh_question.h"

/*
 * Threads: any number look up, one calls TDH. The mutex guards everything except `ask`, which
 * belongs to the calling thread, and `news`. It is not held during calls of TDH. A schema is
 * published under the mutex once and never changes.
 *
 * If a thread hangs in TDH when the service is destroyed, the service passes to that thread
 * (`left`), which frees it if it ever returns.
 */
enum {
    MAX_TYPES = 65536,
    MAX_SCHEMA_BYTES = 64 * 1024 * 1024,
    MAX_ENTRY_BYTES = 16 * 1024 * 1024,
    MAX_QUEUED_BYTES = 8 * 1024 * 1024, /* copies of events that wait for TDH */
    LEAVE_MS = 1000,                    /* time for a pending call to return at destruction */
};

enum entry_state { ENTRY_ASKED, ENTRY_KNOWN, ENTRY_MISSED };

struct entry {
    uint8_t key[TDH_KEY_BYTES];
    enum entry_state state;
    bool late;                         /* a look-up continued without the answer */
    const struct event_schema *schema; /* ENTRY_KNOWN */
    /* ENTRY_ASKED: end of waiting; MISSED: time of the next try */
    uint64_t until_ns;
    struct tdh_question *question; /* ENTRY_ASKED */
    size_t question_bytes;
    struct entry *next; /* in the queue */
};

struct tdh_service {
    struct tdh_service_settings settings;
    struct plat_mutex mutex;
    struct plat_cond asked;    /* work is queued, or the service ends */
    struct plat_cond answered; /* also: the thread has ended */
    struct plat_thread *thread;
    struct map entries;
    struct arena arena; /* memory of entries */
    struct entry *first;
    struct entry **last;
    size_t queued_bytes;
    bool cannot; /* no TDH on this system, or no thread for it */
    bool slow;   /* a look-up timed out, and nothing was answered since */
    bool warned;
    bool closing;
    bool ended;
    bool left;
    atomic_uint_fast64_t news;
    struct tdh_ask ask;
};

/* ---- creation -------------------------------------------------------------------------------- */

struct tdh_service *tdh_service_create(
    const struct tdh_service_settings *settings, struct error *err)
{
    struct tdh_service *service = calloc(1, sizeof(*service));
    if (!service) {
        error_set(err, ERR_MEMORY, "out of memory for event schemas");
        return NULL;
    }
    service->settings = *settings;
    service->settings.wait_ms = settings->wait_ms ? settings->wait_ms : TDH_WAIT_MS;
    service->settings.miss_ms = settings->miss_ms ? settings->miss_ms : TDH_MISS_MS;
    plat_mutex_init(&service->mutex);
    plat_cond_init(&service->asked);
    plat_cond_init(&service->answered);
    map_init(&service->entries, MAX_TYPES);
    arena_init(&service->arena, MAX_ENTRY_BYTES);
    service->last = &service->first;
    tdh_ask_init(&service->ask, MAX_SCHEMA_BYTES);
    service->cannot = !tdh_ask_is_possible(&service->ask);
    return service;
}

static void free_service(struct tdh_service *service)
{
    for (struct entry *entry = service->first; entry; entry = entry->next) {
        free(entry->question);
    }
    tdh_ask_fini(&service->ask);
    map_fini(&service->entries);
    arena_fini(&service->arena);
    plat_cond_fini(&service->answered);
    plat_cond_fini(&service->asked);
    plat_mutex_fini(&service->mutex);
    free(service);
}

void tdh_service_destroy(struct tdh_service *service)
{
    if (!service) {
        return;
    }
    plat_mutex_lock(&service->mutex);
    struct plat_thread *thread = service->thread;
    service->closing = true;
    plat_cond_signal(&service->asked);
    uint64_t until = plat_monotonic_ns() + LEAVE_MS * UINT64_C(1000000);
    while (thread && !service->ended &&
           plat_cond_wait_until(&service->answered, &service->mutex, until)) {}
    bool left = thread && !service->ended;
    service->left = left;
    plat_mutex_unlock(&service->mutex);
    if (left) {
        plat_thread_detach(thread);
    } else {
        plat_thread_join(thread);
        free_service(service);
    }
}

/* ---- calling thread -------------------------------------------------------------------------- */

static struct entry *take(struct tdh_service *service)
{
    while (!service->first && !service->closing) {
        plat_cond_wait(&service->asked, &service->mutex);
    }
    struct entry *entry = service->closing ? NULL : service->first;
    if (entry) {
        service->first = entry->next;
        service->last = service->first ? service->last : &service->first;
        service->queued_bytes -= entry->question_bytes;
    }
    return entry;
}

static void settle(
    struct tdh_service *service, struct entry *entry, const struct event_schema *schema)
{
    entry->question = NULL;
    entry->schema = schema;
    entry->state = schema ? ENTRY_KNOWN : ENTRY_MISSED;
    entry->until_ns = plat_monotonic_ns() + service->settings.miss_ms * UINT64_C(1000000);
    service->slow = false;
    if (entry->late) {
        entry->late = false;
        atomic_fetch_add_explicit(&service->news, 1, memory_order_release);
    }
    plat_cond_broadcast(&service->answered);
}

static void run(void *self)
{
    struct tdh_service *service = self;
    struct entry *entry;
    plat_mutex_lock(&service->mutex);
    while ((entry = take(service))) {
        struct tdh_question *question = entry->question;
        plat_mutex_unlock(&service->mutex);
        const struct event_schema *schema = tdh_ask_event(&service->ask, &question->record);
        free(question);
        plat_mutex_lock(&service->mutex);
        settle(service, entry, schema);
    }
    service->ended = true;
    bool left = service->left;
    plat_cond_broadcast(&service->answered);
    plat_mutex_unlock(&service->mutex);
    if (left) {
        free_service(service);
    }
}

/* ---- look-ups; the mutex is held ------------------------------------------------------------- */

static bool is_running(struct tdh_service *service)
{
    if (!service->thread && !service->cannot) {
        service->thread = plat_thread_start("tdh", run, service, NULL);
        service->cannot = !service->thread;
    }
    return !service->cannot;
}

static struct entry *entry_of(struct tdh_service *service, const uint8_t key[TDH_KEY_BYTES])
{
    struct entry *entry = map_get(&service->entries, span_make(key, TDH_KEY_BYTES));
    if (!entry) {
        entry = arena_alloc(&service->arena, sizeof(*entry));
        if (!entry) {
            return NULL;
        }
        memcpy(entry->key, key, TDH_KEY_BYTES);
        entry->state = ENTRY_MISSED;
        if (!map_put(&service->entries, span_make(entry->key, TDH_KEY_BYTES), entry)) {
            return NULL;
        }
    }
    return entry;
}

static bool enqueue(
    struct tdh_service *service, struct entry *entry, const struct event_record *record)
{
    size_t bytes;
    if (service->queued_bytes > MAX_QUEUED_BYTES) {
        return false;
    }
    entry->question = tdh_question_create(record, &bytes);
    if (!entry->question) {
        return false;
    }
    entry->question_bytes = bytes;
    entry->state = ENTRY_ASKED;
    entry->until_ns = plat_monotonic_ns() + service->settings.wait_ms * UINT64_C(1000000);
    entry->next = NULL;
    *service->last = entry;
    service->last = &entry->next;
    service->queued_bytes += bytes;
    plat_cond_signal(&service->asked);
    return true;
}

/* True if TDH was just found to hang, for the first time. */
static bool wait_for(struct tdh_service *service, struct entry *entry)
{
    while (entry->state == ENTRY_ASKED && !service->slow) {
        if (!plat_cond_wait_until(&service->answered, &service->mutex, entry->until_ns)) {
            break;
        }
    }
    if (entry->state != ENTRY_ASKED) {
        return false;
    }
    bool first = !service->slow && !service->warned;
    service->slow = true;
    service->warned |= first;
    entry->late = true;
    plat_cond_broadcast(&service->answered);
    return first;
}

/* Queue a question if due, and wait for the answer. NULL: too many types. */
static struct entry *find(
    struct tdh_service *service, const struct event_record *record, bool *ret_hangs)
{
    uint8_t key[TDH_KEY_BYTES];
    tdh_question_key(record, key);
    struct entry *entry = entry_of(service, key);
    if (!entry) {
        return NULL;
    }
    if (entry->state == ENTRY_MISSED && plat_monotonic_ns() >= entry->until_ns &&
        !enqueue(service, entry, record)) {
        return NULL;
    }
    *ret_hangs = wait_for(service, entry);
    return entry;
}

const struct event_schema *tdh_service_find(
    struct tdh_service *service, const struct event_record *record, bool *ret_late)
{
    const struct event_schema *schema = NULL;
    bool hangs = false;
    bool late = false;
    plat_mutex_lock(&service->mutex);
    if (is_running(service)) {
        const struct entry *entry = find(service, record, &hangs);
        schema = entry ? entry->schema : NULL;
        late = entry && entry->state == ENTRY_ASKED;
    }
    plat_mutex_unlock(&service->mutex);
    if (hangs && service->settings.warn) {
        service->settings.warn(service->settings.warn_self,
            "TDH does not answer; until it does, events that no other source can decode "
            "are shipped as bytes");
    }
    *ret_late = late;
    return schema;
}

uint64_t tdh_service_news(const struct tdh_service *service)
{
    return atomic_load_explicit(&service->news, memory_order_acquire);
}

void tdh_service_list(struct tdh_service *service,
    void (*each)(void *self, const struct event_schema *schema), void *self)
{
    const struct map_slot *slot;
    size_t cursor = 0;
    plat_mutex_lock(&service->mutex);
    while ((slot = map_next(&service->entries, &cursor))) {
        const struct entry *entry = slot->value;
        if (entry->schema) {
            each(self, entry->schema);
        }
    }
    plat_mutex_unlock(&service->mutex);
}

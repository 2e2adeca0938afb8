#include "etw/etw_hold.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/guid.h"

/* Processes share no sessions here, so a list in this process suffices. */
struct etw_hold {
    struct guid id; /* of the name, compared without regard to case */
    struct etw_hold *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etw_hold *holds;

/* With the lock held. */
static bool is_listed(const struct guid *id)
{
    for (const struct etw_hold *hold = holds; hold; hold = hold->next) {
        if (guid_equal(&hold->id, id)) {
            return true;
        }
    }
    return false;
}

struct etw_hold *etw_hold_take(const char *session, struct error *err)
{
    struct etw_hold *hold = calloc(1, sizeof(*hold));
    if (!hold) {
        error_set(err, ERR_MEMORY, "out of memory for session %.100s", session);
        return NULL;
    }
    hold->id = guid_from_name(span_text(session));
    pthread_mutex_lock(&lock);
    bool is_taken = is_listed(&hold->id);
    if (!is_taken) {
        hold->next = holds;
        holds = hold;
    }
    pthread_mutex_unlock(&lock);
    if (is_taken) {
        free(hold);
        error_set(err, ERR_STOPPED,
            "session %.100s belongs to a running agent. stop that one, or use another name",
            session);
        return NULL;
    }
    return hold;
}

const char *etw_hold_warning(const struct etw_hold *hold)
{
    (void)hold;
    return NULL;
}

void etw_hold_drop(struct etw_hold *hold)
{
    if (!hold) {
        return;
    }
    pthread_mutex_lock(&lock);
    struct etw_hold **at = &holds;
    while (*at != hold) {
        at = &(*at)->next;
    }
    *at = hold->next;
    pthread_mutex_unlock(&lock);
    free(hold);
}

enum etw_hold_state etw_hold_look(const char *session, char ret_owner[ETW_HOLD_OWNER_BYTES])
{
    struct guid id = guid_from_name(span_text(session));
    if (ret_owner) {
        ret_owner[0] = 0;
    }
    pthread_mutex_lock(&lock);
    bool is_held = is_listed(&id);
    pthread_mutex_unlock(&lock);
    return is_held ? ETW_HOLD_HELD : ETW_HOLD_FREE;
}

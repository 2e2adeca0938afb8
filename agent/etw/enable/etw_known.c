#include "etw/enable/etw_known.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "etw/enable/etw_registrations.h"
#include "etw/etw_api.h"
#include "etw/etw_names.h"
#include "platform/plat_clock.h"

/* The querying thread holds `busy`, mostly for microseconds: other threads would need the same
 * list. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static size_t users;
static struct etw_names *names; /* Windows' list as of `made_ns`; NULL: none yet */
static uint64_t made_ns;

static void enter(void)
{
    while (atomic_flag_test_and_set(&busy)) {
        plat_sleep_ms(1);
    }
}

static void leave(void)
{
    atomic_flag_clear(&busy);
}

static void clear(void)
{
    etw_names_destroy(names);
    names = NULL;
}

void etw_known_open(void)
{
    enter();
    users++;
    leave();
}

void etw_known_close(void)
{
    enter();
    if (--users == 0) {
        clear();
    }
    leave();
}

/* Windows also knows the GUID of a provider that sessions have enabled but no program has
 * registered. */
static bool is_registered(const struct guid *guid)
{
    struct etw_registrations *found = malloc(sizeof(*found));
    bool is_registered = found && etw_registrations_query(guid, found, NULL) && found->known &&
                         found->registered_count > 0;
    free(found);
    return is_registered;
}

/* The caller may have read its clock before another session made the list. */
static bool is_too_old(uint64_t now_ns, uint64_t max_age_ns)
{
    return now_ns > made_ns && now_ns - made_ns > max_age_ns;
}

/* With `busy` held. */
static bool have_names(uint64_t now_ns, uint64_t max_age_ns, struct error *err)
{
    if (!names || is_too_old(now_ns, max_age_ns)) {
        clear();
        names = etw_names_create(err);
        made_ns = now_ns;
    }
    return names != NULL;
}

enum etw_known_answer etw_known_find(
    struct span name, uint64_t now_ns, uint64_t max_age_ns, struct guid *guid, struct error *err)
{
    if (!etw_api_get()->TdhEnumerateProviders) {
        return ETW_KNOWN_NO_LIST;
    }
    enter();
    bool has_names = have_names(now_ns, max_age_ns, err);
    bool is_listed = has_names && etw_names_find(names, name, guid);
    leave();
    if (!has_names) {
        return ETW_KNOWN_FAILED;
    }
    if (is_listed) {
        return ETW_KNOWN_LISTED;
    }
    return is_registered(guid) ? ETW_KNOWN_REGISTERED : ETW_KNOWN_NOWHERE;
}

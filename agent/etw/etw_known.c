#include "etw/etw_known.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "etw/etw_api.h"
#include "etw/etw_names.h"
#include "etw/etw_who.h"
#include "platform/plat_system.h"

/* `busy` is held by whoever asks, mostly for microseconds: the others would have to make the same list. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static size_t users;
static struct etw_names *names; /* NULL: none, or Windows refused it at `made_ns` */
static bool is_made;
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

static void forget(void)
{
    etw_names_destroy(names);
    names = NULL;
    is_made = false;
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
        forget();
    }
    leave();
}

/* Of a provider that sessions have enabled, and no program has registered, Windows knows the GUID, too. */
static bool is_registered(const struct guid *guid)
{
    struct etw_who *who = malloc(sizeof(*who));
    bool is_registered = who && etw_who_ask(guid, who, NULL) && who->known &&
                         who->registered_count > 0;
    free(who);
    return is_registered;
}

bool etw_known_find(struct span name, uint64_t now_ns, uint64_t max_age_ns, struct guid *ret_guid)
{
    if (!etw_api_get()->TdhEnumerateProviders) {
        return true;
    }
    enter();
    if (!is_made || now_ns - made_ns > max_age_ns) {
        forget();
        names = etw_names_create(NULL);
        is_made = true;
        made_ns = now_ns;
    }
    bool is_known = !names || etw_names_find(names, name, ret_guid);
    leave();
    return is_known || is_registered(ret_guid);
}

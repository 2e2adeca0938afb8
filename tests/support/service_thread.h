#ifndef ETWSHIP_TESTS_SUPPORT_SERVICE_THREAD_H
#define ETWSHIP_TESTS_SUPPORT_SERVICE_THREAD_H

#include "platform/plat_thread.h"
#include "service/service_api.h"
#include "support/test.h"

/* The dispatcher of a service manager that a test plays. */

static inline void service_thread_serve(void *entry_)
{
    const struct service_entry *entry = entry_;
    entry->run(entry->self);
}

/* Run the service on a thread of its own, as Windows does, and ${script} (or NULL) beside it, to
 * the end of both. */
static inline void service_thread_run(const struct service_entry *entry, void (*script)(void))
{
    struct error err;
    struct plat_thread *thread = plat_thread_start(
        "service", service_thread_serve, (void *)(uintptr_t)entry, &err);
    assert_non_null(thread);
    if (script) {
        script();
    }
    plat_thread_join(thread);
}

#endif

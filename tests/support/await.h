#ifndef ETWSHIP_TESTS_SUPPORT_AWAIT_H
#define ETWSHIP_TESTS_SUPPORT_AWAIT_H

#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "support/test.h"

/*
 * Until ${condition} holds, by looking again and again: for values without a notification, as
 * counters, the simulated Windows, and processes and files of others. Where there is an event, that
 * is awaited. The test fails after ETWSHIP_AWAIT_S, a net under what never comes and no measure.
 * ctest ends the test some time later (tests/unit/CMakeLists.txt), so that this can say what did
 * not come.
 */
#define AWAIT(condition)                                  \
    do {                                                  \
        uint64_t await_begun_ns = plat_monotonic_ns();    \
        while (!(condition)) {                            \
            if (!await_pause(await_begun_ns)) {           \
                print_error("in vain: %s\n", #condition); \
                _fail(__FILE__, __LINE__);                \
            }                                             \
        }                                                 \
    } while (0)

#ifndef ETWSHIP_AWAIT_S
#define ETWSHIP_AWAIT_S 40
#endif

enum { AWAIT_TICK_MS = 2 };

/* A moment between two looks; false after ETWSHIP_AWAIT_S of them. */
static inline bool await_pause(uint64_t begun_ns)
{
    plat_sleep_ms(AWAIT_TICK_MS);
    return plat_monotonic_ns() - begun_ns < ETWSHIP_AWAIT_S * UINT64_C(1000000000);
}

/* Likewise until there is a file that another process makes, outside of tests, too. False: it never
 * came. */
static inline bool await_file(const char *path)
{
    uint64_t begun_ns = plat_monotonic_ns();
    bool in_time = true;
    while (in_time && plat_path_kind(path) == PLAT_PATH_NONE) {
        in_time = await_pause(begun_ns);
    }
    return in_time;
}

#endif

#include <stdlib.h>
#include <string.h>

#include "etw/etw_hold.h"

uint32_t etw_hold_name_pid(const char *session)
{
    static const char *const commands[] = {"watch-", "record-", "selftest-", "who-"};
    if (!etw_hold_is_ours(session)) {
        return 0;
    }
    const char *name = session + strlen(ETW_OUR_PREFIX);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        size_t size = strlen(commands[i]);
        const char *number = name + size;
        if (strncmp(name, commands[i], size) == 0 && *number &&
            number[strspn(number, "0123456789")] == 0) {
            unsigned long long pid = strtoull(number, NULL, 10);
            return pid <= UINT32_MAX ? (uint32_t)pid : 0;
        }
    }
    return 0;
}

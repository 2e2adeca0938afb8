#include "event/model/event.h"

const char *event_guard_action_name(enum guard_action action)
{
    static const char *const names[GUARD_ACTIONS] = {
        [GUARD_NONE] = "none",
        [GUARD_REPAIRED] = "repaired",
        [GUARD_FAILED] = "failed",
        [GUARD_GAVE_UP] = "gave_up",
    };
    return names[action];
}

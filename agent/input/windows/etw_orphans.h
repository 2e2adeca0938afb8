#ifndef ETWSHIP_INPUT_WINDOWS_ETW_ORPHANS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_ORPHANS_H

#include "input/input.h"

/*
 * Orphaned sessions: ours by name, used by no agent, and unknown to this configuration. Each takes
 * one of the machine's few slots and keeps collecting. A session is stopped if certainly no program
 * returns to it: it was left by a killed command (NAME-PID), or kept by this agent under other
 * settings, even if the owner of its lock is doubtful (etw/etw_hold.h). Others may belong to
 * another agent and are only reported. What orphaned sessions left in the registry
 * (etw/etw_image_flags.h) is restored in any case.
 */
struct etw_orphans_settings {
    const char *data_dir; /* of this agent; NULL: it keeps nothing and reports nothing */

    /* True if a session of this name (without ETW_OUR_PREFIX) runs here. */
    bool (*is_ours)(void *self, const char *name);
    void (*note)(void *self, enum input_note level, const char *text);
    void *self;
};

/* Call before sessions start. A system that cannot list sessions, or refuses to stop one, is no
 * error. */
void etw_orphans_clean(const struct etw_orphans_settings *settings);

#endif

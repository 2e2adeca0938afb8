#ifndef ETWSHIP_INPUT_WINDOWS_ETW_ORPHANS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_ORPHANS_H

#include "input/input.h"

/*
 * Sessions of ours that nobody looks after, and that this configuration does not know any more: each
 * takes one of the machine's few places, and goes on collecting. Stopped is what surely nobody will
 * come back for: what a command left that was killed (NAME-PID), and what this agent kept when it
 * was set up in another way; also if the owner of the lock is doubtful (etw/etw_hold.h). The rest, which may be another agent's, is only told of. What such sessions
 * have left in the registry (etw/etw_image_flags.h) is put back, whoever's they were.
 */
struct etw_orphans_settings {
    const char *data_dir; /* of this agent; NULL: it keeps nothing, and tells of nothing */

    /* Does a session of this name (without ETW_OUR_PREFIX) run here? */
    bool (*is_ours)(void *self, const char *name);
    void (*note)(void *self, enum input_note level, const char *text);
    void *self;
};

/* Before sessions start. A system that lists none, or refuses to stop one, is no error. */
void etw_orphans_clean(const struct etw_orphans_settings *settings);

#endif

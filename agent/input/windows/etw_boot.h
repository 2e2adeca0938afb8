#ifndef ETWSHIP_INPUT_WINDOWS_ETW_BOOT_H
#define ETWSHIP_INPUT_WINDOWS_ETW_BOOT_H

#include "etw/etw_autologger.h"
#include "etw/etw_control.h"
#include "input/input.h"

/*
 * Sessions with `boot: true`: what Windows starts at boot, and what the agent does with it.
 *
 * A session that is delivered begins as one that writes a file, since nobody reads yet, and what
 * Windows keeps of real-time events for somebody who comes later is small. When the agent comes, what
 * lies in buffers is flushed into the file, and the session goes on in real time without it
 * (etw_session_start.c); the file is read like any other trace, once (input_boot). A buffer goes one
 * way or the other, so no event comes twice and none is missing.
 *
 * A session that records has its own file from the start, and goes on as it is.
 */
enum {
    ETW_BOOT_FILES = 4,     /* of so many boots they are kept (FileMax) */
    ETW_BOOT_FILE_MB = 100, /* Windows' own default: the session ends there */
    ETW_BOOT_PATH_BYTES = 4096,
};

/* The file of a session that is delivered: boot/SESSION.etl in the data folder. Windows appends the
 * number of the boot, .0001 to .0004, in turns. */
bool etw_boot_file(const char *data_dir, const char *session, char ret_path[ETW_BOOT_PATH_BYTES],
    struct error *err);

/* Does a session that is to be delivered still write its file? It does also if it is read already. */
static inline bool etw_boot_is_written(const struct etw_session_state *state)
{
    return !(state->mode & ETW_MODE_REAL_TIME) || state->file[0];
}

/* Begin it with etw_registry_init, and end it with etw_registry_fini of its tree. */
struct etw_boot {
    struct etw_autologger autologger;
    char file[ETW_BOOT_PATH_BYTES]; /* absolute */
    bool is_read;                   /* by the agent, once */
    bool has_flags;                 /* of kernel events: beyond what is documented (below) */
};

/*
 * What Windows is to start for a session of type ${type} (realtime, system, record) with these
 * settings and providers. Its values are those of configuring-and-starting-an-autologger-session; but
 * two that are documented elsewhere or nowhere: kernel events (EnableKernelFlags, documented of the
 * Global Logger), filters by event id (the key Filters). Where Windows does not heed them, kernel
 * events come from when the agent starts, and events of all ids, of which the agent takes its own.
 *
 * Filters that the registry has no values for (of names, stacks) begin when the agent does: until
 * then more comes, never less.
 */
bool etw_boot_describe(const char *type, const void *settings, const struct input_env *env,
    struct etw_boot *ret_boot, struct error *err);

/*
 * An input for the files that the session ${etw_session} has written since boot, and before: it waits
 * until that does not write any more, and then reads them as the input `file` does. Not for a
 * configuration: the agent adds one to each session that is_read.
 */
struct input_boot_settings {
    const char *etw_session;
    const char *file; /* etw_boot_file */
};

extern const struct input_ops input_boot;

#endif

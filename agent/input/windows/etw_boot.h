#ifndef ETWSHIP_INPUT_WINDOWS_ETW_BOOT_H
#define ETWSHIP_INPUT_WINDOWS_ETW_BOOT_H

#include "etw/etw_autologger.h"
#include "etw/session/etw_control.h"
#include "input/input.h"

/*
 * Sessions with `boot: true`: what Windows starts at boot, and how the agent takes over.
 *
 * A session that delivers starts by writing a file, because nothing reads it yet and Windows keeps
 * only few real-time events for a later reader. When the agent starts, buffers are flushed into the
 * file, and the session continues in real time without it (etw_session_start.c). The file is read
 * once like any other trace (input_boot). A buffer goes either into the file or to the agent, so no
 * event is lost or duplicated.
 *
 * A session that records has its own file from the start and continues unchanged.
 */
enum {
    ETW_BOOT_FILES = 4,     /* number of boots for which files are kept (FileMax) */
    ETW_BOOT_FILE_MB = 100, /* Windows' default; the session ends there */
    ETW_BOOT_PATH_BYTES = 4096,
};

/* Path of the file of a session that delivers: boot/SESSION.etl in the data folder. Windows appends
 * the number of the boot, .0001 to .0004, in turns. */
bool etw_boot_file(const char *data_dir, const char *session, char ret_path[ETW_BOOT_PATH_BYTES],
    struct error *err);

/* True if a session that delivers still writes its file, even if it is read already. */
static inline bool etw_boot_is_written(const struct etw_session_state *state)
{
    return !(state->mode & ETW_MODE_REAL_TIME) || state->file[0];
}

/* The caller calls etw_registry_init first, and etw_registry_fini on its tree at the end. */
struct etw_boot {
    struct etw_autologger autologger;
    char file[ETW_BOOT_PATH_BYTES]; /* absolute */
    bool is_read;                   /* the agent reads it once */
    /* enables kernel events, for which the values are not officially documented (see below) */
    bool has_flags;
};

/*
 * Describe what Windows starts for a session of type ${type} (realtime, system, record) with these
 * settings and providers. The values are those of configuring-and-starting-an-autologger-session,
 * except two: kernel events (EnableKernelFlags, documented for the Global Logger only) and filters
 * by event id (the key Filters, undocumented). If Windows ignores these, kernel events start with
 * the agent, and events of all ids arrive, of which the agent keeps the wanted ones.
 *
 * Filters without registry values (of names, stacks) take effect when the agent starts: until then
 * more events arrive, never fewer.
 */
bool etw_boot_describe(const char *type, const void *settings, const struct input_env *env,
    struct etw_boot *ret_boot, struct error *err);

/*
 * An input for the files that the session ${etw_session} has written since this and earlier boots.
 * It waits until the session stops writing the file, then reads like the input `file`. Not for
 * configurations: the agent adds one for each session that is_read.
 */
struct input_boot_settings {
    const char *etw_session;
    const char *file; /* etw_boot_file */
};

extern const struct input_ops input_boot;

#endif

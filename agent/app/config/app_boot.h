#ifndef ETWSHIP_APP_APP_BOOT_H
#define ETWSHIP_APP_APP_BOOT_H

#include "app/config/app_config.h"
#include "base/arena.h"

/* Sessions with `boot: true`, which Windows starts before the agent (input/windows/etw_boot.h). */

/* Does the session have the key, with the value true? */
bool app_boot_is_asked(const struct app_session *session);

/* Does the session have a file of its boot for the agent to read? Sessions that record have none:
 * other programs read their files. */
bool app_boot_is_read(const struct app_session *session);

/* Add to ${report} what a session that starts at boot cannot have: filters that only a call can
 * set. Without them events of other programs would arrive. */
void app_boot_check(
    const struct config *memory, const struct app_session *session, struct config_report *report);

/*
 * The session that reads that file, in addition to ${session}: with its providers and rules, called
 * NAME/boot, which no session of a configuration can be called. ${arena} owns its memory. NULL: it
 * has no such file, or ${data_dir} is too long.
 */
const struct app_session *app_boot_reader(const struct app_session *session, const char *data_dir,
    struct arena *arena, struct error *err);

#endif

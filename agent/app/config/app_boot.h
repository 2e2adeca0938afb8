#ifndef ETWSHIP_APP_APP_BOOT_H
#define ETWSHIP_APP_APP_BOOT_H

#include "app/config/app_config.h"
#include "base/arena.h"

/* Sessions with `boot: true`, which Windows starts before the agent (input/windows/etw_boot.h). */

/* Has it the key, and is it true? */
bool app_boot_is_asked(const struct app_session *session);

/* Is there a file for the agent to read, of what came before it? Not of sessions that record: their
 * file is for others. */
bool app_boot_is_read(const struct app_session *session);

/* Add to ${report} what a session that starts at boot cannot have: filters that only a call can set,
 * of which some would let events of all others come. */
void app_boot_check(
    const struct config *memory, const struct app_session *session, struct config_report *report);

/*
 * The session that reads that file, beside ${session}: of the same providers and rules, called
 * NAME/boot, which no session of a configuration can be called. Its memory is ${arena}'s; NULL: none,
 * or ${data_dir} is too long.
 */
const struct app_session *app_boot_reader(const struct app_session *session, const char *data_dir,
    struct arena *arena, struct error *err);

#endif

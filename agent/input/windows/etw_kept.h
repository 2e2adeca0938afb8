#ifndef ETWSHIP_INPUT_WINDOWS_ETW_KEPT_H
#define ETWSHIP_INPUT_WINDOWS_ETW_KEPT_H

#include "etw/session/etw_control.h"

/*
 * Notes about a session that may outlive the agent, for the next one: the file etw-SESSION.kept in
 * the data folder. It shows whether a session with our name has the present settings (the
 * fingerprint), and makes its losses count once. A session without our name is recognised by its
 * look alone.
 */
struct etw_kept {
    struct guid fingerprint;
    uint64_t handle;
    struct guid look; /* etw_kept_look; zero for sessions with our name */
    uint32_t events_lost;
    uint32_t log_buffers_lost;
    uint32_t real_time_buffers_lost;
};

/* Hash of the properties of a session that do not change by themselves. It differs for a session
 * with other settings, or one modified in a way that affects delivery. Pure. */
struct guid etw_kept_look(const struct etw_session_state *state);

/* False: there is no valid file. ${data_dir} may be NULL. */
bool etw_kept_load(const char *data_dir, const char *session, struct etw_kept *ret_kept);

/* Replace the file atomically. ${data_dir} NULL: nothing is saved, which is no failure. */
bool etw_kept_save(
    const char *data_dir, const char *session, const struct etw_kept *kept, struct error *err);

/* Delete the file: the session is gone. */
void etw_kept_delete(const char *data_dir, const char *session);

#endif

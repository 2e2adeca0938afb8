#ifndef ETWSHIP_INPUT_WINDOWS_ETW_KEPT_H
#define ETWSHIP_INPUT_WINDOWS_ETW_KEPT_H

#include "etw/etw_control.h"

/*
 * What an agent leaves for the next one about a session that may outlive it: the file
 * etw-SESSION.kept in the data folder. With it a session of our name is known as one that was set up
 * like this (the fingerprint), and what it loses in between is counted, once. One that does not bear
 * our name is known as ours by its look alone.
 */
struct etw_kept {
    struct guid fingerprint;
    uint64_t handle;
    struct guid look; /* etw_kept_look; zero of sessions that bear our name */
    uint32_t events_lost;
    uint32_t log_buffers_lost;
    uint32_t real_time_buffers_lost;
};

/* What ETW says of a session and no time changes, in one number: who sets one up in another way, or
 * has changed what ours delivers, has one of another look. Pure. */
struct guid etw_kept_look(const struct etw_session_state *state);

/* False: nothing is known, or what is there makes no sense. ${data_dir} NULL is fine. */
bool etw_kept_load(const char *data_dir, const char *session, struct etw_kept *ret_kept);

/* In one piece: whole, or as before. ${data_dir} NULL: nothing is kept, which is no failure. */
bool etw_kept_save(
    const char *data_dir, const char *session, const struct etw_kept *kept, struct error *err);

/* The session is gone. */
void etw_kept_forget(const char *data_dir, const char *session);

#endif

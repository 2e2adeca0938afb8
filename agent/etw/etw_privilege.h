#ifndef ETWSHIP_ETW_ETW_PRIVILEGE_H
#define ETWSHIP_ETW_ETW_PRIVILEGE_H

#include "base/error.h"

/*
 * What this process may do with ETW, checked in advance (starttracew, opentracew and
 * configuring-and-starting-a-systemtraceprovider-session on learn.microsoft.com).
 */
struct etw_rights {
    bool administrator; /* elevated, or LocalSystem */
    bool service;       /* LocalService or NetworkService */
    bool log_user;      /* member of Performance Log Users */
    bool profile;       /* the token has SeSystemProfilePrivilege, enabled or not */
};

enum etw_need {
    ETW_NEED_SESSION,       /* start, change, read sessions */
    ETW_NEED_KERNEL,        /* a session with kernel events under its own name */
    ETW_NEED_KERNEL_LOGGER, /* the NT Kernel Logger */
    ETW_NEED_HEAP,          /* the heaps of other processes */
    ETW_NEED_PROFILE,       /* the profile timer and counters */
};

/* Without ETW everything is allowed, since nothing refuses it. */
void etw_privilege_query(struct etw_rights *ret_rights);

/* True if ${rights} suffice; else an error with the missing right and the remedy. Rights that
 * depend on the machine's set-up (on a session's GUID) count as granted. Pure. */
bool etw_privilege_check(const struct etw_rights *rights, enum etw_need need, struct error *err);

/* Enable SeSystemProfilePrivilege in this process's token. */
bool etw_privilege_enable_profile(struct error *err);

#endif

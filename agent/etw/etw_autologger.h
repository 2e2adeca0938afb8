#ifndef ETWSHIP_ETW_ETW_AUTOLOGGER_H
#define ETWSHIP_ETW_ETW_AUTOLOGGER_H

#include "etw/etw_registry.h"

/*
 * Sessions that Windows itself starts at boot: keys below ETW_AUTOLOGGER_ROOT, each with the values of
 * a session and a key per provider (configuring-and-starting-an-autologger-session on
 * learn.microsoft.com). Windows reads them at the next boot; running sessions do not change.
 *
 * Ours is a key whose name begins with etwship- and whose Guid is the one that follows from that name
 * (guid_from_name). Windows demands a Guid anyway, so the mark is no value of our own in a key of
 * Windows; it says so after the configuration has changed or is gone, and a session of that name that
 * somebody made by hand has another one. A key of such a name without any Guid is what an end half-way
 * has left: Windows starts none without, so it is ours, too.
 */
#define ETW_AUTOLOGGER_ROOT "SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger"

enum { ETW_AUTOLOGGER_MAX_FILES = 16 }; /* FileMax */

enum etw_autologger_owner {
    ETW_AUTOLOGGER_NOBODY, /* there is no such key */
    ETW_AUTOLOGGER_OURS,
    ETW_AUTOLOGGER_FOREIGN,
};

/* What is to be in the key ${name}. */
struct etw_autologger {
    const char *name;
    struct etw_registry_tree tree;
};

/* The Guid that an autologger of ours has, "{…}". */
enum { ETW_AUTOLOGGER_GUID_SIZE = 39 };
void etw_autologger_guid(const char *name, char ret_text[ETW_AUTOLOGGER_GUID_SIZE]);

/* Read what is there into ${tree}, an empty one, and say whose it is. */
bool etw_autologger_read(const char *name, struct etw_registry_tree *tree,
    enum etw_autologger_owner *ret_owner, struct error *err);

/*
 * Write all of ${items}, or nothing: what was written before a failure is taken back, and what was
 * there before is there again. Values that Windows keeps in the key (FileCounter, Status) stay; others
 * that an earlier installation left go. One that is somebody else's is an error. The error names the
 * key and the value.
 */
bool etw_autologger_install(const struct etw_autologger *items, size_t count, struct error *err);

/* Remove the autologger ${name} if it is ours; else ERR_STOPPED. */
bool etw_autologger_remove(const char *name, struct error *err);

/* Call ${each} for everything in which ${have} is not as ${want}, a line of text each; what Windows
 * keeps there does not count. How many there are. Pure. */
size_t etw_autologger_compare(const struct etw_registry_tree *want,
    const struct etw_registry_tree *have, void (*each)(void *self, const char *text), void *self);

#endif

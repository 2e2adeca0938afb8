#ifndef ETWSHIP_ETW_ETW_AUTOLOGGER_H
#define ETWSHIP_ETW_ETW_AUTOLOGGER_H

#include "etw/etw_registry.h"

/*
 * Sessions that Windows itself starts at boot: keys below ETW_AUTOLOGGER_ROOT, each with the values
 * of a session and a key per provider (configuring-and-starting-an-autologger-session on
 * learn.microsoft.com). Windows reads them at the next boot; running sessions do not change.
 *
 * etwship owns a key if its name begins with etwship- and its Guid is derived from that name
 * (guid_from_name). Windows requires a Guid anyway, so the mark needs no extra value; it stays
 * valid when the configuration changes or is deleted, and a session with that name made by hand has
 * another Guid. A key with such a name and no Guid is left from an interrupted call: Windows does
 * not start it, so etwship owns it, too.
 */
#define ETW_AUTOLOGGER_ROOT "SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger"

enum { ETW_AUTOLOGGER_MAX_FILES = 16 }; /* FileMax */

enum etw_autologger_owner {
    ETW_AUTOLOGGER_ABSENT, /* there is no such key */
    ETW_AUTOLOGGER_OURS,
    ETW_AUTOLOGGER_FOREIGN,
};

/* The wanted content of the key ${name}. */
struct etw_autologger {
    const char *name;
    struct etw_registry_tree tree;
};

/* The Guid of etwship's autologger ${name}, "{…}". */
enum { ETW_AUTOLOGGER_GUID_SIZE = 39 };
void etw_autologger_guid(const char *name, char ret_text[ETW_AUTOLOGGER_GUID_SIZE]);

/* Read the key into ${tree}, an empty one, and determine its owner. */
bool etw_autologger_read(const char *name, struct etw_registry_tree *tree,
    enum etw_autologger_owner *ret_owner, struct error *err);

/*
 * Write all of ${items} or nothing: a failure restores the earlier content. Values that Windows
 * keeps in the key (FileCounter, Status) stay; other values of an earlier installation are removed.
 * An autologger of another program is an error. The error names the key and the value.
 */
bool etw_autologger_install(const struct etw_autologger *items, size_t count, struct error *err);

/* Remove the autologger ${name} if etwship owns it; else ERR_STOPPED. */
bool etw_autologger_remove(const char *name, struct error *err);

/* Call ${each} with a line of text for every difference between ${have} and ${want}, except for
 * values of Windows. Returns their number. Pure. */
size_t etw_autologger_compare(const struct etw_registry_tree *want,
    const struct etw_registry_tree *have, void (*each)(void *self, const char *text), void *self);

#endif

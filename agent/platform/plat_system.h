#ifndef ETWSHIP_PLATFORM_PLAT_SYSTEM_H
#define ETWSHIP_PLATFORM_PLAT_SYSTEM_H

#include "base/error.h"
#include "base/utf.h"

/* This machine and its system: name, random numbers, default places, code pages. */

/* Host name as UTF-8, cut to ${size} with its terminator; "" if unknown. */
void plat_host_name(char *name, size_t size);

/* Random bytes for ids. */
bool plat_random(void *data, size_t size, struct error *err);

/* True if this system has Event Tracing for Windows. */
bool plat_has_etw(void);

/* Default path of the configuration. Static. */
const char *plat_default_config_path(void);

/*
 * Default folder of the agent's data: %ProgramData%\etwship; /var/lib/etwship for root, else below
 * $XDG_STATE_HOME or ~/.local/state (XDG Base Directory Specification 0.8). NULL if there is none,
 * because there is no home. Static.
 */
const char *plat_default_data_folder(void);

/*
 * Fill ${page} for Windows code page ${id}. Double-byte pages allocate `pairs`, which
 * plat_codepage_fini frees. False if the system does not know the page.
 */
bool plat_codepage_init(struct codepage *page, uint32_t id, struct error *err);
void plat_codepage_fini(struct codepage *page);

#endif

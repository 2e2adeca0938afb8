#ifndef ETWSHIP_APP_APP_WPP_H
#define ETWSHIP_APP_APP_WPP_H

#include "app/config/app_config.h"

/*
 * The control GUID and the bits of flags of a provider with `wpp`, from the files that say them
 * (schema/wpp/wpp_control.h), put into its spec. Files are read if the entry has flags by name, or no GUID.
 *
 * Of several control GUIDs that counts which `name` says; else the one that knows all of the flags; if
 * that leaves several, it is an error. So are flags that are not known, and files that cannot be read but
 * are needed. Added to ${report}. Only sessions that switch providers on (${is_live}) ask; in recorded
 * traces names of flags are those of the formats, and nothing has a control GUID.
 */
void app_wpp_check(struct config *memory, struct app_provider *provider, bool is_live,
    struct config_report *report);

#endif

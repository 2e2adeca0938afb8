#ifndef ETWSHIP_APP_APP_WPP_H
#define ETWSHIP_APP_APP_WPP_H

#include "app/config/app_config.h"

/*
 * The control GUID and the bits of flags of a provider with `wpp`, from the files that define them
 * (schema/wpp/wpp_control.h), put into its spec. Files are read if the entry has flags by name, or
 * no GUID.
 *
 * Of several control GUIDs, `name` decides; without it, the one that has all of the flags.
 * If several remain, that is an error. Unknown flags are errors, too, and files that are needed but
 * cannot be read. Errors are added to ${report}. Only sessions that enable providers (${is_live})
 * need this; in recorded traces the formats have the names of flags, and nothing has a control
 * GUID.
 */
void app_wpp_check(struct config *memory, struct app_provider *provider, bool is_live,
    struct config_report *report);

#endif

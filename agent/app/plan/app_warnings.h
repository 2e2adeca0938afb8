#ifndef ETWSHIP_APP_APP_WARNINGS_H
#define ETWSHIP_APP_APP_WARNINGS_H

#include "app/config/app_config.h"
#include "app/config/provider_names.h"

/*
 * Settings that are valid, but probably mistakes: added to ${report}, whose kind should be
 * "warning", at its place. Looks at the disk, but only at what exists there.
 */
void app_warnings_find(const struct app_config *config, struct config_report *report);

/* Likewise for a provider, by the known definitions: ids,
 * keywords and names that they do not have. */
void app_warnings_of_facts(const struct app_config *config, const struct app_provider *provider,
    const struct provider_facts *facts, struct config_report *report);

#endif

#ifndef ETWSHIP_APP_FIELD_WARNINGS_H
#define ETWSHIP_APP_FIELD_WARNINGS_H

#include "app/config/app_config.h"
#include "app/config/provider_names.h"

/*
 * Warn, at their place in the rules, of payload fields that no event of the providers has according
 * to ${cache}. ${facts} are those of all providers, in order. No warning if events of unknown
 * providers may arrive, which may have the field.
 */
void field_warnings_find(const struct app_config *config, struct schema_cache *cache,
    const struct provider_facts *facts, size_t fact_count, struct config_report *report);

#endif

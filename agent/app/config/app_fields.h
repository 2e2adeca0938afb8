#ifndef ETWSHIP_APP_APP_FIELDS_H
#define ETWSHIP_APP_APP_FIELDS_H

#include "app/config/app_config.h"

/* The option tables of the agent itself, combined with those of the modules. */

/* The struct that a configuration file is bound to. */
struct app_root {
    int64_t version;
    struct app_agent agent;
    struct app_status status;
    struct app_spool spool;
    struct config_list schemas;    /* struct app_schema */
    struct config_strings include; /* the loader handles it */
    struct config_list filters;    /* struct app_rule */
    struct config_list sessions;   /* struct app_session */
    struct config_list outputs;    /* struct app_output */
};

/*
 * The rows of struct app_root, with the modules of ${registry} as the variants of `sessions` and
 * `outputs`; they live as long as ${memory}. NULL: out of memory.
 */
const struct config_field *app_fields_create(
    struct config *memory, const struct app_registry *registry);

/* The rows of struct app_log, struct app_status and struct app_rule. */
extern const struct config_field app_log_fields[];
extern const struct config_field app_status_fields[];
extern const struct config_field app_rule_fields[];

/* Names of enum plat_priority, by value; ends with NULL. */
extern const char *const app_priority_names[];

/* Names of enum provider_extended, by value; ends with NULL. */
extern const char *const app_extended_names[];

#endif

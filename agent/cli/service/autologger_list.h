#ifndef ETWSHIP_CLI_AUTOLOGGER_LIST_H
#define ETWSHIP_CLI_AUTOLOGGER_LIST_H

#include "app/config/app_config.h"
#include "input/windows/etw_boot.h"

/* The autologgers of a configuration, and those of etwship that are installed. */
struct autologger_list {
    struct etw_boot *wanted;
    const char **sessions; /* by wanted: the session's name */
    size_t count;

    /* Names of autologgers in the registry that begin with etwship-; their owner is known only
     * after reading them. */
    char **found;
    size_t found_count;
    size_t other_count; /* autologgers of others */
};

/* The autologgers of enabled sessions of ${config} that start at boot. False with ${err} set, which
 * names the session; fini is allowed. */
bool autologger_list_want(
    struct autologger_list *list, const struct app_config *config, struct error *err);

/* Look up what is installed. */
bool autologger_list_find(struct autologger_list *list, struct error *err);

/* True if the configuration has the autologger ${name}. */
bool autologger_list_wants(const struct autologger_list *list, const char *name);

void autologger_list_fini(struct autologger_list *list);

#endif

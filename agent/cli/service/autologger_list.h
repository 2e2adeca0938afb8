#ifndef ETWSHIP_CLI_AUTOLOGGER_LIST_H
#define ETWSHIP_CLI_AUTOLOGGER_LIST_H

#include "app/config/app_config.h"
#include "input/windows/etw_boot.h"

/* The autologgers that a configuration wants, and those of ours that are there. */
struct autologger_list {
    struct etw_boot *wanted;
    const char **sessions; /* by wanted: the session's name */
    size_t count;

    /* Names of autologgers that begin with etwship-, as the registry has them; whose they are only
     * reading them says. */
    char **found;
    size_t found_count;
    size_t other_count; /* of everybody else */
};

/* What sessions of ${config} that are enabled and start at boot amount to. False with ${err} set, which
 * names the session; fini is allowed. */
bool autologger_list_want(
    struct autologger_list *list, const struct app_config *config, struct error *err);

/* Look up what is installed. */
bool autologger_list_find(struct autologger_list *list, struct error *err);

/* Is the autologger ${name} wanted? */
bool autologger_list_wants(const struct autologger_list *list, const char *name);

void autologger_list_fini(struct autologger_list *list);

#endif

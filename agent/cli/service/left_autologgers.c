#include "cli/service/left_autologgers.h"

#include <stdio.h>

#include "cli/options/cli.h"
#include "cli/service/autologger_list.h"

static void remove_one(const char *name)
{
    struct error err;
    if (etw_autologger_remove(name, &err)) {
        printf("removed the autologger %s\n", name);
    } else if (err.code != ERR_STOPPED) { /* of another program */
        cli_warning("%s. Windows still starts %s at boot. remove its key", err.text, name);
    }
}

void left_autologgers_remove(void)
{
    struct autologger_list list = {.count = 0};
    struct error err;
    if (!etw_registry_get()) {
        return;
    }
    if (!autologger_list_find(&list, &err)) {
        cli_warning(
            "%s. look for autologgers called etwship-… below " ETW_AUTOLOGGER_ROOT, err.text);
    }
    for (size_t i = 0; i < list.found_count; i++) {
        remove_one(list.found[i]);
    }
    autologger_list_fini(&list);
}

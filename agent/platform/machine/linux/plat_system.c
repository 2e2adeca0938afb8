#define _GNU_SOURCE

#include "platform/plat_system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

void plat_host_name(char *name, size_t size)
{
    if (size == 0) {
        return;
    }
    if (gethostname(name, size) != 0 && errno != ENAMETOOLONG) {
        name[0] = '\0';
    }
    name[size - 1] = '\0';
}

bool plat_random(void *data, size_t size, struct error *err)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = getrandom((uint8_t *)data + done, size - done, 0);
        if (got >= 0) {
            done += (size_t)got;
        } else if (errno != EINTR) {
            return error_set_os(err, errno, strerror(errno), "cannot get random numbers");
        }
    }
    return true;
}

bool plat_has_etw(void)
{
    return false;
}

const char *plat_default_config_path(void)
{
    return "/etc/etwship/etwship.yaml";
}

const char *plat_default_data_folder(void)
{
    static char path[4096];
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int size = 0;
    if (geteuid() == 0) {
        return "/var/lib/etwship";
    }
    /* XDG: relative paths must be ignored */
    if (state && *state == '/') {
        size = snprintf(path, sizeof(path), "%s/etwship", state);
    } else if (home && *home == '/') {
        size = snprintf(path, sizeof(path), "%s/.local/state/etwship", home);
    }
    return size > 0 && size < (int)sizeof(path) ? path : NULL;
}

#define _GNU_SOURCE

#include "platform/plat_rights.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(struct error *err, const char *path, const char *what)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: %s", path, what);
}

/* Target of the link ${path}, on the heap. */
static uint8_t *read_link(const char *path, size_t *ret_bytes, struct error *err)
{
    uint8_t *target = malloc(PATH_MAX);
    if (!target) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    ssize_t bytes = readlink(path, (char *)target, PATH_MAX);
    if (bytes <= 0 || bytes == PATH_MAX) {
        fail(err, path, "cannot read this link");
        free(target);
        return NULL;
    }
    *ret_bytes = (size_t)bytes;
    return target;
}

bool plat_rights_read(const char *path, struct plat_rights *ret_rights, struct error *err)
{
    struct stat st;
    struct plat_rights rights = {.kind = PLAT_RIGHTS_NONE};
    if (lstat(path, &st) != 0) {
        if (errno != ENOENT && errno != ENOTDIR) {
            return fail(err, path, "cannot read its attributes");
        }
        *ret_rights = rights;
        return true;
    }
    rights.kind = S_ISREG(st.st_mode)   ? PLAT_RIGHTS_FILE
                  : S_ISDIR(st.st_mode) ? PLAT_RIGHTS_FOLDER
                  : S_ISLNK(st.st_mode) ? PLAT_RIGHTS_LINK
                                        : PLAT_RIGHTS_OTHER;
    rights.is_folder = rights.kind == PLAT_RIGHTS_FOLDER;
    rights.owner = st.st_uid;
    rights.group = st.st_gid;
    rights.mode = st.st_mode & 07777;
    if (rights.kind == PLAT_RIGHTS_LINK) {
        rights.link = read_link(path, &rights.link_bytes, err);
        if (!rights.link) {
            return false;
        }
    }
    *ret_rights = rights;
    return true;
}

void plat_rights_fini(struct plat_rights *rights)
{
    free(rights->descriptor);
    free(rights->link);
}

void plat_rights_self(struct plat_rights_self *ret_self)
{
    uint32_t user = geteuid();
    *ret_self = (struct plat_rights_self){.is_privileged = user == 0, .user = user};
}

char *plat_rights_absolute(const char *path, struct error *err)
{
    char *folder = *path == '/' ? strdup("") : getcwd(NULL, 0);
    char *absolute = NULL;
    if (!folder) {
        fail(err, path, "not a valid path");
    } else if (asprintf(&absolute, "%s%s%s", folder, *path == '/' ? "" : "/", path) < 0) {
        absolute = NULL;
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    free(folder);
    return absolute;
}

char *plat_rights_program(struct error *err)
{
    size_t bytes;
    uint8_t *target = read_link("/proc/self/exe", &bytes, err);
    char *program = target ? strndup((char *)target, bytes) : NULL;
    free(target);
    return program;
}

bool plat_rights_protect(const char *path, const char *sddl, struct error *err)
{
    (void)sddl;
    return error_set(err, ERR_UNSUPPORTED, "%s: this system has no such access lists", path);
}

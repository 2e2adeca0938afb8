#include "outputs/file/file_try.h"

#include <stdio.h>

#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_rights.h"

enum { MAX_PATH_BYTES = 4096 };

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* Cut ${path} to its folder. False: it is a root, or has no folder, and does not change. */
static bool cut(char *path)
{
    size_t size = strlen(path);
    bool is_root = size == 1 && is_separator(path[0]);
    while (size && !is_separator(path[size - 1])) {
        size--;
    }
    if (size == 0 || is_root) {
        return false;
    }
    path[size > 1 ? size - 1 : 1] = '\0'; /* the folder of an entry of the root is the separator */
    return true;
}

static bool make_and_remove(const char *folder, struct error *err)
{
    char path[MAX_PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/etwship-test-%llx.tmp", folder,
        (unsigned long long)plat_monotonic_ns());
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE_NEW, err);
    plat_file_close(file);
    return file && plat_path_remove(path, err);
}

/* True if it is neither a link nor a file with a second name. Changes nothing. */
static bool is_fit(const char *path, struct error *err)
{
    struct plat_rights rights;
    if (!plat_rights_read(path, &rights, NULL)) {
        return true;
    }
    bool is_there = rights.kind == PLAT_RIGHTS_FILE || rights.kind == PLAT_RIGHTS_LINK;
    plat_rights_fini(&rights);
    struct plat_file *file = is_there ? plat_file_open(path, PLAT_FILE_APPEND, err) : NULL;
    plat_file_close(file);
    /* Windows refuses it as well while an agent writes there. */
    return !is_there || file || err->code != ERR_CONFIG;
}

bool file_try(const char *path, const struct output_talk *talk)
{
    char folder[MAX_PATH_BYTES];
    char text[MAX_PATH_BYTES + 1024];
    struct error err;
    /* The varying part begins at the first field or date. */
    snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(path, "{%"), path);
    if (!cut(folder) && !is_separator(folder[0])) {
        snprintf(folder, sizeof(folder), ".");
    }
    bool missing = false;
    while (plat_path_kind(folder) == PLAT_PATH_NONE) {
        missing = true;
        if (!cut(folder)) {
            snprintf(folder, sizeof(folder), ".");
            break;
        }
    }
    if (!is_fit(path, &err)) {
        talk->say(talk->host, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    bool good = make_and_remove(folder, &err);
    if (good) {
        snprintf(text, sizeof(text), "%s: files can be made there%s", folder,
            missing ? ", and the folders that are missing" : "");
    } else {
        snprintf(text, sizeof(text),
            "%s. give the user that runs etwship the right to write there, or change path",
            err.text);
    }
    talk->say(talk->host, good ? OUTPUT_FOUND_GOOD : OUTPUT_FOUND_FAULT, text);
    return good;
}

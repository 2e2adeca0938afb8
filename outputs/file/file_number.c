#include "outputs/file/file_number.h"

#include <stdlib.h>

#include "platform/plat_file.h"

char *file_number_folder(const char *path)
{
    size_t size = strlen(path);
    while (size && path[size - 1] != '/' && path[size - 1] != '\\') {
        size--;
    }
    while (size > 1 && (path[size - 1] == '/' || path[size - 1] == '\\')) {
        size--;
    }
    char *folder = malloc(size + 2);
    if (folder) {
        memcpy(folder, size ? path : ".", size ? size : 1);
        folder[size ? size : 1] = '\0';
    }
    return folder;
}

bool file_number_parse(struct span ending, struct file_number *ret_number)
{
    struct file_number found = {0};
    size_t at = 1;
    if (ending.size < 2 || ending.data[0] != '.' || ending.data[1] == '0') {
        return false;
    }
    while (at < ending.size && ending.data[at] >= '0' && ending.data[at] <= '9' && at < 20) {
        found.number = found.number * 10 + (uint64_t)(ending.data[at++] - '0');
    }
    found.compressed = span_is(span_from(ending, at), ".gz");
    if (at == 1 || found.number > FILE_NUMBER_MAX || (at < ending.size && !found.compressed)) {
        return false;
    }
    *ret_number = found;
    return true;
}

struct listing {
    size_t base_size;
    file_number_fn *each;
    void *self;
};

static bool list_one(void *self, const char *path)
{
    const struct listing *listing = self;
    struct file_number number;
    return !file_number_parse(span_text(path + listing->base_size), &number) ||
           listing->each(listing->self, path, number);
}

bool file_number_each(const char *path, file_number_fn *each, void *self, struct error *err)
{
    size_t size = strlen(path);
    char *pattern = malloc(size + sizeof(".*"));
    if (!pattern) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    memcpy(pattern, path, size);
    memcpy(pattern + size, ".*", sizeof(".*"));
    struct listing listing = {.base_size = size, .each = each, .self = self};
    struct error reason = {0};
    char *folder = file_number_folder(path);
    /* ERR_CONFIG: nothing matches. */
    bool good = plat_glob(pattern, list_one, &listing, &reason) || reason.code == ERR_CONFIG ||
                (folder && plat_path_kind(folder) == PLAT_PATH_NONE);
    free(folder);
    free(pattern);
    if (!good && err) {
        *err = reason;
    }
    return good;
}

#include "platform/plat_file.h"

#include <stdlib.h>

static bool load(struct plat_file *file, const char *path, size_t max_bytes, char **ret_data,
    size_t *ret_size, struct error *err)
{
    uint64_t size = 0;
    size_t got = 0;
    if (!plat_file_size(file, &size, err)) {
        return false;
    }
    if (size > max_bytes || size >= SIZE_MAX) {
        return error_set(err, ERR_LIMIT, "%s: larger than %zu bytes", path, max_bytes);
    }
    char *data = malloc((size_t)size + 1);
    if (!data) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    if (!plat_file_read_at(file, 0, data, (size_t)size, &got, err)) {
        free(data);
        return false;
    }
    data[got] = '\0';
    *ret_data = data;
    *ret_size = got;
    return true;
}

bool plat_file_load(
    const char *path, size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, err);
    bool loaded = file && load(file, path, max_bytes, ret_data, ret_size, err);
    plat_file_close(file);
    return loaded;
}

#include "input/windows/etw_kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { MAX_FILE_BYTES = 1024, MAX_PATH_BYTES = 4096 };

static bool path_of(
    const char *data_dir, const char *session, const char *suffix, char path[MAX_PATH_BYTES])
{
    int size = snprintf(path, MAX_PATH_BYTES, "%s/etw-%s.kept%s", data_dir, session, suffix);
    return size > 0 && size < MAX_PATH_BYTES;
}

bool etw_kept_load(const char *data_dir, const char *session, struct etw_kept *ret_kept)
{
    char path[MAX_PATH_BYTES];
    char guid[GUID_TEXT_SIZE + 1];
    char *data;
    size_t size;
    struct etw_kept kept;
    if (!data_dir || !path_of(data_dir, session, "", path) ||
        !plat_file_load(path, MAX_FILE_BYTES, &data, &size, NULL)) {
        return false;
    }
    int end = 0;
    bool good = sscanf(data, "1 %36s %" SCNx64 " %" SCNx32 " %" SCNx32 " %" SCNx32 " end%n", guid,
                    &kept.handle, &kept.events_lost, &kept.log_buffers_lost,
                    &kept.real_time_buffers_lost, &end) == 5 &&
                end > 0 && guid_parse(span_text(guid), &kept.fingerprint);
    free(data);
    if (good) {
        *ret_kept = kept;
    }
    return good;
}

bool etw_kept_save(
    const char *data_dir, const char *session, const struct etw_kept *kept, struct error *err)
{
    char path[MAX_PATH_BYTES];
    char fresh[MAX_PATH_BYTES];
    char guid[GUID_TEXT_SIZE];
    char text[256];
    if (!data_dir) {
        return true;
    }
    if (!path_of(data_dir, session, "", path) || !path_of(data_dir, session, ".new", fresh)) {
        return error_set(err, ERR_LIMIT, "the path of the data folder is too long");
    }
    guid_write(&kept->fingerprint, guid);
    int size = snprintf(text, sizeof(text),
        "1 %.36s %" PRIx64 " %" PRIx32 " %" PRIx32 " %" PRIx32 " end\n", guid, kept->handle,
        kept->events_lost, kept->log_buffers_lost, kept->real_time_buffers_lost);
    struct plat_file *file = plat_file_open(fresh, PLAT_FILE_CREATE, err);
    bool good = file && plat_file_write(file, span_make(text, (size_t)size), err) &&
                plat_file_sync(file, err);
    plat_file_close(file);
    return good && plat_path_rename(fresh, path, err);
}

void etw_kept_forget(const char *data_dir, const char *session)
{
    char path[MAX_PATH_BYTES];
    if (data_dir && path_of(data_dir, session, "", path)) {
        plat_path_remove(path, NULL);
    }
}

#include "app/log/log_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

static const uint64_t retry_ns = UINT64_C(10000000000);

bool log_file_init(
    struct log_file *file, const char *path, uint64_t rotate_size, unsigned rotate_keep)
{
    *file = (struct log_file){
        .path = span_copy(span_text(path)), .rotate_size = rotate_size, .rotate_keep = rotate_keep};
    return file->path != NULL;
}

void log_file_fini(struct log_file *file)
{
    log_file_reopen(file);
    free(file->path);
    file->path = NULL;
}

void log_file_reopen(struct log_file *file)
{
    plat_file_close(file->file);
    file->file = NULL;
    file->retry_at_ns = 0;
}

static bool open_file(struct log_file *file, struct error *err)
{
    file->file = plat_file_open(file->path, PLAT_FILE_APPEND, err);
    if (!file->file) {
        return false;
    }
    if (!plat_file_size(file->file, &file->size, err)) {
        plat_file_close(file->file);
        file->file = NULL;
        return false;
    }
    file->rotate_at = file->rotate_size;
    return true;
}

/* PATH.2 to PATH.3, PATH.1 to PATH.2, PATH to PATH.1. Gaps in the row are no failure. */
static bool set_aside(struct log_file *file, struct error *err)
{
    if (file->rotate_keep == 0) {
        return plat_path_remove(file->path, err);
    }
    const size_t room = strlen(file->path) + 16;
    char *from = malloc(room);
    char *to = malloc(room);
    bool good = from && to;
    if (!good) {
        error_set(err, ERR_MEMORY, "%s: out of memory", file->path);
    }
    for (unsigned i = file->rotate_keep; good && i > 1; i--) {
        snprintf(from, room, "%s.%u", file->path, i - 1);
        snprintf(to, room, "%s.%u", file->path, i);
        good = plat_path_kind(from) == PLAT_PATH_NONE || plat_path_rename(from, to, err);
    }
    if (good) {
        snprintf(to, room, "%s.1", file->path);
        good = plat_path_rename(file->path, to, err);
    }
    free(from);
    free(to);
    return good;
}

/* Windows renames no file that is open: it is closed first, and opened again either way. */
static bool rotate(struct log_file *file, struct error *err)
{
    struct error why;
    plat_file_close(file->file);
    file->file = NULL;
    bool moved = set_aside(file, &why);
    if (!open_file(file, err)) {
        return false;
    }
    if (!moved) {
        *err = why;
        file->rotate_at = file->size + file->rotate_size;
    }
    return true;
}

static bool append(struct log_file *file, struct span line, struct error *err)
{
    if (!file->file && !open_file(file, err)) {
        return false;
    }
    bool full = file->rotate_size && file->size && file->size + line.size > file->rotate_at;
    if (full && !rotate(file, err)) {
        return false;
    }
    struct error why;
    if (!plat_file_write(file->file, line, &why)) {
        plat_file_truncate(file->file, file->size, NULL); /* no torn line, if it can be helped */
        *err = why;
        return false;
    }
    file->size += line.size;
    return true;
}

bool log_file_write(struct log_file *file, struct span line, uint64_t now_ns, struct error *err)
{
    *err = (struct error){.code = ERR_NONE};
    if (file->failed && !file->file && now_ns < file->retry_at_ns) {
        return false;
    }
    file->failed = !append(file, line, err);
    if (file->failed) {
        log_file_reopen(file);
        file->retry_at_ns = now_ns + retry_ns;
    }
    return !file->failed;
}

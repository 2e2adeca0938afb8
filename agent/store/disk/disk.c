#include "store/disk/disk.h"

#include <stdlib.h>

#include "platform/plat_append.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

/* The operating system's files: platform/plat_file.h and plat_append.h with the codes of disk.h. */

/* One of them is not NULL. */
struct disk_file {
    struct plat_file *read;
    struct plat_append *append;
};

/* Tell a full disk from other failures. */
static bool checked(bool good, struct error *err)
{
    if (!good && err && plat_disk_is_full(err)) {
        err->code = ERR_FULL;
    }
    return good;
}

static struct disk_file *make_file(const char *path, struct error *err)
{
    struct disk_file *file = calloc(1, sizeof(*file));
    if (!file) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    return file;
}

static void close_file(struct disk *disk, struct disk_file *file)
{
    (void)disk;
    plat_file_close(file->read);
    plat_append_close(file->append);
    free(file);
}

static struct disk_file *open_read(struct disk *disk, const char *path, struct error *err)
{
    struct disk_file *file = make_file(path, err);
    if (file && !(file->read = plat_file_open(path, PLAT_FILE_READ, err))) {
        close_file(disk, file);
        return NULL;
    }
    return file;
}

static struct disk_file *open_append(struct disk *disk, const char *path, struct error *err)
{
    struct disk_file *file = make_file(path, err);
    if (file && !(file->append = plat_append_open(path, err))) {
        checked(false, err);
        close_file(disk, file);
        return NULL;
    }
    return file;
}

static bool read_at(struct disk *disk, struct disk_file *file, uint64_t offset, void *data,
    size_t size, size_t *ret_read, struct error *err)
{
    (void)disk;
    return plat_file_read_at(file->read, offset, data, size, ret_read, err);
}

static bool append(struct disk *disk, struct disk_file *file, const struct span *pieces,
    size_t count, struct error *err)
{
    (void)disk;
    return checked(plat_append_write(file->append, pieces, count, err), err);
}

static void expect_reads(struct disk *disk, struct disk_file *file, bool expected)
{
    (void)disk;
    plat_append_expect_reads(file->append, expected);
}

static bool truncate_file(
    struct disk *disk, struct disk_file *file, uint64_t bytes, struct error *err)
{
    (void)disk;
    return checked(plat_append_truncate(file->append, bytes, err), err);
}

static bool sync_file(struct disk *disk, struct disk_file *file, struct error *err)
{
    (void)disk;
    return checked(plat_append_sync(file->append, err), err);
}

static bool find(
    struct disk *disk, const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err)
{
    (void)disk;
    return plat_path_find(path, ret_there, ret_bytes, err);
}

static bool unlink_file(struct disk *disk, const char *path, struct error *err)
{
    (void)disk;
    return checked(plat_path_remove(path, err), err);
}

static bool rename_file(struct disk *disk, const char *from, const char *to, struct error *err)
{
    (void)disk;
    return checked(plat_path_rename(from, to, err), err);
}

static bool list(struct disk *disk, const char *folder, bool (*each)(void *self, const char *name),
    void *self, struct error *err)
{
    (void)disk;
    return plat_dir_files(folder, each, self, err);
}

static bool make_folder(struct disk *disk, const char *folder, struct error *err)
{
    (void)disk;
    if (!checked(plat_dir_create_private(folder, err), err)) {
        return false;
    }
    plat_path_sync_name(folder, NULL); /* if the folder above is readable */
    return true;
}

static bool sync_folder(struct disk *disk, const char *folder, struct error *err)
{
    (void)disk;
    return checked(plat_path_sync_folder(folder, err), err);
}

static bool free_bytes(
    struct disk *disk, const char *folder, uint64_t *ret_bytes, struct error *err)
{
    (void)disk;
    return plat_disk_free(folder, ret_bytes, err);
}

struct disk *disk_system(void)
{
    static const struct disk_ops ops = {
        .open_read = open_read,
        .open_append = open_append,
        .close = close_file,
        .read_at = read_at,
        .append = append,
        .expect_reads = expect_reads,
        .truncate = truncate_file,
        .sync = sync_file,
        .find = find,
        .unlink = unlink_file,
        .rename = rename_file,
        .list = list,
        .make_folder = make_folder,
        .sync_folder = sync_folder,
        .free_bytes = free_bytes,
    };
    static struct disk disk = {.ops = &ops};
    return &disk;
}

/* ---- no disk at all -------------------------------------------------------------------------- */

static struct disk_file *none_open(struct disk *disk, const char *path, struct error *err)
{
    (void)disk;
    error_set(err, ERR_IO, "%s: there is no disk", path);
    return NULL;
}

static bool none_find(
    struct disk *disk, const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err)
{
    (void)disk;
    (void)path;
    (void)err;
    *ret_there = false;
    *ret_bytes = 0;
    return true;
}

static bool none_rename(struct disk *disk, const char *from, const char *to, struct error *err)
{
    (void)disk;
    (void)to;
    return error_set(err, ERR_IO, "%s: there is no disk", from);
}

static bool none_list(struct disk *disk, const char *folder,
    bool (*each)(void *self, const char *name), void *self, struct error *err)
{
    (void)disk;
    (void)folder;
    (void)each;
    (void)self;
    (void)err;
    return true;
}

/* Nothing is there, so nothing is to be done. */
static bool none_touch(struct disk *disk, const char *path, struct error *err)
{
    (void)disk;
    (void)path;
    (void)err;
    return true;
}

static bool none_free_bytes(
    struct disk *disk, const char *folder, uint64_t *ret_bytes, struct error *err)
{
    (void)disk;
    (void)folder;
    (void)err;
    *ret_bytes = UINT64_MAX;
    return true;
}

struct disk *disk_none(void)
{
    static const struct disk_ops ops = {
        .open_read = none_open,
        .open_append = none_open,
        .find = none_find,
        .unlink = none_touch,
        .rename = none_rename,
        .list = none_list,
        .make_folder = none_touch,
        .sync_folder = none_touch,
        .free_bytes = none_free_bytes,
    };
    static struct disk disk = {.ops = &ops};
    return &disk;
}

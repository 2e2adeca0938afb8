#include "support/sqlite_model_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * SQLite's interface: https://www.sqlite.org/c3ref/io_methods.html and c3ref/vfs.html. What the
 * files of a database share (its locks, and the index of its log) hangs on its path: struct shared.
 *
 * A file that was made here is in its folder, durably, from its first sync on, as SQLite's own VFS
 * for Unix does it for logs and journals.
 */
enum { PATH_BYTES = 512, MAX_REGIONS = 64 };

struct shared {
    struct shared *next;
    char path[PATH_BYTES];
    size_t users;
    int readers; /* of the database */
    struct model_sqlite_file *reserved;
    struct model_sqlite_file *exclusive;
    int shm_readers[SQLITE_SHM_NLOCK];
    bool shm_held[SQLITE_SHM_NLOCK];
    void *regions[MAX_REGIONS];
};

struct model_sqlite_file {
    sqlite3_file base;
    struct sqlite_model_vfs *vfs;
    struct disk_file *file;
    struct shared *shared; /* NULL: no database */
    char path[PATH_BYTES];
    bool is_new; /* its folder was not synced since it was made */
    bool removed_at_close;
    int lock;
    unsigned shm_shared; /* bits of the locks that it has */
    unsigned shm_exclusive;
};

struct sqlite_model_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *system; /* for randomness and time */
    struct disk_model *model;
    struct disk *disk;
    struct shared *shared;
};

static struct model_sqlite_file *file_of(sqlite3_file *file)
{
    return (struct model_sqlite_file *)file;
}

static struct sqlite_model_vfs *vfs_of(sqlite3_vfs *vfs)
{
    return (struct sqlite_model_vfs *)vfs;
}

static bool sync_folder_of(struct sqlite_model_vfs *vfs, const char *path)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof(folder), "%s", path);
    char *end = strrchr(folder, '/');
    if (end) {
        *end = '\0';
    }
    return vfs->disk->ops->sync_folder(vfs->disk, folder, NULL);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int vfs_read(sqlite3_file *base, void *data, int size, sqlite3_int64 offset)
{
    struct model_sqlite_file *f = file_of(base);
    struct disk *disk = f->vfs->disk;
    size_t got = 0;
    if (!disk->ops->read_at(disk, f->file, (uint64_t)offset, data, (size_t)size, &got, NULL)) {
        return SQLITE_IOERR_READ;
    }
    memset((char *)data + got, 0, (size_t)size - got);
    return got == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int vfs_write(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
    struct model_sqlite_file *f = file_of(base);
    struct error err = {0};
    bool good = disk_model_write_at(
        f->vfs->disk, f->file, (uint64_t)offset, span_make(data, (size_t)size), &err);
    return good ? SQLITE_OK : err.code == ERR_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int vfs_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct model_sqlite_file *f = file_of(base);
    struct disk *disk = f->vfs->disk;
    return disk->ops->truncate(disk, f->file, (uint64_t)size, NULL) ? SQLITE_OK
                                                                    : SQLITE_IOERR_TRUNCATE;
}

static int vfs_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    struct model_sqlite_file *f = file_of(base);
    struct disk *disk = f->vfs->disk;
    if (!disk->ops->sync(disk, f->file, NULL)) {
        return SQLITE_IOERR_FSYNC;
    }
    if (f->is_new && !sync_folder_of(f->vfs, f->path)) {
        return SQLITE_IOERR_DIR_FSYNC;
    }
    f->is_new = false;
    return SQLITE_OK;
}

static int vfs_size(sqlite3_file *base, sqlite3_int64 *ret_size)
{
    struct model_sqlite_file *f = file_of(base);
    *ret_size = (sqlite3_int64)disk_model_content(f->vfs->model, f->path).size;
    return SQLITE_OK;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static int vfs_unlock(sqlite3_file *base, int level)
{
    struct model_sqlite_file *f = file_of(base);
    struct shared *s = f->shared;
    if (f->lock <= level) {
        return SQLITE_OK;
    }
    s->exclusive = s->exclusive == f ? NULL : s->exclusive;
    s->reserved = s->reserved == f ? NULL : s->reserved;
    s->readers -= level == SQLITE_LOCK_NONE;
    f->lock = level;
    return SQLITE_OK;
}

static int vfs_lock(sqlite3_file *base, int level)
{
    struct model_sqlite_file *f = file_of(base);
    struct shared *s = f->shared;
    if (f->lock >= level) {
        return SQLITE_OK;
    }
    if ((s->exclusive && s->exclusive != f) ||
        (level > SQLITE_LOCK_SHARED && s->reserved && s->reserved != f) ||
        (level == SQLITE_LOCK_EXCLUSIVE && s->readers > 1)) {
        return SQLITE_BUSY;
    }
    s->readers += f->lock == SQLITE_LOCK_NONE;
    s->reserved = level > SQLITE_LOCK_SHARED ? f : s->reserved;
    s->exclusive = level == SQLITE_LOCK_EXCLUSIVE ? f : s->exclusive;
    f->lock = level;
    return SQLITE_OK;
}

static int vfs_is_reserved(sqlite3_file *base, int *ret_reserved)
{
    *ret_reserved = file_of(base)->shared->reserved != NULL;
    return SQLITE_OK;
}

static int vfs_control(sqlite3_file *base, int operation, void *argument)
{
    (void)base;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int vfs_sector_size(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int vfs_characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- the log's index ------------------------------------------------------------------------- */

static int shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **ret_region)
{
    struct shared *s = file_of(base)->shared;
    *ret_region = NULL;
    if (region >= MAX_REGIONS) {
        return SQLITE_IOERR_SHMSIZE;
    }
    if (!s->regions[region] && extend) {
        s->regions[region] = calloc(1, (size_t)size);
        if (!s->regions[region]) {
            return SQLITE_IOERR_NOMEM;
        }
    }
    *ret_region = s->regions[region];
    return SQLITE_OK;
}

static void shm_release(struct model_sqlite_file *f, unsigned bits)
{
    for (int i = 0; i < SQLITE_SHM_NLOCK; i++) {
        unsigned bit = 1U << i;
        if (bits & bit & f->shm_shared) {
            f->shared->shm_readers[i]--;
        }
        if (bits & bit & f->shm_exclusive) {
            f->shared->shm_held[i] = false;
        }
    }
    f->shm_shared &= ~bits;
    f->shm_exclusive &= ~bits;
}

static int shm_lock(sqlite3_file *base, int first, int count, int flags)
{
    struct model_sqlite_file *f = file_of(base);
    struct shared *s = f->shared;
    unsigned bits = ((1U << count) - 1) << first;
    if (flags & SQLITE_SHM_UNLOCK) {
        shm_release(f, bits);
        return SQLITE_OK;
    }
    bool exclusive = flags & SQLITE_SHM_EXCLUSIVE;
    for (int i = first; i < first + count; i++) {
        bool ours = (f->shm_shared >> i & 1U) != 0;
        if (s->shm_held[i] || (exclusive && s->shm_readers[i] > ours)) {
            return SQLITE_BUSY;
        }
    }
    for (int i = first; i < first + count; i++) {
        s->shm_held[i] = exclusive;
        s->shm_readers[i] += !exclusive && !(f->shm_shared >> i & 1U);
    }
    f->shm_exclusive |= exclusive ? bits : 0;
    f->shm_shared |= exclusive ? 0 : bits;
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *base)
{
    (void)base;
}

static int shm_unmap(sqlite3_file *base, int remove)
{
    (void)remove; /* goes with the last connection */
    shm_release(file_of(base), ~0U);
    return SQLITE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct shared *share(struct sqlite_model_vfs *vfs, const char *path)
{
    struct shared *s = vfs->shared;
    while (s && strcmp(s->path, path) != 0) {
        s = s->next;
    }
    if (!s) {
        s = calloc(1, sizeof(*s));
        if (!s) {
            return NULL;
        }
        snprintf(s->path, sizeof(s->path), "%s", path);
        s->next = vfs->shared;
        vfs->shared = s;
    }
    s->users++;
    return s;
}

static void unshare(struct sqlite_model_vfs *vfs, struct shared *s)
{
    struct shared **at = &vfs->shared;
    if (--s->users) {
        return;
    }
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    for (size_t i = 0; i < MAX_REGIONS; i++) {
        free(s->regions[i]);
    }
    free(s);
}

static int vfs_close(sqlite3_file *base)
{
    struct model_sqlite_file *f = file_of(base);
    struct disk *disk = f->vfs->disk;
    if (f->shared) {
        shm_release(f, ~0U);
        vfs_unlock(base, SQLITE_LOCK_NONE);
        unshare(f->vfs, f->shared);
    }
    disk->ops->close(disk, f->file);
    if (f->removed_at_close) {
        disk->ops->unlink(disk, f->path, NULL);
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_sync,
    .xFileSize = vfs_size,
    .xLock = vfs_lock,
    .xUnlock = vfs_unlock,
    .xCheckReservedLock = vfs_is_reserved,
    .xFileControl = vfs_control,
    .xSectorSize = vfs_sector_size,
    .xDeviceCharacteristics = vfs_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int vfs_open(
    sqlite3_vfs *base, const char *name, sqlite3_file *ret_file, int flags, int *ret_flags)
{
    struct sqlite_model_vfs *vfs = vfs_of(base);
    struct model_sqlite_file *f = file_of(ret_file);
    bool there = false;
    uint64_t bytes;
    memset(f, 0, sizeof(*f));
    if (!name || strlen(name) >= PATH_BYTES ||
        !vfs->disk->ops->find(vfs->disk, name, &there, &bytes, NULL) ||
        (!there && !(flags & SQLITE_OPEN_CREATE))) {
        return SQLITE_CANTOPEN;
    }
    f->vfs = vfs;
    f->is_new = !there;
    f->removed_at_close = flags & SQLITE_OPEN_DELETEONCLOSE;
    snprintf(f->path, sizeof(f->path), "%s", name);
    f->shared = flags & SQLITE_OPEN_MAIN_DB ? share(vfs, name) : NULL;
    f->file = vfs->disk->ops->open_append(vfs->disk, name, NULL);
    if (!f->file) {
        if (f->shared) {
            unshare(vfs, f->shared);
        }
        return SQLITE_CANTOPEN;
    }
    f->base.pMethods = &methods;
    if (ret_flags) {
        *ret_flags = flags;
    }
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *base, const char *name, int sync)
{
    struct sqlite_model_vfs *vfs = vfs_of(base);
    if (!vfs->disk->ops->unlink(vfs->disk, name, NULL)) {
        return SQLITE_IOERR_DELETE;
    }
    return !sync || sync_folder_of(vfs, name) ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
}

static int vfs_access(sqlite3_vfs *base, const char *name, int flags, int *ret_is)
{
    struct sqlite_model_vfs *vfs = vfs_of(base);
    bool there = false;
    uint64_t bytes = 0;
    if (!vfs->disk->ops->find(vfs->disk, name, &there, &bytes, NULL)) {
        return SQLITE_IOERR_ACCESS;
    }
    *ret_is = there && (flags != SQLITE_ACCESS_EXISTS || bytes > 0);
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *base, const char *name, int size, char *ret_path)
{
    (void)base;
    snprintf(ret_path, (size_t)size, "%s", name);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *base, int size, char *ret_bytes)
{
    (void)base;
    memset(ret_bytes, 7, (size_t)size); /* the same run is the same disk */
    return size;
}

static int vfs_sleep(sqlite3_vfs *base, int microseconds)
{
    (void)base;
    return microseconds; /* no other process works with it */
}

static int vfs_time(sqlite3_vfs *base, double *ret_days)
{
    sqlite3_vfs *system = vfs_of(base)->system;
    return system->xCurrentTime(system, ret_days);
}

static int vfs_last_error(sqlite3_vfs *base, int size, char *text)
{
    (void)base;
    if (size > 0) {
        text[0] = '\0';
    }
    return 0;
}

struct sqlite_model_vfs *sqlite_model_vfs_install(struct disk_model *model)
{
    struct sqlite_model_vfs *vfs = calloc(1, sizeof(*vfs));
    if (!vfs) {
        return NULL;
    }
    vfs->model = model;
    vfs->disk = disk_model_disk(model);
    vfs->system = sqlite3_vfs_find(NULL);
    vfs->base = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct model_sqlite_file),
        .mxPathname = PATH_BYTES - 16,
        .zName = "disk_model",
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_last_error,
    };
    sqlite3_vfs_register(&vfs->base, 1);
    return vfs;
}

void sqlite_model_vfs_remove(struct sqlite_model_vfs *vfs)
{
    sqlite3_vfs_unregister(&vfs->base);
    free(vfs);
}

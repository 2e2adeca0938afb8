#include "store/damaged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/filetime.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { MAX_FILES = 1000, CHUNK_BYTES = 256 << 10, KEPT_CATALOGUES = 3 };
static const uint64_t max_bytes = UINT64_C(256) << 20;

struct damaged {
    const struct folder *folder;
    struct segments *segments;
    struct ages *ages;
    const struct report *report;
};

struct damaged *damaged_create(const struct folder *folder, struct segments *segments,
    struct ages *ages, const struct report *report)
{
    struct damaged *damaged = malloc(sizeof(*damaged));
    if (damaged) {
        *damaged = (struct damaged){
            .folder = folder, .segments = segments, .ages = ages, .report = report};
    }
    return damaged;
}

void damaged_destroy(struct damaged *damaged)
{
    free(damaged);
}

/* ---- pieces of segments ---------------------------------------------------------------------- */

struct counting {
    const struct damaged *damaged;
    uint64_t files;
    uint64_t bytes;
};

static bool count_file(void *self, const char *name)
{
    struct counting *counting = self;
    struct disk *disk = folder_disk(counting->damaged->folder);
    char path[FOLDER_PATH_BYTES + 300];
    bool there = false;
    uint64_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s", folder_damaged(counting->damaged->folder), name);
    if (disk->ops->find(disk, path, &there, &bytes, NULL) && there) {
        counting->files++;
        counting->bytes += bytes;
    }
    return counting->files < MAX_FILES;
}

static bool has_room(const struct damaged *damaged, uint64_t bytes)
{
    struct disk *disk = folder_disk(damaged->folder);
    struct counting counting = {.damaged = damaged};
    return disk->ops->make_folder(disk, folder_damaged(damaged->folder), NULL) &&
           disk->ops->list(disk, folder_damaged(damaged->folder), count_file, &counting, NULL) &&
           counting.files < MAX_FILES && counting.bytes < max_bytes &&
           bytes <= max_bytes - counting.bytes;
}

static bool copy_bytes(const struct damaged *damaged, struct segments_scan *from,
    struct disk_file *to, uint64_t offset, uint64_t bytes)
{
    struct disk *disk = folder_disk(damaged->folder);
    uint8_t *chunk = malloc(CHUNK_BYTES);
    bool ok = chunk != NULL;
    while (ok && bytes) {
        size_t wanted = bytes < CHUNK_BYTES ? (size_t)bytes : CHUNK_BYTES;
        size_t got = 0;
        ok = from->scan.read_at(from->scan.self, offset, chunk, wanted, &got, NULL);
        struct span piece = span_make(chunk, got);
        ok = ok && (got == 0 || disk->ops->append(disk, to, &piece, 1, NULL));
        if (got == 0) {
            break;
        }
        offset += got;
        bytes -= got;
    }
    free(chunk);
    return ok;
}

void damaged_copy(
    struct damaged *damaged, uint64_t id, uint64_t offset, uint64_t bytes, const char *what)
{
    struct disk *disk = folder_disk(damaged->folder);
    char path[FOLDER_PATH_BYTES + 300];
    struct segments_scan from;
    bool there = true;
    uint64_t size;
    snprintf(path, sizeof(path), "%s/%016" PRIx64 "-%" PRIu64 "-%s",
        folder_damaged(damaged->folder), id, offset, what);
    if (!has_room(damaged, bytes) || !disk->ops->find(disk, path, &there, &size, NULL) || there ||
        !segments_scan_begin(damaged->segments, id, &from, NULL)) {
        return;
    }
    report_step(damaged->report, "damaged copy");
    struct disk_file *to = disk->ops->open_append(disk, path, NULL);
    bool ok = to && copy_bytes(damaged, &from, to, offset, bytes) &&
              disk->ops->sync(disk, to, NULL);
    if (to) {
        disk->ops->close(disk, to);
    }
    if (to && !ok) {
        disk->ops->unlink(disk, path, NULL);
    }
    segments_scan_end(&from);
}

bool damaged_move(struct damaged *damaged, uint64_t id)
{
    char name[64];
    struct error why;
    snprintf(name, sizeof(name), "%016" PRIx64 ".seg-unreadable", id);
    report_step(damaged->report, "damaged move");
    return segments_set_aside(damaged->segments, id, folder_damaged(damaged->folder), name, &why);
}

/* ---- the catalogue --------------------------------------------------------------------------- */

static const char catalogue_prefix[] = "catalogue.db.damaged-";

struct oldest {
    size_t count;
    char name[256];
};

/* Names end with the time, in as many digits for centuries; logs have more after it. */
static bool look_at(void *self, const char *name)
{
    struct oldest *oldest = self;
    if (strncmp(name, catalogue_prefix, sizeof(catalogue_prefix) - 1) == 0 &&
        !strstr(name, "-wal") && strlen(name) < sizeof(oldest->name)) {
        if (oldest->count++ == 0 || strcmp(name, oldest->name) < 0) {
            memcpy(oldest->name, name, strlen(name) + 1);
        }
    }
    return true;
}

static void remove_oldest(const struct damaged *damaged)
{
    struct oldest oldest = {.count = 0};
    char path[FOLDER_PATH_BYTES + 300];
    if (plat_dir_files(folder_path(damaged->folder), look_at, &oldest, NULL) &&
        oldest.count > KEPT_CATALOGUES) {
        snprintf(path, sizeof(path), "%s/%s", folder_path(damaged->folder), oldest.name);
        plat_path_remove(path, NULL);
        snprintf(path, sizeof(path), "%s/%s-wal", folder_path(damaged->folder), oldest.name);
        plat_path_remove(path, NULL);
    }
}

static bool rename_with(const char *from, const char *to, const char *suffix, struct error *err)
{
    char from_path[FOLDER_PATH_BYTES + 300];
    char to_path[FOLDER_PATH_BYTES + 300];
    snprintf(from_path, sizeof(from_path), "%s%s", from, suffix);
    snprintf(to_path, sizeof(to_path), "%s%s", to, suffix);
    return plat_path_kind(from_path) == PLAT_PATH_NONE || plat_path_rename(from_path, to_path, err);
}

bool damaged_catalogue(struct damaged *damaged, char *ret_name, size_t size, struct error *err)
{
    char to[FOLDER_PATH_BYTES + 64];
    char log_path[FOLDER_PATH_BYTES + 8];
    char shared[FOLDER_PATH_BYTES + 8];
    char name[64];
    const char *path = folder_catalogue(damaged->folder);
    snprintf(log_path, sizeof(log_path), "%s-wal", path);
    if (plat_path_kind(path) == PLAT_PATH_NONE && plat_path_kind(log_path) == PLAT_PATH_NONE) {
        ret_name[0] = '\0';
        return true;
    }
    uint64_t seconds = (ages_now(damaged->ages) - FILETIME_UNIX_EPOCH) / FILETIME_PER_S;
    int tries = 0;
    do { /* two in a second get two names */
        snprintf(name, sizeof(name), "%s%010" PRIu64, catalogue_prefix, seconds++);
        snprintf(to, sizeof(to), "%s/%s", folder_path(damaged->folder), name);
    } while (plat_path_kind(to) != PLAT_PATH_NONE && ++tries < MAX_FILES);
    report_step(damaged->report, "catalogue aside");
    /* The log first: a database without its log is found damaged, or old, and not taken for
     * whole. */
    snprintf(shared, sizeof(shared), "%s-shm", path);
    if (!rename_with(path, to, "-wal", err) || !rename_with(path, to, "", err) ||
        !plat_path_remove(shared, err)) {
        return false;
    }
    plat_path_sync_folder(folder_path(damaged->folder), NULL);
    remove_oldest(damaged);
    snprintf(ret_name, size, "%s", name);
    return true;
}

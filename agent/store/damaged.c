#include "store/damaged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/store_own.h"

enum { MAX_FILES = 1000, CHUNK_BYTES = 256 << 10, KEPT_CATALOGUES = 3 };
static const uint64_t max_bytes = UINT64_C(256) << 20;

/* ---- pieces of segments --------------------------------------------------------------------------------- */

struct counting {
    struct store *store;
    uint64_t files;
    uint64_t bytes;
};

static bool count_file(void *self, const char *name)
{
    struct counting *counting = self;
    struct disk *disk = counting->store->settings.disk;
    char path[STORE_PATH_BYTES + 300];
    bool there = false;
    uint64_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s", counting->store->damaged_path, name);
    if (disk->ops->find(disk, path, &there, &bytes, NULL) && there) {
        counting->files++;
        counting->bytes += bytes;
    }
    return counting->files < MAX_FILES;
}

static bool has_room(struct store *store, uint64_t bytes)
{
    struct disk *disk = store->settings.disk;
    struct counting counting = {.store = store};
    return disk->ops->make_folder(disk, store->damaged_path, NULL) &&
           disk->ops->list(disk, store->damaged_path, count_file, &counting, NULL) &&
           counting.files < MAX_FILES && counting.bytes < max_bytes &&
           bytes <= max_bytes - counting.bytes;
}

static bool copy_bytes(struct store *store, struct segments_scan *from, struct disk_file *to,
    uint64_t offset, uint64_t bytes)
{
    struct disk *disk = store->settings.disk;
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
    struct store *store, uint64_t id, uint64_t offset, uint64_t bytes, const char *what)
{
    struct disk *disk = store->settings.disk;
    char path[STORE_PATH_BYTES + 300];
    struct segments_scan from;
    bool there = true;
    uint64_t size;
    store->set_aside++;
    snprintf(path, sizeof(path), "%s/%016" PRIx64 "-%" PRIu64 "-%s", store->damaged_path, id,
        offset, what);
    if (!has_room(store, bytes) || !disk->ops->find(disk, path, &there, &size, NULL) || there ||
        !segments_scan_begin(store->segments, id, &from, NULL)) {
        return;
    }
    store_step(store, "damaged copy");
    struct disk_file *to = disk->ops->open_append(disk, path, NULL);
    bool ok = to && copy_bytes(store, &from, to, offset, bytes) && disk->ops->sync(disk, to, NULL);
    if (to) {
        disk->ops->close(disk, to);
    }
    if (to && !ok) {
        disk->ops->unlink(disk, path, NULL);
    }
    segments_scan_end(&from);
}

bool damaged_move(struct store *store, uint64_t id)
{
    char name[64];
    struct error why;
    snprintf(name, sizeof(name), "%016" PRIx64 ".seg-unreadable", id);
    store->set_aside++;
    store_step(store, "damaged move");
    return segments_set_aside(store->segments, id, store->damaged_path, name, &why);
}

/* ---- the catalogue ----------------------------------------------------------------------------------------- */

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

static void remove_oldest(const struct store *store)
{
    struct oldest oldest = {.count = 0};
    char path[STORE_PATH_BYTES + 300];
    if (plat_dir_files(store->settings.folder, look_at, &oldest, NULL) &&
        oldest.count > KEPT_CATALOGUES) {
        snprintf(path, sizeof(path), "%s/%s", store->settings.folder, oldest.name);
        plat_path_remove(path, NULL);
        snprintf(path, sizeof(path), "%s/%s-wal", store->settings.folder, oldest.name);
        plat_path_remove(path, NULL);
    }
}

static bool rename_with(const char *from, const char *to, const char *suffix, struct error *err)
{
    char from_path[STORE_PATH_BYTES + 300];
    char to_path[STORE_PATH_BYTES + 300];
    snprintf(from_path, sizeof(from_path), "%s%s", from, suffix);
    snprintf(to_path, sizeof(to_path), "%s%s", to, suffix);
    return plat_path_kind(from_path) == PLAT_PATH_NONE || plat_path_rename(from_path, to_path, err);
}

bool damaged_catalogue(struct store *store, char *ret_name, size_t size, struct error *err)
{
    char to[STORE_PATH_BYTES + 64];
    char shared[STORE_PATH_BYTES + 8];
    char name[64];
    uint64_t seconds = age_clock_now(&store->clock, NULL) / 10000000 - UINT64_C(11644473600);
    int tries = 0;
    do { /* two in a second get two names */
        snprintf(name, sizeof(name), "%s%010" PRIu64, catalogue_prefix, seconds++);
        snprintf(to, sizeof(to), "%s/%s", store->settings.folder, name);
    } while (plat_path_kind(to) != PLAT_PATH_NONE && ++tries < MAX_FILES);
    store_step(store, "catalogue aside");
    /* The log first: a database without its log is found damaged, or old, and not taken for whole. */
    snprintf(shared, sizeof(shared), "%s-shm", store->catalogue_path);
    if (!rename_with(store->catalogue_path, to, "-wal", err) ||
        !rename_with(store->catalogue_path, to, "", err) || !plat_path_remove(shared, err)) {
        return false;
    }
    plat_path_sync_folder(store->settings.folder, NULL);
    remove_oldest(store);
    snprintf(ret_name, size, "%s", name);
    return true;
}

#include "store/store_own.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "store/letters/letter_files.h"
#include "store/state/stage.h"
#include "store/state/streams.h"
#include "store/tails.h"

enum { STAGE_BYTES = 32 << 20 };
static const uint64_t default_segment_bytes = UINT64_C(64) << 20;
static const uint64_t min_segment_bytes = UINT64_C(64) << 10;

/* ---- what it is made of ---------------------------------------------------------------------- */

static uint64_t segment_bytes(const struct store_settings *settings)
{
    uint64_t eighth = settings->max_bytes / 8;
    if (settings->segment_bytes) {
        return settings->segment_bytes;
    }
    if (settings->max_bytes == 0 || eighth >= default_segment_bytes) {
        return default_segment_bytes;
    }
    return eighth < min_segment_bytes ? min_segment_bytes : eighth;
}

static struct store *create(const struct store_settings *settings, struct error *err)
{
    struct store *store = calloc(1, sizeof(*store));
    if (!store) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    store->streams = streams_create();
    store->chains = chains_create();
    store->stage = stage_create(STAGE_BYTES);
    store->pending = pending_create();
    store->report = report_create(settings);
    store->numbers = numbers_create();
    store->unneeded = unneeded_create();
    store->ages = ages_create(
        settings, store->chains, store->pending, store->numbers, store->report);
    if (!store->streams || !store->chains || !store->stage || !store->pending || !store->report ||
        !store->numbers || !store->unneeded || !store->ages) {
        error_set(err, ERR_MEMORY, "out of memory");
        store_close(store);
        return NULL;
    }
    store->folder = folder_create(settings, err);
    if (!store->folder) {
        store_close(store);
        return NULL;
    }
    return store;
}

static bool open_segments(
    struct store *store, const struct store_settings *settings, struct error *err)
{
    const struct segments_settings of_segments = {
        .disk = folder_disk(store->folder),
        .folder = folder_path(store->folder),
        .segment_bytes = segment_bytes(settings),
        .ballast_bytes = disk_room_ballast_bytes(settings),
        .zstd = settings->zstd,
        .step = settings->step,
        .step_self = settings->self,
    };
    store->segments = segments_create(&of_segments, err);
    if (!store->segments) {
        return false;
    }
    store->room = disk_room_create(settings, store->folder, store->segments, store->ages);
    store->damaged = damaged_create(store->folder, store->segments, store->ages, store->report);
    store->rebuild = rebuild_create(store->folder, store->segments, store->streams, store->chains,
        store->ages, store->damaged, store->report);
    return (store->room && store->damaged && store->rebuild) ||
           error_set(err, ERR_MEMORY, "out of memory");
}

/* ---- the catalogue --------------------------------------------------------------------------- */

/* Everything that is kept in memory; fresh before. */
static bool load(struct store *store, bool log_is_lost, struct error *err)
{
    const struct tails_parts parts = {.catalogue = store->catalogue,
        .segments = store->segments,
        .unneeded = store->unneeded,
        .rebuild = store->rebuild,
        .report = store->report};
    return streams_load(store->streams, store->catalogue, err) &&
           chains_load(store->chains, store->catalogue, err) &&
           tails_settle(&parts, log_is_lost, err) &&
           rebuild_compare_letters(store->rebuild, store->catalogue, err);
}

static bool try_catalogue(struct store *store, bool log_is_lost, struct error *why)
{
    store->catalogue = catalogue_open(folder_catalogue(store->folder), CATALOGUE_WRITE, why);
    if (store->catalogue && load(store, log_is_lost, why)) {
        return true;
    }
    catalogue_close(store->catalogue);
    store->catalogue = NULL;
    streams_clear(store->streams);
    chains_clear(store->chains);
    unneeded_forget(store->unneeded);
    return false;
}

/* On a full disk even the index of the log and the first repairs need room. */
static bool open_catalogue(struct store *store, struct error *err)
{
    char log_path[FOLDER_PATH_BYTES + 8];
    struct segment_info any;
    struct error why = {.code = ERR_NONE};
    snprintf(log_path, sizeof(log_path), "%s-wal", folder_catalogue(store->folder));
    bool log_is_lost = plat_path_kind(log_path) == PLAT_PATH_NONE;
    if (try_catalogue(store, log_is_lost, &why) ||
        (why.code == ERR_FULL && segments_release_ballast(store->segments) &&
            try_catalogue(store, log_is_lost, &why))) {
        return true;
    }
    if (!store_has_lost(&why)) {
        return error_set(err, why.code, "%s", why.text);
    }
    uint64_t letter_files;
    letter_files_bytes(folder_letters(store->folder), &letter_files);
    bool is_new = why.code == ERR_MISSING && !segments_get(store->segments, 0, &any) &&
                  letter_files == 0;
    store->catalogue = rebuild_at_start(store->rebuild, &why, is_new, err);
    return store->catalogue != NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

struct store *store_open(const struct store_settings *settings, struct error *err)
{
    struct store *store = create(settings, err);
    if (!store) {
        return NULL;
    }
    report_step(store->report, "open");
    if ((!folder_is_in_memory(store->folder) && !plat_dir_create_private(settings->folder, err)) ||
        !open_segments(store, settings, err) || !open_catalogue(store, err) ||
        !numbers_begin(store->numbers, store->catalogue, store->segments, err) ||
        !ages_begin(store->ages, store->catalogue, err)) {
        store_close(store);
        return NULL;
    }
    unneeded_look(store->unneeded);
    disk_room_look(store->room, store->catalogue);
    report_step(store->report, "opened");
    return store;
}

uint64_t store_letters_lost(const struct store *store)
{
    return rebuild_letters_lost(store->rebuild);
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    if (store->is_unclean && store->catalogue) {
        catalogue_keep_log(store->catalogue);
    }
    catalogue_close(store->catalogue);
    segments_destroy(store->segments);
    streams_destroy(store->streams);
    chains_destroy(store->chains);
    pending_destroy(store->pending);
    stage_destroy(store->stage);
    unneeded_destroy(store->unneeded);
    numbers_destroy(store->numbers);
    ages_destroy(store->ages);
    disk_room_destroy(store->room);
    damaged_destroy(store->damaged);
    rebuild_destroy(store->rebuild);
    folder_destroy(store->folder);
    report_destroy(store->report);
    free(store);
}

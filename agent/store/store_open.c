#include "store/store_own.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "store/letters/letter_files.h"
#include "store/rebuild.h"
#include "store/store_tails.h"

static const uint64_t default_segment_bytes = UINT64_C(64) << 20;
static const uint64_t min_segment_bytes = UINT64_C(64) << 10;

/* ---- what it is made of ------------------------------------------------------------------------------------ */

static bool make_path(char *path, const char *folder, const char *name, struct error *err)
{
    int size = snprintf(path, STORE_PATH_BYTES, "%s/%s", folder, name);
    return (size > 0 && size < STORE_PATH_BYTES) ||
           error_set(err, ERR_CONFIG, "%s: this path is too long", folder);
}

static void set_defaults(struct store_settings *settings)
{
    uint64_t eighth = settings->max_bytes / 8;
    if (settings->segment_bytes == 0) {
        settings->segment_bytes = settings->max_bytes && eighth < default_segment_bytes
                                      ? eighth
                                      : default_segment_bytes;
        if (settings->segment_bytes < min_segment_bytes) {
            settings->segment_bytes = min_segment_bytes;
        }
    }
    if (!settings->disk) {
        settings->disk = settings->folder[0] ? disk_system() : disk_none();
    }
}

static bool open_segments(struct store *store, struct error *err)
{
    const struct store_settings *settings = &store->settings;
    uint64_t ballast = settings->max_bytes / 16;
    const struct segments_settings of_segments = {
        .disk = settings->disk,
        .folder = settings->folder,
        .segment_bytes = settings->segment_bytes,
        .ballast_bytes = settings->no_batches ? 0
                         : settings->max_bytes && ballast < STORE_BALLAST_BYTES
                             ? ballast
                             : STORE_BALLAST_BYTES,
        .zstd = settings->zstd,
        .step = settings->step,
        .step_self = settings->self,
    };
    store->segments = segments_create(&of_segments, err);
    return store->segments != NULL;
}

/* ${folder} "": all of it is in memory. */
static bool make_paths(struct store *store, const char *folder, struct error *err)
{
    store->is_in_memory = folder[0] == '\0';
    if (store->is_in_memory) {
        snprintf(store->catalogue_path, sizeof(store->catalogue_path), CATALOGUE_IN_MEMORY);
        return true;
    }
    return make_path(store->catalogue_path, folder, "catalogue.db", err) &&
           make_path(store->damaged_path, folder, "damaged", err) &&
           make_path(store->letters_path, folder, STORE_LETTERS_FOLDER, err);
}

static struct store *create(const struct store_settings *settings, struct error *err)
{
    struct store *store = calloc(1, sizeof(*store));
    const char *given = settings->folder ? settings->folder : "";
    size_t size = strlen(given) + 1;
    char *folder = malloc(size);
    if (!store || !folder) {
        free(store);
        free(folder);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(folder, given, size);
    store->settings = *settings;
    store->settings.folder = folder;
    set_defaults(&store->settings);
    age_clock_init(&store->clock, settings->clock);
    store->started_ms = age_clock_monotonic_ms(&store->clock);
    store->settings.clock = NULL; /* copied */
    streams_init(&store->streams);
    chains_init(&store->chains);
    stage_init(&store->stage, STORE_STAGE_BYTES);
    store->numbers = numbers_create();
    store->unneeded = unneeded_create();
    if ((!store->numbers || !store->unneeded) ? !error_set(err, ERR_MEMORY, "out of memory")
                                              : !make_paths(store, folder, err)) {
        store_close(store);
        return NULL;
    }
    return store;
}

/* ---- the catalogue ----------------------------------------------------------------------------------------- */

static bool is_lost(const struct error *err)
{
    return err->code == ERR_DAMAGED || err->code == ERR_MISSING;
}

/* Everything that is kept in memory; fresh before. */
static bool load(struct store *store, bool log_is_lost, struct error *err)
{
    struct catalogue_info info;
    if (!catalogue_info(store->catalogue, &info, err) ||
        !streams_load(&store->streams, store->catalogue, err) ||
        !chains_load(&store->chains, store->catalogue, err)) {
        return false;
    }
    store->streams.next_id = info.next.stream;
    store->chains.next_id = info.next.output;
    return store_tails_settle(store, &info, log_is_lost, err) &&
           rebuild_compare_letters(store, err);
}

static void unload(struct store *store)
{
    catalogue_close(store->catalogue);
    store->catalogue = NULL;
    streams_fini(&store->streams);
    chains_fini(&store->chains);
}

static bool try_catalogue(struct store *store, bool log_is_lost, struct error *why)
{
    store->catalogue = catalogue_open(store->catalogue_path, CATALOGUE_WRITE, why);
    if (store->catalogue && load(store, log_is_lost, why)) {
        return true;
    }
    unload(store);
    unneeded_forget(store->unneeded);
    return false;
}

/* On a full disk even the index of the log and the first repairs need room. */
static bool open_catalogue(struct store *store, struct error *err)
{
    char log_path[STORE_PATH_BYTES + 8];
    struct segment_info any;
    struct error why = {.code = ERR_NONE};
    snprintf(log_path, sizeof(log_path), "%s-wal", store->catalogue_path);
    bool log_is_lost = plat_path_kind(log_path) == PLAT_PATH_NONE;
    if (try_catalogue(store, log_is_lost, &why) ||
        (why.code == ERR_FULL && segments_release_ballast(store->segments) &&
            try_catalogue(store, log_is_lost, &why))) {
        return true;
    }
    if (!is_lost(&why)) {
        return error_set(err, why.code, "%s", why.text);
    }
    uint64_t letter_files;
    letter_files_bytes(store->letters_path, &letter_files);
    if (why.code == ERR_MISSING && !segments_get(store->segments, 0, &any) && letter_files == 0) {
        store->is_fresh = true;
    }
    bool ok = rebuild_all(store, &why, err);
    store->is_fresh = false;
    return ok;
}

/* ---- open and close ------------------------------------------------------------------------------------------ */

struct store *store_open(const struct store_settings *settings, struct error *err)
{
    struct store *store = create(settings, err);
    if (!store) {
        return NULL;
    }
    store_step(store, "open");
    if ((!store->is_in_memory && !plat_dir_create_private(settings->folder, err)) ||
        !open_segments(store, err) || !open_catalogue(store, err) ||
        !numbers_begin(store->numbers, store->catalogue, store->segments, err) ||
        !store_age_open(store, err)) {
        store_close(store);
        return NULL;
    }
    unneeded_look(store->unneeded);
    store_look_at_disk(store);
    store_step(store, "opened");
    return store;
}

uint64_t store_letters_lost(const struct store *store)
{
    return store->letters_lost;
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    if (store->is_unclean && store->catalogue) {
        catalogue_keep_log(store->catalogue);
    }
    unload(store);
    segments_destroy(store->segments);
    pending_fini(&store->pending);
    stage_fini(&store->stage);
    unneeded_destroy(store->unneeded);
    numbers_destroy(store->numbers);
    free((char *)(uintptr_t)store->settings.folder);
    free(store);
}

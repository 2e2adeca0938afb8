#include "app/plan/app_dead_letters.h"

#include "app/state/data_folder.h"
#include "store/store.h"

static struct dead_letters *open_catalogue(const char *data_dir,
    void (*evicted)(void *self, const struct eviction *eviction), void *self, struct error *err)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    char path[DATA_FOLDER_PATH_BYTES];
    char files[DATA_FOLDER_PATH_BYTES];
    if (!data_folder_path(data_dir, "spool", folder, err) ||
        !data_folder_path(folder, "catalogue.db", path, err) ||
        !data_folder_path(folder, STORE_LETTERS_FOLDER, files, err)) {
        return NULL;
    }
    const struct dead_letters_catalogue_settings settings = {
        .path = path, .files = files, .evicted = evicted, .self = self};
    return dead_letters_catalogue_create(&settings, err);
}

struct dead_letters *app_dead_letters_open(const struct app_config *config,
    void (*evicted)(void *self, const struct eviction *eviction), void *self, struct error *err)
{
    const char *data_dir = app_config_data_dir(config);
    if (!data_dir) {
        error_set(err, ERR_CONFIG,
            "agent.data_dir is not set, so what outputs refuse is not kept. set it");
        return NULL;
    }
    return open_catalogue(data_dir, evicted, self, err);
}

#include "app/app_dead_letters.h"

struct dead_letters *app_dead_letters_open(const struct app_config *config,
    void (*evicted)(void *self, uint64_t count), void *self, struct error *err)
{
    const char *data_dir = config->agent.data_dir;
    if (!data_dir) {
        error_set(err, ERR_CONFIG,
            "agent.data_dir is not set, so what outputs refuse is not kept. set it");
        return NULL;
    }
    struct buf folder;
    buf_init(&folder, 64 * 1024);
    buf_add_text(&folder, data_dir);
    buf_add(&folder, "/dead_letters", sizeof("/dead_letters"));
    struct dead_letters_folder_settings settings = {
        .folder = (const char *)folder.data, .evicted = evicted, .self = self};
    struct dead_letters *letters = NULL;
    if (folder.failed) {
        error_set(err, ERR_CONFIG, "agent.data_dir is too long");
    } else {
        letters = dead_letters_folder_create(&settings, err);
    }
    buf_fini(&folder);
    return letters;
}

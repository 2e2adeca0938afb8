#include "app/plan/app_digest.h"

#include <stdio.h>
#include <xxhash.h>

#include "app/config/app_fields.h"
#include "config/config_image.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { MAX_PATH_BYTES = 4096 };

/* Files are found in any order, so what is known of each is added up. */
struct files {
    uint64_t high;
    uint64_t low;
    uint64_t count;
};

static bool add_file(void *self, const char *path)
{
    struct files *files = self;
    struct plat_stamp stamp = plat_path_stamp(path);
    XXH128_hash_t name = XXH3_128bits(path, strlen(path));
    const uint64_t parts[] = {name.high64, name.low64, stamp.id, stamp.size, stamp.modified};
    XXH128_hash_t hash = XXH3_128bits(parts, sizeof(parts));
    files->high += hash.high64;
    files->low += hash.low64;
    files->count++;
    return true;
}

static void add_path(void *self, const char *path)
{
    char pattern[MAX_PATH_BYTES];
    if (plat_path_kind(path) != PLAT_PATH_DIR) {
        add_file(self, path);
    } else if ((size_t)snprintf(pattern, sizeof(pattern), "%s/**/*", path) < sizeof(pattern)) {
        plat_glob(pattern, add_file, self, NULL); /* none is fine */
    }
}

bool app_digest_take(
    const struct app_config *config, struct app_digest *ret_digest, struct error *err)
{
    struct files files = {.count = 0};
    struct buf image;
    buf_init(&image, CONFIG_IMAGE_MAX_BYTES);
    config_image_write(config->fields, config->root, &image, add_path, &files);
    buf_add(&image, &files.high, sizeof(files.high));
    buf_add(&image, &files.low, sizeof(files.low));
    buf_add(&image, &files.count, sizeof(files.count));
    bool ok = !image.failed || error_set(err, ERR_MEMORY, "out of memory");
    if (ok) {
        XXH128_hash_t hash = XXH3_128bits(image.data, image.size);
        *ret_digest = (struct app_digest){.high = hash.high64, .low = hash.low64};
    }
    buf_fini(&image);
    return ok;
}

uint64_t app_digest_shown(const struct app_config *config)
{
    struct buf image;
    buf_init(&image, CONFIG_IMAGE_MAX_BYTES);
    config_image_write_shown(config->fields, config->root, &image);
    uint64_t shown = image.failed ? 0 : XXH3_64bits(image.data, image.size);
    buf_fini(&image);
    return shown;
}

/* Without a table of keys the files themselves are all that is read: no file with a secret, and of
 * the variables only those in the names of files. */
void app_digest_sources(const char *path, struct app_digest *ret_digest)
{
    static const struct config_field no_keys[] = {{.key = NULL}};
    static const struct config_additions additions = {.include_key = "include"};
    static struct config_report report;
    struct files files = {.count = 0};
    struct config *memory = config_create(NULL, NULL);
    const char *included = NULL;
    add_file(&files, path);
    if (memory) {
        config_report_init(&report);
        config_use(memory, &additions);
        config_load(memory, path, no_keys, 1, &report);
        for (size_t i = 1; (included = config_file_name(memory, i)); i++) {
            add_file(&files, included);
        }
        config_report_fini(&report);
        config_destroy(memory);
    }
    XXH128_hash_t hash = XXH3_128bits(&files, sizeof(files));
    *ret_digest = (struct app_digest){.high = hash.high64, .low = hash.low64};
}

bool app_digest_equal(const struct app_digest *a, const struct app_digest *b)
{
    return a->high == b->high && a->low == b->low;
}

struct check {
    struct error *err;
    bool failed;
};

static void check_path(void *self, const char *path)
{
    struct check *check = self;
    if (!check->failed && plat_path_kind(path) != PLAT_PATH_DIR) {
        struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, check->err);
        check->failed = file == NULL;
        plat_file_close(file);
    }
}

void app_digest_files(
    const struct app_output *output, void (*each)(void *self, const char *path), void *self)
{
    struct buf image;
    buf_init(&image, CONFIG_IMAGE_MAX_BYTES);
    config_image_write(output->variant->fields, output->settings, &image, each, self);
    buf_fini(&image);
}

bool app_digest_can_read(const struct app_output *output, struct error *err)
{
    struct check check = {.err = err};
    app_digest_files(output, check_path, &check);
    return !check.failed;
}

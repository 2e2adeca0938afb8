#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/manifest/manifest_set.h"
#include "schema/manifest/manifest_xml.h"
#include "schema/source/schema_files.h"

/* XML manifests from the files and folders that the user names. */
enum { MAX_FILE_MEMORY = 512 * 1024 * 1024 };

static const char *const endings[] = {".man", ".xml", ".manifest", NULL};

struct reading {
    struct plat_file *file;
    uint64_t offset;
};

static bool read_piece(void *self, void *data, size_t size, size_t *ret_size, struct error *err)
{
    struct reading *reading = self;
    bool ok = plat_file_read_at(reading->file, reading->offset, data, size, ret_size, err);
    reading->offset += ok ? *ret_size : 0;
    return ok;
}

static struct manifest *load(
    const struct schema_source_settings *settings, const char *path, struct error *err)
{
    const struct manifest_options options = {
        .source = "manifest",
        .file = path,
        .wanted = settings->language,
        .max_bytes = MAX_FILE_MEMORY,
        .budget = settings->budget,
        .warn = settings->warn,
        .warn_self = settings->warn_self,
    };
    struct reading reading = {.file = plat_file_open(path, PLAT_FILE_READ, err)};
    const struct manifest_xml_input input = {.read = read_piece, .self = &reading};
    struct manifest *manifest = reading.file ? manifest_xml_read(&input, &options, err) : NULL;
    plat_file_close(reading.file);
    return manifest;
}

/* Load a file with the name of a manifest. Packs and other schema files in the list belong to other
 * sources. False if there is no room for more manifests. */
static bool load_if_manifest(void *self, const char *path)
{
    struct manifest_set *set = self;
    if (!schema_files_is_one(path, endings)) {
        return true;
    }
    if (!manifest_set_has_room(set, path)) {
        return false;
    }
    struct error err = {0};
    struct manifest *manifest = load(set->settings, path, &err);
    manifest_set_add(set, manifest, path, &err);
    return true;
}

static void *manifest_create(const struct schema_source_settings *settings, struct error *err)
{
    struct manifest_set *set = manifest_set_create(settings, err);
    for (size_t i = 0; set && i < settings->path_count; i++) {
        struct error why = {0};
        set->group = i;
        if (!schema_files_walk(settings->paths[i], load_if_manifest, set, &why)) {
            schema_files_warn(settings, settings->paths[i], why.text);
        }
    }
    if (set) {
        set->settings = NULL;
    }
    return set;
}

const struct schema_source_ops schema_source_manifest = {
    .name = "manifest",
    .endings = endings,
    .shared = true,
    .create = manifest_create,
    .find = manifest_set_find,
    .list = manifest_set_list,
    .destroy = manifest_set_destroy,
};

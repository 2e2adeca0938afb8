#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/manifest_set.h"
#include "schema/manifest_xml.h"

/* XML manifests from the files and folders that the user named. */
enum { MAX_FILE_MEMORY = 512 * 1024 * 1024 };

struct manifest_source {
    const struct schema_source_settings *settings; /* only while it is made */
    struct manifest_set set;
    size_t group;
    bool is_full; /* and said so */
};

static void warn_about(const struct manifest_source *source, const char *path, const char *why)
{
    const struct schema_source_settings *settings = source->settings;
    if (settings->warn) {
        char text[1200];
        snprintf(text, sizeof(text), "%s: %s", path, why);
        settings->warn(settings->warn_self, text);
    }
}

/* What is beyond the limit is told once. */
static bool has_room(struct manifest_source *source, const char *path)
{
    if (source->set.count < MANIFEST_SET_MAX) {
        return true;
    }
    if (!source->is_full) {
        warn_about(source, path, "too many manifests: this and further files are not read");
        source->is_full = true;
    }
    return false;
}

/* False if there is no room for more files; also the callback of plat_glob. */
static bool load_file(void *self, const char *path)
{
    struct manifest_source *source = self;
    struct error err = {0};
    if (!has_room(source, path)) {
        return false;
    }
    char *data = NULL;
    size_t size = 0;
    if (!plat_file_load(path, MANIFEST_XML_MAX_BYTES, &data, &size, &err)) {
        warn_about(source, path, err.text);
        return true;
    }
    const struct manifest_options options = {
        .source = "manifest",
        .file = path,
        .max_bytes = MAX_FILE_MEMORY,
        .warn = source->settings->warn,
        .warn_self = source->settings->warn_self,
    };
    struct manifest *manifest = manifest_xml_parse(span_make(data, size), &options, &err);
    free(data);
    if (!manifest) {
        warn_about(source, path, err.text);
    } else if (!manifest_set_add(&source->set, manifest, source->group)) {
        warn_about(source, path, "out of memory");
    }
    return true;
}

static bool ends_with(const char *path, const char *end)
{
    size_t path_size = strlen(path);
    size_t end_size = strlen(end);
    return path_size >= end_size &&
           span_equal_nocase(span_text(path + path_size - end_size), span_text(end));
}

static bool load_if_manifest(void *self, const char *path)
{
    return ends_with(path, ".man") || ends_with(path, ".xml") || ends_with(path, ".manifest")
               ? load_file(self, path)
               : true;
}

static void load_folder(struct manifest_source *source, const char *folder)
{
    struct error err = {0};
    size_t size = strlen(folder) + sizeof("/**/*");
    char *pattern = malloc(size);
    if (!pattern) {
        warn_about(source, folder, "out of memory");
        return;
    }
    snprintf(pattern, size, "%s/**/*", folder);
    if (!plat_glob(pattern, load_if_manifest, source, &err)) {
        warn_about(source, folder, err.text);
    }
    free(pattern);
}

static void manifest_destroy(void *self)
{
    struct manifest_source *source = self;
    if (source) {
        manifest_set_fini(&source->set);
        free(source);
    }
}

/* A file is taken as it is if it looks like a manifest by its name; packs and other schema files
 * in the same list belong to other sources. */
static void *manifest_create(const struct schema_source_settings *settings, struct error *err)
{
    struct manifest_source *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for manifests");
        return NULL;
    }
    source->settings = settings;
    for (size_t i = 0; i < settings->path_count; i++) {
        const char *path = settings->paths[i];
        source->group = i;
        switch (plat_path_kind(path)) {
        case PLAT_PATH_DIR:
            load_folder(source, path);
            break;
        case PLAT_PATH_FILE:
            load_if_manifest(source, path);
            break;
        default:
            warn_about(source, path, "no such file or folder");
            break;
        }
    }
    source->settings = NULL;
    return source;
}

static void manifest_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct manifest_source *source = self;
    manifest_set_find(&source->set, record, found);
}

static void manifest_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct manifest_source *source = self;
    manifest_set_list(&source->set, each, each_self);
}

const struct schema_source_ops schema_source_manifest = {
    .name = "manifest",
    .shared = true,
    .create = manifest_create,
    .find = manifest_find,
    .list = manifest_list,
    .destroy = manifest_destroy,
};

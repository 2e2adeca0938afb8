#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/manifest_xml.h"
#include "schema/schema_source.h"

/*
 * Manifests from the files and folders that the user named, all read when the source is made. Per
 * event type every file is asked, a binary search each: that happens once per type. Candidates
 * come in the order of the settings; within a folder the definition that says more stands first,
 * then path order.
 */
enum { MAX_FILES = 8192, MAX_FILE_MEMORY = 512 * 1024 * 1024 };

struct manifest_file {
    struct manifest *manifest;
    size_t group; /* index of the setting it belongs to */
};

struct manifest_source {
    const struct schema_source_settings *settings; /* only while it is made */
    struct manifest_file *files;
    size_t file_count;
    size_t file_capacity;
    size_t group;
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

static bool add_file(struct manifest_source *source, struct manifest *manifest)
{
    if (source->file_count == source->file_capacity) {
        size_t capacity = source->file_capacity ? source->file_capacity * 2 : 64;
        struct manifest_file *files = realloc(source->files, capacity * sizeof(*files));
        if (!files) {
            return false;
        }
        source->files = files;
        source->file_capacity = capacity;
    }
    source->files[source->file_count++] = (struct manifest_file){
        .manifest = manifest, .group = source->group};
    return true;
}

/* Also the callback of plat_glob: always goes on. */
static bool load_file(void *self, const char *path)
{
    struct manifest_source *source = self;
    struct error err = {0};
    if (source->file_count >= MAX_FILES) {
        warn_about(source, path, "too many manifests: not read");
        return true;
    }
    char *data = NULL;
    size_t size = 0;
    if (!plat_file_load(path, MANIFEST_XML_MAX_BYTES, &data, &size, &err)) {
        warn_about(source, path, err.text);
        return true;
    }
    const struct manifest_xml_options options = {
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
    } else if (!add_file(source, manifest)) {
        warn_about(source, path, "out of memory");
        manifest_xml_destroy(manifest);
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
        for (size_t i = 0; i < source->file_count; i++) {
            manifest_xml_destroy(source->files[i].manifest);
        }
        free(source->files);
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

/* How much a definition says beyond the bare layout. */
static size_t richness(const struct event_schema *schema)
{
    size_t score = schema->message.size ? 1 : 0;
    for (size_t i = 0; i < schema->field_count; i++) {
        score += schema->fields[i].map ? 1 : 0;
        score += schema->fields[i].out_type != OUT_NULL ? 1 : 0;
    }
    return score;
}

/* The candidates of one folder, best first; equal ones keep the order of their paths. */
struct ranking {
    const struct event_schema *list[SCHEMA_MAX_CANDIDATES];
    size_t score[SCHEMA_MAX_CANDIDATES];
    size_t count;
};

static void rank(struct ranking *ranking, const struct event_schema *schema)
{
    size_t score = richness(schema);
    size_t place = ranking->count;
    while (place > 0 && ranking->score[place - 1] < score) {
        place--;
    }
    if (place == SCHEMA_MAX_CANDIDATES) {
        return;
    }
    if (ranking->count < SCHEMA_MAX_CANDIDATES) {
        ranking->count++;
    }
    for (size_t i = ranking->count - 1; i > place; i--) {
        ranking->list[i] = ranking->list[i - 1];
        ranking->score[i] = ranking->score[i - 1];
    }
    ranking->list[place] = schema;
    ranking->score[place] = score;
}

static void rank_file(
    struct ranking *ranking, const struct manifest *manifest, const struct event_record *record)
{
    size_t first = 0;
    size_t count = manifest_xml_find(
        manifest, &record->provider, record->descriptor.id, record->descriptor.version, &first);
    for (size_t i = first; i < first + count; i++) {
        rank(ranking, manifest->events[i]);
    }
}

static void manifest_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct manifest_source *source = self;
    if (record->kind != RECORD_EVENT) {
        return;
    }
    for (size_t i = 0; i < source->file_count;) {
        struct ranking ranking = {.count = 0};
        size_t group = source->files[i].group;
        for (; i < source->file_count && source->files[i].group == group; i++) {
            rank_file(&ranking, source->files[i].manifest, record);
        }
        for (size_t k = 0; k < ranking.count; k++) {
            schema_candidates_add(found, ranking.list[k]);
        }
    }
}

static void manifest_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct manifest_source *source = self;
    for (size_t i = 0; i < source->file_count; i++) {
        const struct manifest *manifest = source->files[i].manifest;
        for (size_t k = 0; k < manifest->event_count; k++) {
            each(each_self, manifest->events[k]);
        }
    }
}

const struct schema_source_ops schema_source_manifest = {
    .name = "manifest",
    .shared = true,
    .create = manifest_create,
    .find = manifest_find,
    .list = manifest_list,
    .destroy = manifest_destroy,
};

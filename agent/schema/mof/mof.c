#include <stdlib.h>

#include "schema/mof/mof_build.h"
#include "schema/mof/mof_file.h"
#include "schema/source/schema_files.h"
#include "schema/source/schema_source.h"

/*
 * Schemas of classic events from MOF files and folders that the user names. All files are read and
 * combined when the source is created, because a parent class may be in another file. Then every
 * event type has its schema, which never changes.
 */
enum { MAX_FILES = 8192, MAX_BYTES = 512 * 1024 * 1024 };

struct mof_source {
    const struct schema_source_settings *settings; /* valid only during creation */
    struct mof_model model;
    struct mof_schemas schemas;
    size_t file_count;
};

static void read_file(void *self, const char *path)
{
    struct mof_source *source = self;
    struct error err = {0};
    if (source->file_count++ >= MAX_FILES) {
        if (source->file_count == MAX_FILES + 1) {
            schema_files_warn(source->settings, path, "too many MOF files; this file is ignored");
        }
    } else if (!mof_file_read(&source->model, path, &err)) {
        schema_files_warn(source->settings, path, err.text);
    }
}

static void mof_destroy(void *self)
{
    struct mof_source *source = self;
    if (source) {
        mof_schemas_fini(&source->schemas);
        mof_model_fini(&source->model);
        free(source);
    }
}

static void *mof_create(const struct schema_source_settings *settings, struct error *err)
{
    struct mof_source *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for MOF classes");
        return NULL;
    }
    source->settings = settings;
    mof_model_init(&source->model, MAX_BYTES);
    source->model.arena.budget = settings->budget;
    source->model.warn = settings->warn;
    source->model.warn_self = settings->warn_self;
    schema_files_each(settings, mof_file_endings, read_file, source);
    mof_model_link(&source->model);
    struct error why;
    if (!mof_build(&source->model, &source->schemas, &why)) {
        schema_source_warn(settings, why.text);
    }
    mof_model_end_warnings(&source->model);
    source->model.warn = NULL;
    source->settings = NULL;
    return source;
}

static void mof_find(void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct mof_source *source = self;
    if ((record->kind != RECORD_KERNEL && record->kind != RECORD_CLASSIC) ||
        guid_is_zero(&record->provider)) {
        return;
    }
    struct event_schema *const *first;
    size_t count = mof_schemas_find(&source->schemas, &record->provider, record->descriptor.opcode,
        record->descriptor.version, &first);
    for (size_t i = 0; i < count; i++) {
        schema_candidates_add(found, first[i]);
    }
}

static void mof_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct mof_source *source = self;
    for (size_t i = 0; i < source->schemas.count; i++) {
        each(each_self, source->schemas.list[i]);
    }
}

const struct schema_source_ops schema_source_mof = {
    .name = "mof",
    .endings = mof_file_endings,
    .shared = true,
    .create = mof_create,
    .find = mof_find,
    .list = mof_list,
    .destroy = mof_destroy,
};

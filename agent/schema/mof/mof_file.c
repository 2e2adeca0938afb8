#include "schema/mof/mof_file.h"

#include "schema/mof/mof_parse.h"
#include "schema/source/schema_files.h"
#include "schema/text/text_encoding.h"

enum { MAX_FILE_BYTES = 64 * 1024 * 1024 };

const char *const mof_file_endings[] = {".mof", ".mfl", NULL};

bool mof_file_read(struct mof_model *model, const char *path, struct error *err)
{
    char *data;
    size_t size;
    struct span kept;
    struct span text;
    const struct schema_source_settings charged = {.budget = model->arena.budget};
    if (!schema_files_load(&charged, path, MAX_FILE_BYTES, &data, &size, err)) {
        return false;
    }
    bool good = arena_copy(&model->arena, span_make(data, size), &kept) &&
                text_encoding_to_utf8(kept, &model->arena, &text);
    schema_files_unload(&charged, data, size);
    return good ? mof_parse(model, text, path, err)
                : error_set(err, ERR_MEMORY, "no memory left for MOF classes");
}

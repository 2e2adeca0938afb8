#include "schema/mof_file.h"

#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/mof_parse.h"
#include "schema/text_encoding.h"

enum { MAX_FILE_BYTES = 64 * 1024 * 1024 };

const char *const mof_file_endings[] = {".mof", ".mfl", NULL};

bool mof_file_read(struct mof_model *model, const char *path, struct error *err)
{
    char *data;
    size_t size;
    struct span kept;
    struct span text;
    if (!plat_file_load(path, MAX_FILE_BYTES, &data, &size, err)) {
        return false;
    }
    bool good = arena_copy(&model->arena, span_make(data, size), &kept) &&
                text_encoding_to_utf8(kept, &model->arena, &text);
    free(data);
    return good ? mof_parse(model, text, path, err)
                : error_set(err, ERR_MEMORY, "no memory left for MOF classes");
}

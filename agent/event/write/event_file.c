#include "event/write/event_file.h"

#include "base/put.h"
#include "event/value/ecs_convert.h"
#include "event/value/value_json.h"
#include "event/write/event_path_own.h"

uint8_t *event_file_put(uint8_t *p, const struct event_file *file)
{
    if (file && file->path.size) {
        p = put_literal(p, ",\"file\":{\"path\":\"");
        p += utf8_to_json(file->path, p);
        p = put_literal(p, "\"}");
    }
    return p;
}

static void add_part(struct event_value_context *context, const struct event_file *file,
    const char *key, enum ecs_conversion how, struct buf *out)
{
    struct ecs_operand operand = {.context = context, .value = event_value_utf8(file->path)};
    struct ecs_sink sink;
    size_t size = out->size;
    sink.out = out;
    sink.is_list = false;
    sink.count = 0;
    buf_add_text(out, key);
    if (!ecs_convert(how, span_make(NULL, 0), &operand, &sink)) {
        out->size = size;
    }
}

void event_file_ecs(
    struct event_value_context *context, const struct event_file *file, struct buf *out)
{
    if (!file || file->path.size == 0) {
        return;
    }
    size_t key = out->size;
    buf_add_text(out, ",\"file\":");
    size_t members = out->size;
    if (!file->is_edited) {
        add_part(context, file, ",\"directory\":", ECS_CONVERT_directory, out);
        add_part(context, file, ",\"extension\":", ECS_CONVERT_extension, out);
        add_part(context, file, ",\"name\":", ECS_CONVERT_basename, out);
    }
    add_part(context, file, ",\"path\":", ECS_CONVERT_text, out);
    value_json_close(out, key, members);
}

struct event_value event_file_value(const struct event_path *path, const struct event_file *file)
{
    bool is_there = file && file->path.size;
    if (path->field == PATH_FILE) {
        return event_path_object_if(is_there);
    }
    return is_there ? event_value_utf8(file->path) : event_path_none();
}

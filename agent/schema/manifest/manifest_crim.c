#include "schema/manifest/manifest_crim.h"

#include <stdarg.h>
#include <stdio.h>

#include "schema/text/names.h"

enum { MAX_NAME_BYTES = 65536, NO_MESSAGE = -1 };

void manifest_crim_no_memory(struct manifest_crim *p)
{
    p->failed = true;
    error_set(p->err, ERR_LIMIT, "the manifest needs too much memory");
}

void *manifest_crim_allocate(struct manifest_crim *p, size_t size)
{
    void *memory = p->failed ? NULL : arena_alloc(&p->model->scratch, size);
    if (!memory && !p->failed) {
        manifest_crim_no_memory(p);
    }
    return memory;
}

struct reader manifest_crim_reader(const struct manifest_crim *p, uint32_t offset)
{
    return reader_make(span_from(p->bytes, offset));
}

bool manifest_crim_signature(struct reader *r, const char *signature)
{
    return span_is(reader_take(r, 4), signature);
}

struct span manifest_crim_utf16(struct manifest_crim *p, struct span utf16)
{
    struct span text = {0};
    utf16 = span_first(utf16, MAX_NAME_BYTES);
    if (!p->failed && !names_from_utf16(&p->model->manifest->arena, utf16, &text)) {
        manifest_crim_no_memory(p);
    }
    return p->failed ? span_make(NULL, 0) : text;
}

struct span manifest_crim_text(struct manifest_crim *p, uint32_t offset)
{
    struct reader r = manifest_crim_reader(p, offset);
    size_t size = reader_u32(&r);
    struct span utf16 = reader_take(&r, size > 4 ? size - 4 : 0);
    return manifest_crim_utf16(p, utf16);
}

struct span manifest_crim_message(struct manifest_crim *p, uint32_t id)
{
    struct span text = {0};
    if (id != (uint32_t)NO_MESSAGE && p->table_count == 0 && !p->lacks_texts) {
        p->lacks_texts = true;
        manifest_model_warn(p->model, 0,
            "no messages: found no message table in it, in its .mui file beside "
            "it or in a .mui file in a language folder there");
    }
    for (size_t i = 0; id != (uint32_t)NO_MESSAGE && i < p->table_count && text.size == 0; i++) {
        if (!p->failed &&
            !message_table_text(&p->tables[i], id, &p->model->manifest->arena, &text)) {
            manifest_crim_no_memory(p);
        }
        text = p->failed ? span_make(NULL, 0) : text;
    }
    return text;
}

struct span manifest_crim_format(struct manifest_crim *p, const char *format, ...)
{
    char text[32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct span kept = {0};
    if (!p->failed && !arena_copy(&p->model->scratch, span_text(text), &kept)) {
        manifest_crim_no_memory(p);
    }
    return p->failed ? span_make(NULL, 0) : kept;
}

struct span manifest_crim_key(struct manifest_crim *p, uint32_t offset)
{
    return offset ? manifest_crim_format(p, "@0x%x", offset) : span_make(NULL, 0);
}

void manifest_crim_define(
    struct manifest_crim *p, enum model_kind kind, struct span key, void *thing)
{
    struct map *names = &p->provider->names[kind];
    if (!p->failed && thing && key.size && !map_get(names, key) && !map_put(names, key, thing)) {
        manifest_crim_no_memory(p);
    }
}

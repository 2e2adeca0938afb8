#include <stdlib.h>
#include <string.h>

#include "event/select/event_template.h"
#include "fuzz/fuzz.h"

/*
 * A template and the values that it names: byte 0 is the size of the template, byte 1 that of the
 * provider's name, which both follow; the rest is the event's name. A path must keep the separators
 * of the template, and must not contain a component that a field could have turned into another
 * path; an index must be short. At the places of times there are digits.
 */
enum { MAX_OUT = 1 << 20 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static size_t separators(struct span text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        count += text.data[i] == '/' || text.data[i] == '\\';
    }
    return count;
}

/* Components of a path that begins with a separator of its own. */
static void check_path(struct span path, bool plain_dots)
{
    size_t start = 0;
    for (size_t i = 0; i <= path.size; i++) {
        if (i < path.size && path.data[i] != '/' && path.data[i] != '\\') {
            check(path.data[i] >= ' ' && path.data[i] != 0x7f);
            continue;
        }
        struct span name = span_make(path.data + start, i - start);
        check(name.size <= EVENT_TEMPLATE_MAX_NAME + 1);
        check(plain_dots || !span_is(name, "..") || start == 0);
        start = i + 1;
    }
}

static void check_times(const struct event_template *template, struct span rendered)
{
    uint8_t *mask = malloc(rendered.size + 1);
    if (mask && event_template_find_times(template, rendered, mask)) {
        for (size_t i = 0; i < rendered.size; i++) {
            check(!mask[i] || (rendered.data[i] >= '0' && rendered.data[i] <= '9'));
        }
    }
    free(mask);
}

static void try(
    struct span text, struct span provider, struct span name, enum event_template_safety safety)
{
    struct error err = {0};
    struct event_template *template = event_template_create(text, safety, &err);
    struct event_path_context context;
    if (!template) {
        check(err.text[0] != 0);
        return;
    }
    const struct event_record record = {.kind = RECORD_EVENT, .time = UINT64_C(134397270001234567)};
    const struct event_schema schema = {
        .kind = SCHEMA_MANIFEST, .source = "fuzz", .provider_name = provider, .event_name = name};
    const struct event event = {
        .record = &record, .schema = &schema, .status = DECODE_COMPLETE, .pointer_size = 8};
    struct buf out;
    buf_init(&out, MAX_OUT);
    if (event_path_context_init(&context, NULL, NULL)) {
        event_template_render(template, &event, &context, &out);
        check(!out.failed);
        if (safety == EVENT_TEMPLATE_PATH) {
            check(separators(buf_span(&out)) <= separators(text));
            check_path(buf_span(&out), memchr(text.data, '.', text.size) != NULL);
        } else {
            check(out.size <= EVENT_TEMPLATE_MAX_INDEX);
        }
        check_times(template, buf_span(&out));
        event_path_context_fini(&context);
    }
    buf_fini(&out);
    event_template_destroy(template);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    struct span rest = span_make(data + 2, size - 2);
    struct span text = span_first(rest, data[0]);
    rest = span_from(rest, text.size);
    struct span provider = span_first(rest, data[1]);
    rest = span_from(rest, provider.size);
    try(text, provider, rest, EVENT_TEMPLATE_PATH);
    try(text, provider, rest, EVENT_TEMPLATE_INDEX);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const templates[] = {"etw-%Y-%m-%d/{provider.name}{event.name}",
        "x{event.name}.{provider.name}-%H%M%%{{}}", "%TEMP%", "{data['a b'].C[*]}", "a{", "a}",
        "d\\{provider.name}\\{event.name}", "{event.name}%Y{event.name}"};
    static const char *const values[] = {"..", "NUL", "a/b\\c", "2026", "\xff\xe2\x80\xae."};
    size_t count = sizeof(templates) / sizeof(templates[0]);
    if (index >= count * 5) {
        return 0;
    }
    const char *text = templates[index % count];
    const char *value = values[index / count];
    size_t text_size = strlen(text);
    size_t value_size = strlen(value);
    if (2 + text_size + 2 * value_size > max) {
        return 0;
    }
    out[0] = (uint8_t)text_size;
    out[1] = (uint8_t)value_size;
    memcpy(out + 2, text, text_size);
    memcpy(out + 2 + text_size, value, value_size);
    memcpy(out + 2 + text_size + value_size, value, value_size);
    return 2 + text_size + 2 * value_size;
}

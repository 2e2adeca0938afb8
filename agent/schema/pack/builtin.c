#include "schema/pack/builtin.h"

#include <stdlib.h>

#include "platform/plat_thread.h"
#include "schema/pack/builtin_text.h"
#include "schema/source/schema_source.h"

/*
 * The source `builtin`: layouts of common Windows providers, compiled into the program as text, for
 * traces that are read on other machines. The text of a provider is parsed at the first event of
 * that provider, or when all definitions are listed. A trace without such events costs one
 * comparison of GUIDs per event type.
 *
 * Threads share the source. `mutex` guards which texts have been parsed. Parsed schemas live until
 * the source is destroyed, so using them needs no lock.
 */
#include "builtin_bytes.def"

static const struct text {
    const char *name;
    const char *guid;
    const uint8_t *bytes;
    size_t size;
} texts[] = {
#define TEXT(name, guid) {#name, guid, text_##name, sizeof(text_##name)},
#include "builtin_texts.def"
#undef TEXT
};

enum {
    TEXT_COUNT = sizeof(texts) / sizeof(texts[0]),
    MAX_TEXT_MEMORY = 8 * 1024 * 1024, /* per text, while parsing and for the result */
};

struct builtin {
    struct plat_mutex mutex;
    struct guid guids[TEXT_COUNT];
    struct manifest *manifests[TEXT_COUNT]; /* NULL: not parsed yet, or parsing failed */
    bool tried[TEXT_COUNT];
};

size_t builtin_text_count(void)
{
    return TEXT_COUNT;
}

struct span builtin_text(size_t index, const char **ret_name)
{
    *ret_name = texts[index].name;
    return span_make(texts[index].bytes, texts[index].size);
}

/* NULL if memory is short: events of this provider then decode without the built-in layout. */
static const struct manifest *manifest_of(struct builtin *builtin, size_t index)
{
    const struct text *text = &texts[index];
    plat_mutex_lock(&builtin->mutex);
    if (!builtin->tried[index]) {
        const struct manifest_options options = {.source = "builtin",
            .file = text->name,
            .kind = SCHEMA_MANIFEST,
            .max_bytes = MAX_TEXT_MEMORY};
        struct error err = {0};
        builtin->manifests[index] = builtin_text_read(
            span_make(text->bytes, text->size), &options, &err);
        builtin->tried[index] = true;
    }
    const struct manifest *manifest = builtin->manifests[index];
    plat_mutex_unlock(&builtin->mutex);
    return manifest;
}

static void builtin_destroy(void *self)
{
    struct builtin *builtin = self;
    if (builtin) {
        for (size_t i = 0; i < TEXT_COUNT; i++) {
            manifest_events_destroy(builtin->manifests[i]);
        }
        plat_mutex_fini(&builtin->mutex);
        free(builtin);
    }
}

static void *builtin_create(const struct schema_source_settings *settings, struct error *err)
{
    (void)settings;
    struct builtin *builtin = calloc(1, sizeof(*builtin));
    if (!builtin) {
        error_set(err, ERR_MEMORY, "no memory for built-in layouts");
        return NULL;
    }
    plat_mutex_init(&builtin->mutex);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        guid_parse(span_text(texts[i].guid), &builtin->guids[i]);
    }
    return builtin;
}

static void builtin_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    struct builtin *builtin = self;
    size_t text = 0;
    while (text < TEXT_COUNT && !guid_equal(&builtin->guids[text], &record->provider)) {
        text++;
    }
    if (record->kind != RECORD_EVENT || text == TEXT_COUNT) {
        return;
    }
    const struct manifest *manifest = manifest_of(builtin, text);
    size_t first = 0;
    size_t count = manifest ? manifest_events_find(manifest, &record->provider,
                                  record->descriptor.id, record->descriptor.version, &first)
                            : 0;
    for (size_t i = first; i < first + count; i++) {
        schema_candidates_add(found, manifest->events[i]);
    }
}

static void builtin_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        const struct manifest *manifest = manifest_of(self, i);
        for (size_t k = 0; manifest && k < manifest->event_count; k++) {
            each(each_self, manifest->events[k]);
        }
    }
}

const struct schema_source_ops schema_source_builtin = {
    .name = "builtin",
    .shared = true,
    .create = builtin_create,
    .find = builtin_find,
    .list = builtin_list,
    .destroy = builtin_destroy,
};

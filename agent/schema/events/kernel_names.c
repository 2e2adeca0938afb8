#include "schema/events/kernel_names.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "schema/events/kernel_class.h"

static const struct {
    const char *name;
    const char *guid;
} classes[CLASS_COUNT] = {
#define KERNEL_TYPE(symbol, version, types, fields)
#define KERNEL_CLASS(symbol, name, guid, group) [CLASS_##symbol] = {name, guid},
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid) \
    [CLASS_##symbol] = {NULL, NULL},
#define KERNEL_NAME(symbol, type, name)
#include "schema/events/kernel_classes.def"
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
#undef KERNEL_NAME
};

#define KERNEL_CLASS(symbol, name, guid, group)
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid)

static const struct {
    uint16_t class_number;
    uint8_t type;
    const char *name;
} types[] = {
#define KERNEL_NAME(symbol, type, name) {CLASS_##symbol, type, name},
#include "schema/events/kernel_classes.def"
};

/* Class names contain slashes (PageFault/...), so each class is tried as a prefix. */
static bool is_of(struct span name, const char *class_name, struct span *ret_type)
{
    struct span first = span_text(class_name ? class_name : "");
    if (!class_name || name.size <= first.size || name.data[first.size] != '/' ||
        !span_equal_nocase(span_first(name, first.size), first)) {
        return false;
    }
    *ret_type = span_from(name, first.size + 1);
    return true;
}

bool kernel_names_find(struct span name, struct guid *ret_class, uint8_t *ret_type)
{
    const char *guid = NULL;
    uint8_t best = 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct span type;
        if (is_of(name, classes[types[i].class_number].name, &type) &&
            span_equal_nocase(type, span_text(types[i].name)) && (!guid || types[i].type < best)) {
            guid = classes[types[i].class_number].guid;
            best = types[i].type;
        }
    }
    if (!guid || !guid_parse(span_text(guid), ret_class)) {
        return false;
    }
    *ret_type = best;
    return true;
}

bool kernel_names_meant(struct span name, char ret_text[KERNEL_NAMES_TEXT_SIZE])
{
    char best[KERNEL_NAMES_TEXT_SIZE];
    struct nearest nearest = {.text = name};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const char *class_name = classes[types[i].class_number].name;
        char text[KERNEL_NAMES_TEXT_SIZE];
        int size = snprintf(
            text, sizeof(text), "%s/%s", class_name ? class_name : "", types[i].name);
        if (!class_name || size < 0 || (size_t)size >= sizeof(text)) {
            continue;
        }
        nearest_consider(&nearest, span_make(text, (size_t)size));
        if (nearest.best.data == (const uint8_t *)text) {
            memcpy(best, text, (size_t)size + 1);
            nearest.best = span_make(best, (size_t)size);
        }
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        memcpy(ret_text, best, meant.size + 1);
    }
    return meant.size > 0;
}

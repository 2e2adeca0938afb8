#include "support/overflow_model.h"

#include "support/json_check.h"
#include "support/json_tree.h"

enum { MAX_TREE_BYTES = 1 << 28, PATH_BYTES = 64 * 1024 };

/* A path in both spellings. */
struct place {
    char name[PATH_BYTES]; /* "data.A[3].B" */
    size_t name_size;
    size_t bytes; /* of "data.A.B" */
};

struct model {
    const struct event_overflow_limits *limits;
    const struct json_node *overflow;
    size_t used; /* its members that were asked for */
    struct place place;
};

static bool is_prefix(struct span whole, struct span start)
{
    return start.size <= whole.size && span_equal(span_first(whole, start.size), start);
}

/* Is the byte after a cut the first of a character? */
static bool is_between(struct span whole, size_t at)
{
    return at == whole.size || (whole.data[at] & 0xc0) != 0x80;
}

static struct span without_number(struct span name)
{
    size_t size = name.size;
    while (size && name.data[size - 1] >= '0' && name.data[size - 1] <= '9') {
        size--;
    }
    return size > 1 && size < name.size && name.data[size - 1] == '_' ? span_first(name, size - 1)
                                                                      : name;
}

/* Is there a member of this name, or such a name and a number, that holds ${text}? */
static bool stands_in_overflow(const struct model *model, struct span text)
{
    struct span name = span_make((const uint8_t *)model->place.name, model->place.name_size);
    struct span payload = span_text(model->limits->payload);
    struct span inner = name.size > payload.size && is_prefix(name, payload) &&
                                name.data[payload.size] == '.'
                            ? span_from(name, payload.size + 1)
                            : name;
    const struct json_node *node = model->overflow ? model->overflow->child : NULL;
    for (; node; node = node->next) {
        struct span bare = without_number(node->key);
        bool is_named = span_equal(node->key, name) || span_equal(node->key, inner) ||
                        span_equal(bare, name) || span_equal(bare, inner);
        if (is_named && node->type == JSON_STRING && span_equal(node->text, text)) {
            return true;
        }
    }
    return false;
}

static const char *check_text(struct model *model, struct span before, struct span after)
{
    size_t max = model->limits->max_string_bytes;
    size_t room = max > model->place.bytes + 1 ? max - model->place.bytes - 1 : 0;
    if (before.size <= room) {
        return span_equal(before, after) ? NULL : "a string was changed that fits";
    }
    if (!is_prefix(before, after) || after.size > room || !is_between(before, after.size)) {
        return "a string is not the first part of what it was, or too long";
    }
    if (after.size + 4 <= room) {
        return "a string was cut more than it had to be";
    }
    model->used++;
    return stands_in_overflow(model, before) ? NULL : "a string is not in overflow";
}

static const char *check_name(struct span before, struct span after)
{
    if (before.size <= EVENT_NAME_MAX_BYTES && span_equal(before, after)) {
        return NULL;
    }
    if (after.size > EVENT_NAME_MAX_BYTES) {
        return "a name is too long";
    }
    if (before.size > EVENT_NAME_MAX_BYTES && is_prefix(before, after) &&
        is_between(before, after.size) && after.size + 4 > EVENT_NAME_MAX_BYTES) {
        return NULL;
    }
    struct span bare = without_number(after);
    bool is_numbered = bare.size < after.size && is_prefix(before, bare) &&
                       is_between(before, bare.size) && after.size + 4 > EVENT_NAME_MAX_BYTES;
    return is_numbered ? NULL : "a name is neither what it was nor a cut of it";
}

static const char *check_node(
    struct model *model, const struct json_node *before, const struct json_node *after);

static bool extend(struct place *place, struct span text)
{
    if (text.size > sizeof(place->name) - place->name_size) {
        return false;
    }
    memcpy(place->name + place->name_size, text.data, text.size);
    place->name_size += text.size;
    return true;
}

static bool enter_member(struct place *place, struct span key)
{
    bool ok = place->name_size == 0 || extend(place, span_text("."));
    place->bytes += (place->bytes != 0) + key.size;
    return ok && extend(place, key);
}

static bool enter_element(struct place *place, size_t index)
{
    char text[24];
    char *p = text + sizeof(text);
    *--p = ']';
    do {
        *--p = (char)('0' + index % 10);
        index /= 10;
    } while (index);
    *--p = '[';
    return extend(place, span_make((const uint8_t *)p, (size_t)(text + sizeof(text) - p)));
}

static const char *check_children(
    struct model *model, const struct json_node *before, const struct json_node *after)
{
    const struct json_node *a = after->child;
    size_t index = 0;
    for (const struct json_node *b = before->child; b; b = b->next, a = a->next) {
        size_t name_size = model->place.name_size;
        size_t bytes = model->place.bytes;
        if (!a || a == model->overflow) {
            return "something is missing";
        }
        const char *wrong = before->type == JSON_OBJECT ? check_name(b->key, a->key) : NULL;
        bool ok = before->type == JSON_OBJECT ? enter_member(&model->place, a->key)
                                              : enter_element(&model->place, index++);
        wrong = wrong || !ok ? wrong : check_node(model, b, a);
        if (wrong) {
            return wrong;
        }
        model->place.name_size = name_size;
        model->place.bytes = bytes;
    }
    return a && a != model->overflow ? "something was added" : NULL;
}

static const char *check_node(
    struct model *model, const struct json_node *before, const struct json_node *after)
{
    if (before->type != after->type) {
        return "a value has another type";
    }
    switch (before->type) {
    case JSON_STRING:
        return check_text(model, before->text, after->text);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return check_children(model, before, after);
    default:
        return span_equal(before->text, after->text) ? NULL : "a value was changed";
    }
}

static const char *check_trees(
    struct model *model, struct span before_text, struct span after_text, struct arena *arena)
{
    size_t at;
    const struct json_node *before = json_tree_parse(before_text, arena);
    const struct json_node *after = json_tree_parse(after_text, arena);
    if (json_check(before_text, &at) || !before || before->type != JSON_OBJECT ||
        json_tree_member(before, span_text("overflow"))) {
        return NULL;
    }
    if (!after) {
        return "it is no JSON any more";
    }
    model->overflow = json_tree_member(after, span_text("overflow"));
    const char *wrong = check_node(model, before, after);
    size_t count = 0;
    for (const struct json_node *n = model->overflow ? model->overflow->child : NULL; n;
         n = n->next) {
        count++;
    }
    return wrong || count == model->used ? wrong : "overflow holds what was not cut";
}

const char *overflow_model_check(
    struct span before, struct span after, const struct event_overflow_limits *limits)
{
    static struct model model;
    struct arena arena;
    model = (struct model){.limits = limits};
    arena_init(&arena, MAX_TREE_BYTES);
    const char *wrong = check_trees(&model, before, after, &arena);
    arena_fini(&arena);
    return wrong;
}

#include "app/config/app_names.h"

#include <stdio.h>

#include "base/map.h"
#include "config/config_text.h"

enum { NAME_MAX_BYTES = 64 };

/* A list of sessions or outputs, with the places of name and type in its elements: what the checks
 * below need. */
struct named_list {
    const char *noun;
    uint8_t *items;
    size_t count;
    size_t size;
    size_t name_offset;
    size_t variant_offset;
};

struct checker {
    struct config *memory;
    struct config_report *report;
    bool failed; /* out of memory */
};

static const char **name_of(const struct named_list *list, size_t i)
{
    return (const char **)(void *)(list->items + i * list->size + list->name_offset);
}

/* NULL if the type is unknown; the error was reported. */
static const struct config_variant *variant_of(const struct named_list *list, size_t i)
{
    const uint8_t *element = list->items + i * list->size;
    return *(const struct config_variant *const *)(const void *)(element + list->variant_offset);
}

/* Names become parts of file names, ETW session names and metrics. */
static bool is_good_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size <= NAME_MAX_BYTES && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               size;
}

/* ${first}: the element that has the name already. */
static void complain_same_name(const struct checker *checker, const struct named_list *list,
    const char *const *name, const void *first)
{
    const void *first_name = (const uint8_t *)first + list->name_offset;
    struct config_position here = config_position_of(checker->memory, name, sizeof(*name));
    struct config_position there = config_position_of(checker->memory, first_name, sizeof(*name));
    char place[CONFIG_REPORT_MAX_TEXT];
    if (strcmp(here.file, there.file) == 0) {
        snprintf(place, sizeof(place), "line %u", there.line);
    } else if (there.line) {
        snprintf(place, sizeof(place), "%.600s:%u:%u", there.file, there.line, there.column);
    } else {
        snprintf(place, sizeof(place), "%.600s", there.file);
    }
    config_error_at(checker->memory, name, sizeof(*name), checker->report,
        "name: another %s is called %s too, in %s. give each its own name", list->noun,
        config_text_quote(span_text(*name)).text, place);
}

static void check_given_names(
    struct checker *checker, const struct named_list *list, struct map *names)
{
    for (size_t i = 0; i < list->count; i++) {
        const char **name = name_of(list, i);
        if (!*name) {
            continue;
        }
        struct config_quote quote = config_text_quote(span_text(*name));
        if (!is_good_name(*name)) {
            config_error_at(checker->memory, name, sizeof(*name), checker->report,
                "name: %s cannot be the name of %s %s. write 1 to 64 letters, digits, '.', '_' "
                "and '-', not starting with '.'",
                quote.text, list->noun[0] == 'o' ? "an" : "a", list->noun);
        } else if (map_get(names, span_text(*name))) {
            complain_same_name(checker, list, name, map_get(names, span_text(*name)));
        } else if (!map_put(names, span_text(*name), list->items + i * list->size)) {
            checker->failed = true;
        }
    }
}

/* The type, or the type with the first free number from 2. Each type keeps its count in ${next}, so
 * that many elements without a name do not search from the start each. */
static const char *make_name(
    struct checker *checker, const char *type, const struct map *names, struct map *next)
{
    if (!map_get(names, span_text(type))) {
        return type;
    }
    uint32_t *number = map_get(next, span_text(type));
    if (!number) {
        number = config_alloc(checker->memory, sizeof(*number));
        if (!number || !map_put(next, span_text(type), number)) {
            return NULL;
        }
        *number = 2;
    }
    size_t size = strlen(type) + 16;
    char *name = config_alloc(checker->memory, size);
    while (name) {
        snprintf(name, size, "%s-%u", type, (*number)++);
        if (!map_get(names, span_text(name))) {
            break;
        }
    }
    return name;
}

/* Check names and give one to each element without: given names have precedence. */
static void check_names(struct checker *checker, const struct named_list *list, struct map *names)
{
    struct map next;
    map_init(&next, list->count);
    check_given_names(checker, list, names);
    for (size_t i = 0; i < list->count && !checker->failed; i++) {
        const char **name = name_of(list, i);
        const struct config_variant *variant = variant_of(list, i);
        if (*name || !variant) {
            continue;
        }
        *name = make_name(checker, variant->type, names, &next);
        checker->failed = !*name || !map_put(names, span_text(*name), list->items + i * list->size);
    }
    map_fini(&next);
}

static void complain_no_session(struct checker *checker, const char *const *wanted,
    const struct map *session_names, const struct named_list *sessions)
{
    struct config_nearest nearest = {.text = span_text(*wanted)};
    struct config_names known = {.size = 0};
    for (size_t i = 0; i < sessions->count; i++) {
        const char *name = *name_of(sessions, i);
        if (map_get(session_names, span_text(name))) {
            config_text_consider(&nearest, name);
            config_text_list(&known, name);
        }
    }
    const char *meant = config_text_meant(&nearest);
    config_error_at(checker->memory, wanted, sizeof(*wanted), checker->report,
        "sessions: there is no session %s. %s%s%sknown: %s", config_text_quote(nearest.text).text,
        meant ? "did you mean '" : "", meant ? meant : "", meant ? "'? " : "",
        known.size ? known.text : "none");
}

/* Does a session have the name, valid or not? */
static bool has_name(const struct named_list *sessions, const char *name)
{
    for (size_t i = 0; i < sessions->count; i++) {
        const char *own = *name_of(sessions, i);
        if (own && strcmp(own, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Each session that an output names must exist. A session without a name, because its type is
 * wrong, may be the one that is meant: then nothing is reported. */
static void check_references(struct checker *checker, const struct app_root *root,
    const struct map *session_names, const struct named_list *sessions)
{
    for (size_t i = 0; i < sessions->count; i++) {
        if (!*name_of(sessions, i)) {
            return;
        }
    }
    const struct app_output *outputs = root->outputs.items;
    for (size_t i = 0; i < root->outputs.count; i++) {
        const struct config_strings *wanted = &outputs[i].sessions;
        for (size_t k = 0; k < wanted->count; k++) {
            if (map_get(session_names, span_text(wanted->items[k])) ||
                has_name(sessions, wanted->items[k])) {
                continue;
            }
            if (config_report_has_room(checker->report)) {
                complain_no_session(checker, &wanted->items[k], session_names, sessions);
            } else {
                checker->report->error_count++;
            }
        }
    }
}

bool app_names_check(
    struct config *memory, const struct app_root *root, struct config_report *report)
{
    struct checker checker = {.memory = memory, .report = report};
    const struct named_list sessions = {"session", root->sessions.items, root->sessions.count,
        sizeof(struct app_session), offsetof(struct app_session, name),
        offsetof(struct app_session, variant)};
    const struct named_list outputs = {"output", root->outputs.items, root->outputs.count,
        sizeof(struct app_output), offsetof(struct app_output, name),
        offsetof(struct app_output, variant)};
    struct map session_names;
    struct map output_names;
    map_init(&session_names, sessions.count);
    map_init(&output_names, outputs.count);
    check_names(&checker, &sessions, &session_names);
    check_names(&checker, &outputs, &output_names);
    if (!checker.failed) {
        check_references(&checker, root, &session_names, &sessions);
    }
    map_fini(&session_names);
    map_fini(&output_names);
    return !checker.failed;
}

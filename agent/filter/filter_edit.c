#include "filter/filter_edit.h"

#include <stdio.h>

#include "filter/filter_program.h"

static enum event_edit_kind kind_of(enum filter_action action)
{
    switch (action) {
    case FILTER_ACTION_SET:
        return EVENT_EDIT_SET;
    case FILTER_ACTION_TAG:
        return EVENT_EDIT_TAG;
    case FILTER_ACTION_RENAME:
        return EVENT_EDIT_RENAME;
    case FILTER_ACTION_HASH:
        return EVENT_EDIT_HASH;
    case FILTER_ACTION_TRUNCATE:
        return EVENT_EDIT_TRUNCATE;
    default:
        return EVENT_EDIT_REMOVE;
    }
}

/* Default name for counters, such as `hash data.User, …`: many editing rules match every event. */
static bool make_name(struct filter *filter, const struct filter_rule *rule,
    struct filter_code *code, struct error *err)
{
    char name[160];
    if (rule->name.size) {
        return true;
    }
    snprintf(name, sizeof(name), "%s %.100s%s", event_edit_word(kind_of(rule->action)),
        rule->fields[0], rule->field_count > 1 ? ", …" : "");
    return arena_copy(&filter->arena, span_text(name), &code->name) ||
           error_set(err, ERR_MEMORY, "no memory left for filters");
}

static bool make_key(struct filter *filter, const struct filter_rule *rule,
    const struct plat_hash_key **ret_key, struct error *err)
{
    if (rule->action != FILTER_ACTION_HASH) {
        return true;
    }
    if (rule->key.size < FILTER_MIN_KEY_BYTES) {
        return error_set(err, ERR_CONFIG,
            "the key has less than %d bytes, so hashes could be reversed. make a random one",
            FILTER_MIN_KEY_BYTES);
    }
    struct plat_hash_key *key = arena_alloc(&filter->arena, sizeof(*key));
    if (!key) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    *ret_key = key;
    return plat_hash_key_init(key, rule->key, err);
}

bool filter_edit_compile(struct filter *filter, const struct filter_rule *rule,
    struct filter_code *code, struct filter_place *ret_place, struct error *err)
{
    const struct plat_hash_key *key = NULL;
    size_t step = rule->field_step ? rule->field_step : 1;
    bool is_tag = rule->action == FILTER_ACTION_TAG;
    if (rule->field_count == 0 || rule->field_count > FILTER_MAX_EDITS) {
        return error_set(err, ERR_LIMIT, "must name 1 to %d fields", FILTER_MAX_EDITS);
    }
    code->edits = arena_alloc_array(&filter->arena, rule->field_count, sizeof(*code->edits));
    if (!code->edits) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    if (!make_key(filter, rule, &key, err) || !make_name(filter, rule, code, err)) {
        return false;
    }
    for (size_t i = 0; i < rule->field_count; i++) {
        struct event_edit_words words = {.kind = kind_of(rule->action),
            .path = span_text(is_tag ? NULL : rule->fields[i * step]),
            .bytes = rule->bytes,
            .key = key};
        words.value = is_tag         ? span_text(rule->fields[i * step])
                      : rule->values ? span_text(rule->values[i * step])
                                     : span_text(NULL);
        ret_place->field = i + 1;
        if (!event_edit_compile(&words, &filter->arena, &code->edits[i], err)) {
            return false;
        }
        code->edit_count++;
    }
    ret_place->field = 0;
    filter->has_edits = true;
    return true;
}

bool filter_has_edits(const struct filter *filter)
{
    return filter->has_edits;
}

bool filter_edit_next(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t decided, size_t *cursor, size_t *ret_rule)
{
    while (*cursor < decided) {
        size_t rule = (*cursor)++;
        if (!filter_action_decides(filter->rules[rule].action) &&
            filter_rule_fits(filter, scratch, event, rule)) {
            *ret_rule = rule;
            return true;
        }
    }
    return false;
}

void filter_edit_apply(const struct filter *filter, size_t rule, struct event_editor *editor,
    struct filter_scratch *scratch)
{
    const struct filter_code *code = &filter->rules[rule];
    for (uint32_t i = 0; i < code->edit_count; i++) {
        event_editor_apply(editor, &code->edits[i], &scratch->paths);
    }
}

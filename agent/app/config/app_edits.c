#include "app/config/app_edits.h"

#include "app/config/app_rules.h"
#include "platform/plat_hash.h"

#define WHERE_ROW                                                                                  \
    {                                                                                              \
        CONFIG_ROW("where", STRING, struct app_edit, where),                                       \
            .default_text = "true",                                                                \
            .help = "an expression; the rule applies to events for which it is true before rules " \
                    "change them"                                                                  \
    }

#define FIELDS_ROW(name, text)                                                  \
    {                                                                           \
        CONFIG_ROW(name, STRINGS, struct app_edit, fields),                     \
            .required = true, .min = 1, .max = FILTER_MAX_EDITS, .help = (text) \
    }

#define VALUES_ROW(text)                                                        \
    {                                                                           \
        CONFIG_ROW("fields", MAP, struct app_edit, values),                     \
            .required = true, .min = 1, .max = FILTER_MAX_EDITS, .help = (text) \
    }

const struct config_field app_edits_set_fields[] = {
    WHERE_ROW,
    VALUES_ROW("`FIELD: TEXT`, as in `labels.team: dns`"),
    {.key = NULL},
};

const struct config_field app_edits_tag_fields[] = {
    WHERE_ROW,
    FIELDS_ROW("tags", "tags to add; a tag that the event already has is not added again"),
    {.key = NULL},
};

const struct config_field app_edits_remove_fields[] = {
    WHERE_ROW,
    FIELDS_ROW("fields", "fields to leave out, also from messages"),
    {.key = NULL},
};

const struct config_field app_edits_rename_fields[] = {
    WHERE_ROW,
    VALUES_ROW("`data.OLD: NEW`; the field keeps its place. Nothing changes if the event already "
               "has a field NEW"),
    {.key = NULL},
};

const struct config_field app_edits_hash_fields[] = {
    WHERE_ROW,
    FIELDS_ROW("fields", "fields whose values are hashed; of a list or struct all values in it"),
    {CONFIG_ROW("key", SECRET, struct app_edit, key), .required = true,
        .help = "the key of HMAC-SHA-256, at least 16 bytes: `file:PATH`, or `${VARIABLE}`"},
    {.key = NULL},
};

const struct config_field app_edits_truncate_fields[] = {
    WHERE_ROW,
    FIELDS_ROW("fields", "fields whose texts are cut"),
    {CONFIG_ROW("bytes", INT, struct app_edit, bytes), .required = true, .min = 1,
        .max = EVENT_VALUE_MAX_TEXT, .help = "maximum length as UTF-8; no character is split"},
    {.key = NULL},
};

const struct app_edit *app_edits_of(const struct app_rule *rule, enum filter_action action)
{
    switch (action) {
    case FILTER_ACTION_SET:
        return &rule->set;
    case FILTER_ACTION_TAG:
        return &rule->tag;
    case FILTER_ACTION_REMOVE:
        return &rule->remove;
    case FILTER_ACTION_RENAME:
        return &rule->rename;
    case FILTER_ACTION_HASH:
        return &rule->hash;
    case FILTER_ACTION_TRUNCATE:
        return &rule->truncate;
    default:
        return NULL;
    }
}

enum filter_action app_edits_action(const struct app_rule *rule, int *ret_count)
{
    enum filter_action found = FILTER_ACTION_KEEP;
    *ret_count = 0;
    for (int i = FILTER_ACTION_TRUNCATE; i >= FILTER_ACTION_SET; i--) {
        const struct app_edit *edit = app_edits_of(rule, (enum filter_action)i);
        if (edit->values.count || edit->fields.count) {
            found = (enum filter_action)i;
            ++*ret_count;
        }
    }
    return found;
}

void app_edits_fill(const struct app_rule *rule, struct filter_rule *ret_rule)
{
    const struct app_edit *edit = app_edits_of(rule, ret_rule->action);
    if (edit->values.count) {
        _Static_assert(sizeof(struct config_pair) == 2 * sizeof(char *), "a pair is two pointers");
        ret_rule->fields = &edit->values.items[0].key;
        ret_rule->values = &edit->values.items[0].value;
        ret_rule->field_count = edit->values.count;
        ret_rule->field_step = 2;
    } else {
        ret_rule->fields = edit->fields.items;
        ret_rule->field_count = edit->fields.count;
    }
    ret_rule->bytes = (uint32_t)edit->bytes;
    ret_rule->key = span_text(edit->key);
}

bool app_edits_check(
    const struct config *memory, const struct app_rule *rule, struct config_report *report)
{
    const char *key = rule->hash.key;
    if (app_rules_action(rule) != FILTER_ACTION_HASH || !key) {
        return app_rules_action(rule) != FILTER_ACTION_HASH; /* a missing key was reported */
    }
    if (strlen(key) < FILTER_MIN_KEY_BYTES) {
        config_error_at(memory, &rule->hash.key, sizeof(key), report,
            "key: it has less than %d bytes, so values could be guessed from hashes. create a "
            "random one",
            FILTER_MIN_KEY_BYTES);
        return false;
    }
    return true;
}

static const char *as_written(const struct config *memory, const char *const *member)
{
    const char *written = config_written(memory, member, sizeof(*member));
    return written ? written : *member;
}

void app_edits_words(const struct app_rule *rule, const struct config *memory, struct buf *out)
{
    const struct filter_rule one = app_rules_filter_rule(rule);
    size_t step = one.field_step ? one.field_step : 1;
    for (size_t i = 0; i < one.field_count; i++) {
        buf_printf(out, "%s%s", i ? ", " : "", as_written(memory, &one.fields[i * step]));
        if (one.values) {
            buf_printf(out, " = %s", as_written(memory, &one.values[i * step]));
        }
    }
    if (one.bytes) {
        buf_printf(out, " to %lu bytes", (unsigned long)one.bytes);
    }
    buf_add_text(out, ": ");
}

static void add(struct buf *out, const char *text)
{
    struct span bytes = span_text(text);
    buf_printf(out, "%zu ", bytes.size);
    buf_add_span(out, bytes);
    buf_add_byte(out, '\n');
}

void app_edits_describe(const struct app_rule *rule, struct buf *out)
{
    struct filter_rule parts = {.action = app_rules_action(rule)};
    if (filter_action_decides(parts.action)) {
        return;
    }
    app_edits_fill(rule, &parts);
    for (size_t i = 0; i < parts.field_count; i++) {
        size_t at = i * (parts.field_step ? parts.field_step : 1);
        add(out, parts.fields[at]);
        add(out, parts.values ? parts.values[at] : NULL);
    }
    buf_printf(out, "bytes %lu\n", (unsigned long)parts.bytes);
    if (parts.key.size) {
        uint8_t digest[PLAT_HASH_BYTES];
        struct plat_hash_key key;
        struct plat_hash *hash = plat_hash_create(NULL);
        out->failed |= !hash || !plat_hash_key_init(&key, parts.key, NULL) ||
                       !plat_hash_keyed(
                           hash, &key, span_text("which key of etwship this is"), digest);
        buf_add(out, digest, sizeof(digest));
        plat_hash_destroy(hash);
    }
}

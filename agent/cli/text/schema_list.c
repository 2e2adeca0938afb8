#include "cli/text/schema_list.h"

#include <stdlib.h>

#include "app/trace/trace_run.h"
#include "base/grow.h"
#include "base/put.h"
#include "base/span_compare.h"
#include "base/visible.h"
#include "event/model/type_names.h"
#include "event/value/value_json.h"
#include "event/value/wpp_format.h"
#include "schema/source/known_providers.h"

static void add(void *self, const struct event_schema *schema)
{
    struct schema_list *list = self;
    if (grow_list(&list->items, list->count, &list->capacity, sizeof(*list->items))) {
        list->items[list->count++] = schema;
    } else {
        list->failed = true;
    }
}

static int compare_schemas(const void *a, const void *b)
{
    const struct event_schema *x = *(const struct event_schema *const *)a;
    const struct event_schema *y = *(const struct event_schema *const *)b;
    int order = span_compare(x->provider_name, y->provider_name);
    order = order ? order : guid_compare(&x->provider, &y->provider);
    order = order ? order : span_compare(x->task_name, y->task_name) * (x->kind == SCHEMA_MOF);
    order = order ? order : x->descriptor.id - y->descriptor.id;
    order = order ? order : x->descriptor.opcode - y->descriptor.opcode;
    return order ? order : x->descriptor.version - y->descriptor.version;
}

void schema_list_init(struct schema_list *list, struct schema_cache *cache)
{
    *list = (struct schema_list){.items = NULL};
    schema_cache_list(cache, add, list);
}

void schema_list_sort(struct schema_list *list)
{
    if (list->count > 1) {
        qsort((void *)list->items, list->count, sizeof(*list->items), compare_schemas);
    }
}

void schema_list_fini(struct schema_list *list)
{
    free((void *)list->items);
    *list = (struct schema_list){.items = NULL};
}

bool schema_list_learn(
    const struct cli_args *args, size_t first, struct schema_cache *cache, int *ret_exit)
{
    struct cli_args traces = *args;
    traces.operands += first;
    traces.operand_count -= first;
    if (traces.operand_count == 0) {
        return true;
    }
    struct config *config = config_create(NULL, NULL);
    const struct input_ops *input;
    void *settings = config ? trace_options_input(&traces, config, &input, ret_exit) : NULL;
    bool ok = false;
    if (settings) {
        struct trace_run_settings run = {.input = input,
            .settings = settings,
            .cache = cache,
            .max_events = 1}; /* the metadata pass ends with the first event */
        struct trace_result result;
        struct error err;
        ok = trace_run_whole(&run, &result, &err);
        if (!ok) {
            cli_error("%s", err.text);
            *ret_exit = EXIT_FAILED;
        }
    }
    config_destroy(config);
    return ok;
}

bool schema_list_is_provider(const struct event_schema *schema, struct span text)
{
    struct guid guid;
    if (guid_parse(text, &guid)) {
        return guid_equal(&guid, &schema->provider) || guid_equal(&guid, &schema->class_guid);
    }
    return span_equal_nocase(text, schema->provider_name) ||
           (schema->kind == SCHEMA_MOF && span_equal_nocase(text, schema->task_name)) ||
           (known_providers_guid(text, &guid) && guid_equal(&guid, &schema->provider));
}

/* ---- description ----------------------------------------------------------------------------- */

static void describe_field(
    const struct event_schema *schema, size_t index, unsigned depth, struct buf *out)
{
    const struct schema_field *field = &schema->fields[index];
    buf_printf(out, "%*s", (int)(8 + depth * 4), "");
    visible_add(out, field->name);
    buf_add_text(out, ": ");
    if (field->flags & FIELD_STRUCT) {
        buf_add_text(out, "struct");
    } else {
        buf_add_text(out, type_names_in(field->in_type));
        if (field->out_type != OUT_NULL) {
            buf_printf(out, " as %s", type_names_out(field->out_type));
        }
    }
    if (field->flags & FIELD_PARAM_LENGTH) {
        buf_add_text(out, ", length ");
        visible_add(out, schema->fields[field->length].name);
    } else if (field->length) {
        buf_printf(out, ", length %u", field->length);
    }
    if (field->flags & FIELD_PARAM_COUNT) {
        buf_add_text(out, ", ");
        visible_add(out, schema->fields[field->count].name);
        buf_add_text(out, " times");
    } else if (field->flags & FIELD_REST_COUNT) {
        buf_add_text(out, ", to the end");
    } else if (field->flags & FIELD_COUNTED) {
        buf_add_text(out, ", counted array");
    } else if (field->is_array) {
        buf_printf(out, ", %u times", field->count);
    }
    if (field->map) {
        buf_printf(out, ", %zu %s", field->map->entry_count,
            field->map->kind == MAP_BITS ? "named bits" : "named values");
    }
    buf_add_text(out, field->flags & FIELD_OPTIONAL ? ", if there" : "");
    buf_add_text(out, field->flags & FIELD_CORRECTED ? ", corrected\n" : "\n");
    if (field->flags & FIELD_STRUCT && depth < SCHEMA_MAX_DEPTH) {
        for (size_t i = 0; i < field->struct_members; i++) {
            describe_field(schema, field->struct_start + i, depth + 1, out);
        }
    }
}

static void add_word(struct buf *out, struct span word)
{
    if (word.size) {
        buf_add_byte(out, ' ');
        visible_add(out, word);
    }
}

/* A WPP message has neither version nor level, but a position in the source code. */
static void describe_message(const struct event_schema *schema, struct buf *out)
{
    const struct wpp_format *format = schema->wpp;
    buf_printf(out, "    %u", schema->descriptor.id);
    add_word(out, format->function);
    add_word(out, format->source);
    if (format->line) {
        buf_printf(out, ":%lu", (unsigned long)format->line);
    }
    add_word(out, format->level);
    add_word(out, format->flags);
    buf_printf(out, " (%s)\n        \"", schema->source);
    visible_add(out, format->text);
    buf_add_text(out, "\"\n");
    for (size_t i = 0; i < format->arg_count; i++) {
        struct span name = i < schema->top_count ? schema->fields[i].name : span_text("?");
        buf_add_text(out, "        ");
        visible_add(out, name);
        buf_add_text(out, ": ");
        visible_add(out, format->types[i]);
        buf_add_text(out, ", ");
        visible_add(out, format->args[i]);
        buf_add_byte(out, '\n');
    }
}

void schema_list_describe(const struct event_schema *schema, struct buf *out)
{
    const struct event_descriptor *d = &schema->descriptor;
    if (schema->wpp) {
        describe_message(schema, out);
        return;
    }
    buf_add_text(out, "    ");
    if (schema->kind != SCHEMA_MOF) {
        buf_printf(out, "%u ", d->id);
    }
    if (schema->event_name.size) {
        visible_add(out, schema->event_name);
        buf_add_byte(out, ' ');
    }
    buf_printf(out, "version %u", d->version);
    if (schema->kind == SCHEMA_MOF) {
        buf_printf(out, ", type %u", d->opcode);
    } else {
        const char *level = schema_level_name(d->level);
        buf_printf(out, ", level %u", d->level);
        if (level || schema->level_name.size) {
            add_word(out, level ? span_text(level) : schema->level_name);
        }
        if (schema->task_name.size) {
            buf_add_text(out, ", task");
            add_word(out, schema->task_name);
        }
        if (d->opcode) {
            const char *opcode = schema_opcode_name(d->opcode);
            buf_printf(out, ", opcode %u", d->opcode);
            add_word(out, schema->opcode_name.size ? schema->opcode_name : span_text(opcode));
        }
    }
    buf_printf(out, " (%s%s)\n", schema->source, schema->has_layout ? "" : ", layout unknown");
    if (schema->message.size) {
        buf_add_text(out, "        \"");
        visible_add(out, schema->message);
        buf_add_text(out, "\"\n");
    }
    for (size_t i = 0; i < schema->top_count; i++) {
        describe_field(schema, i, 0, out);
    }
}

static void add_member(struct buf *out, const char *key, struct span value)
{
    if (value.size) {
        buf_printf(out, ",\"%s\":", key);
        value_json_string(value, out);
    }
}

static void describe_fields_json(
    const struct event_schema *schema, size_t first, size_t count, unsigned depth, struct buf *out)
{
    buf_add_text(out, ",\"fields\":[");
    for (size_t i = first; i < first + count; i++) {
        const struct schema_field *field = &schema->fields[i];
        buf_add_text(out, i > first ? ",{\"name\":" : "{\"name\":");
        value_json_string(field->name, out);
        if (field->flags & FIELD_STRUCT) {
            buf_add_text(out, ",\"type\":\"struct\"");
            if (depth < SCHEMA_MAX_DEPTH) {
                describe_fields_json(
                    schema, field->struct_start, field->struct_members, depth + 1, out);
            }
        } else {
            buf_printf(out, ",\"type\":\"%s\"", type_names_in(field->in_type));
            if (field->out_type != OUT_NULL) {
                buf_printf(out, ",\"shown_as\":\"%s\"", type_names_out(field->out_type));
            }
        }
        buf_add_text(out, field->is_array ? ",\"array\":true" : "");
        buf_add_text(out, field->flags & FIELD_CORRECTED ? ",\"corrected\":true" : "");
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

void schema_list_describe_json(const struct event_schema *schema, struct buf *out)
{
    const struct event_descriptor *d = &schema->descriptor;
    uint8_t keywords[PUT_MAX];
    uint8_t *end = put_hex(keywords, d->keyword);
    if (schema->kind == SCHEMA_MOF) {
        buf_printf(out, "{\"opcode\":%u,\"version\":%u", d->opcode, d->version);
    } else {
        buf_printf(out, "{\"code\":%u,\"version\":%u,\"level\":%u,\"task\":%u,\"opcode\":%u", d->id,
            d->version, d->level, d->task, d->opcode);
        buf_printf(out, ",\"keywords\":\"%.*s\"", (int)(end - keywords), (const char *)keywords);
    }
    add_member(out, "name", schema->event_name);
    add_member(out, "task_name", schema->task_name);
    add_member(out, "opcode_name", schema->opcode_name);
    add_member(out, "channel_name", schema->channel_name);
    add_member(out, "message", schema->wpp ? schema->wpp->text : schema->message);
    buf_printf(out, ",\"source\":\"%s\"", schema->source);
    describe_fields_json(schema, 0, schema->top_count, 0, out);
    buf_add_byte(out, '}');
}

#include "cli/options/where.h"

#include <stdio.h>

#include "cli/options/cli.h"

static void explain(const char *option, struct span text, size_t offset, const char *what)
{
    size_t line;
    size_t column;
    struct buf shown;
    filter_position(text, offset, &line, &column);
    cli_error("%s:%zu:%zu: error: %s", option, line, column, what);
    buf_init(&shown, 2 * FILTER_MAX_TEXT_BYTES + 64);
    filter_show_place(text, offset, &shown);
    if (!shown.failed) {
        cli_lines(false, buf_span(&shown));
    }
    buf_fini(&shown);
}

/* Parse `1/N[:FIELD]` into ${rule}; ${ret_field} has the text of its field. */
static bool parse_sample(const char *sample, struct filter_rule *rule, const char **ret_field)
{
    const char *colon = strchr(sample, ':');
    size_t size = colon ? (size_t)(colon - sample) : strlen(sample);
    if (!filter_rate_parse(span_first(span_text(sample), size), &rule->every)) {
        cli_error(
            "--sample %s: not a rate. write 1/10 for one in ten, or 1/10:process.pid", sample);
        return false;
    }
    *ret_field = colon ? colon + 1 : NULL;
    rule->action = FILTER_ACTION_SAMPLE;
    rule->fields = ret_field;
    rule->field_count = colon ? 1 : 0;
    return true;
}

bool where_init(struct where *where, const char *text, const char *sample, int *ret_exit)
{
    *where = (struct where){.filter = NULL};
    if (!text && !sample) {
        return true;
    }
    const char *field = NULL;
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_KEEP, .text = span_text(text ? text : "true")},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")},
    };
    if (sample && !parse_sample(sample, &rules[0], &field)) {
        *ret_exit = EXIT_USAGE;
        return false;
    }
    struct filter_place place;
    struct error err;
    where->filter = filter_create(rules, 2, &place, &err);
    if (!where->filter) {
        explain(place.field ? "--sample" : "--where",
            place.field ? span_text(field) : rules[0].text, place.offset, err.text);
        *ret_exit = err.code == ERR_MEMORY ? EXIT_FAILED : EXIT_USAGE;
    }
    return where->filter != NULL;
}

void where_fini(struct where *where)
{
    filter_destroy(where->filter);
}

/* ---- fields that no event has ---------------------------------------------------------------- */

struct names {
    filter_name_fn *take;
    void *take_self;
};

static void take_fields(void *self, const struct event_schema *schema)
{
    const struct names *names = self;
    for (uint16_t i = 0; i < schema->top_count; i++) {
        names->take(names->take_self, schema->fields[i].name);
    }
}

static void each_met(void *self, filter_name_fn *take, void *take_self)
{
    struct names names = {.take = take, .take_self = take_self};
    schema_cache_list_met(self, take_fields, &names);
}

static void each_known(void *self, filter_name_fn *take, void *take_self)
{
    struct names names = {.take = take, .take_self = take_self};
    schema_cache_list(self, take_fields, &names);
    schema_cache_list_met(self, take_fields, &names);
}

/* Most fields belong to an event that was read; all events are listed only for other fields. */
static void warn_field(void *self, const struct filter_field *field)
{
    const struct filter_names met = {.each = each_met, .self = self};
    const struct filter_names names = {.each = each_known, .self = self};
    struct span meant = span_make(NULL, 0);
    if (!filter_field_known(field, &met, &meant) && !filter_field_known(field, &names, &meant) &&
        meant.size) {
        cli_warning("--where: no known event has a field data.%.*s. did you mean data.%.*s?",
            SPAN_ARG(field->name), SPAN_ARG(meant));
    }
}

void where_warn_fields(const struct where *where, struct schema_cache *cache)
{
    if (where->filter) {
        filter_each_field(where->filter, warn_field, cache);
    }
}

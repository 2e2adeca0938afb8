#include "cli/where.h"

#include <stdio.h>

#include "app/agent_identity.h"
#include "cli/cli.h"

static void explain(struct span text, size_t offset, const char *what)
{
    size_t line;
    size_t column;
    struct buf shown;
    filter_position(text, offset, &line, &column);
    cli_error("--where:%zu:%zu: error: %s", line, column, what);
    buf_init(&shown, 2 * FILTER_MAX_TEXT_BYTES + 64);
    filter_show_place(text, offset, &shown);
    if (!shown.failed) {
        fprintf(stderr, "%.*s\n", SPAN_ARG(buf_span(&shown)));
    }
    buf_fini(&shown);
}

bool where_init(struct where *where, const char *text, int *ret_exit)
{
    *where = (struct where){.filter = NULL};
    if (!text) {
        return true;
    }
    const struct filter_rule rules[] = {
        {.action = FILTER_ACTION_KEEP, .text = span_text(text)},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")},
    };
    struct filter_place place;
    struct error err;
    where->filter = filter_create(rules, 2, &place, &err);
    if (!where->filter) {
        explain(span_text(text), place.offset, err.text);
        *ret_exit = err.code == ERR_MEMORY ? EXIT_FAILED : EXIT_USAGE;
    }
    return where->filter != NULL;
}

void where_fini(struct where *where)
{
    if (where->has_scratch) {
        filter_scratch_fini(&where->scratch);
    }
    filter_destroy(where->filter);
}

bool where_flow_filter(struct where *where, const struct codepage *ansi,
    struct flow_filter *storage, const struct flow_filter **ret_filter, struct error *err)
{
    if (!where->filter) {
        *ret_filter = NULL;
        return true;
    }
    where->has_scratch = true;
    if (!filter_scratch_init(&where->scratch, ansi, err)) {
        return false;
    }
    where->scratch.paths.agent = agent_identity_plain();
    *storage = (struct flow_filter){.filter = where->filter, .scratch = &where->scratch};
    *ret_filter = storage;
    return true;
}

/* ---- fields that no event has ------------------------------------------------------------------ */

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

static void each_known(void *self, filter_name_fn *take, void *take_self)
{
    struct names names = {.take = take, .take_self = take_self};
    schema_cache_list(self, take_fields, &names);
    schema_cache_list_met(self, take_fields, &names);
}

static void warn_field(void *self, const struct filter_field *field)
{
    const struct filter_names names = {.each = each_known, .self = self};
    struct span meant = span_make(NULL, 0);
    if (!filter_field_known(field, &names, &meant) && meant.size) {
        cli_warning(
            "--where: no event that is known has a field data.%.*s. did you mean data.%.*s?",
            SPAN_ARG(field->name), SPAN_ARG(meant));
    }
}

void where_warn_fields(const struct where *where, struct schema_cache *cache)
{
    if (where->filter) {
        filter_each_field(where->filter, warn_field, cache);
    }
}

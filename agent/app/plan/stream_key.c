#include "app/plan/stream_key.h"

#include <stdio.h>
#include <xxhash.h>

#include "app/config/app_edits.h"
#include "app/config/app_rules.h"
#include "app/config/app_shape.h"

enum { MAX_KEY_TEXT_BYTES = 16 * 1024 * 1024 };

/* Texts may hold anything, so each is preceded by its size. */
static void add(struct buf *out, const char *what, struct span text)
{
    buf_printf(out, "%s %zu ", what, text.size);
    buf_add_span(out, text);
    buf_add_byte(out, '\n');
}

static void add_rules(struct buf *out, const struct app_output *output)
{
    for (size_t i = 0; i < output->filters.count; i++) {
        const struct app_rule *rule = (const struct app_rule *)output->filters.items + i;
        add(out, app_rules_word(app_rules_action(rule)), span_text(*app_rules_text(rule)));
        if (rule->unsure) {
            buf_add_text(out, "unsure drop\n");
        }
        if (rule->sample.rate) {
            buf_printf(out, "every %llu\n", (unsigned long long)rule->every);
            add(out, "by", span_text(rule->sample.by));
        }
        if (rule->rollup.every_ns) {
            buf_printf(out, "window %llu\n", (unsigned long long)rule->rollup.every_ns);
            for (size_t k = 0; k < rule->rollup.by.count; k++) {
                add(out, "by", span_text(rule->rollup.by.items[k]));
            }
        }
        if (rule->limit.rate) {
            buf_printf(out, "tokens %llu %llu %llu\n", (unsigned long long)rule->tokens.events,
                (unsigned long long)rule->tokens.period, (unsigned long long)rule->tokens.burst);
            for (size_t k = 0; k < rule->limit.per.count; k++) {
                add(out, "per", span_text(rule->limit.per.items[k]));
            }
        }
        app_edits_describe(rule, out);
    }
}

/* The order in which sessions stand in the configuration does not matter: batches name theirs. */
static void add_sessions(struct buf *out, const struct agent_plan *plan, size_t output)
{
    const char *before = "";
    for (;;) {
        const char *next = NULL;
        for (size_t s = 0; s < plan->session_count; s++) {
            const char *name = agent_plan_session_name(plan, s);
            if (agent_plan_takes(plan, s, output) && strcmp(name, before) > 0 &&
                (!next || strcmp(name, next) < 0)) {
                next = name;
            }
        }
        if (!next) {
            return;
        }
        add(out, "session", span_text(next));
        before = next;
    }
}

/* The templates of its outputs, in the order in which the stream has them. */
static void add_routes(struct buf *out, const struct agent_plan *plan, size_t stream)
{
    for (size_t route = 0; route < plan->streams[stream].shape.route_count; route++) {
        for (size_t o = 0; o < plan->output_count; o++) {
            const struct app_output *config = plan->output_configs[o];
            if (plan->outputs[o].stream == stream && plan->outputs[o].route == route) {
                add(out, "route", span_text(config->ops->route(config->settings)));
            }
        }
    }
}

bool stream_key_write(
    const struct agent_plan *plan, size_t stream, char key[STREAM_KEY_BYTES], struct error *err)
{
    struct buf text;
    size_t output = 0;
    buf_init(&text, MAX_KEY_TEXT_BYTES);
    while (plan->outputs[output].stream != stream) {
        output++; /* every stream has an output */
    }
    const struct app_output *config = plan->output_configs[output];
    struct event_options options = app_shape_options(config);
    event_options_add_key(&options, &text);
    add_rules(&text, config);
    add_sessions(&text, plan, output);
    add_routes(&text, plan, stream);
    bool ok = !text.failed || error_set(err, ERR_MEMORY, "out of memory");
    if (ok) {
        XXH128_hash_t hash = XXH3_128bits(text.data, text.size);
        snprintf(key, STREAM_KEY_BYTES, "%.16s-%016llx%016llx", app_config_format(config),
            (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    }
    buf_fini(&text);
    return ok;
}

#include "app/app_rules.h"

#include <stdio.h>

#include "base/utf.h"

struct filter_rule app_rules_filter_rule(const struct app_rule *rule)
{
    return (struct filter_rule){
        .action = rule->drop ? FILTER_ACTION_DROP : FILTER_ACTION_KEEP,
        .text = span_text(app_rule_text(rule)),
        .name = span_text(rule->name),
    };
}

void app_rules_complain(
    const struct app_rule *rule, size_t offset, const char *what, struct config_report *report)
{
    struct span text = span_text(app_rule_text(rule));
    uint32_t characters = 0;
    for (size_t at = 0; at < offset && at < text.size; characters++) {
        utf8_next(text, &at);
    }
    const struct config_position *position = &rule->position;
    uint32_t column = position->column;
    if (position->text_offset != CONFIG_NOT_AS_WRITTEN) {
        column += position->text_offset + characters;
    }
    config_report_add_excerpt(
        report, position->file, position->line, column, what, text, characters);
}

/* ${flawed}: something about the rule is reported. If that is a comma that cuts its expression, then
 * an end that comes too early is no news. */
static void compile(const struct app_rule *rule, bool flawed, struct config_report *report)
{
    const struct filter_rule one = app_rules_filter_rule(rule);
    struct filter_place place = {0};
    struct error err;
    struct filter *filter = filter_create(&one, 1, &place, &err);
    bool cut = flawed && place.offset == one.text.size;
    if (!filter && !cut) {
        char what[sizeof(err.text) + 8];
        snprintf(what, sizeof(what), "%s: %s", rule->drop ? "drop" : "keep", err.text);
        app_rules_complain(rule, place.offset, what, report);
    }
    filter_destroy(filter);
}

void app_rules_check(
    const struct config *memory, const struct config_list *list, struct config_report *report)
{
    struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count; i++) {
        struct app_rule *rule = &rules[i];
        if (!rule->keep == !rule->drop) {
            if (config_is_flawed(memory, rule)) {
                continue;
            }
            config_error_at(memory, rule, sizeof(*rule), report,
                "a rule has either `keep` or `drop`. write one of them, as in - drop: EXPRESSION");
            continue;
        }
        const char **text = rule->drop ? &rule->drop : &rule->keep;
        rule->position = config_position_of(memory, text, sizeof(*text));
        compile(rule, config_is_flawed(memory, rule), report);
    }
}

void app_rules_each(const struct app_config *config, app_rules_fn *each, void *self)
{
    char where[256];
    each(self, "every session", &config->filters);
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        const struct app_provider *providers = session->providers.items;
        snprintf(where, sizeof(where), "session %s", session->name);
        each(self, where, &session->filters);
        for (size_t k = 0; k < session->providers.count; k++) {
            snprintf(where, sizeof(where), "provider %zu of session %s", k + 1, session->name);
            each(self, where, &providers[k].filters);
        }
    }
    for (size_t i = 0; i < config->output_count; i++) {
        snprintf(where, sizeof(where), "output %s", config->outputs[i].name);
        each(self, where, &config->outputs[i].filters);
    }
}

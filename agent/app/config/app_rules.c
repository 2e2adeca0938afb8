#include "app/config/app_rules.h"

#include <stdio.h>

#include "app/config/app_edits.h"
#include "app/config/app_fields.h"
#include "base/utf.h"
#include "config/config_image.h"
#include "config/config_text.h"

enum filter_action app_rules_action(const struct app_rule *rule)
{
    int edits;
    return rule->drop              ? FILTER_ACTION_DROP
           : rule->sample.rate     ? FILTER_ACTION_SAMPLE
           : rule->limit.rate      ? FILTER_ACTION_LIMIT
           : rule->rollup.every_ns ? FILTER_ACTION_ROLLUP
                                   : app_edits_action(rule, &edits);
}

const char *app_rules_word(enum filter_action action)
{
    static const char *const words[] = {[FILTER_ACTION_KEEP] = "keep",
        [FILTER_ACTION_DROP] = "drop",
        [FILTER_ACTION_SAMPLE] = "sample",
        [FILTER_ACTION_LIMIT] = "limit",
        [FILTER_ACTION_ROLLUP] = "rollup",
        [FILTER_ACTION_SET] = "set",
        [FILTER_ACTION_TAG] = "tag",
        [FILTER_ACTION_REMOVE] = "remove",
        [FILTER_ACTION_RENAME] = "rename",
        [FILTER_ACTION_HASH] = "hash",
        [FILTER_ACTION_TRUNCATE] = "truncate"};
    return words[action];
}

const char *const *app_rules_text(const struct app_rule *rule)
{
    const struct app_edit *edit = app_edits_of(rule, app_rules_action(rule));
    if (edit) {
        return &edit->where;
    }
    switch (app_rules_action(rule)) {
    case FILTER_ACTION_DROP:
        return &rule->drop;
    case FILTER_ACTION_SAMPLE:
        return &rule->sample.where;
    case FILTER_ACTION_LIMIT:
        return &rule->limit.where;
    case FILTER_ACTION_ROLLUP:
        return &rule->rollup.where;
    default:
        return &rule->keep;
    }
}

struct filter_rule app_rules_filter_rule(const struct app_rule *rule)
{
    struct filter_rule one = {
        .action = app_rules_action(rule),
        .text = span_text(*app_rules_text(rule)),
        .name = span_text(rule->name),
        .every = rule->every,
        .limit = rule->tokens,
        .window = rule->rollup.every_ns / 100,
        .drops_unsure = rule->unsure != 0,
    };
    if (!filter_action_decides(one.action)) {
        app_edits_fill(rule, &one);
    } else if (one.action == FILTER_ACTION_LIMIT) {
        one.fields = rule->limit.per.items;
        one.field_count = rule->limit.per.count;
    } else if (one.action == FILTER_ACTION_ROLLUP) {
        one.fields = rule->rollup.by.items;
        one.field_count = rule->rollup.by.count;
    } else {
        one.fields = &rule->sample.by;
        one.field_count = rule->sample.by != NULL;
    }
    return one;
}

bool app_rules_are_same(const struct app_rule *a, const struct app_rule *b)
{
    struct app_rule unnamed[] = {*a, *b};
    unnamed[0].name = unnamed[1].name = NULL;
    return config_image_equal(app_rule_fields, &unnamed[0], &unnamed[1]);
}

void app_rules_complain(const struct config *memory, const struct app_rule *rule,
    const struct filter_place *place, const char *what, struct config_report *report)
{
    const struct filter_rule parts = app_rules_filter_rule(rule);
    struct span text = parts.text;
    struct config_position position = rule->position;
    if (place->field) {
        size_t step = parts.field_step ? parts.field_step : 1;
        const char *const *field = &parts.fields[(place->field - 1) * step];
        text = span_text(*field);
        position = config_position_of(memory, field, sizeof(*field));
    }
    uint32_t characters = 0;
    for (size_t at = 0; at < place->offset && at < text.size; characters++) {
        utf8_next(text, &at);
    }
    uint32_t column = position.column;
    if (position.text_offset != CONFIG_NOT_AS_WRITTEN) {
        column += position.text_offset + characters;
    }
    config_report_add_excerpt(report, position.file, position.line, column, what, text, characters);
}

/* ${flawed}: an error of the rule was reported. If that is a comma that splits its expression, then
 * an expression that ends too early is the same error. */
static void compile(const struct config *memory, const struct app_rule *rule, bool flawed,
    struct config_report *report)
{
    const struct filter_rule one = app_rules_filter_rule(rule);
    struct filter_place place = {0};
    struct error err;
    struct filter *filter = filter_create(&one, 1, &place, &err);
    bool cut = flawed && place.offset == one.text.size;
    if (!filter && !cut) {
        char what[sizeof(err.text) + 16];
        snprintf(what, sizeof(what), "%s: %s", app_rules_word(one.action), err.text);
        app_rules_complain(memory, rule, &place, what, report);
    }
    filter_destroy(filter);
}

/* `1/N`. */
static bool check_sample(
    const struct config *memory, struct app_rule *rule, struct config_report *report)
{
    struct span rate = span_text(rule->sample.rate);
    if (filter_rate_parse(rate, &rule->every)) {
        return true;
    }
    config_error_at(memory, &rule->sample.rate, sizeof(rule->sample.rate), report,
        "rate: %s is not a rate. write 1/10 for one in ten", config_text_quote(rate).text);
    return false;
}

/* `N/s`. */
static bool check_limit(
    const struct config *memory, struct app_rule *rule, struct config_report *report)
{
    struct span rate = span_text(rule->limit.rate);
    if (!filter_limit_parse(rate, &rule->tokens)) {
        config_error_at(memory, &rule->limit.rate, sizeof(rule->limit.rate), report,
            "rate: %s is not a rate. write 100/s, or a number per m, h or d, at most %d",
            config_text_quote(rate).text, FILTER_MAX_BURST);
        return false;
    }
    if (rule->limit.burst > 0) {
        rule->tokens.burst = (uint64_t)rule->limit.burst;
    }
    return true;
}

static void check_rule(
    const struct config *memory, struct app_rule *rule, struct config_report *report)
{
    int edits;
    app_edits_action(rule, &edits);
    int actions = (rule->keep != NULL) + (rule->drop != NULL) + (rule->sample.rate != NULL) +
                  (rule->limit.rate != NULL) + (rule->rollup.every_ns != 0) + edits;
    bool flawed = config_is_flawed(memory, rule);
    if (rule->unsure && !filter_action_decides(app_rules_action(rule))) {
        config_error_at(memory, &rule->unsure, sizeof(rule->unsure), report,
            "unsure: only rules that decide drop events. remove it, or add a rule with `drop`");
    }
    if (actions != 1 && !flawed) {
        config_error_at(memory, rule, sizeof(*rule), report,
            "a rule has one of `keep`, `drop`, `sample`, `limit`, `rollup`, `set`, `tag`, "
            "`remove`, `rename`, `hash` and `truncate`. write one of them, as in - drop: "
            "EXPRESSION");
    }
    if (actions != 1 || (rule->sample.rate && !check_sample(memory, rule, report)) ||
        (rule->limit.rate && !check_limit(memory, rule, report)) ||
        !app_edits_check(memory, rule, report)) {
        return;
    }
    const char *const *text = app_rules_text(rule);
    rule->position = config_position_of(memory, text, sizeof(*text));
    compile(memory, rule, flawed, report);
}

void app_rules_check(
    const struct config *memory, const struct config_list *list, struct config_report *report)
{
    struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count; i++) {
        check_rule(memory, &rules[i], report);
    }
}

void app_rules_refuse_shared(
    const struct config *memory, const struct config_list *list, struct config_report *report)
{
    const struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count; i++) {
        enum filter_action action = app_rules_action(&rules[i]);
        if (action == FILTER_ACTION_LIMIT || action == FILTER_ACTION_ROLLUP) {
            bool limits = action == FILTER_ACTION_LIMIT;
            const void *member = limits ? (const void *)&rules[i].limit : &rules[i].rollup;
            config_error_at(memory, member,
                limits ? sizeof(rules[i].limit) : sizeof(rules[i].rollup), report,
                "%s: an entry of a provider takes none. write it under filters of the session, "
                "with where: provider.name == 'NAME'",
                app_rules_word(action));
        }
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

/* app_rules_fn */
static void find_rollup(void *self, const char *where, const struct config_list *list)
{
    const struct app_rule *rules = list->items;
    bool *found = self;
    (void)where;
    for (size_t i = 0; i < list->count; i++) {
        *found |= app_rules_action(&rules[i]) == FILTER_ACTION_ROLLUP;
    }
}

static bool has_buckets(const struct config_list *list)
{
    const struct app_rule *rules = list->items;
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        any |= rules[i].limit.per.count > 0;
    }
    return any;
}

size_t app_rules_bucket_tables(const struct app_config *config)
{
    size_t for_all = has_buckets(&config->filters);
    size_t for_one = 0;
    for (size_t i = 0; i < config->output_count; i++) {
        for_all += has_buckets(&config->outputs[i].filters);
    }
    for (size_t i = 0; i < config->session_count; i++) {
        for_one += has_buckets(&config->sessions[i].filters);
    }
    return for_all * config->session_count + for_one;
}

bool app_rules_roll_up(const struct app_config *config)
{
    bool found = false;
    app_rules_each(config, find_rollup, &found);
    return found;
}

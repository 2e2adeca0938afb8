#include "input/live/evt_options.h"

#include <stdlib.h>
#include <string.h>

static const char *const start_names[] = {"oldest", "now", NULL};

// clang-format off
static const struct config_field channel_name = {
    CONFIG_ROW("name", STRING, struct evt_channel_settings, name), .required = true,
    .help = "Name of a channel, such as Security; * and ? match existing and later channels."};

static const struct config_field channel_fields[] = {
    {CONFIG_ROW("name", STRING, struct evt_channel_settings, name), .required = true,
     .help = "Name of a channel, such as Security; * and ? match existing and later channels."},
    {CONFIG_ROW("ids", STRINGS, struct evt_channel_settings, ids), .max = PROVIDER_MAX_RANGES,
     .help = "Only events with these ids, or ranges of them: 4624, 4700-4799."},
    {CONFIG_ROW("levels", STRINGS, struct evt_channel_settings, levels), .max = 16,
     .help = "Only events of these levels, by name or number; information includes events that are "
             "always logged (level 0)."},
    {CONFIG_ROW("providers", STRINGS, struct evt_channel_settings, providers), .max = 256,
     .help = "Only events of these providers, with names as in the Event Viewer."},
    {CONFIG_ROW("query", STRING, struct evt_channel_settings, query),
     .help = "XPath with which Windows selects events, such as *[System[EventID=4624]]; ids, "
             "levels and providers apply as well."},
    {.key = NULL},
};

const struct config_field evt_options_fields[] = {
    {CONFIG_ROW("channels", STRUCTS, struct evt_settings, channels), .required = true, .min = 1,
     .max = 256, .fields = channel_fields, .shorthand = &channel_name,
     .size = sizeof(struct evt_channel_settings),
     .help = "Channels to read, by name or with conditions."},
    {CONFIG_ROW("start", ENUM, struct evt_settings, start), .default_text = "oldest",
     .names = start_names,
     .help = "Where the agent begins to read a new channel: at its oldest event, or at the next "
             "one. Later runs continue where the previous run stopped."},
    {CONFIG_ROW("max_age", DURATION, struct evt_settings, max_age_ns), .default_text = "never",
     .min = 1000000000, .max = INT64_C(315360000000000000), .may_be_never = true,
     .help = "Leave out older events."},
    {CONFIG_ROW("messages", BOOL, struct evt_settings, messages), .default_text = "true",
     .help = "Ask Windows for the text of each event, as message. This about doubles the time to "
             "read an event."},
    {CONFIG_ROW("language", STRING, struct evt_settings, language),
     .help = "Language of messages, such as en-US; default: `agent.language`, else the system's. "
             "Forwarded events keep the language of their machine."},
    {.key = NULL},
};
// clang-format on

void evt_options_check(const void *settings, struct config_check *check)
{
    const struct evt_settings *s = settings;
    const struct evt_channel_settings *channels = s->channels.items;
    for (size_t i = 0; i < s->channels.count; i++) {
        struct evt_rule rule;
        struct error err;
        const void *member = &channels[i].name;
        if (!channels[i].name) {
            continue; /* its row reports that */
        }
        if (*channels[i].name == '\0') {
            CONFIG_FAULT(check, &channels[i].name,
                "name: must not be empty. write the name of a channel, such as Security");
        }
        if (!evt_rule_read(&channels[i], &rule, &member, &err)) {
            config_check_fault(
                check, member, sizeof(const char *), CONFIG_FAULT_WHOLE, "%s", err.text);
        }
    }
}

void evt_options_warnings(const void *settings, struct config_check *check)
{
    const struct evt_settings *s = settings;
    const struct evt_channel_settings *channels = s->channels.items;
    for (size_t i = 0; i < s->channels.count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(channels[i].name, channels[k].name) == 0) {
                CONFIG_FAULT(check, &channels[i].name,
                    "name: %s has an entry above. only the first entry that matches a channel "
                    "counts",
                    channels[i].name);
                break;
            }
        }
    }
}

struct evt_rule *evt_options_rules(
    const struct evt_settings *settings, const struct evt_scope *scope, struct error *err)
{
    const struct evt_channel_settings *channels = settings->channels.items;
    struct evt_rule *rules = calloc(settings->channels.count + 1, sizeof(*rules));
    const void *member;
    if (!rules) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < settings->channels.count; i++) {
        if (!evt_rule_read(&channels[i], &rules[i], &member, err)) {
            free(rules);
            return NULL;
        }
        rules[i].scope = scope;
        rules[i].max_age_ns = settings->max_age_ns == CONFIG_NEVER ? 0 : settings->max_age_ns;
    }
    return rules;
}

void evt_options_words(
    const void *settings, const struct evt_scope *scope, const char *indent, struct buf *out)
{
    const struct evt_settings *s = settings;
    struct evt_rule *rules = evt_options_rules(s, scope, NULL);
    for (size_t i = 0; rules && i < s->channels.count; i++) {
        buf_printf(out, "%s%s %s: Windows selects ", indent,
            evt_rule_is_pattern(&rules[i]) ? "channels" : "channel", rules[i].name);
        bool is_whole = evt_rule_write_query(&rules[i], out);
        buf_printf(out, "\n%s", is_whole ? "" : indent);
        buf_add_text(
            out, is_whole ? "" : "  which selects too many events: the agent drops the others\n");
        if (evt_rule_is_narrowed(&rules[i])) {
            buf_printf(out,
                "%s  narrowed to what rules and outputs may keep; the agent checks the "
                "rest of them\n",
                indent);
        }
    }
    free(rules);
}

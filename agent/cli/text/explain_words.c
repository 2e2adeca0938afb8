#include <inttypes.h>
#include <stdio.h>

#include "app/config/app_edits.h"
#include "app/config/app_fields.h"
#include "app/config/app_rules.h"
#include "cli/text/explain.h"
#include "config/config_value.h"
#include "etw/enable/etw_keywords.h"
#include "etw/etw_hold.h"
#include "event/model/schema.h"
#include "filter/push/filter_push.h"
#include "input/live/live_options.h"

/* Text in columns: a setting, then its value. */

struct words {
    const struct explain *explain;
    size_t session;
    const char *indent;
    struct buf *out;
};

static void begin(const struct words *w, const char *what)
{
    buf_printf(w->out, "%s    %-10s ", w->indent, what);
}

static void end(const struct words *w, bool by_rules)
{
    buf_add_text(w->out, by_rules ? "  (by the rules)\n" : "\n");
}

/* ---- parts of a request ---------------------------------------------------------------------- */

static bool is_every(uint8_t level)
{
    return level == 0 || level == PROVIDER_LEVEL_ALL;
}

static void put_level(const struct words *w, const struct explain_call *call)
{
    uint8_t level = call->request.level;
    static const char *const names[] = {
        NULL, "critical", "error", "warning", "information", "verbose"};
    bool has_name = level < sizeof(names) / sizeof(names[0]);
    begin(w, "level");
    if (is_every(level)) {
        buf_add_text(w->out, "every one");
    } else {
        buf_printf(w->out, has_name ? "%s (%u)" : "%s%u", has_name ? names[level] : "", level);
        buf_add_text(w->out, level > 1 ? " and more severe" : "");
    }
    end(w, level != call->wide.level && !is_every(level));
}

static void put_mask(const struct words *w, const char *word, uint64_t bits,
    const struct provider_keywords *asked, const struct guid *guid)
{
    struct buf names;
    buf_printf(w->out, "%s of ", word);
    if (bits == 0) { /* unknown here */
        for (size_t i = 0; i < asked->name_count; i++) {
            buf_printf(w->out, "%s%s", i ? ", " : "", asked->names[i]);
        }
        return;
    }
    buf_init(&names, 4096);
    explain_keywords(w->explain, guid, bits, &names);
    buf_printf(w->out, "0x%" PRIx64, bits);
    if (names.size) {
        buf_printf(w->out, " (%.*s)", SPAN_ARG(buf_span(&names)));
    }
    buf_fini(&names);
}

static void put_keywords(const struct words *w, const struct explain_call *call)
{
    const struct etw_request *request = &call->request;
    const struct provider_keywords *any = &call->spec->any;
    bool every = etw_keywords_are_all(request->any) && any->name_count == 0;
    uint64_t left_out = ~etw_keywords_any(request);
    begin(w, call->spec->classic ? "flags" : "keywords");
    if (every) {
        buf_add_text(w->out, "all");
        if (left_out) {
            buf_printf(w->out, " but 0x%" PRIx64, left_out);
        }
    } else {
        put_mask(w, "any", request->any, any, &request->provider);
    }
    if (request->all) {
        buf_add_text(w->out, "; ");
        put_mask(w, "all", request->all, &call->spec->all, &request->provider);
    }
    end(w, request->any != call->wide.any || request->all != call->wide.all);
}

static void put_id_list(const struct etw_filter_ids *ids, struct buf *out)
{
    for (size_t i = 0; i < ids->count; i++) {
        size_t first = i;
        while (i + 1 < ids->count && ids->ids[i + 1] == ids->ids[i] + 1) {
            i++;
        }
        buf_printf(out, "%s%u", first ? ", " : "", ids->ids[first]);
        if (i > first) {
            buf_printf(out, "%s%u", i == first + 1 ? ", " : "-", ids->ids[i]);
        }
    }
}

static bool same_ids(const struct etw_filter_ids *a, const struct etw_filter_ids *b)
{
    return a->count == b->count && a->exclude == b->exclude &&
           memcmp(a->ids, b->ids, a->count * sizeof(a->ids[0])) == 0;
}

static void put_texts(const char *word, const struct etw_filter_texts *texts, struct buf *out)
{
    for (size_t i = 0; i < texts->count; i++) {
        buf_printf(out, "%s%s", i ? ", " : word, texts->texts[i]);
    }
}

static void put_events(const struct words *w, const struct explain_call *call)
{
    const struct etw_request *request = &call->request;
    if (request->events.count + request->names.count == 0) {
        return;
    }
    begin(w, "events");
    buf_add_text(w->out, request->events.exclude || request->names.exclude ? "all but " : "");
    put_id_list(&request->events, w->out);
    put_texts(request->events.count ? ", " : "", &request->names, w->out);
    end(w, !same_ids(&request->events, &call->wide.events));
}

static void put_scopes(const struct words *w, const struct explain_call *call)
{
    const struct etw_request *r = &call->request;
    if (r->pid_count) {
        begin(w, "processes");
        for (size_t i = 0; i < r->pid_count; i++) {
            buf_printf(w->out, "%s%" PRIu32, i ? ", " : "", r->pids[i]);
        }
        end(w, r->pid_count != call->wide.pid_count);
    }
    if (r->executables.count + r->packages.count + r->apps.count + r->container.count) {
        begin(w, "programs");
        put_texts("", &r->executables, w->out);
        put_texts("package ", &r->packages, w->out);
        put_texts("application ", &r->apps, w->out);
        put_texts("container ", &r->container, w->out);
        end(w, false);
    }
}

static const char *op_word(uint16_t op)
{
    switch (op) {
    case ETW_PAYLOAD_EQ:
    case ETW_PAYLOAD_IS:
        return "is";
    case ETW_PAYLOAD_LE:
        return "<=";
    case ETW_PAYLOAD_GT:
        return ">";
    case ETW_PAYLOAD_LT:
        return "<";
    case ETW_PAYLOAD_GE:
        return ">=";
    case ETW_PAYLOAD_BETWEEN:
        return "between";
    default:
        return "contains";
    }
}

static void put_payload(const struct words *w, const struct explain_call *call)
{
    const struct etw_request *r = &call->request;
    const struct provider_payload *own = call->spec->payload.items;
    for (size_t i = 0; i < r->payload_count; i++) {
        const struct etw_payload_filter *f = &r->payload[i];
        begin(w, i ? "" : "payload");
        buf_printf(w->out, "event %u version %u: ", f->event.id, f->event.version);
        for (size_t k = 0; k < f->count; k++) {
            buf_printf(w->out, "%s%s %s %s",
                !k             ? ""
                : f->match_any ? " or "
                               : " and ",
                f->tests[k].field, op_word(f->tests[k].op),
                explain_value(w->explain, f->tests[k].value));
        }
        end(w, true);
    }
    for (size_t i = 0; i < call->spec->payload.count && !call->spec->group; i++) {
        begin(w, i ? "" : "payload");
        buf_printf(w->out, "event %s: %zu condition%s of the entry\n", own[i].id,
            own[i].fields.count, own[i].fields.count == 1 ? "" : "s");
    }
}

static void put_properties(const struct words *w, const struct explain_call *call)
{
    static const struct {
        uint32_t property;
        const char *words;
    } others[] = {{ETW_ENABLE_IGNORE_KEYWORD_0, "no events without keyword"},
        {ETW_ENABLE_EXCLUDE_INPRIVATE, "none of private browsing"},
        {ETW_ENABLE_SILOS, "those of containers, too"},
        {ETW_ENABLE_PROVIDER_GROUP, "of all members of the group"}};
    const struct provider_spec *spec = call->spec;
    const char *comma = "";
    if (spec->extended) {
        begin(w, "with");
        for (size_t i = 0; app_extended_names[i]; i++) {
            if (spec->extended >> i & 1) {
                buf_printf(w->out, "%s%s", comma, app_extended_names[i]);
                comma = ", ";
            }
        }
        end(w, false);
    }
    if (call->request.stack_events.count) {
        begin(w, "stacks");
        buf_add_text(w->out, "of events ");
        put_id_list(&call->request.stack_events, w->out);
        end(w, false);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (call->request.properties & others[i].property) {
            begin(w, "also");
            buf_printf(w->out, "%s\n", others[i].words);
        }
    }
    if (spec->capture_at_start || spec->capture_every_ns) {
        begin(w, "state");
        buf_printf(w->out, "asked for%s", spec->capture_at_start ? " at the start" : "");
        if (spec->capture_every_ns) {
            buf_printf(w->out, "%s every %s", spec->capture_at_start ? " and" : "",
                config_value_write_duration(spec->capture_every_ns).text);
        }
        end(w, false);
    }
}

/* Fields with equal reasons share a line. */
static void put_left(const struct words *w, const struct provider_scope *scope)
{
    for (int why = FILTER_PUSH_NO_FIELD; why <= FILTER_PUSH_NOT_ALONE; why++) {
        const char *comma = "";
        for (size_t i = 0; i < scope->left_count; i++) {
            if ((int)scope->left[i].why != why) {
                continue;
            }
            if (!*comma) {
                begin(w, "agent");
            }
            buf_printf(w->out, "%s%s", comma, scope->left[i].path);
            comma = ", ";
        }
        if (*comma) {
            buf_printf(w->out, ": %s\n", explain_why(why));
        }
    }
}

static void put_note(void *self, const char *text)
{
    const struct words *w = self;
    begin(w, "note");
    buf_printf(w->out, "%s\n", text);
}

static void put_call(void *self, const struct explain_call *call)
{
    struct words *w = self;
    char guid[GUID_TEXT_SIZE];
    guid_write(&call->request.provider, guid);
    struct span name = call->spec->name;
    buf_printf(w->out, "%s  %.*s", w->indent, SPAN_ARG(name));
    if (!guid_is_zero(&call->spec->guid)) {
        buf_printf(w->out, "%s{%.36s}", name.size ? " " : "", guid);
    }
    if (call->spec->wpp) {
        buf_printf(w->out, "%sWPP messages of %s",
            name.size || !guid_is_zero(&call->spec->guid) ? ", " : "", call->spec->wpp);
    }
    buf_add_byte(w->out, '\n');
    if (call->nothing) {
        begin(w, "not asked");
        buf_add_text(w->out, "no rule keeps any of its events\n");
    } else {
        put_level(w, call);
        put_keywords(w, call);
        put_events(w, call);
        put_scopes(w, call);
        put_payload(w, call);
        put_properties(w, call);
        if (call->spec->scope) {
            put_left(w, call->spec->scope);
        }
    }
    explain_notes(w->explain, w->session, call, put_note, w);
}

/* ---- rules that the agent alone asks --------------------------------------------------------- */

static enum event_path_need need_of(const struct app_rule *rule)
{
    const struct filter_rule one = app_rules_filter_rule(rule);
    struct filter_place place;
    struct filter *filter = filter_create(&one, 1, &place, NULL);
    enum event_path_need need = filter ? filter_need(filter) : EVENT_PATH_EVENT;
    filter_destroy(filter);
    return need;
}

static void put_rules_of(
    const struct words *w, const struct config_list *list, enum event_path_need need, bool *first)
{
    static const char *const places[] = {[EVENT_PATH_RECORD] = "header",
        [EVENT_PATH_SCHEMA] = "definition",
        [EVENT_PATH_EVENT] = "payload"};
    const struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count; i++) {
        bool decides = filter_action_decides(app_rules_action(&rules[i]));
        if (decides && need_of(&rules[i]) == need) {
            begin(w, *first ? places[need] : "");
            const char *const *text = app_rules_text(&rules[i]);
            const char *written = config_written(w->explain->config->memory, text, sizeof(*text));
            buf_printf(w->out, "%s %s\n", app_rules_word(app_rules_action(&rules[i])),
                written ? written : *text);
            *first = false;
        }
    }
}

/* Edits of kept events. */
static void put_edits_of(const struct words *w, const struct config_list *list, bool *first)
{
    const struct config *memory = w->explain->config->memory;
    const struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count; i++) {
        if (filter_action_decides(app_rules_action(&rules[i]))) {
            continue;
        }
        const char *const *text = app_rules_text(&rules[i]);
        const char *written = config_written(memory, text, sizeof(*text));
        begin(w, *first ? "edits" : "");
        buf_printf(w->out, "%s ", app_rules_word(app_rules_action(&rules[i])));
        app_edits_words(&rules[i], memory, w->out);
        buf_printf(w->out, "%s\n", written ? written : *text);
        *first = false;
    }
}

/* All rule lists for events of the session, by the parts of an event that they need. */
static void put_places(const struct words *w)
{
    const struct agent_plan *plan = &w->explain->plan;
    const struct app_session *session = plan->session_configs[w->session];
    size_t of_outputs;
    if (explain_rules(w->explain, w->session, &of_outputs) == 0) {
        buf_printf(w->out, "%s  no rule: every event is delivered\n", w->indent);
        return;
    }
    buf_printf(w->out, "%s  rules, by the part of an event that they need%s\n", w->indent,
        session->ops->replayable ? "; events decided by the header are not decoded" : "");
    for (int need = EVENT_PATH_RECORD; need <= EVENT_PATH_EVENT; need++) {
        bool first = true;
        enum event_path_need place = (enum event_path_need)need;
        put_rules_of(w, &w->explain->config->filters, place, &first);
        put_rules_of(w, &session->filters, place, &first);
        for (size_t i = 0; i < session->providers.count; i++) {
            const struct app_provider *providers = session->providers.items;
            put_rules_of(w, &providers[i].filters, place, &first);
        }
        for (size_t i = 0; i < plan->output_count; i++) {
            if (agent_plan_takes(plan, w->session, i)) {
                put_rules_of(w, &plan->output_configs[i]->filters, place, &first);
            }
        }
    }
    bool first = true;
    put_edits_of(w, &w->explain->config->filters, &first);
    put_edits_of(w, &session->filters, &first);
    for (size_t i = 0; i < session->providers.count; i++) {
        put_edits_of(
            w, &((const struct app_provider *)session->providers.items)[i].filters, &first);
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        if (agent_plan_takes(plan, w->session, i)) {
            put_edits_of(w, &plan->output_configs[i]->filters, &first);
        }
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void put_flags(const struct words *w, const struct live_groups *groups)
{
    buf_printf(w->out, "%s  kernel events of ", w->indent);
    for (size_t i = 0; i < groups->flags.count; i++) {
        buf_printf(w->out, "%s%s", i ? ", " : "", groups->flags.items[i]);
    }
    buf_add_text(w->out, ": the kernel selects by these groups only\n");
}

static bool put_session(struct words *w)
{
    const struct app_session *session = w->explain->plan.session_configs[w->session];
    struct input_live live = session->ops->live ? session->ops->live(session->settings)
                                                : (struct input_live){.session = NULL};
    bool has_flags = live.groups && live.groups->flags.count;
    buf_printf(w->out, "%ssession %s (%s)", w->indent, session->name, session->type);
    buf_printf(w->out,
        live.session && !live.launch && strcmp(session->type, "kernel") != 0 ? ", " ETW_OUR_PREFIX
                                                                               "%s in Windows\n"
                                                                             : "\n",
        session->name);
    if (has_flags) {
        put_flags(w, live.groups);
    }
    if (session->ops->words) {
        char indent[64];
        snprintf(indent, sizeof(indent), "%s  ", w->indent);
        session->ops->words(
            session->settings, w->explain->plan.evt_scopes[w->session], indent, w->out);
    }
    if (!explain_each(w->explain, w->session, put_call, w)) {
        return false;
    }
    if (has_flags || !session->ops->switches_on || session->providers.count == 0) {
        put_places(w);
    } else if (!w->out->failed) {
        size_t of_outputs;
        buf_printf(w->out,
            explain_rules(w->explain, w->session, &of_outputs)
                ? "%s  the agent applies every rule again to delivered events\n"
                : "%s  no rule: all events are delivered\n",
            w->indent);
    }
    return true;
}

bool explain_write(
    const struct explain *explain, size_t session, const char *indent, struct buf *out)
{
    struct words words = {.explain = explain, .indent = indent, .out = out};
    bool good = true;
    bool first = true;
    for (size_t i = 0; i < explain->plan.session_count && good; i++) {
        if (session == SIZE_MAX || session == i) {
            buf_add_text(out, first ? "" : "\n");
            words.session = i;
            good = put_session(&words);
            first = false;
        }
    }
    return good;
}

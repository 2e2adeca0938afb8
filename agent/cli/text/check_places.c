#include "cli/text/check_places.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text/keyword_words.h"
#include "etw/etw_hold.h"
#include "input/live/live_options.h"
#include "input/windows/etw_plan.h"

/*
 * Recorded traces and sessions of other programs have events by their own settings: the agent
 * filters them. Sessions of etwship push filters to ETW (event_filter_descriptor on
 * learn.microsoft.com); the agent repeats those that it can evaluate, so a filter that some Windows
 * or a driver ignores changes nothing.
 */
enum place { BY_ETW, BY_AGENT, BY_BOTH, NOT_APPLIED };

static void put(
    struct buf *out, const char *indent, const char *what, enum place place, const char *why)
{
    static const char *const places[] = {[BY_ETW] = "decided by ETW",
        [BY_AGENT] = "decided by the agent",
        [BY_BOTH] = "decided by ETW, and again by the agent",
        [NOT_APPLIED] = "not applied"};
    buf_printf(out, "%s%s: %s%s%s\n", indent, what, places[place], *why ? ", " : "", why);
}

/* Messages hold neither. */
static const char by_names[] = "by the names that their formats have for them";

static bool has_masks(const struct provider_spec *spec)
{
    return (spec->level != 0 && spec->level != PROVIDER_LEVEL_ALL) || spec->any.bits ||
           spec->any.name_count || spec->all.bits || spec->all.name_count;
}

/* The event has this value, so the agent can filter, too. */
static bool is_seen(uint32_t kind)
{
    return kind == ETW_FILTER_KIND(ETW_FILTER_EVENT_ID) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_PID);
}

static void put_agent_alone(const struct provider_spec *spec, const char *indent, struct buf *out)
{
    if (has_masks(spec) || spec->flags.count) {
        put(out, indent, spec->classic ? "level and flags" : "level and keywords", BY_AGENT,
            spec->classic ? by_names : "");
    }
    if (spec->include.range_count + spec->include.name_count + spec->exclude.range_count +
        spec->exclude.name_count) {
        put(out, indent, "events", BY_AGENT, "");
    }
    if (spec->pid_count) {
        put(out, indent, "processes", BY_AGENT, "");
    }
    if (spec->executables.count + spec->packages.count + spec->apps.count) {
        put(out, indent, "programs and packages", NOT_APPLIED, "only ETW knows them");
    }
    if (spec->container) {
        put(out, indent, "container", NOT_APPLIED, "only ETW knows it");
    }
    if (spec->only_keywords) {
        put(out, indent, "events without keyword", BY_AGENT, "");
    }
    if (spec->exclude_private) {
        put(out, indent, "private browsing", NOT_APPLIED, "only ETW knows it");
    }
    if (spec->payload.count) {
        put(out, indent, "payload", NOT_APPLIED, "write a rule under filters");
    }
    if (spec->extended) {
        put(out, indent, "extended", NOT_APPLIED, "another program chose these items");
    }
}

/* Why the provider ignores all filters of EnableTraceEx2; NULL: it does not. */
static const char *ignored_by(const struct app_session *session, const struct provider_spec *spec)
{
    return etw_plan_system_provider(spec, session->ops->kernel)
               ? "as providers of the kernel ignore it"
           : spec->classic ? "as classic and WPP providers ignore it"
                           : NULL;
}

bool check_places_asks_etw(const struct app_session *session, const struct provider_spec *spec)
{
    return session->ops->switches_on && !ignored_by(session, spec);
}

/* Events have their process. If a kernel provider ignores the ids, so does the agent. */
bool check_places_keeps_pids(const struct app_session *session, const struct provider_spec *spec)
{
    return !session->ops->switches_on || spec->classic || !ignored_by(session, spec);
}

static bool is_of_processes(uint32_t kind)
{
    return kind == ETW_FILTER_KIND(ETW_FILTER_PID) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_EXECUTABLE_NAME) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_PACKAGE_ID) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_PACKAGE_APP_ID) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_CONTAINER);
}

static void put_kinds(const struct provider_spec *spec, const struct etw_request *request,
    uint32_t too_much, const char *ignored, const char *indent, struct buf *out)
{
    static const char few[] = "as they exceed ETW's limit, or ids and names exclude each other";
    for (uint32_t kinds = etw_enable_kinds(request) | too_much; kinds; kinds &= kinds - 1) {
        uint32_t kind = kinds & (~kinds + 1);
        const char *name = etw_enable_kind_name(kind);
        const char *why = ignored              ? ignored
                          : !(too_much & kind) ? NULL
                          : spec->group        ? "as it does not apply to members of a group"
                                               : few;
        if (why) {
            bool by_agent = is_seen(kind) && (!ignored || spec->classic);
            put(out, indent, name, by_agent ? BY_AGENT : NOT_APPLIED, why);
        } else {
            put(out, indent, name, is_seen(kind) ? BY_BOTH : BY_ETW,
                is_of_processes(kind) && !is_seen(kind)
                    ? "except for drivers, which have no process"
                    : "");
        }
    }
}

static void put_masks(
    const struct provider_spec *spec, bool is_kernel, const char *indent, struct buf *out)
{
    if (is_kernel && spec->level != 0 && spec->level != PROVIDER_LEVEL_ALL) {
        put(out, indent, "level", NOT_APPLIED, "as kernel events have none");
    }
    if (is_kernel && (spec->any.bits || spec->any.name_count)) {
        buf_printf(out, "%skeywords: decided by the provider\n", indent);
    }
    if (!is_kernel && has_masks(spec)) {
        buf_printf(out, "%slevel and %s: decided by the provider, %s\n", indent,
            spec->classic ? "flags" : "keywords",
            spec->classic ? "in its own code" : "and again by the agent");
    }
    if (spec->classic) {
        buf_printf(out, "%sone session at a time: %s\n", indent,
            spec->take_over ? "taken from another one that has the provider"
                            : "another one that has the provider keeps it (take_over: false)");
    }
}

/* Events excluded by properties of EnableTraceEx2 and by the list of a group. */
static void put_properties(
    const struct provider_spec *spec, const char *ignored, const char *indent, struct buf *out)
{
    const char *why = ignored ? ignored : "";
    if (spec->only_keywords) {
        put(out, indent, "events without keyword", ignored ? NOT_APPLIED : BY_BOTH, why);
    }
    if (spec->exclude_private) {
        put(out, indent, "private browsing", ignored ? NOT_APPLIED : BY_ETW, why);
    }
    if (spec->classic && spec->extended) {
        put(out, indent, "extended", NOT_APPLIED, "as messages have no room for it");
    }
    if (spec->disallow.count) {
        put(out, indent, "members of the group", BY_ETW, "");
    }
}

struct lines {
    const char *indent;
    struct buf *out;
};

static void put_line(void *self, const char *text)
{
    const struct lines *lines = self;
    buf_printf(lines->out, "%s%s\n", lines->indent, text);
}

void check_places_write(const struct app_session *session, const struct app_provider *provider,
    const char *indent, struct buf *out)
{
    const struct provider_spec *spec = &provider->spec;
    struct etw_request *request = session->ops->switches_on ? calloc(1, sizeof(*request)) : NULL;
    uint32_t too_much;
    if (!request) {
        put_agent_alone(spec, indent, out);
        return;
    }
    const char *ignored = ignored_by(session, spec);
    etw_plan_request(spec, request, &too_much);
    put_masks(spec, ignored && !spec->classic, indent, out);
    keyword_words_each(request, spec, put_line, &(struct lines){indent, out});
    put_kinds(spec, request, too_much, ignored, indent, out);
    if (spec->payload.count) {
        put(out, indent, "payload", ignored || spec->group ? NOT_APPLIED : BY_ETW,
            ignored       ? ignored
            : spec->group ? "as it does not apply to members of a group"
                          : "where the provider's manifest is installed");
    }
    put_properties(spec, ignored, indent, out);
    free(request);
}

void check_places_write_session(
    const struct app_session *session, const char *indent, struct buf *out)
{
    struct input_live live = session->ops->live ? session->ops->live(session->settings)
                                                : (struct input_live){.session = NULL};
    if (live.session && live.session->boot) {
        buf_printf(out,
            "%sboot: Windows starts it, as autologger " ETW_OUR_PREFIX "%s (`etwship autologger "
            "install`); at boot it decides by levels, keywords and event ids only; the agent "
            "applies the rest\n",
            indent, session->name);
    }
    if (live.launch) {
        buf_printf(out,
            "%slaunched once per start of the agent, with its account, unless the previous one "
            "still runs; the session ends with the program\n",
            indent);
    }
    if (live.groups && live.groups->flags.count) {
        buf_printf(out,
            "%skernel events: chosen by the kernel, by flags alone; levels, keywords and "
            "filters of providers do not apply to them, rules do\n",
            indent);
    }
}

#include "cli/check_places.h"

#include <stdlib.h>
#include <string.h>

#include "input/windows/etw_plan.h"

/*
 * Recorded traces, and other people's sessions, hold what somebody else has asked for: the agent
 * selects. Sessions of our own push what they can to ETW (event_filter_descriptor on
 * learn.microsoft.com); the agent repeats what it can see of an event, so that what ETW does not do
 * on some Windows, or for drivers, changes nothing.
 */
enum place { BY_ETW, BY_AGENT, BY_BOTH, BY_NOBODY };

static void put(
    struct buf *out, const char *indent, const char *what, enum place place, const char *why)
{
    static const char *const places[] = {[BY_ETW] = "decided by ETW",
        [BY_AGENT] = "decided by the agent",
        [BY_BOTH] = "decided by ETW, and once more by the agent",
        [BY_NOBODY] = "looked at by nobody"};
    buf_printf(out, "%s%s: %s%s%s\n", indent, what, places[place], *why ? ", " : "", why);
}

static bool has_masks(const struct provider_spec *spec)
{
    return (spec->level != 0 && spec->level != PROVIDER_LEVEL_ALL) || spec->any.bits ||
           spec->any.name_count || spec->all.bits || spec->all.name_count;
}

/* What an event shows of it: the agent can look, too. */
static bool is_seen(uint32_t kind)
{
    return kind == ETW_FILTER_KIND(ETW_FILTER_EVENT_ID) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_PID);
}

static void put_agent_alone(const struct provider_spec *spec, const char *indent, struct buf *out)
{
    if (has_masks(spec)) {
        put(out, indent, "level and keywords", BY_AGENT, "");
    }
    if (spec->include.range_count + spec->include.name_count + spec->exclude.range_count +
        spec->exclude.name_count) {
        put(out, indent, "events", BY_AGENT, "");
    }
    if (spec->pid_count) {
        put(out, indent, "processes", BY_AGENT, "");
    }
    if (spec->executables.count + spec->packages.count) {
        put(out, indent, "programs and packages", BY_NOBODY, "only ETW knows them");
    }
    if (spec->payload.count) {
        put(out, indent, "payload", BY_NOBODY, "write a rule under filters");
    }
    if (spec->extended) {
        put(out, indent, "extended", BY_NOBODY, "what is there was asked for by somebody else");
    }
}

static void put_kinds(const struct provider_spec *spec, const struct etw_request *request,
    uint32_t too_much, const char *indent, struct buf *out)
{
    static const char few[] = "as ETW takes no more than so many, or not both ids and names";
    for (uint32_t kinds = etw_enable_kinds(request) | too_much; kinds; kinds &= kinds - 1) {
        uint32_t kind = kinds & (~kinds + 1);
        const char *name = etw_enable_kind_name(kind);
        if (too_much & kind) {
            put(out, indent, name, is_seen(kind) ? BY_AGENT : BY_NOBODY, few);
        } else if (spec->classic) {
            put(out, indent, name, is_seen(kind) ? BY_AGENT : BY_NOBODY,
                "as classic and WPP providers ignore it");
        } else {
            put(out, indent, name, is_seen(kind) ? BY_BOTH : BY_ETW, "");
        }
    }
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
    etw_plan_request(spec, request, &too_much);
    if (has_masks(spec)) {
        buf_printf(out, "%slevel and %s: decided by the provider%s\n", indent,
            spec->classic ? "flags" : "keywords",
            spec->classic ? ", in its own code" : ", and once more by the agent");
    }
    put_kinds(spec, request, too_much, indent, out);
    if (spec->payload.count) {
        put(out, indent, "payload", spec->classic ? BY_NOBODY : BY_ETW,
            spec->classic ? "as classic and WPP providers ignore it"
                          : "where the provider's manifest is installed");
    }
    if (spec->group) {
        buf_printf(out, "%sids, names and payload do not apply to members of a group\n", indent);
    }
    free(request);
}

void check_places_write_groups(
    const struct app_session *session, const char *indent, struct buf *out)
{
    for (const struct config_field *f = session->variant->fields; f->key; f++) {
        const struct config_strings *flags = (const void *)((const uint8_t *)session->settings +
                                                            f->offset);
        if (f->type == CONFIG_STRINGS && strcmp(f->key, "flags") == 0 && flags->count) {
            buf_printf(out,
                "%skernel events: chosen by the kernel, by flags alone; levels, keywords and "
                "filters of providers do not apply to them, rules do\n",
                indent);
        }
    }
}

#include "app/config/app_live.h"

#include "config/config_text.h"
#include "config/config_value.h"
#include "event/model/kernel_groups.h"
#include "input/live/live_options.h"
#include "input/windows/etw_plan.h"
#include "schema/events/kernel_names.h"

static bool is_kernel_event(struct span text)
{
    struct guid class_guid;
    uint8_t type;
    int64_t hook;
    if (text.size && text.data[0] >= '0' && text.data[0] <= '9') {
        return config_value_int(text, &hook, NULL) && hook <= UINT16_MAX &&
               kernel_group_class((uint16_t)hook);
    }
    return kernel_names_find(text, &class_guid, &type);
}

static void check_events(const struct config *memory, const char *key,
    const struct config_strings *events, struct config_report *report)
{
    for (size_t i = 0; i < events->count && config_report_has_room(report); i++) {
        struct span text = span_text(events->items[i]);
        char meant[KERNEL_NAMES_TEXT_SIZE];
        if (is_kernel_event(text)) {
            continue;
        }
        bool is_near = kernel_names_meant(text, meant);
        config_error_at(memory, &events->items[i], sizeof(events->items[i]), report,
            "%s: %s is not a kernel event. %s%s%s", key, config_text_quote(text).text,
            is_near ? "did you mean '" : "",
            is_near
                ? meant
                : "write Class/Name, as in Process/Start, or the number of a hook, as in 0x1402",
            is_near ? "'?" : "");
    }
}

/* Providers make a session that records a system logger, too (starttrace, Logging Mode Constants:
 * system loggers do not use paged memory). If flags do, its input has reported it. */
static void check_paged(const struct config *memory, const struct app_session *session,
    const bool *paged, struct config_report *report)
{
    const struct app_provider *providers = session->providers.items;
    for (size_t i = 0; i < session->providers.count; i++) {
        if (etw_plan_system_provider(&providers[i].spec, false)) {
            config_error_at(memory, paged, sizeof(*paged), report,
                "buffers: events of the kernel's own providers cannot be kept in paged memory. "
                "remove paged");
            return;
        }
    }
}

void app_live_check(
    const struct config *memory, const struct app_session *session, struct config_report *report)
{
    struct input_live live = session->ops->live ? session->ops->live(session->settings)
                                                : (struct input_live){.groups = NULL};
    if (live.groups) {
        check_events(memory, "stacks", &live.groups->stacks, report);
        check_events(memory, "counters", &live.groups->counters.events, report);
        if (session->ops->switches_on && !session->ops->kernel && live.groups->flags.count == 0 &&
            live.session->buffers.paged) {
            check_paged(memory, session, &live.session->buffers.paged, report);
        }
    }
}

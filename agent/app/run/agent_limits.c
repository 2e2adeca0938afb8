#include "app/run/agent_limits.h"

#include "app/config/app_limits.h"
#include "platform/plat_limits.h"

/* True if the system has set the limit; else log why not. */
static bool is_done(struct log *log, const char *limit, bool done, const struct error *err)
{
    if (!done) {
        log_write_as(log, LOG_CAUSE_LIMITS, LOG_LEVEL_WARNING, NULL,
            "agent.limits.%s is not in effect: %s", limit, err->text);
    }
    return done;
}

static void tell(const struct app_limits *limits, struct log *log)
{
    struct buf text;
    buf_init(&text, 256);
    app_limits_write(limits, &text);
    log_write(log, LOG_LEVEL_INFO, NULL, "limits of the system: %.*s",
        SPAN_ARG(text.size ? buf_span(&text) : span_text("none")));
    buf_fini(&text);
}

/* Keep what is in effect: the next reload asks again for a refused limit. */
void agent_limits_apply(struct app_limits *now, const struct app_config *config, struct log *log)
{
    const struct app_limits *wanted = &config->agent.limits;
    bool changed = false;
    struct error err;
    if (wanted->memory_bytes != now->memory_bytes &&
        is_done(log, "memory", plat_limits_set_memory(wanted->memory_bytes, &err), &err)) {
        now->memory_bytes = wanted->memory_bytes;
        changed = true;
    }
    if (wanted->cpu_hundredths != now->cpu_hundredths &&
        is_done(log, "cpu", plat_limits_set_cpu((uint32_t)wanted->cpu_hundredths, &err), &err)) {
        now->cpu_hundredths = wanted->cpu_hundredths;
        changed = true;
    }
    if (wanted->priority != now->priority &&
        is_done(log, "priority",
            plat_limits_set_priority((enum plat_priority)wanted->priority, &err), &err)) {
        now->priority = wanted->priority;
        changed = true;
    }
    if (changed) {
        tell(now, log);
    }
}

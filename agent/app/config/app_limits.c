#include "app/config/app_limits.h"

#include "app/config/app_memory.h"
#include "config/config_value.h"
#include "etw/etw_api.h"
#include "evt/evt_api.h"
#include "platform/plat_limits.h"

void app_limits_check(
    struct config *memory, const struct app_root *root, struct config_report *report)
{
    const struct app_agent *agent = &root->agent;
    const uint64_t *limit = &agent->limits.memory_bytes;
    if (*limit && *limit < agent->memory_bytes) {
        config_error_at(memory, limit, sizeof(*limit), report,
            "memory: agent.memory, %s, lets the agent use more than this limit of the system "
            "allows: events would be lost. raise this limit, or lower agent.memory",
            config_value_write_size(agent->memory_bytes).text);
    }
}

/* Can all of it run here? A configuration for another machine is not compared with this one. */
static bool is_for_here(const struct app_config *config)
{
    bool here = true;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        here = here &&
               (!session->enabled || ((!session->ops->needs_etw || etw_api_has_sessions()) &&
                                         (!session->ops->needs_eventlog || evt_api_is_there())));
    }
    return here;
}

/* Memory that the agent allocates is only a part of what the process uses: stacks,
 * and holes of the heap. */
static void warn_of_memory(const struct app_config *config, struct config_report *report)
{
    const uint64_t *limit = &config->root->agent.limits.memory_bytes;
    uint64_t given = config->agent.memory_bytes;
    uint64_t needed = app_memory_needed(config);
    uint64_t most = given > needed ? given : needed;
    if (*limit && *limit - *limit / 5 < most) {
        config_error_at(config->memory, limit, sizeof(*limit), report,
            "memory: this leaves little room beside the %s that agent.memory allows. write %s or "
            "more",
            config_value_write_size(most).text, config_value_write_size(most + most / 4).text);
    }
}

void app_limits_warn(const struct app_config *config, struct config_report *report)
{
    const struct app_limits *limits = &config->root->agent.limits;
    struct error err;
    warn_of_memory(config, report);
    if (!is_for_here(config)) {
        return;
    }
    if (limits->memory_bytes && !plat_limits_is_memory_ours(limits->memory_bytes, &err)) {
        config_error_at(config->memory, &limits->memory_bytes, sizeof(limits->memory_bytes), report,
            "memory: %s", err.text);
    }
    if (limits->cpu_hundredths < PLAT_LIMITS_ALL_CPU &&
        !plat_limits_is_cpu_ours((uint32_t)limits->cpu_hundredths, &err)) {
        config_error_at(config->memory, &limits->cpu_hundredths, sizeof(limits->cpu_hundredths),
            report, "cpu: %s", err.text);
    }
}

static void put(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s%s %s", out->size ? ", " : "", name, value);
}

void app_limits_write(const struct app_limits *limits, struct buf *out)
{
    if (limits->memory_bytes) {
        put(out, "memory", config_value_write_size(limits->memory_bytes).text);
    }
    if (limits->cpu_hundredths < PLAT_LIMITS_ALL_CPU) {
        put(out, "cpu", config_value_write_percent(limits->cpu_hundredths).text);
    }
    if (limits->priority != PLAT_PRIORITY_INHERIT) {
        put(out, "priority", app_priority_names[limits->priority]);
    }
}

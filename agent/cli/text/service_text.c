#include "cli/text/service_text.h"

#include "base/visible.h"

/* The service's registration on a line. */
static void put_text(const char *name, const char *text, struct buf *out)
{
    buf_printf(out, "%-8s ", name);
    visible_add(out, span_text(text));
    buf_add_byte(out, '\n');
}

void service_text_status(
    const struct service_status *status, const struct service_config *config, struct buf *out)
{
    static const char *const states[] = {[SERVICE_STATE_STOPPED] = "stopped",
        [SERVICE_STATE_START_PENDING] = "starting",
        [SERVICE_STATE_STOP_PENDING] = "stopping",
        [SERVICE_STATE_RUNNING] = "running"};
    bool is_known = status->state > 0 && status->state < sizeof(states) / sizeof(states[0]);
    buf_printf(out, "%-8s %s", "state", is_known ? states[status->state] : "unknown");
    if (status->process_id) {
        buf_printf(out, ", process %u", status->process_id);
    } else if (status->exit_code == SERVICE_E_SPECIFIC_ERROR) {
        buf_printf(out, ", exit code %u", status->specific_code);
    } else if (status->exit_code == SERVICE_E_NEVER_STARTED) {
        buf_add_text(out, ", not started since it was installed or since the system started");
    } else if (status->exit_code) {
        buf_printf(out, ", error %u of Windows", status->exit_code);
    }
    buf_printf(out, "\n%-8s %s\n", "start",
        config->is_disabled    ? "disabled"
        : config->is_delayed   ? "automatic, delayed"
        : config->is_automatic ? "automatic"
                               : "by hand");
    put_text("account", config->account, out);
    put_text("command", config->command, out);
}

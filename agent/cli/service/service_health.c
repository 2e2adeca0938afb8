#include "cli/service/service_health.h"

#include "app/config/app_modules.h"
#include "base/visible.h"
#include "cli/text/agent_ask.h"
#include "config/config_report.h"

enum { TIMEOUT_MS = 3000, MAX_TEXT_BYTES = 256 * 1024, UNHEALTHY = 503, OK = 200 };

/* Append the lines of ${text}: the first after the name of the row, the others under it. */
static void add_lines(struct span text, struct buf *out)
{
    const char *name = "health";
    while (text.size) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        struct span line = span_first(text, end ? (size_t)(end - text.data) : text.size);
        buf_printf(out, "%-9s", name);
        visible_add(out, line);
        buf_add_byte(out, '\n');
        text = span_from(text, line.size + 1);
        name = "";
    }
}

static void ask(const struct status_client *client, struct buf *out)
{
    struct buf text;
    struct error err;
    unsigned status = 0;
    buf_init(&text, MAX_TEXT_BYTES);
    if (!status_client_get(client, "/health?format=text", &status, &text, &err)) {
        buf_reset(&text);
        buf_printf(&text, "unknown: %s", err.text);
    } else if (status != OK && status != UNHEALTHY) {
        buf_reset(&text);
        buf_printf(&text, "unknown: the agent refuses to answer (%u)", status);
    }
    add_lines(buf_span(&text), out);
    buf_fini(&text);
}

void service_health_add(const char *path, struct buf *out)
{
    struct app_config config;
    struct config_report report;
    struct status_client client;
    struct error err;
    config_report_init(&report);
    bool is_read = app_config_load(path, app_modules(), NULL, &config, &report);
    config_report_fini(&report);
    if (!is_read) {
        return;
    }
    if (agent_ask_find(&config, TIMEOUT_MS, &client, &err)) {
        ask(&client, out);
    }
    app_config_fini(&config);
}

#include <stdio.h>

#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/agent_ask.h"

/* `etwship status`: the agent's health, for scripts by the exit code. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "json", .help = "Print one JSON object: health, all numbers, the last warnings and errors."},
    {.name = NULL},
};
// clang-format on

enum { TIMEOUT_MS = 10000, UNHEALTHY = 503, OK = 200 };

static bool get(const struct status_client *client, const char *target, unsigned *ret_status,
    struct buf *body, struct error *err)
{
    buf_init(body, STATUS_CLIENT_MAX_BODY_BYTES);
    if (!status_client_get(client, target, ret_status, body, err)) {
        return false;
    }
    return *ret_status == OK || *ret_status == UNHEALTHY ||
           error_set(err, ERR_CONFIG,
               "the agent refuses to answer (%u). check that the configuration has the agent's "
               "token",
               *ret_status);
}

static int show(const struct cli_args *args, const struct app_config *config)
{
    struct status_client client;
    struct error err;
    struct buf health;
    struct buf all;
    unsigned status;
    unsigned second;
    if (!agent_ask_init(config, TIMEOUT_MS, &client)) {
        return EXIT_USAGE;
    }
    bool json = cli_value(args, "json") != NULL;
    bool ok = get(&client, "/health?format=text", &status, &health, &err);
    buf_init(&all, 0);
    ok = ok && (!json || get(&client, "/status", &second, &all, &err));
    int code = !ok ? agent_ask_failed(&err) : status == OK ? EXIT_DONE : EXIT_LOSSES;
    if (ok && json) {
        buf_set_max(&all, 8 * all.size + 64);
        visible_make(&all, 0); /* escaped as JSON, so it remains JSON */
        fwrite(all.data, 1, all.size, stdout);
    } else if (ok) {
        buf_set_max(&health, 8 * health.size + 64);
        visible_make(&health, 0);
        fwrite(health.data, 1, health.size, stdout);
    }
    buf_fini(&health);
    buf_fini(&all);
    return code;
}

const struct cli_command cmd_status = {
    .name = "status",
    .synopsis = "[-c FILE] [--set KEY=VALUE]... [--json]",
    .summary = "show the health of the running agent",
    .description =
        "Asks the agent that runs with this configuration, at the address in its section status. "
        "Prints a line per problem, with what to do about it. The exit code is 0 if the agent is "
        "healthy, 1 if no agent answers, 3 if there is a problem.",
    .options = options,
    .examples = "       etwship status -c etwship.yaml || echo 'etwship needs attention'\n",
    .run_configured = show,
};

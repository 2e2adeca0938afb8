#include <stdio.h>

#include "cli/options/config_options.h"
#include "cli/text/agent_ask.h"
#include "cli/text/top_text.h"
#include "platform/plat_clock.h"
#include "platform/plat_self.h"

/* `etwship top`: show the rates of a running agent on a terminal. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = NULL},
};
// clang-format on

enum { TIMEOUT_MS = 10000, EVERY_MS = 2000, FIRST_MS = 1000, OK = 200, MAX_SCREEN_BYTES = 4 << 20 };

static bool look(const struct status_client *client, struct top_look *ret_look, struct error *err)
{
    struct buf body;
    unsigned status = 0;
    buf_init(&body, STATUS_CLIENT_MAX_BODY_BYTES);
    bool ok = status_client_get(client, "/metrics", &status, &body, err);
    if (ok && status != OK) {
        ok = error_set(err, ERR_CONFIG,
            "the agent refuses to answer (%u). check that the configuration has the agent's token",
            status);
    }
    ok = ok && top_text_read(buf_span(&body), plat_monotonic_ns(), ret_look, err);
    buf_fini(&body);
    return ok;
}

/* Draw from the upper left corner and clear the rest, so that nothing flickers. */
static void draw(const struct top_look *before, const struct top_look *now, bool is_terminal)
{
    struct buf screen;
    buf_init(&screen, MAX_SCREEN_BYTES);
    buf_add_text(&screen, is_terminal ? "\x1b[H" : "");
    top_text_write(before, now, is_terminal, &screen);
    buf_add_text(&screen, is_terminal ? "\x1b[J" : "");
    fwrite(screen.data, 1, screen.size, stdout);
    fflush(stdout);
    buf_fini(&screen);
}

static int show(const struct cli_args *args, const struct app_config *config)
{
    struct status_client client;
    struct error err;
    struct top_look *looks[2];
    bool is_terminal = plat_is_terminal(1);
    (void)args;
    if (!agent_ask_init(config, TIMEOUT_MS, &client)) {
        return EXIT_USAGE;
    }
    looks[0] = top_text_create();
    looks[1] = top_text_create();
    bool ok = (looks[0] && looks[1]) || error_set(&err, ERR_MEMORY, "out of memory");
    ok = ok && look(&client, looks[0], &err);
    if (ok && is_terminal) {
        fputs("\x1b[2J", stdout);
    }
    for (size_t i = 1; ok; i++) {
        plat_sleep_ms(i == 1 ? FIRST_MS : EVERY_MS);
        ok = look(&client, looks[i % 2], &err);
        if (ok) {
            draw(looks[(i + 1) % 2], looks[i % 2], is_terminal);
        }
        if (ok && !is_terminal) {
            break;
        }
    }
    top_text_destroy(looks[0]);
    top_text_destroy(looks[1]);
    return ok ? EXIT_DONE : agent_ask_failed(&err);
}

const struct cli_command cmd_top = {
    .name = "top",
    .synopsis = "[-c FILE] [--set KEY=VALUE]...",
    .summary = "show the rates of the running agent",
    .description =
        "Asks the agent that runs with this configuration, at the address in its section status, "
        "every two seconds, and shows events per second of each session, output and provider (the "
        "15 largest), losses and waiting events. Ctrl-C ends it. If standard output is not a "
        "terminal, it prints one table and ends.",
    .options = options,
    .examples = "       etwship top -c etwship.yaml\n",
    .run_configured = show,
};

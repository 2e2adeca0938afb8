#include "cli/text/agent_ask.h"

#include "app/config/app_listen.h"
#include "cli/options/cli.h"

bool agent_ask_find(const struct app_config *config, unsigned timeout_ms,
    struct status_client *ret_client, struct error *err)
{
    const struct app_status *status = &config->status;
    *ret_client = (struct status_client){.local_name = app_listen_local(status),
        .token = status->token,
        .tls_cert = status->tls.cert,
        .timeout_ms = timeout_ms};
    if (!ret_client->local_name && !status->listen) {
        return error_set(err, ERR_MISSING,
            "the configuration has no address for the agent's status. add status: {listen: "
            "'127.0.0.1:9187'} and restart or reload it");
    }
    if (ret_client->local_name) {
        return true;
    }
    if (!app_listen_parse(status->listen, &ret_client->address, &ret_client->port, err)) {
        return false;
    }
    app_listen_reach(&ret_client->address);
    return true;
}

bool agent_ask_init(
    const struct app_config *config, unsigned timeout_ms, struct status_client *ret_client)
{
    struct error err;
    bool found = agent_ask_find(config, timeout_ms, ret_client, &err);
    if (!found) {
        cli_error("%s", err.text);
    }
    return found;
}

int agent_ask_failed(const struct error *err)
{
    if (err->code == ERR_MISSING) {
        cli_error("no agent runs with this configuration: %s", err->text);
    } else {
        cli_error("%s", err->text);
    }
    return EXIT_FAILED;
}

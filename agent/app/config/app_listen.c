#include "app/config/app_listen.h"

#include "platform/plat_system.h"
#include "status/status_tls.h"

enum { TOKEN_MIN_BYTES = 8, TOKEN_MAX_BYTES = 1024 };

static bool parse_port(struct span text, uint16_t *ret_port)
{
    unsigned port = 0;
    for (size_t i = 0; i < text.size && i < 6; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        port = port * 10 + (text.data[i] - '0');
    }
    *ret_port = (uint16_t)port;
    return text.size > 0 && text.size < 6 && port > 0 && port < 65536;
}

static bool is_loopback(const struct ip_address *address)
{
    static const uint8_t v6[16] = {[15] = 1};
    return address->size == 4 ? address->bytes[0] == 127
                              : memcmp(address->bytes, v6, sizeof(v6)) == 0;
}

bool app_listen_parse(
    const char *text, struct ip_address *ret_address, uint16_t *ret_port, struct error *err)
{
    struct span all = span_text(text);
    size_t colon = all.size;
    while (colon > 0 && all.data[colon - 1] != ':') {
        colon--;
    }
    struct span host = span_first(all, colon ? colon - 1 : 0);
    bool in_brackets = host.size > 1 && host.data[0] == '[' && host.data[host.size - 1] == ']';
    struct span address = in_brackets ? span_first(span_from(host, 1), host.size - 2) : host;
    if (span_is(address, "localhost")) {
        address = span_text("127.0.0.1");
    }
    if (!colon || !parse_port(span_from(all, colon), ret_port) || !ip_parse(address, ret_address) ||
        (ret_address->size == 16) != in_brackets) {
        return error_set(err, ERR_CONFIG,
            "'%.100s' is not an address and port. write one as in 127.0.0.1:9187 or '[::1]:9187'",
            text);
    }
    return true;
}

void app_listen_reach(struct ip_address *address)
{
    static const uint8_t any[sizeof(address->bytes)] = {0};
    if (memcmp(address->bytes, any, address->size) == 0) {
        address->bytes[0] = address->size == 4 ? 127 : 0;
        address->bytes[address->size - 1] = 1;
    }
}

const char *app_listen_local(const struct app_status *status)
{
    return plat_has_etw() ? status->pipe : status->unix_path;
}

static bool is_text(const char *token)
{
    for (; *token > ' ' && *token < 0x7f; token++) {}
    return *token == '\0';
}

static void check_tls(
    const struct config *memory, const struct app_status *status, struct config_report *report)
{
    const struct app_status_tls *tls = &status->tls;
    if (!tls->cert != !tls->key) {
        config_error_at(
            memory, tls, sizeof(*tls), report, "tls: cert and key belong together. add the other");
    } else if (tls->cert && !status->listen) {
        config_error_at(memory, tls, sizeof(*tls), report,
            "tls: it applies to listen only. add listen, or remove tls");
    }
}

void app_listen_check(
    const struct config *memory, const struct app_root *root, struct config_report *report)
{
    const struct app_status *status = &root->status;
    struct ip_address address;
    uint16_t port;
    struct error err;
    if (status->listen && !app_listen_parse(status->listen, &address, &port, &err)) {
        config_error_at(
            memory, &status->listen, sizeof(status->listen), report, "listen: %s", err.text);
    } else if (status->listen && !is_loopback(&address) && !(status->tls.cert && status->token)) {
        config_error_at(memory, &status->listen, sizeof(status->listen), report,
            "listen: %.100s can be reached from other machines. add tls and token, or write "
            "127.0.0.1 or [::1]",
            status->listen);
    }
    check_tls(memory, status, report);
    size_t size = status->token ? strlen(status->token) : TOKEN_MIN_BYTES;
    if (size < TOKEN_MIN_BYTES || size > TOKEN_MAX_BYTES ||
        (status->token && !is_text(status->token))) {
        config_error_at(memory, &status->token, sizeof(status->token), report,
            "token: it must have %d to %d visible ASCII characters. create one with openssl rand "
            "-hex 16",
            TOKEN_MIN_BYTES, TOKEN_MAX_BYTES);
    }
    if (status->token && !status->listen && !config_is_flawed(memory, status)) {
        config_error_at(memory, &status->token, sizeof(status->token), report,
            "token: only listen needs it. add listen, or remove the token");
    }
}

void app_listen_can_run(const struct app_config *config, struct config_report *report)
{
    if (config->status.tls.cert && !status_tls_is_there()) {
        const struct app_status_tls *tls = &config->root->status.tls;
        config_error_at(config->memory, tls, sizeof(*tls), report,
            "tls: %s. write pipe, or an address of this machine without tls. for other machines "
            "put a web server with TLS before it, or send metrics with an output of type otlp",
            plat_has_etw() ? "on Windows the status server has no TLS"
                           : "this program was built without OpenSSL");
    }
    if (config->status.unix_path && plat_has_etw()) {
        const char *const *path = &config->root->status.unix_path;
        config_error_at(config->memory, path, sizeof(*path), report,
            "unix: only Linux has sockets in the file system. write pipe: etwship");
    }
    if (config->status.pipe && !plat_has_etw()) {
        const char *const *pipe = &config->root->status.pipe;
        config_error_at(config->memory, pipe, sizeof(*pipe), report,
            "pipe: only Windows has named pipes. write unix with a path");
    }
}

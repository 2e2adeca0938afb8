#include "outputs/http_options.h"

#include "config/config_text.h"

const char *const http_compression_names[] = {"none", "gzip", "zstd", NULL};

static const char *const verify_names[] = {"full", "ca", "none", NULL};
static const char *const version_names[] = {"1.2", "1.3", NULL};

// clang-format off
const struct config_field http_auth_fields[] = {
    {CONFIG_ROW("api_key", SECRET, struct http_auth, api_key),
        .help = "key of an Elasticsearch user: id:key, or both in base64"},
    {CONFIG_ROW("user", STRING, struct http_auth, user), .help = "name for a password"},
    {CONFIG_ROW("password", SECRET, struct http_auth, password), .help = "of the user"},
    {CONFIG_ROW("bearer", SECRET, struct http_auth, bearer), .help = "a token"},
    {.key = NULL},
};

const struct config_field http_tls_fields[] = {
    {CONFIG_ROW("ca", PATH, struct http_tls, ca),
        .help = "file of the authorities that are trusted; default: the system's"},
    {CONFIG_ROW("cert", PATH, struct http_tls, cert), .help = "our certificate"},
    {CONFIG_ROW("key", PATH, struct http_tls, key), .help = "file of its private key"},
    {CONFIG_ROW("pin_sha256", STRINGS, struct http_tls, pin_sha256), .max = 16,
        .help = "the server must have one of these public keys: base64 of its SHA-256"},
    {CONFIG_ROW("verify", ENUM, struct http_tls, verify), .names = verify_names,
        .default_text = "full",
        .help = "full: certificate and host name; ca: certificate alone; none: neither"},
    {CONFIG_ROW("min_version", ENUM, struct http_tls, min_version), .names = version_names,
        .default_text = "1.2", .help = "oldest version of TLS that is spoken"},
    {.key = NULL},
};
// clang-format on

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool http_options_check_url(const char *key, const char *url, struct error *err)
{
    size_t scheme = starts_with(url, "https://") ? 8 : starts_with(url, "http://") ? 7 : 0;
    size_t host = strcspn(url + scheme, "/?#");
    if (!scheme || host == 0) {
        return error_set(
            err, ERR_CONFIG, "%s: this is no address. write it as in https://host:9200", key);
    }
    if (memchr(url + scheme, '@', host)) {
        return error_set(err, ERR_CONFIG,
            "%s: the address holds a user or a password. write them under auth", key);
    }
    for (const char *c = url; *c; c++) {
        if ((uint8_t)*c <= ' ' || *c == 0x7f) {
            return error_set(err, ERR_CONFIG, "%s: the address holds a space. remove it", key);
        }
    }
    return true;
}

/* A SHA-256 in base64. */
static bool is_pin(const char *text)
{
    return strlen(text) == 44 && text[43] == '=' &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == 43;
}

bool http_options_check(
    const struct http_auth *auth, const struct http_tls *tls, const char *proxy, struct error *err)
{
    int ways = (auth->api_key != NULL) + (auth->bearer != NULL) + (auth->user || auth->password);
    if (ways > 1) {
        return error_set(err, ERR_CONFIG,
            "auth: more than one way to log in. keep api_key, bearer, or user and password");
    }
    if (!auth->user != !auth->password) {
        return error_set(err, ERR_CONFIG, "auth: user and password belong together. add the other");
    }
    if (!tls->cert != !tls->key) {
        return error_set(err, ERR_CONFIG, "tls: cert and key belong together. add the other");
    }
    for (size_t i = 0; i < tls->pin_sha256.count; i++) {
        if (!is_pin(tls->pin_sha256.items[i])) {
            return error_set(err, ERR_CONFIG,
                "tls: pin_sha256: %s is no SHA-256 in base64. write its 44 characters",
                config_text_quote(span_text(tls->pin_sha256.items[i])).text);
        }
    }
    if (proxy && proxy[0] && !strstr(proxy, "://")) {
        return error_set(
            err, ERR_CONFIG, "proxy: this is no address. write it as in http://proxy.example");
    }
    return true;
}

#include "outputs/http/http_options.h"

#include "config/config_text.h"
#include "outputs/http/http_fingerprint.h"
#include "outputs/http/http_store_cert.h"

const char *const http_compression_names[] = {"none", "gzip", "zstd", NULL};

static const char *const verify_names[] = {"full", "ca", "none", NULL};
static const char *const revocation_names[] = {"best_effort", "strict", "none", NULL};
static const char *const version_names[] = {"1.2", "1.3", NULL};

// clang-format off
const struct config_field http_auth_fields[] = {
    {CONFIG_ROW("api_key", SECRET, struct http_auth, api_key),
        .help = "key of an Elasticsearch user: id:key, or both in base64"},
    {CONFIG_ROW("user", STRING, struct http_auth, user), .help = "name of a user; needs password"},
    {CONFIG_ROW("password", SECRET, struct http_auth, password), .help = "password of the user"},
    {CONFIG_ROW("bearer", SECRET, struct http_auth, bearer), .help = "bearer token"},
    {.key = NULL},
};

const struct config_field http_tls_fields[] = {
    {CONFIG_ROW("ca", PATH, struct http_tls, ca), .is_read = true,
        .is_no_path = http_fingerprint_is_meant,
        .help = "file of trusted authorities (PEM), or the SHA-256 fingerprint of the certificate of one that servers send; default: the system's"},
    {CONFIG_ROW("cert", PATH, struct http_tls, cert), .is_read = true,
        .help = "certificate of the agent: PEM, or PKCS#12 without a password (.p12, .pfx), which on Windows "
                "it must be"},
    {CONFIG_ROW("key", PATH, struct http_tls, key), .is_read = true,
        .help = "file of its private key, in PEM"},
    {CONFIG_ROW("client_cert", STRING, struct http_tls, client_cert),
        .help = "certificate of the agent in the store of Windows, in place of cert and key: "
                "LocalMachine\\MY\\ and its thumbprint, 40 digits"},
    {CONFIG_ROW("pin_sha256", STRINGS, struct http_tls, pin_sha256), .max = 16,
        .help = "the server must have one of these public keys: base64 of its SHA-256"},
    {CONFIG_ROW("verify", ENUM, struct http_tls, verify), .names = verify_names,
        .default_text = "full",
        .help = "full: check certificate and host name; ca: only the certificate; none: nothing"},
    {CONFIG_ROW("revocation", ENUM, struct http_tls, revocation), .names = revocation_names,
        .default_text = "best_effort",
        .help = "on Windows, check whether the server's certificate was revoked: best_effort refuses a revoked one; strict also one whose status is unknown; none does not check"},
    {CONFIG_ROW("min_version", ENUM, struct http_tls, min_version), .names = version_names,
        .default_text = "1.2", .help = "oldest accepted version of TLS"},
    {.key = NULL},
};
// clang-format on

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void http_options_check_url(struct config_check *check, const char *key, const char *const *url)
{
    if (!*url) {
        return;
    }
    const char *text = *url;
    size_t scheme = starts_with(text, "https://") ? 8 : starts_with(text, "http://") ? 7 : 0;
    size_t host = strcspn(text + scheme, "/?#");
    if (!scheme || host == 0) {
        CONFIG_FAULT(
            check, url, "%s: this is not an address. write it as in https://host:9200", key);
    }
    if (memchr(text + scheme, '@', host)) {
        CONFIG_FAULT(
            check, url, "%s: the address holds a user or a password. write them under auth", key);
    }
    for (size_t i = 0; text[i]; i++) {
        if ((uint8_t)text[i] <= ' ' || text[i] == 0x7f) {
            CONFIG_FAULT(check, url, "%s: the address holds a space. remove it", key);
            break;
        }
    }
}

/* A SHA-256 in base64. */
static bool is_pin(const char *text)
{
    return strlen(text) == 44 && text[43] == '=' &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == 43;
}

bool http_options_is_pkcs12(const char *cert)
{
    const char *dot = cert ? strrchr(cert, '.') : NULL;
    return dot && (span_equal_nocase(span_text(dot), span_text(".p12")) ||
                      span_equal_nocase(span_text(dot), span_text(".pfx")));
}

static void check_ca(struct config_check *check, const struct http_tls *tls)
{
    struct http_fingerprint fingerprint;
    if (!tls->ca || !http_fingerprint_is_meant(span_text(tls->ca))) {
        return;
    }
    if (!http_fingerprint_read(span_text(tls->ca), &fingerprint)) {
        CONFIG_FAULT(check, &tls->ca,
            "tls: ca: %s is not a SHA-256 fingerprint. write its 64 digits, or the path of a file",
            config_text_quote(span_text(tls->ca)).text);
    }
    if (tls->verify == HTTP_VERIFY_NONE) {
        CONFIG_FAULT(check, &tls->verify,
            "tls: verify: none accepts every server, so ca has no effect. remove one of the two");
    }
}

static void check_client_cert(struct config_check *check, const struct http_tls *tls)
{
    struct error err;
    if (!tls->client_cert) {
        return;
    }
    if (tls->cert) {
        CONFIG_FAULT(check, &tls->client_cert,
            "tls: client_cert and cert both name the certificate of this program. keep one of the "
            "two");
    }
    if (!http_store_cert_check(span_text(tls->client_cert), &err)) {
        CONFIG_FAULT(check, &tls->client_cert, "tls: client_cert: %s", err.text);
    }
}

void http_options_check(struct config_check *check, const struct http_options *options)
{
    const struct http_auth *auth = &options->auth;
    const struct http_tls *tls = &options->tls;
    const char *const *proxy = &options->proxy;
    int ways = (auth->api_key != NULL) + (auth->bearer != NULL) + (auth->user || auth->password);
    if (ways > 1) {
        CONFIG_FAULT(check, auth,
            "auth: more than one way to log in. keep api_key, bearer, or user and password");
    }
    if (!auth->user != !auth->password) {
        CONFIG_FAULT(check, auth, "auth: user and password belong together. add the other");
    }
    if (http_options_is_pkcs12(tls->cert)) {
        if (tls->key) {
            CONFIG_FAULT(check, &tls->key, "tls: the file of cert holds its key. remove key");
        }
    } else if (!tls->cert != !tls->key) {
        CONFIG_FAULT(check, tls, "tls: cert and key belong together. add the other");
    }
    check_client_cert(check, tls);
    check_ca(check, tls);
    for (size_t i = 0; i < tls->pin_sha256.count; i++) {
        if (!is_pin(tls->pin_sha256.items[i])) {
            CONFIG_FAULT(check, &tls->pin_sha256.items[i],
                "tls: pin_sha256: %s is not a SHA-256 in base64. write its 44 characters",
                config_text_quote(span_text(tls->pin_sha256.items[i])).text);
        }
    }
    if (*proxy && (*proxy)[0] && strcmp(*proxy, "system") != 0 && !strstr(*proxy, "://")) {
        CONFIG_FAULT(check, proxy,
            "proxy: this is not an address. write it as in http://gateway.example, or system");
    }
}

/* A token of RFC 9110, 5.6.2. */
static bool is_header_name(const char *name)
{
    size_t size = strlen(name);
    return size && size == strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789!#$%&'*+-.^_`|~");
}

bool http_options_is_header(const char *name, const char *expected)
{
    return span_equal_nocase(span_text(name), span_text(expected));
}

/* True for headers that follow from the body or the connection. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"Content-Length", "Content-Encoding", "Transfer-Encoding",
        "Connection", "Expect", "Upgrade", "TE", "Trailer"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (http_options_is_header(name, ours[i])) {
            return true;
        }
    }
    return false;
}

static void check_header(
    const struct config_pair *pair, const struct http_auth *auth, struct config_check *check)
{
    const char *name = pair->key;
    bool logs_in = auth->api_key || auth->bearer || auth->user;
    if (!is_header_name(name)) {
        CONFIG_FAULT(check, &pair->value,
            "headers: %s cannot be the name of a header. write letters, digits and -",
            config_text_quote(span_text(name)).text);
    }
    if (is_ours(name)) {
        CONFIG_FAULT(check, &pair->value, "headers: the output itself sets %s. remove it", name);
    }
    if (logs_in && http_options_is_header(name, "Authorization")) {
        CONFIG_FAULT(
            check, &pair->value, "headers: Authorization repeats auth. keep one of the two");
    }
    for (const char *c = pair->value; *c; c++) {
        if (((uint8_t)*c < ' ' && *c != '\t') || *c == 0x7f) {
            CONFIG_FAULT(check, &pair->value,
                "headers: the value of %s holds a line break or another control "
                "character. remove it",
                config_text_quote(span_text(name)).text);
            break;
        }
    }
}

void http_options_check_headers(
    struct config_check *check, const struct config_map *headers, const struct http_auth *auth)
{
    for (size_t i = 0; i < headers->count; i++) {
        check_header(&headers->items[i], auth, check);
    }
}

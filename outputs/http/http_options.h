#ifndef ETWSHIP_OUTPUTS_HTTP_OPTIONS_H
#define ETWSHIP_OUTPUTS_HTTP_OPTIONS_H

#include "config/config_check.h"
#include "outputs/compress.h"

/* The settings common to all outputs over HTTP. */
struct http_auth {
    const char *api_key; /* id:key or base64 */
    const char *user;
    const char *password;
    const char *bearer;
};

enum http_verify { HTTP_VERIFY_FULL, HTTP_VERIFY_CA, HTTP_VERIFY_NONE };
enum http_revocation {
    HTTP_REVOCATION_BEST_EFFORT, /* an unknown status is accepted */
    HTTP_REVOCATION_STRICT,
    HTTP_REVOCATION_NONE,
};

enum http_tls_version { HTTP_TLS_1_2, HTTP_TLS_1_3 };

struct http_tls {
    const char *ca;
    const char *cert;
    const char *key;
    const char *client_cert; /* in the store of Windows: http_store_cert.h */
    struct config_strings pin_sha256;
    int verify;      /* enum http_verify */
    int revocation;  /* enum http_revocation */
    int min_version; /* enum http_tls_version */
};

/* The common settings, as member `http` of an output's settings. */
struct http_options {
    struct http_auth auth;
    struct http_tls tls;
    const char *proxy; /* NULL, "system": http_proxy.h; "": none */
    int compression;   /* enum http_compression */
    uint64_t connect_timeout_ns;
    uint64_t timeout_ns;
};

extern const struct config_field http_auth_fields[];
extern const struct config_field http_tls_fields[];
extern const char *const http_compression_names[]; /* by enum http_compression */

/* Rows of a settings struct that has a `struct http_options http`. ${compressions}: the first ones
 * of http_compression_names, as many as its servers accept. */
#define HTTP_ROWS(s, compressions, default_compression)                                 \
    {CONFIG_STRUCT_ROW("auth", s, http.auth, http_auth_fields), .help = "credentials"}, \
        HTTP_ROWS_WITHOUT_AUTH(s, compressions, default_compression)

/* Rows for an output with authentication keys of its own. */
#define HTTP_ROWS_WITHOUT_AUTH(s, compressions, default_compression)                            \
    {CONFIG_STRUCT_ROW("tls", s, http.tls, http_tls_fields), .help = "checks of https"},        \
        {CONFIG_ROW("proxy", SECRET, s, http.proxy), .may_be_empty = true,                      \
            .help = "address of a proxy; empty: none; system, the default: the proxy that the " \
                    "environment "                                                              \
                    "names, and if it names none, Windows"},                                    \
        {CONFIG_ROW("connect_timeout", DURATION, s, http.connect_timeout_ns),                   \
            .default_text = "10s", .min = 1000000, .max = INT64_C(3600000000000),               \
            .help = "longest wait for a connection, including TLS"},                            \
        {CONFIG_ROW("timeout", DURATION, s, http.timeout_ns), .default_text = "90s",            \
            .min = 1000000, .max = INT64_C(3600000000000),                                      \
            .help = "longest time for one request and its reply"},                              \
    {                                                                                           \
        CONFIG_ROW("compression", ENUM, s, http.compression),                                   \
            .names = (compressions), .default_text = (default_compression),                     \
            .help = "compression of requests"                                                   \
    }

/* Report errors to ${check}, each at its value: "auth: what. what to do". */
void http_options_check(struct config_check *check, const struct http_options *options);

/* True if the file ${cert} is PKCS#12 by its name. False for NULL. */
bool http_options_is_pkcs12(const char *cert);

/* Check that ${url} is an HTTP address without a password. ${key} for the text. NULL: not given. */
void http_options_check_url(struct config_check *check, const char *key, const char *const *url);

/* True if both name one header, without regard to case (RFC 9110, 5.1). */
bool http_options_is_header(const char *name, const char *expected);

/* Check names and values of ${headers}, together with ${auth}. */
void http_options_check_headers(
    struct config_check *check, const struct config_map *headers, const struct http_auth *auth);

#endif

#ifndef ETWSHIP_OUTPUTS_HTTP_OPTIONS_H
#define ETWSHIP_OUTPUTS_HTTP_OPTIONS_H

#include "config/config_check.h"

/* What every output that speaks HTTP has in its settings. */
struct http_auth {
    const char *api_key; /* id:key or base64 */
    const char *user;
    const char *password;
    const char *bearer;
};

enum http_verify { HTTP_VERIFY_FULL, HTTP_VERIFY_CA, HTTP_VERIFY_NONE };
enum http_tls_version { HTTP_TLS_1_2, HTTP_TLS_1_3 };

struct http_tls {
    const char *ca;
    const char *cert;
    const char *key;
    struct config_strings pin_sha256;
    int verify;      /* enum http_verify */
    int min_version; /* enum http_tls_version */
};

enum http_compression { HTTP_PLAIN, HTTP_GZIP, HTTP_ZSTD };

/* Rows of the settings structs that have members of these names. */
extern const struct config_field http_auth_fields[];
extern const struct config_field http_tls_fields[];
extern const char *const http_compression_names[];

#define HTTP_ROWS(s, default_compression)                                                       \
    {CONFIG_STRUCT_ROW("auth", s, auth, http_auth_fields), .help = "who we are"},               \
        {CONFIG_STRUCT_ROW("tls", s, tls, http_tls_fields), .help = "how https is checked"},    \
        {CONFIG_ROW("proxy", SECRET, s, proxy),                                                 \
            .help = "address of a proxy; empty: none; default: the environment's"},             \
    {                                                                                           \
        CONFIG_ROW("compression", ENUM, s, compression), .names = http_compression_names,       \
                                                         .default_text = (default_compression), \
                                                         .help = "of what is sent"              \
    }

/* What is wrong goes to ${check}, at its value: "auth: what. what to do". */
void http_options_check(struct config_check *check, const struct http_auth *auth,
    const struct http_tls *tls, const char *const *proxy);

/* Is ${url} an address that http can be sent to, without a password in it? ${key} for the text. NULL
 * is not given. */
void http_options_check_url(struct config_check *check, const char *key, const char *const *url);

#endif

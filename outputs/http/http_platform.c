#include "outputs/http/http_platform.h"

#include <curl/curl.h>

static bool has_schannel(void)
{
    const char *tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return tls && strncmp(tls, "Schannel", strlen("Schannel")) == 0;
}

/* Schannel reads no files except PKCS#12. */
static void check_schannel(struct config_check *check, const struct http_tls *tls)
{
    if (tls->cert && !http_options_is_pkcs12(tls->cert)) {
        CONFIG_FAULT(check, &tls->cert,
            "tls: on Windows cert must be PKCS#12, with its key. make a file.pfx of both: openssl "
            "pkcs12 -export -in %s -inkey %s -out file.pfx -passout pass:",
            tls->cert, tls->key ? tls->key : "KEY");
    }
}

static void check_others(struct config_check *check, const struct http_tls *tls)
{
    if (tls->client_cert) {
        CONFIG_FAULT(check, &tls->client_cert,
            "tls: client_cert is for Windows: this system has no such store. write cert and key");
    }
    if (tls->revocation == HTTP_REVOCATION_STRICT) {
        CONFIG_FAULT(check, &tls->revocation,
            "tls: revocation: strict is for Windows: this system does not look whether a "
            "certificate was revoked. write best_effort");
    }
}

void http_platform_check(struct config_check *check, const struct http_options *options)
{
    if (has_schannel()) {
        check_schannel(check, &options->tls);
    } else {
        check_others(check, &options->tls);
    }
}

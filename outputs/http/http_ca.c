#include "outputs/http/http_ca.h"

static bool trust(CURL *easy, struct span pem)
{
    struct curl_blob blob = {.data = (void *)pem.data, .len = pem.size, .flags = CURL_BLOB_COPY};
    return !curl_easy_setopt(easy, CURLOPT_CAINFO, NULL) &&
           !curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
}

bool http_ca_set_up(CURL *easy, const char *ca)
{
    /* a fingerprint stands for a bundle without certificates, until the certificate is known */
    bool good = http_fingerprint_is_meant(span_text(ca))
                    ? trust(easy, span_text(ca))
                    : curl_easy_setopt(easy, CURLOPT_CAINFO, ca) == CURLE_OK;
    /* Trust only this one: a distribution's libcurl also uses a folder of the system. Schannel on
     * Windows has no such folder. */
    CURLcode folder = curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    return good &&
           (folder == CURLE_OK || folder == CURLE_NOT_BUILT_IN || folder == CURLE_UNKNOWN_OPTION);
}

CURL *http_ca_ask(CURL *easy)
{
    CURL *asker = curl_easy_duphandle(easy);
    if (asker && !curl_easy_setopt(asker, CURLOPT_HTTPHEADER, NULL) &&
        !curl_easy_setopt(asker, CURLOPT_CONNECT_ONLY, 1L) &&
        !curl_easy_setopt(asker, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
        !curl_easy_setopt(asker, CURLOPT_CERTINFO, 1L) &&
        !curl_easy_setopt(asker, CURLOPT_SSL_VERIFYPEER, 0L) &&
        !curl_easy_setopt(asker, CURLOPT_SSL_VERIFYHOST, 0L)) {
        return asker;
    }
    curl_easy_cleanup(asker);
    return NULL;
}

bool http_ca_trust(CURL *easy, CURL *asked, const struct http_fingerprint *fingerprint)
{
    static const char name[] = "Cert:";
    struct curl_certinfo *shown = NULL;
    if (curl_easy_getinfo(asked, CURLINFO_CERTINFO, &shown) || !shown) {
        return false;
    }
    for (int i = 0; i < shown->num_of_certs; i++) {
        for (const struct curl_slist *at = shown->certinfo[i]; at; at = at->next) {
            struct span line = span_text(at->data);
            struct span pem = span_from(line, sizeof(name) - 1);
            if (span_is(span_first(line, sizeof(name) - 1), name) &&
                http_fingerprint_fits(fingerprint, pem)) {
                return trust(easy, pem);
            }
        }
    }
    return false;
}

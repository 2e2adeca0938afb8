#include "support/test.h"

#include "outputs/http/http_curl.h"

/* Failures by libcurl's words. Those of Schannel are as libcurl 8.14 writes them (lib/strerror.c,
 * lib/vtls/schannel.c, schannel_verify.c). */
static void failures_of_certificates_are_told_by_what_schannel_says(void **state)
{
    (void)state;
    static const struct {
        CURLcode code;
        const char *reason;
        enum http_failure failure;
    } cases[] = {
        {CURLE_SSL_CONNECT_ERROR,
            "schannel: next InitializeSecurityContext failed: CRYPT_E_NO_REVOCATION_CHECK "
            "(0x80092012) - The revocation function was unable to check revocation for the "
            "certificate.",
            HTTP_UNCHECKED},
        {CURLE_SSL_CONNECT_ERROR,
            "schannel: next InitializeSecurityContext failed: CRYPT_E_REVOCATION_OFFLINE "
            "(0x80092013) - The revocation function was unable to check revocation because the "
            "revocation server was offline.",
            HTTP_UNCHECKED},
        {CURLE_SSL_CONNECT_ERROR,
            "schannel: next InitializeSecurityContext failed: Unknown error (0x80092012)",
            HTTP_UNCHECKED},
        {CURLE_PEER_FAILED_VERIFICATION,
            "schannel: CertGetCertificateChain trust error CERT_TRUST_REVOCATION_STATUS_UNKNOWN",
            HTTP_UNCHECKED},
        {CURLE_PEER_FAILED_VERIFICATION, "schannel: CertGetCertificateChain error mask: 0x01000000",
            HTTP_UNCHECKED},
        {CURLE_SSL_CONNECT_ERROR,
            "schannel: next InitializeSecurityContext failed: CRYPT_E_REVOKED (0x80092010) - The "
            "certificate is revoked.",
            HTTP_REVOKED},
        {CURLE_PEER_FAILED_VERIFICATION,
            "schannel: CertGetCertificateChain trust error CERT_TRUST_IS_REVOKED", HTTP_REVOKED},
        {CURLE_SSL_CONNECT_ERROR,
            "schannel: next InitializeSecurityContext failed: SEC_E_CERT_EXPIRED (0x80090328) - "
            "The received certificate has expired.",
            HTTP_EXPIRED},
        {CURLE_PEER_FAILED_VERIFICATION,
            "schannel: CertGetCertificateChain trust error CERT_TRUST_IS_PARTIAL_CHAIN",
            HTTP_NO_TRUST},
        {CURLE_SSL_CONNECT_ERROR,
            "schannel: next InitializeSecurityContext failed: SEC_E_INVALID_TOKEN (0x80090308)",
            HTTP_NO_TLS},
    };
    CURL *easy = curl_easy_init();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            http_curl_failure(easy, cases[i].code, cases[i].reason, false), cases[i].failure);
    }
    curl_easy_cleanup(easy);
}

static void a_check_that_cannot_be_made_names_the_option(void **state)
{
    (void)state;
    struct http_secrets secrets = {0};
    struct error err;
    http_failure_say(HTTP_UNCHECKED, "https://es1:9200", "why", &secrets, &err);
    assert_non_null(strstr(err.text, "tls.revocation: best_effort"));
    assert_true(http_failure_lasts(HTTP_UNCHECKED));
    assert_true(http_failure_lasts(HTTP_REVOKED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_of_certificates_are_told_by_what_schannel_says),
        cmocka_unit_test(a_check_that_cannot_be_made_names_the_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

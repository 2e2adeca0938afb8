#include "support/test.h"

#include "outputs/http/http_fingerprint.h"

/* A certificate of openssl's `req -x509`, and its fingerprint by `x509 -fingerprint -sha256`. */
static const char pem[] = "-----BEGIN CERTIFICATE-----\n"
                          "MIIBdjCCARugAwIBAgIUQs4CxL/jLGPYpH4Y9GP21Bu8yRQwCgYIKoZIzj0EAwIw\n"
                          "EDEOMAwGA1UEAwwFVGVzdHMwHhcNMjYxMTIxMjIzODE2WhcNMjYxMjIxMjIzODE2\n"
                          "WjAQMQ4wDAYDVQQDDAVUZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFVT\n"
                          "EpSmgqLLCHja/RQeHMYbiOtbjy5FAyT3AagkZuJgVBTDWocD1j36+k+8CBAgQBxf\n"
                          "icX/upD1a6l15hu0NuejUzBRMB0GA1UdDgQWBBT2ZNHRD//gqbPdoHKSjg+Mfn8j\n"
                          "CzAfBgNVHSMEGDAWgBT2ZNHRD//gqbPdoHKSjg+Mfn8jCzAPBgNVHRMBAf8EBTAD\n"
                          "AQH/MAoGCCqGSM49BAMCA0kAMEYCIQC3gkqb+5tuJDMbTjbpJMNhvys+FF4xA866\n"
                          "h04qo1PD9QIhAJxw/WJCzcaZ7WGYXSK3yFAAKcqXOJFQ1nb16fSBvmfF\n"
                          "-----END CERTIFICATE-----\n";
static const char with_colons[] = "BA:D1:79:F6:01:71:97:EF:5D:2A:23:C3:40:9E:19:54:A3:31:01:B7:E4:"
                                  "14:DA:4D:33:EE:F4:18:75:4C:B1:53";
static const char without[] = "bad179f6017197ef5d2a23c3409e1954a33101b7e414da4d33eef418754cb153";

static void it_is_read_with_and_without_colons_in_either_case(void **state)
{
    (void)state;
    static const char *const texts[] = {with_colons, without};
    for (size_t i = 0; i < 2; i++) {
        struct http_fingerprint fingerprint;
        assert_true(http_fingerprint_is_meant(span_text(texts[i])));
        assert_true(http_fingerprint_read(span_text(texts[i]), &fingerprint));
        assert_true(http_fingerprint_fits(&fingerprint, span_text(pem)));
        assert_int_equal(fingerprint.bytes[0], 0xBA);
        assert_int_equal(fingerprint.bytes[PLAT_HASH_BYTES - 1], 0x53);
    }
}

static void what_is_none_is_told_from_the_name_of_a_file(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool meant;
    } cases[] = {
        {"", false},
        {"ca.pem", false},
        {"cafe", false}, /* a file */
        {"/etc/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false},
        {"d41d8cd98f00b204e9800998ecf8427e", true},                            /* MD5 */
        {"DA:39:A3:EE:5E:6B:4B:0D:32:55:BF:EF:95:60:18:90:AF:D8:07:09", true}, /* SHA-1 */
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde", true},
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", true},
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg", false},
        {"0123456789abcdef0123456789abcdef:0123456789abcdef0123456789abcde", true},
        {"01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:"
         "ab:cd:ef:",
            true},
        {"01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:"
         "ab:cd0ef",
            true},
        {"01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:"
         "ab:c:def",
            true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_fingerprint fingerprint;
        assert_int_equal(http_fingerprint_is_meant(span_text(cases[i].text)), cases[i].meant);
        assert_false(http_fingerprint_read(span_text(cases[i].text), &fingerprint));
    }
}

static void every_other_certificate_has_another_one(void **state)
{
    (void)state;
    struct http_fingerprint fingerprint;
    struct http_fingerprint other;
    char text[sizeof(pem)];
    assert_true(http_fingerprint_read(span_text(without), &fingerprint));
    other = fingerprint;
    other.bytes[PLAT_HASH_BYTES - 1] ^= 1;
    assert_false(http_fingerprint_fits(&other, span_text(pem)));
    size_t dash = strlen(pem) - strlen("-----END CERTIFICATE-----\n");
    for (size_t size = 0; size <= dash; size++) {
        memcpy(text, pem, size);
        assert_false(http_fingerprint_fits(&fingerprint, span_make(text, size)));
    }
    for (size_t i = 0; i < dash; i++) {
        if (pem[i] != '\n' && pem[i] != '=') {
            memcpy(text, pem, sizeof(text));
            text[i] = text[i] == 'A' ? 'B' : 'A';
            assert_false(http_fingerprint_fits(&fingerprint, span_make(text, sizeof(text) - 1)));
            text[i] = '*';
            assert_false(http_fingerprint_fits(&fingerprint, span_make(text, sizeof(text) - 1)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_with_and_without_colons_in_either_case),
        cmocka_unit_test(what_is_none_is_told_from_the_name_of_a_file),
        cmocka_unit_test(every_other_certificate_has_another_one),
    };
    return cmocka_run_group_tests_name("outputs/http/http_fingerprint", tests, NULL, NULL);
}

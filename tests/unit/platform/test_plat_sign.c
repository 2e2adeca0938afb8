#include "support/test.h"

#include "base/text/base64.h"
#include "platform/plat_sign.h"

/* Keys that openssl made for this test only (genrsa 1024, ecparam prime256v1), as DER in base64. */
static const char pkcs8[] =
    "MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALBbTq8uFm2RIwbn8McNnvwQyjtpQItfF6J2O6W9"
    "kKg+s7AMf2yB7DfmLmNSLfs0ptS847F/9zpRLkYY37nMzPQRxmD7C2P4Y7gXJuD+wenWMVIKHINSFH+V+tTEzQw4"
    "j96S3jJKOl9471gZz6X4MF2najfrKPHkEkD+bDX9c9XdAgMBAAECgYBwjTWAc+d4ceJq6+gtAbJvqL+IfznkOQI6"
    "ez7CHmOOHMZNGwzP0XNSkaMVXENgSVAYAZ1HkSXVoC3qKsHOMLi0FG6FBle+auJyQe2AvjN6Y/IUkFY9+q9rlQL8"
    "51JVOJogndDvRK9sjt6H0CS03XtQBqw4MDQ3qtu09gLs/7n8wQJBAOBarjzT1mDZN15047tgKUO2+tdNlPaKDtfE"
    "jx7+R+BEsCxv3jEzJ/nUCQFoIY46jdY1bASqEO+JVYa3mL8gClkCQQDJO3WB4B8ycq/MfaEv0a6bCzlmns8cxYoK"
    "/DmQURubSy+f5NQt/jyDe3vbc8n6vFSGJ2yAj41RG0bNA9uFzC8lAkEAg6FQhwm2xr3K+ZVVI9OIgl0yEO5Iztkz"
    "Wi7N1d5U52UFhBziXTVpZ++alQO2ZE9AdoSDar0pEJEf59mCOeifiQJBALkGrdX8IFM/dns87E9OqhAvMtkznlXj"
    "IDlXjwouOYcBi8mmGp4rjLKMgObYQVgFgGZVq4NN+u8feGsbZ+ZPRu0CQEbAGjj3cVj3sOKSzjZqaZgF8LrifmA4"
    "tFYcpmeyQFutyb3gqYxGsTtfGiVkEU8aWjHK3VeXHg4S09Ou3r0Op94=";

static const char pkcs1[] =
    "MIICXQIBAAKBgQCwW06vLhZtkSMG5/DHDZ78EMo7aUCLXxeidjulvZCoPrOwDH9sgew35i5jUi37NKbUvOOxf/c6"
    "US5GGN+5zMz0EcZg+wtj+GO4Fybg/sHp1jFSChyDUhR/lfrUxM0MOI/ekt4ySjpfeO9YGc+l+DBdp2o36yjx5BJA"
    "/mw1/XPV3QIDAQABAoGAcI01gHPneHHiauvoLQGyb6i/iH855DkCOns+wh5jjhzGTRsMz9FzUpGjFVxDYElQGAGd"
    "R5El1aAt6irBzjC4tBRuhQZXvmrickHtgL4zemPyFJBWPfqva5UC/OdSVTiaIJ3Q70SvbI7eh9AktN17UAasODA0"
    "N6rbtPYC7P+5/MECQQDgWq4809Zg2TdedOO7YClDtvrXTZT2ig7XxI8e/kfgRLAsb94xMyf51AkBaCGOOo3WNWwE"
    "qhDviVWGt5i/IApZAkEAyTt1geAfMnKvzH2hL9Gumws5Zp7PHMWKCvw5kFEbm0svn+TULf48g3t723PJ+rxUhids"
    "gI+NURtGzQPbhcwvJQJBAIOhUIcJtsa9yvmVVSPTiIJdMhDuSM7ZM1ouzdXeVOdlBYQc4l01aWfvmpUDtmRPQHaE"
    "g2q9KRCRH+fZgjnon4kCQQC5Bq3V/CBTP3Z7POxPTqoQLzLZM55V4yA5V48KLjmHAYvJphqeK4yyjIDm2EFYBYBm"
    "VauDTfrvH3hrG2fmT0btAkBGwBo493FY97Diks42ammYBfC64n5gOLRWHKZnskBbrcm94KmMRrE7XxolZBFPGlox"
    "yt1Xlx4OEtPTrt69Dqfe";

static const char elliptic[] =
    "MHcCAQEEIHRjesZphLTrXxfKYYaKpU99ThCgRBdVP1+ekLGk+xKcoAoGCCqGSM49AwEHoUQDQgAE7pt/hcMB66hf"
    "RYCnDQti97iXCk81cKuc4aPPRkWiaLa7YKjgzGxZgDs7zN6vzUMAMKbpNWOpATRb/ssfB8WHJw==";

enum { SIGNATURE_BYTES = 128 };

static bool sign(const char *key, size_t cut, struct buf *out, struct error *err)
{
    struct buf der;
    buf_init(&der, 4096);
    assert_true(base64_read(span_text(key), &der));
    buf_init(out, 4096);
    bool good = plat_sign_ps256(
        span_first(buf_span(&der), der.size - cut), span_text("text"), out, err);
    buf_fini(&der);
    return good;
}

/* The salt differs each time, and so do the signatures. Another test verifies a signature with
 * openssl. */
static void a_key_of_either_form_signs(void **state)
{
    (void)state;
    static const char *const keys[] = {pkcs8, pkcs1};
    for (size_t i = 0; i < 2; i++) {
        struct buf first;
        struct buf second;
        struct error err = {0};
        assert_true(sign(keys[i], 0, &first, &err));
        assert_true(sign(keys[i], 0, &second, &err));
        assert_int_equal(first.size, SIGNATURE_BYTES);
        assert_int_equal(second.size, SIGNATURE_BYTES);
        assert_memory_not_equal(first.data, second.data, SIGNATURE_BYTES);
        buf_fini(&first);
        buf_fini(&second);
    }
}

static void what_is_no_key_of_rsa_signs_nothing(void **state)
{
    (void)state;
    struct buf out;
    struct error err = {0};
    assert_false(sign(elliptic, 0, &out, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_int_equal(out.size, 0);
    buf_fini(&out);
    for (size_t cut = 1; cut < 600; cut += 7) {
        assert_false(sign(pkcs8, cut, &out, &err));
        buf_fini(&out);
    }
    assert_false(sign("", 0, &out, &err));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_of_either_form_signs),
        cmocka_unit_test(what_is_no_key_of_rsa_signs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

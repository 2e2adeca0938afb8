#include "support/test.h"

#include <stdio.h>

#include "base/hmac.h"

/* RFC 4231, 4.2 to 4.4, 4.7 and 4.8: byte and count of the key or its text, text, digest. */
static const struct {
    uint8_t key_byte;
    size_t key_size;
    const char *key;
    const char *text;
    const char *digest;
} vectors[] = {
    {0x0b, 20, NULL, "Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {0, 4, "Jefe", "what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {0xaa, 131, NULL, "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {0xaa, 131, NULL,
        "This is a test using a larger than block-size key and a larger than block-size data. The "
        "key "
        "needs to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

static void hashes_are_those_of_the_standard(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint8_t secret[131];
        uint8_t digest[SHA256_SIZE];
        char hex[2 * SHA256_SIZE + 1];
        struct hmac_key key;
        memset(secret, vectors[i].key_byte, sizeof(secret));
        hmac_key_init(&key,
            vectors[i].key ? span_text(vectors[i].key) : span_make(secret, vectors[i].key_size));
        for (unsigned again = 0; again < 2; again++) { /* a key serves many texts */
            hmac_of(&key, span_text(vectors[i].text), digest);
            for (size_t k = 0; k < sizeof(digest); k++) {
                snprintf(hex + 2 * k, 3, "%02x", digest[k]);
            }
            assert_string_equal(hex, vectors[i].digest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_standard),
    };
    return cmocka_run_group_tests_name("base/hmac", tests, NULL, NULL);
}

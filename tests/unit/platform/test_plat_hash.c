#include "support/test.h"

#include <stdio.h>

#include "platform/plat_hash.h"

enum { HEX = 2 * PLAT_HASH_BYTES + 1 };

static void to_hex(const uint8_t *digest, char *ret_hex)
{
    for (size_t i = 0; i < PLAT_HASH_BYTES; i++) {
        snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
    }
}

/* FIPS 180-2, appendix B.1 to B.3, and RFC 6234, 8.5, TEST4: text, how many times, digest. */
static void digests_are_those_of_the_standard(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned repeat;
        const char *digest;
    } vectors[] = {
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
        {"0123456701234567012345670123456701234567012345670123456701234567", 10,
            "594847328451bdfa85056225462cc1d867d877fb388df0ce35f25ab5562bfbb5"},
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    };
    static uint8_t text[1000000];
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint8_t digest[PLAT_HASH_BYTES];
        char hex[HEX];
        struct span part = span_text(vectors[i].text);
        for (size_t k = 0; part.size && k < vectors[i].repeat; k++) {
            memcpy(text + k * part.size, part.data, part.size);
        }
        assert_true(plat_hash_of(span_make(text, part.size * vectors[i].repeat), digest, NULL));
        to_hex(digest, hex);
        assert_string_equal(hex, vectors[i].digest);
    }
}

static void two_parts_have_the_digest_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[200];
    struct plat_hash *hash = plat_hash_create(NULL);
    assert_non_null(hash);
    memset(bytes, 'q', sizeof(bytes));
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        uint8_t whole[PLAT_HASH_BYTES];
        uint8_t parts[PLAT_HASH_BYTES];
        struct span text = span_make(bytes, size);
        assert_true(plat_hash_of(text, whole, NULL));
        assert_true(
            plat_hash_pair(hash, span_first(text, size / 3), span_from(text, size / 3), parts));
        assert_memory_equal(parts, whole, sizeof(whole));
    }
    plat_hash_destroy(hash);
    plat_hash_destroy(NULL);
}

/* RFC 4231, 4.2 to 4.8 without the shortened one: byte and count of the key or its text, text,
 * digest. */
static void keyed_hashes_are_those_of_the_standard(void **state)
{
    (void)state;
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
        {0xaa, 20, NULL,
            "\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd"
            "\xdd"
            "\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd"
            "\xdd"
            "\xdd\xdd\xdd\xdd\xdd\xdd",
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {0xaa, 131, NULL, "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {0xaa, 131, NULL,
            "This is a test using a larger than block-size key and a larger than block-size data. "
            "The key "
            "needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    struct plat_hash *hash = plat_hash_create(NULL);
    assert_non_null(hash);
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint8_t secret[131];
        uint8_t digest[PLAT_HASH_BYTES];
        char hex[HEX];
        struct plat_hash_key key;
        memset(secret, vectors[i].key_byte, sizeof(secret));
        assert_true(plat_hash_key_init(&key,
            vectors[i].key ? span_text(vectors[i].key) : span_make(secret, vectors[i].key_size),
            NULL));
        for (unsigned again = 0; again < 2; again++) { /* one key signs many texts */
            assert_true(plat_hash_keyed(hash, &key, span_text(vectors[i].text), digest));
            to_hex(digest, hex);
            assert_string_equal(hex, vectors[i].digest);
        }
    }
    plat_hash_destroy(hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(two_parts_have_the_digest_of_the_whole),
        cmocka_unit_test(keyed_hashes_are_those_of_the_standard),
    };
    return cmocka_run_group_tests_name("platform/plat_hash", tests, NULL, NULL);
}

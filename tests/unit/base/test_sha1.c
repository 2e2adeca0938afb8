#include "support/test.h"

#include "base/sha1.h"

/* RFC 3174 section 7.3, TEST1 to TEST4: text, how many times, digest. */
static const struct {
    const char *text;
    unsigned repeat;
    uint8_t digest[SHA1_SIZE];
} vectors[] = {
    {"abc", 1,
        {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e, 0x25, 0x71, 0x78, 0x50, 0xc2,
            0x6c, 0x9c, 0xd0, 0xd8, 0x9d}},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
        {0x84, 0x98, 0x3e, 0x44, 0x1c, 0x3b, 0xd2, 0x6e, 0xba, 0xae, 0x4a, 0xa1, 0xf9, 0x51, 0x29,
            0xe5, 0xe5, 0x46, 0x70, 0xf1}},
    {"a", 1000000,
        {0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda, 0xa4, 0xf6, 0x1e, 0xeb, 0x2b, 0xdb, 0xad, 0x27,
            0x31, 0x65, 0x34, 0x01, 0x6f}},
    {"0123456701234567012345670123456701234567012345670123456701234567", 10,
        {0xde, 0xa3, 0x56, 0xa2, 0xcd, 0xdd, 0x90, 0xc7, 0xa7, 0xec, 0xed, 0xc5, 0xeb, 0xb5, 0x63,
            0x93, 0x4f, 0x46, 0x04, 0x52}},
};

static void digests_are_those_of_rfc_3174(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct sha1 sha;
        sha1_init(&sha);
        for (unsigned k = 0; k < vectors[i].repeat; k++) {
            sha1_update(&sha, span_text(vectors[i].text));
        }
        uint8_t digest[SHA1_SIZE];
        sha1_final(&sha, digest);
        assert_memory_equal(digest, vectors[i].digest, SHA1_SIZE);
    }
}

static void pieces_give_the_digest_of_the_whole(void **state)
{
    (void)state;
    uint8_t text[200];
    memset(text, 'q', sizeof(text));
    for (size_t size = 0; size <= sizeof(text); size++) {
        uint8_t whole[SHA1_SIZE];
        uint8_t pieces[SHA1_SIZE];
        struct sha1 sha;
        sha1_init(&sha);
        sha1_update(&sha, span_make(text, size));
        sha1_final(&sha, whole);
        sha1_init(&sha);
        sha1_update(&sha, span_make(text, size / 3));
        sha1_update(&sha, span_make(NULL, 0));
        sha1_update(&sha, span_make(text + size / 3, size - size / 3));
        sha1_final(&sha, pieces);
        assert_memory_equal(whole, pieces, SHA1_SIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_rfc_3174),
        cmocka_unit_test(pieces_give_the_digest_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

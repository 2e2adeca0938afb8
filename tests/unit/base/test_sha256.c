#include "support/test.h"

#include <stdio.h>

#include "base/sha256.h"

/* FIPS 180-2, appendix B.1 to B.3, and RFC 6234, 8.5, TEST4: text, how many times, digest. */
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

static void digest_of(struct span bytes, unsigned repeat, size_t piece, char *ret_text)
{
    uint8_t digest[SHA256_SIZE];
    struct sha256 sha;
    sha256_init(&sha);
    for (unsigned i = 0; i < repeat; i++) {
        for (struct span rest = bytes; rest.size; rest = span_from(rest, piece)) {
            sha256_update(&sha, span_first(rest, piece));
        }
    }
    sha256_final(&sha, digest);
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        snprintf(ret_text + 2 * i, 3, "%02x", digest[i]);
    }
}

static void digests_are_those_of_the_standard(void **state)
{
    (void)state;
    char text[2 * SHA256_SIZE + 1];
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        digest_of(span_text(vectors[i].text), vectors[i].repeat, SIZE_MAX, text);
        assert_string_equal(text, vectors[i].digest);
    }
}

static void pieces_give_the_digest_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[200];
    memset(bytes, 'q', sizeof(bytes));
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        char whole[2 * SHA256_SIZE + 1];
        char pieces[2 * SHA256_SIZE + 1];
        digest_of(span_make(bytes, size), 1, SIZE_MAX, whole);
        digest_of(span_make(bytes, size), 1, size / 3 + 1, pieces);
        assert_string_equal(pieces, whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(pieces_give_the_digest_of_the_whole),
    };
    return cmocka_run_group_tests_name("base/sha256", tests, NULL, NULL);
}

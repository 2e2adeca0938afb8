#include "support/test.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "outputs/compress.h"

/* zlib and libzstd read the result. */

enum { MOST_BYTES = 4 << 20 };

static size_t unpack(enum http_compression kind, struct span packed, uint8_t *to)
{
    if (kind == HTTP_ZSTD) {
        size_t size = ZSTD_decompress(to, MOST_BYTES, packed.data, packed.size);
        assert_false(ZSTD_isError(size));
        return size;
    }
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed.data,
        .avail_in = (uInt)packed.size,
        .next_out = to,
        .avail_out = MOST_BYTES};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK); /* gzip and nothing else */
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    size_t size = stream.total_out;
    inflateEnd(&stream);
    return size;
}

static void fill(uint8_t *data, size_t size, unsigned kind)
{
    uint32_t random = 1;
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        data[i] = kind == 0   ? (uint8_t)'x'
                  : kind == 1 ? (uint8_t)(random >> 24)
                              : (uint8_t) "{\"key\":\"value\",\"number\":12345}\n"[i % 31];
    }
}

/* In parts of all sizes, of which some are empty. */
static bool compress_cut(
    struct compress *compress, struct span data, struct buf *out, struct error *err)
{
    enum { PARTS = 1000 };
    static const size_t sizes[] = {1, 90, 0, 1200, 30000, 7, 0, 600};
    struct span parts[PARTS];
    size_t count = 0;
    for (; count < PARTS - 1 && data.size; count++) {
        parts[count] = span_first(data, sizes[count % (sizeof(sizes) / sizeof(sizes[0]))]);
        data = span_from(data, parts[count].size);
    }
    parts[count++] = data;
    return compress_parts(compress, parts, count, out, err);
}

static void what_is_compressed_comes_out_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 1000003, 3 << 20};
    uint8_t *data = malloc(MOST_BYTES);
    uint8_t *back = malloc(MOST_BYTES);
    assert_true(data && back);
    for (int kind = HTTP_GZIP; kind <= HTTP_ZSTD; kind++) {
        struct error err;
        struct buf out;
        struct compress *compress = compress_create((enum http_compression)kind, &err);
        assert_non_null(compress);
        buf_init(&out, SIZE_MAX);
        for (size_t i = 0; i < 3 * sizeof(sizes) / sizeof(sizes[0]); i++) {
            size_t size = sizes[i / 3];
            fill(data, size, (unsigned)i % 3);
            for (int cut = 0; cut < 2; cut++) {
                struct span all = span_make(data, size);
                assert_true(cut ? compress_cut(compress, all, &out, &err)
                                : compress_whole(compress, all, &out, &err));
                assert_int_equal(unpack((enum http_compression)kind, buf_span(&out), back), size);
                assert_memory_equal(back, data, size);
                assert_true(size < 1000 || i % 3 == 1 || out.size * 20 < size);
            }
        }
        buf_fini(&out);
        compress_destroy(compress);
    }
    free(data);
    free(back);
}

static void a_maximum_that_is_too_small_is_told(void **state)
{
    (void)state;
    for (int kind = HTTP_GZIP; kind <= HTTP_ZSTD; kind++) {
        struct error err = {0};
        struct buf out;
        struct compress *compress = compress_create((enum http_compression)kind, &err);
        buf_init(&out, 2000);
        static const uint8_t data[100000];
        assert_false(compress_whole(compress, span_make(data, sizeof(data)), &out, &err));
        assert_int_equal(err.code, ERR_LIMIT);
        assert_true(compress_whole(compress, span_make(data, 100), &out, &err));
        buf_fini(&out);
        compress_destroy(compress);
    }
    compress_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_compressed_comes_out_again),
        cmocka_unit_test(a_maximum_that_is_too_small_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

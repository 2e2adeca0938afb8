#include "support/test.h"

#include <stdlib.h>

#include "input/bytes/unpack.h"
#include "support/pack.h"

/* The streams written by hand are from [MS-XCA] section 3, or put together bit by bit after section
 * 2. The rest are round trips through support/pack.h, which unpack_oracle.py compares with other
 * decoders. */

enum { MAX_OUT = 1 << 20 };

static const enum unpack_format formats[] = {UNPACK_LZNT1, UNPACK_XPRESS, UNPACK_XPRESS_HUFF};
enum { FORMATS = 3 };

static bool pack(enum unpack_format format, struct span in, struct buf *out)
{
    switch (format) {
    case UNPACK_LZNT1:
        return pack_lznt1(in, out);
    case UNPACK_XPRESS:
        return pack_xpress(in, out);
    case UNPACK_XPRESS_HUFF:
        return pack_xpress_huff(in, out);
    }
    return false;
}

/* One result: the output, the ending, and the bytes consumed. */
struct result {
    uint8_t *out;
    size_t size;
    size_t used;
    enum unpack_status status;
};

/* All in one call; room for ${limit} bytes. The caller frees `out`, as long as the result. */
static struct result unpack_whole(enum unpack_format format, struct span in, size_t limit)
{
    struct unpack unpack;
    unpack_init(&unpack, format);
    struct result r = {.out = malloc(limit ? limit : 1)};
    assert_non_null(r.out);
    struct unpack_window window = {.base = r.out, .limit = limit};
    r.status = unpack_run(&unpack, in, true, &window, &r.used);
    r.size = window.at;
    return r;
}

/* Input grows by ${piece} bytes whenever the decoder asks for more, and output by ${room}. The
 * window keeps the promised history and nothing else. */
static struct result unpack_bits(
    enum unpack_format format, struct span in, size_t limit, size_t piece, size_t room)
{
    size_t history = unpack_history(format);
    struct unpack unpack;
    unpack_init(&unpack, format);
    struct result r = {.out = malloc(limit ? limit : 1), .status = UNPACK_MORE_INPUT};
    uint8_t *base = malloc(2 * history + room);
    assert_non_null(r.out);
    assert_non_null(base);
    struct unpack_window window = {.base = base};
    size_t given = 0;
    for (;;) {
        if (r.status == UNPACK_MORE_INPUT) {
            given = in.size - given < piece ? in.size : given + piece;
        } else if (r.status == UNPACK_FULL && r.size < limit) {
            if (window.at > 2 * history) {
                memmove(base, base + window.at - history, history);
                window.at = history;
            }
            window.limit = window.at + (limit - r.size < room ? limit - r.size : room);
        } else {
            break;
        }
        size_t before = window.at;
        size_t used;
        r.status = unpack_run(
            &unpack, span_make(in.data + r.used, given - r.used), given == in.size, &window, &used);
        memcpy(r.out + r.size, base + before, window.at - before);
        r.size += window.at - before;
        r.used += used;
    }
    free(base);
    return r;
}

static void assert_same(const struct result *a, const struct result *b)
{
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->out, b->out, a->size);
}

static void assert_gives(enum unpack_format format, struct span in, struct span expected)
{
    struct result r = unpack_whole(format, in, expected.size);
    assert_int_equal(r.size, expected.size);
    assert_memory_equal(r.out, expected.data, expected.size);
    assert_true(r.status == UNPACK_END || r.status == UNPACK_FULL);
    free(r.out);
}

/* "3f 00*2 61": hexadecimal bytes, each perhaps repeated. Returns how many. */
static size_t from_hex(const char *text, uint8_t *out, size_t max)
{
    size_t size = 0;
    while (*text) {
        char *end;
        unsigned long byte = strtoul(text, &end, 16);
        unsigned long times = *end == '*' ? strtoul(end + 1, &end, 10) : 1;
        assert_true(end > text && byte < 256 && times <= max - size);
        memset(out + size, (int)byte, times);
        size += times;
        text = *end == ' ' ? end + 1 : end;
    }
    return size;
}

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* Words, numbers, runs and noise, like the records of a trace. */
static void fill_like_events(uint8_t *data, size_t size)
{
    static const char *const words[] = {
        "ProcessId", "\0\0\0\0\0\0", "svchost.exe", "Microsoft-Windows-", "\x48\0\x12\xc0", "e"};
    for (size_t at = 0; at < size;) {
        uint32_t pick = next_random() % 9;
        uint8_t bytes[40];
        size_t length = 1 + next_random() % sizeof(bytes);
        if (pick < 6) {
            length = pick == 1 ? 6 : pick == 4 ? 4 : strlen(words[pick]);
            memcpy(bytes, words[pick], length);
        } else if (pick == 6) {
            memset(bytes, (int)(next_random() & 0xff), length);
        } else {
            for (size_t i = 0; i < length; i++) {
                bytes[i] = (uint8_t)next_random();
            }
        }
        length = length < size - at ? length : size - at;
        memcpy(data + at, bytes, length);
        at += length;
    }
}

static struct buf packed_events(enum unpack_format format, uint8_t *data, size_t size)
{
    struct buf packed;
    buf_init(&packed, MAX_OUT);
    fill_like_events(data, size);
    assert_true(pack(format, span_make(data, size), &packed));
    return packed;
}

#define ALPHABET "abcdefghijklmnopqrstuvwxyz"
#define ABC10 "abcabcabcabcabcabcabcabcabcabc"
#define ABC100 ABC10 ABC10 ABC10 ABC10 ABC10 ABC10 ABC10 ABC10 ABC10 ABC10
#define TUNE                                                                                       \
    "F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E " \
    "F# G F# E D E A F# F# G A A G F# E D D E F# E D D"

static const struct example {
    const char *name;
    enum unpack_format format;
    const char *hex;
    const char *text;
    size_t extra; /* the NUL belongs to the text */
} examples[] = {
    {"3.1 literals", UNPACK_XPRESS,
        "3f 00*3 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 73 74 75 76 77 78 79 7a",
        ALPHABET, 0},
    {"3.1 match", UNPACK_XPRESS, "ff ff ff 1f 61 62 63 17 00 0f ff 26 01", ABC100, 0},
    {"3.2 literals", UNPACK_XPRESS_HUFF,
        "00*48 50 55*10 45 44 04 00*66 04 00*127 "
        "d8 52 3e d7 94 11 5b e9 19 5f f9 d6 7c df 8d 04 00 00 00 00",
        ALPHABET, 0},
    {"3.2 match", UNPACK_XPRESS_HUFF, "00*48 30 23 00*78 02 00*14 20 00*112 a8 dc 00 00 ff 26 01",
        ABC100, 0},
    {"3.3", UNPACK_LZNT1,
        "38 b0 88 46 23 20 00 20 47 20 41 00 10 a2 47 01 a0 45 20 44 00 08 45 01 50 79 00 c0 45 20 "
        "05 24 13 88 05 b4 02 4a 44 ef 03 58 02 8c 09 16 01 48 45 00 be 00 9e 00 04 01 18 90 00",
        TUNE, 1},
    {"nibbles are shared", UNPACK_XPRESS, "ff ff ff 7f 61 07 00 10 07 00", "aaaaaaaaaaaaaaaaaaaaaa",
        0},
    {"a raw chunk and an end mark", UNPACK_LZNT1, "02 30 61 62 63 00 00 ff", "abc", 0},
    {"a chunk behind a chunk", UNPACK_LZNT1, "01 30 61 62 02 b0 00 63 64", "abcd", 0},
};

static void examples_of_the_specification_decompress(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *example = &examples[i];
        uint8_t in[1024];
        struct span stream = span_make(in, from_hex(example->hex, in, sizeof(in)));
        struct span text = span_make(example->text, strlen(example->text) + example->extra);
        assert_gives(example->format, stream, text);

        /* The decoder finds the end of all of these also when it is not told the size. */
        struct result r = unpack_whole(example->format, stream, 4096);
        if (r.status != UNPACK_END || r.size != text.size) {
            fail_msg("%s: status %d, %zu bytes", example->name, (int)r.status, r.size);
        }
        assert_memory_equal(r.out, text.data, text.size);
        free(r.out);
    }
}

static void a_match_makes_a_huffman_block_longer(void **state)
{
    /* Written by Windows for 65537 zeros: a literal, a match of 65536 (more than the block has
     * left), an end mark. From a question to the authors of [MS-XCA], cifs-protocol, 1 November
     * 2022. */
    (void)state;
    static const uint8_t zeros[65537];
    uint8_t in[300];
    size_t size = from_hex("02 00*127 02 00*6 10 00*120 00 98 00 00 ff fd ff", in, sizeof(in));
    assert_gives(UNPACK_XPRESS_HUFF, span_make(in, size), span_make(zeros, sizeof(zeros)));
}

static void a_chunk_gives_4096_bytes_at_most(void **state)
{
    /* 'A', then a match of 4095 at distance 1; then one of 4096. */
    (void)state;
    const uint8_t most[] = {0x03, 0xb0, 0x02, 'A', 0xfc, 0x0f};
    const uint8_t more[] = {0x03, 0xb0, 0x02, 'A', 0xfd, 0x0f};
    uint8_t expected[4096];
    memset(expected, 'A', sizeof(expected));
    assert_gives(UNPACK_LZNT1, span_make(most, sizeof(most)), span_make(expected, 4096));
    struct result r = unpack_whole(UNPACK_LZNT1, span_make(more, sizeof(more)), 8192);
    assert_int_equal(r.status, UNPACK_CORRUPT);
    assert_int_equal(r.size, 1);
    free(r.out);
}

static void what_was_packed_comes_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        1, 2, 3, 4, 31, 32, 33, 300, 4095, 4096, 4097, 9000, 65535, 65536, 65537, 200000};
    static uint8_t data[200000];
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * FORMATS; i++) {
        enum unpack_format format = formats[i % FORMATS];
        struct buf packed = packed_events(format, data, sizes[i / FORMATS]);
        assert_gives(format, buf_span(&packed), span_make(data, sizes[i / FORMATS]));
        buf_fini(&packed);
    }
}

static void noise_and_silence_come_back(void **state)
{
    (void)state;
    static uint8_t noise[100000];
    static const uint8_t silence[400000];
    for (size_t i = 0; i < sizeof(noise); i++) {
        noise[i] = (uint8_t)next_random();
    }
    for (int i = 0; i < FORMATS; i++) {
        struct buf packed;
        buf_init(&packed, MAX_OUT);
        assert_true(pack(formats[i], span_make(noise, sizeof(noise)), &packed));
        assert_gives(formats[i], buf_span(&packed), span_make(noise, sizeof(noise)));
        buf_reset(&packed);
        assert_true(pack(formats[i], span_make(silence, sizeof(silence)), &packed));
        assert_gives(formats[i], buf_span(&packed), span_make(silence, sizeof(silence)));
        buf_fini(&packed);
    }
}

static void repeats_of_every_distance_and_length_come_back(void **state)
{
    (void)state;
    uint8_t data[600];
    for (size_t distance = 1; distance <= 40; distance++) {
        for (size_t length = 3; length < 300; length += length < 60 ? 1 : 17) {
            size_t size = distance + length + 200;
            for (size_t i = 0; i < size; i++) {
                bool repeat = i >= distance && i < distance + length;
                data[i] = repeat ? data[i - distance] : (uint8_t)next_random();
            }
            for (int f = 0; f < FORMATS; f++) {
                struct buf packed;
                buf_init(&packed, MAX_OUT);
                assert_true(pack(formats[f], span_make(data, size), &packed));
                assert_gives(formats[f], buf_span(&packed), span_make(data, size));
                buf_fini(&packed);
            }
        }
    }
}

static void any_split_and_any_window_give_the_same(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 2, 3, 5, 7, 47, 48, 49, 259, 260, 261, 1024, 5000, 100000};
    static const size_t rooms[] = {1, 2, 3, 7, 64, 127, 128, 129, 1000, 4096, 70000};
    static uint8_t data[70000];
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]) * FORMATS; i++) {
        enum unpack_format format = formats[i % FORMATS];
        size_t size = i < 3 * FORMATS ? 3000 : sizeof(data);
        struct buf packed = packed_events(format, data, size);
        struct result whole = unpack_whole(format, buf_span(&packed), size);
        assert_int_equal(whole.size, size);
        for (size_t r = 0; r < sizeof(rooms) / sizeof(rooms[0]); r++) {
            struct result bits = unpack_bits(
                format, buf_span(&packed), size, pieces[i / FORMATS], rooms[r]);
            assert_same(&whole, &bits);
            free(bits.out);
        }
        free(whole.out);
        buf_fini(&packed);
    }
}

static void a_call_with_enough_input_makes_progress(void **state)
{
    (void)state;
    static uint8_t data[50000];
    for (int i = 0; i < FORMATS; i++) {
        struct buf packed = packed_events(formats[i], data, sizeof(data));
        static uint8_t out[sizeof(data)];
        struct unpack unpack;
        struct unpack_window window = {.base = out, .limit = sizeof(out)};
        unpack_init(&unpack, formats[i]);
        for (size_t at = 0; packed.size - at >= UNPACK_MIN_INPUT;) {
            size_t used;
            struct span in = span_make(packed.data + at, UNPACK_MIN_INPUT);
            assert_int_equal(unpack_run(&unpack, in, false, &window, &used), UNPACK_MORE_INPUT);
            assert_in_range(used, 1, UNPACK_MIN_INPUT);
            at += used;
        }
        buf_fini(&packed);
    }
}

static void a_truncated_stream_gives_a_beginning(void **state)
{
    (void)state;
    static uint8_t data[6000];
    for (int i = 0; i < FORMATS; i++) {
        struct buf packed = packed_events(formats[i], data, sizeof(data));
        for (size_t cut = 0; cut < packed.size; cut++) {
            /* so that sanitizers see a read beyond the end */
            uint8_t *exact = malloc(cut ? cut : 1);
            assert_non_null(exact);
            memcpy(exact, packed.data, cut);
            struct span in = span_make(exact, cut);
            struct result whole = unpack_whole(formats[i], in, sizeof(data));
            assert_true(whole.status == UNPACK_END || whole.status == UNPACK_CORRUPT ||
                        (whole.status == UNPACK_FULL && whole.size == sizeof(data)));
            assert_in_range(whole.used, 0, cut);
            assert_memory_equal(whole.out, data, whole.size);
            if (cut % 16 == 0) {
                struct result bits = unpack_bits(formats[i], in, sizeof(data), 13, 100);
                assert_same(&whole, &bits);
                free(bits.out);
            }
            free(whole.out);
            free(exact);
        }
        buf_fini(&packed);
    }
}

/* Codes of 1 bit for 'a' and for the match of 3 at distance 2. */
#define TABLE_A_OR_BACK_2 "00*48 10 00*87 01 00*119 "

static const struct corruption {
    const char *name;
    enum unpack_format format;
    const char *hex;
    size_t good; /* bytes before it */
} corruptions[] = {
    {"a match at the start", UNPACK_XPRESS, "ff*4 00 00", 0},
    {"a match before the start", UNPACK_XPRESS, "00 00 00 40 61 08 00", 1},
    {"the same with much behind it", UNPACK_XPRESS, "00 00 00 40 61 08 00 00*100", 1},
    {"a long match that is short", UNPACK_XPRESS, "00 00 00 40 61 07 00 0f ff 15 00", 1},
    {"the same with much behind it", UNPACK_XPRESS, "00 00 00 40 61 07 00 0f ff 15 00*100", 1},
    {"half a flag word", UNPACK_XPRESS, "00 00 00", 0},
    {"half a match", UNPACK_XPRESS, "ff ff ff 7f 61 00", 1},
    {"a long match without its nibble", UNPACK_XPRESS, "ff ff ff 7f 61 07 00", 1},
    {"a long match without its byte", UNPACK_XPRESS, "ff ff ff 7f 61 07 00 0f", 1},
    {"a long match without its word", UNPACK_XPRESS, "ff ff ff 7f 61 07 00 0f ff 00", 1},
    {"a long match without its double word", UNPACK_XPRESS, "ff ff ff 7f 61 07 00 0f ff 00*5", 1},
    {"half a header", UNPACK_LZNT1, "02", 0},
    {"another signature", UNPACK_LZNT1, "02 20 61 62 63", 0},
    {"a short raw chunk", UNPACK_LZNT1, "02 30 61 62", 2},
    {"a short chunk", UNPACK_LZNT1, "03 b0 00 61 62", 2},
    {"a chunk that begins with a match", UNPACK_LZNT1, "02 b0 01 00 00", 0},
    {"a match before its chunk", UNPACK_LZNT1, "00 30 61 03 b0 02 62 00 10", 2},
    {"a match over the end of its chunk", UNPACK_LZNT1, "02 b0 02 61 00 00 30 62", 1},
    {"a literal beyond 4096 bytes", UNPACK_LZNT1, "04 b0 02 41 fc 0f 42", 4096},
    {"half a table", UNPACK_XPRESS_HUFF, "11*255", 0},
    {"a table and no words", UNPACK_XPRESS_HUFF, "99*256 00*3", 0},
    {"no codes", UNPACK_XPRESS_HUFF, "00*260", 0},
    {"one code", UNPACK_XPRESS_HUFF, "01 00*259", 0},
    {"codes that leave a gap", UNPACK_XPRESS_HUFF, "21 00*259", 0},
    {"three codes of one bit", UNPACK_XPRESS_HUFF, "11 01 00*258", 0},
    {"all codes of one bit", UNPACK_XPRESS_HUFF, "11*256 00*4", 0},
    {"all codes of 15 bits", UNPACK_XPRESS_HUFF, "ff*256 00*4", 0},
    {"all codes of 8 bits", UNPACK_XPRESS_HUFF, "88*256 00*4", 0},
    {"a match at the start", UNPACK_XPRESS_HUFF, TABLE_A_OR_BACK_2 "ff*4", 0},
    {"a match before the start", UNPACK_XPRESS_HUFF, TABLE_A_OR_BACK_2 "ff 7f ff*2", 1},
    {"no end mark", UNPACK_XPRESS_HUFF, "11 00*255 00*4", 32},
};

static void corrupt_streams_are_refused_after_what_was_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(corruptions) / sizeof(corruptions[0]); i++) {
        const struct corruption *corruption = &corruptions[i];
        uint8_t bytes[1024];
        size_t size = from_hex(corruption->hex, bytes, sizeof(bytes));
        uint8_t *exact = malloc(size);
        assert_non_null(exact);
        memcpy(exact, bytes, size);
        struct result whole = unpack_whole(corruption->format, span_make(exact, size), 8192);
        if (whole.status != UNPACK_CORRUPT || whole.size != corruption->good) {
            fail_msg(
                "%s: status %d after %zu bytes", corruption->name, (int)whole.status, whole.size);
        }
        struct result bits = unpack_bits(corruption->format, span_make(exact, size), 8192, 1, 1);
        assert_same(&whole, &bits);
        free(whole.out);
        free(bits.out);
        free(exact);
    }
}

static void the_end_and_corruption_are_final(void **state)
{
    (void)state;
    const uint8_t end[] = {0, 0, 0x00, 0x30, 'a'};
    const uint8_t corrupt[] = {0, 0x10, 0x00, 0x30, 'a'};
    const struct {
        const uint8_t *in;
        enum unpack_status status;
        size_t used;
    } cases[] = {{end, UNPACK_END, 2}, {corrupt, UNPACK_CORRUPT, 0}};
    for (int i = 0; i < 2; i++) {
        struct unpack unpack;
        uint8_t out[8];
        struct unpack_window window = {.base = out, .limit = sizeof(out)};
        size_t used;
        unpack_init(&unpack, UNPACK_LZNT1);
        struct span in = span_make(cases[i].in, 5);
        assert_int_equal(unpack_run(&unpack, in, false, &window, &used), cases[i].status);
        assert_int_equal(used, cases[i].used);
        in = span_from(in, 2);
        assert_int_equal(unpack_run(&unpack, in, true, &window, &used), cases[i].status);
        assert_int_equal(used, 0);
        assert_int_equal(window.at, 0);
    }
}

static void nothing_is_read_before_the_kept_history(void **state)
{
    /* 16 literals, then a match of 3 at distance 16 with only 15 bytes kept. */
    (void)state;
    uint8_t in[] = {0xff, 0xff, 0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l',
        'm', 'n', 'o', 'p', 15 << 3, 0};
    uint8_t out[32];
    for (size_t kept = 15; kept <= 16; kept++) {
        struct unpack unpack;
        struct unpack_window window = {.base = out, .limit = 16};
        size_t used;
        unpack_init(&unpack, UNPACK_XPRESS);
        struct span all = span_make(in, sizeof(in));
        assert_int_equal(unpack_run(&unpack, all, true, &window, &used), UNPACK_FULL);
        window = (struct unpack_window){.base = out + 16 - kept, .at = kept, .limit = kept + 16};
        enum unpack_status status = unpack_run(&unpack, span_from(all, used), true, &window, &used);
        assert_int_equal(status, kept == 16 ? UNPACK_END : UNPACK_CORRUPT);
        assert_int_equal(window.at, kept == 16 ? 19 : 15);
    }
    assert_memory_equal(out + 16, "abc", 3);
}

static void no_input_is_no_output(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        struct result r = unpack_whole(formats[i], span_make(NULL, 0), 10);
        assert_int_equal(r.status, UNPACK_END);
        assert_int_equal(r.size, 0);
        free(r.out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_specification_decompress),
        cmocka_unit_test(a_match_makes_a_huffman_block_longer),
        cmocka_unit_test(a_chunk_gives_4096_bytes_at_most),
        cmocka_unit_test(what_was_packed_comes_back),
        cmocka_unit_test(noise_and_silence_come_back),
        cmocka_unit_test(repeats_of_every_distance_and_length_come_back),
        cmocka_unit_test(any_split_and_any_window_give_the_same),
        cmocka_unit_test(a_call_with_enough_input_makes_progress),
        cmocka_unit_test(a_truncated_stream_gives_a_beginning),
        cmocka_unit_test(corrupt_streams_are_refused_after_what_was_good),
        cmocka_unit_test(the_end_and_corruption_are_final),
        cmocka_unit_test(nothing_is_read_before_the_kept_history),
        cmocka_unit_test(no_input_is_no_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

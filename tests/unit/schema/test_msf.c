#include "schema/wpp/msf.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "support/memory_file.h"
#include "support/pdb_put.h"
#include "support/test.h"

/* Containers of the writer in tests/support, complete and broken. */
static struct error err;
static struct memory_file memory;
static struct msf msf;

static bool open_bytes(struct span file)
{
    memory = (struct memory_file){.bytes = file};
    err = (struct error){.code = ERR_NONE};
    const struct msf_input input = {.read = memory_file_read, .self = &memory, .size = file.size};
    return msf_init(&msf, &input, &err);
}

enum {
    LONG_BYTES = 100000,
    HEADER_BLOCK_SIZE = 0x20,
    HEADER_BLOCKS = 0x28,
    HEADER_DIRECTORY = 0x2c
};

/* Byte i of the long stream. */
static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + (i >> 8));
}

static void put_sample(struct buf *file, uint32_t block_size)
{
    uint8_t *bytes = malloc(LONG_BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < LONG_BYTES; i++) {
        bytes[i] = byte_at(i);
    }
    const struct span streams[] = {span_make(NULL, 0), span_text("first"), span_text(""),
        span_make(bytes, LONG_BYTES), span_text("last")};
    buf_init(file, 1 << 24);
    pdb_put_msf(file, block_size, streams, sizeof(streams) / sizeof(streams[0]));
    free(bytes);
    assert_false(file->failed);
}

static void streams_are_read_whatever_the_size_of_blocks(void **state)
{
    (void)state;
    for (uint32_t block_size = 512; block_size <= 32768; block_size *= 2) {
        struct buf file;
        uint8_t bytes[3000];
        put_sample(&file, block_size);
        assert_true(open_bytes(buf_span(&file)));
        assert_int_equal(msf.stream_count, 5);
        assert_int_equal(msf_stream_size(&msf, 0), 0);
        assert_int_equal(msf_stream_size(&msf, 1), 5);
        assert_int_equal(msf_stream_size(&msf, 3), LONG_BYTES);
        assert_int_equal(msf_stream_size(&msf, 5), 0);
        assert_true(msf_read(&msf, 4, 0, bytes, 4, &err));
        assert_memory_equal(bytes, "last", 4);
        for (uint32_t at = 0; at + sizeof(bytes) <= LONG_BYTES; at += 997) {
            assert_true(msf_read(&msf, 3, at, bytes, sizeof(bytes), &err));
            for (size_t i = 0; i < sizeof(bytes); i++) {
                assert_int_equal(bytes[i], byte_at(at + i));
            }
        }
        msf_fini(&msf);
        buf_fini(&file);
    }
}

static void what_a_stream_does_not_have_is_not_read(void **state)
{
    (void)state;
    struct buf file;
    uint8_t bytes[16];
    put_sample(&file, 512);
    assert_true(open_bytes(buf_span(&file)));
    assert_true(msf_read(&msf, 1, 5, bytes, 0, &err));
    assert_false(msf_read(&msf, 1, 1, bytes, 5, &err));
    assert_string_equal(err.text, "stream 1 has 5 bytes instead of 6");
    assert_false(msf_read(&msf, 1, 6, bytes, 0, &err));
    assert_false(msf_read(&msf, 0, 0, bytes, 1, &err));
    assert_false(msf_read(&msf, 77, 0, bytes, 1, &err));
    assert_false(msf_read(&msf, 3, 0xffffffff, bytes, 2, &err));
    msf_fini(&msf);
    buf_fini(&file);
}

/* Neighbouring blocks are read at once: here blocks of 512 bytes in reverse order, and as one run
 * when the directory has them in order. */
static void neighbouring_blocks_are_one_read(void **state)
{
    (void)state;
    enum { BLOCKS = LONG_BYTES / 512 + 1 };
    static uint8_t bytes[LONG_BYTES];
    struct buf file;
    put_sample(&file, 512);
    assert_true(open_bytes(buf_span(&file)));
    memory.reads = 0;
    assert_true(msf_read(&msf, 3, 0, bytes, sizeof(bytes), &err));
    assert_int_equal(memory.reads, BLOCKS);
    uint8_t *numbers = (uint8_t *)msf.blocks.data + (size_t)msf.streams[3].block * 4;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        store_le32(numbers + (size_t)i * 4, 4 + i);
    }
    memory.reads = 0;
    assert_true(msf_read(&msf, 3, 0, bytes, sizeof(bytes), &err));
    assert_int_equal(memory.reads, 1);
    msf_fini(&msf);
    buf_fini(&file);
}

/* All blocks of the directory's list name one block, the header, or a block that does not exist. */
static void blocks_may_overlap_but_must_exist(void **state)
{
    (void)state;
    struct buf file;
    uint8_t bytes[1024];
    put_sample(&file, 512);
    assert_true(open_bytes(buf_span(&file)));
    uint8_t *numbers = (uint8_t *)msf.blocks.data + (size_t)msf.streams[3].block * 4;
    store_le32(numbers, 0);
    store_le32(numbers + 4, 0);
    assert_true(msf_read(&msf, 3, 0, bytes, sizeof(bytes), &err));
    assert_memory_equal(bytes, "Microsoft C/C++ MSF", 19);
    assert_memory_equal(bytes + 512, "Microsoft C/C++ MSF", 19);
    store_le32(numbers + 4, msf.block_count);
    assert_false(msf_read(&msf, 3, 0, bytes, sizeof(bytes), &err));
    assert_int_equal(err.code, ERR_FORMAT);
    store_le32(numbers + 4, 0xffffffff);
    assert_false(msf_read(&msf, 3, 0, bytes, sizeof(bytes), &err));
    msf_fini(&msf);
    buf_fini(&file);
}

static void assert_refused(struct span file, enum error_code code, const char *text)
{
    assert_false(open_bytes(file));
    msf_fini(&msf);
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, text);
}

static void a_damaged_container_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        uint32_t at;
        uint32_t value;
        enum error_code code;
        const char *text;
    } damages[] = {
        {HEADER_BLOCK_SIZE, 513, ERR_FORMAT, "invalid block size of 513 bytes"},
        {HEADER_BLOCK_SIZE, 0, ERR_FORMAT, "invalid block size of 0 bytes"},
        {HEADER_BLOCK_SIZE, 256, ERR_FORMAT, "invalid block size of 256 bytes"},
        {HEADER_BLOCK_SIZE, 65536, ERR_FORMAT, "invalid block size of 65536 bytes"},
        {HEADER_BLOCKS, 3, ERR_FORMAT,
            "refers to block 203 but the file has 3 blocks; it is damaged or truncated"},
        {HEADER_DIRECTORY, 0, ERR_FORMAT, "its directory is empty"},
        {HEADER_DIRECTORY, 0xffffffff, ERR_FORMAT,
            "its directory has 4294967295 bytes but the file only 104448"},
        {HEADER_DIRECTORY, 20, ERR_FORMAT, "5 streams do not fit into its directory of 16 bytes"},
        {HEADER_DIRECTORY, 40, ERR_FORMAT, "its directory ends before the blocks of stream 3"},
        {0x34, 0xfffffff0, ERR_FORMAT,
            "refers to block 4294967280 but the file has 204 blocks; it is damaged or truncated"},
    };
    struct buf file;
    put_sample(&file, 512);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        uint32_t before = load_le32(file.data + damages[i].at);
        store_le32(file.data + damages[i].at, damages[i].value);
        assert_refused(buf_span(&file), damages[i].code, damages[i].text);
        store_le32(file.data + damages[i].at, before);
    }
    assert_refused(span_first(buf_span(&file), 100), ERR_FORMAT, "the file ends inside its header");
    assert_refused(span_first(buf_span(&file), file.size - 512), ERR_FORMAT,
        "the file ends before byte 103944 that its directory points to");
    assert_refused(span_text("MZ"), ERR_FORMAT, "not a PDB file of native code (MSF)");
    assert_refused(span_text("BSJB and so on, as .NET has it. And more of it."), ERR_FORMAT,
        "not a PDB file of native code (MSF)");
    assert_refused(span_text("Microsoft C/C++ program database 2.00\r\n"), ERR_UNSUPPORTED,
        "a PDB file of Visual C++ 6 or older, which is not supported");
    assert_refused(span_text("Microsoft MSFZ Container\r\n\x1a\x41\x4c\x44"), ERR_UNSUPPORTED,
        "a compressed PDB file (MSFZ), which is not supported; use the uncompressed file");
    buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_read_whatever_the_size_of_blocks),
        cmocka_unit_test(what_a_stream_does_not_have_is_not_read),
        cmocka_unit_test(neighbouring_blocks_are_one_read),
        cmocka_unit_test(blocks_may_overlap_but_must_exist),
        cmocka_unit_test(a_damaged_container_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "schema/wpp/msf.h"

#include <stdlib.h>

#include "base/bytes.h"

/*
 * Only the directory of a file is kept in memory, 4 bytes per block. Streams may share blocks in a
 * hostile file. That is harmless, because a caller's request bounds how much is read.
 */
enum {
    HEADER_BYTES = 0x158,
    HEADER_BLOCK_SIZE = 0x20,
    HEADER_BLOCK_COUNT = 0x28,
    HEADER_DIRECTORY_BYTES = 0x2c,
    HEADER_MAP_BLOCKS = 0x34, /* blocks that list the directory's blocks */
    MAX_MAP_BLOCKS = 73,
    MIN_BLOCK_BYTES = 512,
    MAX_BLOCK_BYTES = 32768, /* link /PDBPAGESIZE */
    MAX_DIRECTORY_BYTES = 64 * 1024 * 1024,
    MAX_STREAMS = 1 << 20,
    NUMBER_BYTES = 4,
};

static const uint32_t no_stream = 0xffffffff;

static bool starts_with(struct span head, const char *magic, size_t size)
{
    return head.size >= size && memcmp(head.data, magic, size) == 0;
}

enum msf_kind msf_kind_of(struct span head)
{
    static const char classic[] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
                                  "DS\0\0"; /* and the NUL of the literal */
    static const char old[] = "Microsoft C/C++ program database ";
    static const char compressed[] = "Microsoft MSFZ Container";
    return starts_with(head, classic, sizeof(classic))             ? MSF_CLASSIC
           : starts_with(head, old, MSF_HEAD_BYTES)                ? MSF_OLD
           : starts_with(head, compressed, sizeof(compressed) - 1) ? MSF_COMPRESSED
                                                                   : MSF_NONE;
}

static bool read_exactly(
    const struct msf *msf, uint64_t offset, void *data, size_t size, struct error *err)
{
    size_t got = 0;
    if (!msf->input.read(msf->input.self, offset, data, size, &got, err)) {
        return false;
    }
    return got == size ||
           error_set(err, ERR_FORMAT, "the file ends before byte %llu that its directory points to",
               (unsigned long long)offset + size);
}

static uint32_t blocks_of(const struct msf *msf, uint64_t bytes)
{
    return (uint32_t)((bytes + msf->block_size - 1) / msf->block_size);
}

/* Read ${size} bytes from ${offset} of the stream with the blocks ${list}, which must contain
 * them. */
static bool read_blocks(const struct msf *msf, struct span list, uint64_t offset, uint8_t *data,
    size_t size, struct error *err)
{
    while (size) {
        size_t index = (size_t)(offset / msf->block_size);
        uint32_t within = (uint32_t)(offset % msf->block_size);
        uint32_t first = load_le32(list.data + index * NUMBER_BYTES);
        uint32_t last = first;
        size_t run = msf->block_size - within;
        while (run < size && load_le32(list.data + ++index * NUMBER_BYTES) == last + 1) {
            run += msf->block_size;
            last++;
        }
        run = run < size ? run : size;
        if (first >= msf->block_count || last >= msf->block_count) {
            return error_set(err, ERR_FORMAT,
                "refers to block %lu but the file has %lu blocks; it is damaged or truncated",
                (unsigned long)last, (unsigned long)msf->block_count);
        }
        if (!read_exactly(msf, (uint64_t)first * msf->block_size + within, data, run, err)) {
            return false;
        }
        data += run;
        offset += run;
        size -= run;
    }
    return true;
}

/* ---- the directory --------------------------------------------------------------------------- */

static bool read_header(
    struct msf *msf, uint8_t header[HEADER_BYTES], uint32_t *ret_directory, struct error *err)
{
    size_t got = 0;
    if (!msf->input.read(msf->input.self, 0, header, HEADER_BYTES, &got, err)) {
        return false;
    }
    switch (msf_kind_of(span_make(header, got))) {
    case MSF_NONE:
        return error_set(err, ERR_FORMAT, "not a PDB file of native code (MSF)");
    case MSF_OLD:
        return error_set(
            err, ERR_UNSUPPORTED, "a PDB file of Visual C++ 6 or older, which is not supported");
    case MSF_COMPRESSED:
        return error_set(err, ERR_UNSUPPORTED,
            "a compressed PDB file (MSFZ), which is not supported; use the uncompressed file");
    case MSF_CLASSIC:
        break;
    }
    if (got < HEADER_BYTES) {
        return error_set(err, ERR_FORMAT, "the file ends inside its header");
    }
    msf->block_size = load_le32(header + HEADER_BLOCK_SIZE);
    msf->block_count = load_le32(header + HEADER_BLOCK_COUNT);
    *ret_directory = load_le32(header + HEADER_DIRECTORY_BYTES);
    if (msf->block_size < MIN_BLOCK_BYTES || msf->block_size > MAX_BLOCK_BYTES ||
        (msf->block_size & (msf->block_size - 1))) {
        return error_set(
            err, ERR_FORMAT, "invalid block size of %lu bytes", (unsigned long)msf->block_size);
    }
    if (*ret_directory > MAX_DIRECTORY_BYTES || *ret_directory > msf->input.size) {
        return error_set(err, *ret_directory > msf->input.size ? ERR_FORMAT : ERR_LIMIT,
            "its directory has %lu bytes but the file only %llu", (unsigned long)*ret_directory,
            (unsigned long long)msf->input.size);
    }
    return true;
}

/* The header lists blocks, which list the directory's blocks. */
static bool read_directory(
    struct msf *msf, const uint8_t header[HEADER_BYTES], uint32_t size, struct error *err)
{
    size_t list_bytes = (size_t)blocks_of(msf, size) * NUMBER_BYTES;
    if (blocks_of(msf, list_bytes) > MAX_MAP_BLOCKS) {
        return error_set(err, ERR_FORMAT,
            "its directory of %lu bytes is too large for blocks of %lu", (unsigned long)size,
            (unsigned long)msf->block_size);
    }
    struct span map = span_make(header + HEADER_MAP_BLOCKS, MAX_MAP_BLOCKS * NUMBER_BYTES);
    uint8_t *list = malloc(list_bytes + 1);
    msf->directory = malloc((size_t)size + 1);
    bool ok = false;
    if (!list || !msf->directory) {
        error_set(err, ERR_MEMORY, "no memory for a directory");
    } else {
        ok = read_blocks(msf, map, 0, list, list_bytes, err) &&
             read_blocks(msf, span_make(list, list_bytes), 0, msf->directory, size, err);
    }
    free(list);
    return ok;
}

static bool take_streams(struct msf *msf, struct span directory, struct error *err)
{
    if (directory.size < NUMBER_BYTES) {
        return error_set(err, ERR_FORMAT, "its directory is empty");
    }
    uint32_t count = load_le32(directory.data);
    directory = span_from(directory, NUMBER_BYTES);
    if (count > MAX_STREAMS || count > directory.size / NUMBER_BYTES) {
        return error_set(err, count > MAX_STREAMS ? ERR_LIMIT : ERR_FORMAT,
            "%lu streams do not fit into its directory of %zu bytes", (unsigned long)count,
            directory.size);
    }
    msf->streams = calloc((size_t)count + 1, sizeof(*msf->streams));
    if (!msf->streams) {
        return error_set(err, ERR_MEMORY, "no memory for a directory");
    }
    msf->blocks = span_from(directory, (size_t)count * NUMBER_BYTES);
    uint64_t block = 0;
    uint64_t max_blocks = msf->blocks.size / NUMBER_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = load_le32(directory.data + (size_t)i * NUMBER_BYTES);
        size = size == no_stream ? 0 : size;
        msf->streams[i] = (struct msf_stream){.size = size, .block = (uint32_t)block};
        block += blocks_of(msf, size);
        if (block > max_blocks) {
            return error_set(err, ERR_FORMAT, "its directory ends before the blocks of stream %lu",
                (unsigned long)i);
        }
    }
    msf->stream_count = count;
    return true;
}

bool msf_init(struct msf *msf, const struct msf_input *input, struct error *err)
{
    uint8_t header[HEADER_BYTES];
    uint32_t size = 0;
    *msf = (struct msf){.input = *input};
    return read_header(msf, header, &size, err) && read_directory(msf, header, size, err) &&
           take_streams(msf, span_make(msf->directory, size), err);
}

void msf_fini(struct msf *msf)
{
    free(msf->directory);
    free(msf->streams);
}

/* ---- streams --------------------------------------------------------------------------------- */

uint32_t msf_stream_size(const struct msf *msf, uint32_t stream)
{
    return stream < msf->stream_count ? msf->streams[stream].size : 0;
}

bool msf_read(const struct msf *msf, uint32_t stream, uint32_t offset, void *data, size_t size,
    struct error *err)
{
    uint32_t stream_size = msf_stream_size(msf, stream);
    if (offset > stream_size || size > stream_size - offset) {
        return error_set(err, ERR_FORMAT, "stream %lu has %lu bytes instead of %llu",
            (unsigned long)stream, (unsigned long)stream_size, (unsigned long long)offset + size);
    }
    if (size == 0) {
        return true;
    }
    struct span list = span_from(msf->blocks, (size_t)msf->streams[stream].block * NUMBER_BYTES);
    return read_blocks(msf, list, offset, data, size, err);
}

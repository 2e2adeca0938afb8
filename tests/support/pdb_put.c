#include "support/pdb_put.h"

#include <assert.h>

#include "support/etl_put.h"

enum {
    FIRST_BLOCK = 3, /* after the header and both maps of free blocks */
    MAX_STREAMS = PDB_PUT_FIRST_MODULE + PDB_PUT_MAX_MODULES,
    S_GPROC32 = 0x1110,
    S_ANNOTATION = 0x1019,
};

static void pad_to(struct buf *out, size_t multiple)
{
    size_t past = out->size % multiple;
    if (past) {
        etl_put_zeros(out, multiple - past);
    }
}

/* ---- the container --------------------------------------------------------------------------- */

static size_t blocks_of(size_t bytes, uint32_t block_size)
{
    return (bytes + block_size - 1) / block_size;
}

/* ${bytes} in whole blocks, the last one first. */
static void put_reversed(struct buf *out, uint32_t block_size, struct span bytes)
{
    for (size_t i = blocks_of(bytes.size, block_size); i > 0; i--) {
        buf_add_span(out, span_first(span_from(bytes, (i - 1) * block_size), block_size));
        pad_to(out, block_size);
    }
}

/* The numbers of ${count} blocks that begin at ${first} and stand in the opposite order. */
static void put_numbers(struct buf *out, size_t first, size_t count)
{
    for (size_t i = count; i > 0; i--) {
        etl_put_u32(out, (uint32_t)(first + i - 1));
    }
}

void pdb_put_msf(struct buf *out, uint32_t block_size, const struct span *streams, size_t count)
{
    struct buf directory;
    struct buf map;
    buf_init(&directory, out->max);
    buf_init(&map, out->max);
    size_t block = FIRST_BLOCK;
    etl_put_u32(&directory, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        etl_put_u32(&directory, streams[i].data ? (uint32_t)streams[i].size : 0xffffffff);
    }
    for (size_t i = 0; i < count; i++) {
        size_t blocks = blocks_of(streams[i].size, block_size);
        put_numbers(&directory, block, blocks);
        block += blocks;
    }
    size_t directory_blocks = blocks_of(directory.size, block_size);
    put_numbers(&map, block, directory_blocks);
    block += directory_blocks;
    size_t map_blocks = blocks_of(map.size, block_size);

    buf_add(out, "Microsoft C/C++ MSF 7.00\r\n\x1a\x44\x53\0\0\0", 32);
    etl_put_u32(out, block_size);
    etl_put_u32(out, 1);
    etl_put_u32(out, (uint32_t)(block + map_blocks));
    etl_put_u32(out, (uint32_t)directory.size);
    etl_put_u32(out, 0);
    put_numbers(out, block, map_blocks);
    pad_to(out, block_size);
    etl_put_zeros(out, (FIRST_BLOCK - 1) * (size_t)block_size);
    for (size_t i = 0; i < count; i++) {
        put_reversed(out, block_size, streams[i]);
    }
    put_reversed(out, block_size, buf_span(&directory));
    put_reversed(out, block_size, buf_span(&map));
    out->failed |= directory.failed || map.failed;
    buf_fini(&directory);
    buf_fini(&map);
}

/* ---- the streams ----------------------------------------------------------------------------- */

static void put_info(struct buf *out, const struct pdb_put_options *options)
{
    etl_put_u32(out, 20000404);
    etl_put_u32(out, 0);
    etl_put_u32(out, 1);
    etl_put_zeros(out, 16);
    etl_put_u32(out, 7); /* the names of streams, of an odd size */
    buf_add(out, "/names", 7);
    etl_put_u32(out, 1); /* a table of one of two places */
    etl_put_u32(out, 2);
    etl_put_u32(out, 1);
    etl_put_u32(out, 1);
    etl_put_u32(out, 0);
    etl_put_u32(out, 0);
    etl_put_u32(out, 4);
    etl_put_u32(out, 0);
    etl_put_u32(out, 20140508);
    if (options->is_fastlink) {
        etl_put_u32(out, 0x494e494d);
    }
}

static void put_module(struct buf *out, const struct pdb_put_module *module, size_t stream)
{
    size_t size = module->claimed ? module->claimed : module->symbols.size;
    stream = module->stream ? module->stream : stream;
    etl_put_zeros(out, 34);
    etl_put_u16(out, module->symbols.data ? (uint16_t)stream : 0xffff);
    etl_put_u32(out, (uint32_t)size);
    etl_put_zeros(out, 24);
    etl_put_textz(out, module->name);
    etl_put_textz(out, "some.lib");
    pad_to(out, 4);
}

static void put_dbi(struct buf *out, const struct pdb_put_options *options, struct span modules)
{
    etl_put_u32(out, 0xffffffff);
    etl_put_u32(out, 19990903);
    etl_put_u32(out, 1);
    etl_put_zeros(out, 12);
    etl_put_u32(out, (uint32_t)modules.size);
    etl_put_zeros(out, 28);
    etl_put_u16(out, options->is_stripped ? 2 : 0);
    etl_put_u16(out, 0x8664);
    etl_put_u32(out, 0);
    buf_add_span(out, modules);
}

void pdb_put(struct buf *out, const struct pdb_put_options *options,
    const struct pdb_put_module *modules, size_t count)
{
    struct span streams[MAX_STREAMS] = {{NULL, 0}};
    struct buf info;
    struct buf list;
    struct buf dbi;
    assert(count <= PDB_PUT_MAX_MODULES);
    buf_init(&info, 1 << 16);
    buf_init(&list, 1 << 16);
    buf_init(&dbi, 1 << 16);
    put_info(&info, options);
    for (size_t i = 0; i < count; i++) {
        put_module(&list, &modules[i], PDB_PUT_FIRST_MODULE + i);
        streams[PDB_PUT_FIRST_MODULE + i] = modules[i].symbols;
    }
    put_dbi(&dbi, options, buf_span(&list));
    streams[1] = buf_span(&info);
    streams[3] = buf_span(&dbi);
    pdb_put_msf(out, options->block_size ? options->block_size : 512, streams,
        PDB_PUT_FIRST_MODULE + count);
    out->failed |= info.failed || list.failed || dbi.failed;
    buf_fini(&info);
    buf_fini(&list);
    buf_fini(&dbi);
}

/* ---- symbols --------------------------------------------------------------------------------- */

void pdb_put_signature(struct buf *symbols)
{
    etl_put_u32(symbols, 4);
}

void pdb_put_record(struct buf *symbols, uint16_t kind, struct span data)
{
    size_t padding = (4 - data.size % 4) % 4;
    etl_put_u16(symbols, (uint16_t)(2 + data.size + padding));
    etl_put_u16(symbols, kind);
    buf_add_span(symbols, data);
    etl_put_zeros(symbols, padding);
}

void pdb_put_function(struct buf *symbols, const char *name)
{
    struct buf data;
    buf_init(&data, 1 << 16);
    etl_put_zeros(&data, 35);
    etl_put_textz(&data, name);
    pdb_put_record(symbols, S_GPROC32, buf_span(&data));
    symbols->failed |= data.failed;
    buf_fini(&data);
}

void pdb_put_annotation(struct buf *symbols, const char *const *strings, size_t count)
{
    struct buf data;
    buf_init(&data, 1 << 16);
    etl_put_zeros(&data, 6);
    etl_put_u16(&data, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        etl_put_textz(&data, strings[i]);
    }
    pdb_put_record(symbols, S_ANNOTATION, buf_span(&data));
    symbols->failed |= data.failed;
    buf_fini(&data);
}

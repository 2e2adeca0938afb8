#ifndef ETWSHIP_SCHEMA_MSF_H
#define ETWSHIP_SCHEMA_MSF_H

#include "base/error.h"
#include "base/span.h"

/*
 * Reader of multi-stream files (MSF), the container of PDB files: blocks of one size, and a
 * directory that lists the blocks of each stream in order. Reads only what is requested, in runs of
 * adjacent blocks.
 *
 * Source: "The MSF File Format" in the documentation of LLVM (llvm.org/docs/PDB); BIGMSF_HDR of the
 * microsoft-pdb sources for directories too large for the one block described there.
 */
struct msf_input {
    /* Read up to ${size} bytes at ${offset}; fewer only at the end, like plat_file_read_at. */
    bool (*read)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err);
    void *self;
    uint64_t size; /* file size */
};

enum msf_kind {
    MSF_NONE,       /* something else */
    MSF_CLASSIC,    /* the supported format */
    MSF_OLD,        /* Visual C++ 6 and older */
    MSF_COMPRESSED, /* MSFZ */
};

enum { MSF_HEAD_BYTES = 32 };

/* Format of a file that begins with ${head}: MSF_HEAD_BYTES, or fewer if the file is shorter. */
enum msf_kind msf_kind_of(struct span head);

struct msf_stream {
    uint32_t size;  /* bytes */
    uint32_t block; /* index of its first block in the directory's list */
};

struct msf {
    struct msf_input input;
    uint32_t block_size;
    uint32_t block_count;
    uint8_t *directory; /* as in the file */
    /* part of the directory: block numbers of all streams in sequence */
    struct span blocks;
    struct msf_stream *streams; /* deleted streams are empty */
    uint32_t stream_count;
};

/* Read the directory. ${input->self} is borrowed until msf_fini, which must be called after a
 * failure, too. False with ${err} set if it is not an MSF file or its directory is damaged. */
bool msf_init(struct msf *msf, const struct msf_input *input, struct error *err);
void msf_fini(struct msf *msf);

/* Size of a stream in bytes; 0 if there is no such stream. */
uint32_t msf_stream_size(const struct msf *msf, uint32_t stream);

/* Read exactly ${size} bytes at ${offset} of a stream. False with ${err} set if the stream is
 * shorter or lies outside the file. */
bool msf_read(const struct msf *msf, uint32_t stream, uint32_t offset, void *data, size_t size,
    struct error *err);

#endif

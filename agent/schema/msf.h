#ifndef ETWSHIP_SCHEMA_MSF_H
#define ETWSHIP_SCHEMA_MSF_H

#include "base/error.h"
#include "base/span.h"

/*
 * The container of a PDB file, a multi-stream file (MSF): blocks of one size, and a directory that says
 * of each stream which blocks, in which order, it consists of. Only what is asked for is read, in
 * runs of blocks that lie side by side.
 *
 * "The MSF File Format" in the documentation of LLVM (llvm.org/docs/PDB); where the directory is too
 * large for the one block that this describes, BIGMSF_HDR of the microsoft-pdb sources.
 */
struct msf_input {
    /* Read up to ${size} bytes at ${offset}, fewer only at the end; as plat_file_read_at. */
    bool (*read)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err);
    void *self;
    uint64_t size; /* bytes of the file */
};

enum msf_kind {
    MSF_NONE,       /* something else */
    MSF_CLASSIC,    /* the one that is read here */
    MSF_OLD,        /* of Visual C++ 6 and before */
    MSF_COMPRESSED, /* MSFZ */
};

enum { MSF_HEAD_BYTES = 32 };

/* What a file is that begins with ${head}, MSF_HEAD_BYTES of it or fewer at its end. */
enum msf_kind msf_kind_of(struct span head);

struct msf_stream {
    uint32_t size;  /* bytes */
    uint32_t block; /* the place of its first block in the directory's list */
};

struct msf {
    struct msf_input input;
    uint32_t block_size;
    uint32_t block_count;
    uint8_t *directory;         /* whole, as in the file */
    struct span blocks;         /* of it: numbers of blocks, all streams behind each other */
    struct msf_stream *streams; /* those that do not exist (any more) are empty */
    uint32_t stream_count;
};

/* Read the directory. ${input->self} is borrowed until msf_fini, which is due after a failure, too. False
 * with ${err} set: no MSF file, or one whose directory is damaged. */
bool msf_init(struct msf *msf, const struct msf_input *input, struct error *err);
void msf_fini(struct msf *msf);

/* Bytes of a stream; 0: there is none of that number. */
uint32_t msf_stream_size(const struct msf *msf, uint32_t stream);

/* Read exactly ${size} bytes at ${offset} of a stream. False with ${err} set if it does not have them,
 * or lies outside of the file. */
bool msf_read(const struct msf *msf, uint32_t stream, uint32_t offset, void *data, size_t size,
    struct error *err);

#endif

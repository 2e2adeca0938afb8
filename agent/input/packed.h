#ifndef ETWSHIP_INPUT_PACKED_H
#define ETWSHIP_INPUT_PACKED_H

#include "input/etl_bytes.h"

/*
 * Packed files: gzip and zstd, which hold one file, zip and cab, which hold several. They are known by
 * their first bytes, whatever their names. What is packed inside of a packed file stays as it is.
 * One thread at a time for each walk.
 *
 * gzip is RFC 1952 and zstd RFC 8878; a file may be several members or frames, one behind the other. zip
 * and cab are read by libarchive, where the build has it.
 */
enum packed_kind {
    PACKED_NONE, /* not packed */
    PACKED_GZIP,
    PACKED_ZSTD,
    PACKED_ZIP,
    PACKED_CAB,
    PACKED_OTHER, /* packed in a way that is not read */
};

enum { PACKED_HEAD_BYTES = 8 };

/* What a file is that begins with ${head}, PACKED_HEAD_BYTES or the whole file. ${ret_name}: what people call
 * it; "" if it is not packed. */
enum packed_kind packed_kind_of(struct span head, const char **ret_name);

/* Does the name end as those of packed files do? */
bool packed_is_named(const char *path);

/* Does it hold several files? */
static inline bool packed_is_archive(enum packed_kind kind)
{
    return kind == PACKED_ZIP || kind == PACKED_CAB;
}

/* What a file may become. A small file that is made of zeros, or made to do harm, becomes a large one. */
struct packed_limits {
    uint64_t max_bytes;   /* all of its members together */
    uint64_t free_bytes;  /* so much is unpacked whatever the ratio */
    uint32_t ratio;       /* beyond that: at most so many times the packed bytes */
    uint32_t max_members; /* that are looked at, wanted or not */
    uint32_t max_name_bytes;
    uint32_t max_list_bytes; /* of the list of members of a zip, which is kept in memory */
};

extern const struct packed_limits packed_limits;

enum packed_step {
    PACKED_GO_ON,
    PACKED_SKIP, /* the rest of this member is not wanted */
    PACKED_STOP, /* nor is anything else */
};

/* What a walk calls. All but `begin` and `bytes` may be NULL. */
struct packed_visitor {
    void *self;

    /* A member begins. ${name}: as it stands in the archive, any bytes; empty in gzip and zstd. */
    enum packed_step (*begin)(void *self, struct span name);

    /* Its next bytes, valid until the call returns. */
    enum packed_step (*bytes)(void *self, struct span bytes);

    /* The member that has begun has ended, and nothing is wrong with it. Of gzip and zstd never called. */
    void (*end)(void *self);

    /* ${what} is wrong at byte ${offset} of the packed file: what follows, of the member that has begun
     * or of the file, is missing. Text valid until the call returns. */
    void (*damage)(void *self, uint64_t offset, const char *what);

    /* The member that has begun cannot be unpacked, although nothing is wrong with it. Text valid until the call
     * returns. */
    void (*refuse)(void *self, const char *why);

    /* Is it to end? Asked at least once for 64 KB of the packed file and of what comes of it. */
    bool (*stopped)(void *self);
};

/*
 * Unpack ${bytes}, which are of the kind ${kind}. True also if damage was told. False with ERR_STOPPED if
 * `stopped` said so, with ERR_UNSUPPORTED if this build does not read the kind, with ERR_LIMIT if a limit is
 * reached, or if the file cannot be read. A visitor that returns PACKED_STOP ends the walk: true.
 */
bool packed_walk(struct etl_bytes *bytes, enum packed_kind kind, const struct packed_limits *limits,
    const struct packed_visitor *visitor, struct error *err);

/* The version of libarchive, or NULL: this build has none. */
const char *packed_archive_version(void);

#endif

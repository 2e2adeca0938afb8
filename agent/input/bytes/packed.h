#ifndef ETWSHIP_INPUT_PACKED_H
#define ETWSHIP_INPUT_PACKED_H

#include "input/bytes/etl_bytes.h"

/*
 * Packed files: gzip and zstd, which hold one file, zip and cab, which hold several. They are
 * recognised by their first bytes, whatever their names. Packed files inside packed files are not
 * unpacked. One thread at a time per walk.
 *
 * Sources: gzip is RFC 1952, zstd RFC 8878; a file may have several members or frames in sequence.
 * libarchive reads zip and cab, if the build has it.
 */
enum packed_kind {
    PACKED_NONE, /* not packed */
    PACKED_GZIP,
    PACKED_ZSTD,
    PACKED_ZIP,
    PACKED_CAB,
    PACKED_OTHER, /* packed in an unsupported format */
};

enum { PACKED_HEAD_BYTES = 8 };

/* Format of a file that begins with ${head}: PACKED_HEAD_BYTES, or the whole file if it is shorter.
 * ${ret_name}: name of the format; "" if it is not packed. */
enum packed_kind packed_kind_of(struct span head, const char **ret_name);

/* True if the name has the ending of a packed file. */
bool packed_is_named(const char *path);

/* True if the format holds several files. */
static inline bool packed_is_archive(enum packed_kind kind)
{
    return kind == PACKED_ZIP || kind == PACKED_CAB;
}

/* Limits of unpacking. A small file of zeros, or one made to do harm, becomes a large one. */
struct packed_limits {
    uint64_t max_bytes;   /* all members together */
    uint64_t free_bytes;  /* unpacked regardless of the ratio */
    uint32_t ratio;       /* beyond free_bytes: limit relative to the packed size */
    uint32_t max_members; /* members examined, wanted or not */
    uint32_t max_name_bytes;
    uint32_t max_list_bytes; /* for a zip's list of members, which is kept in memory */
};

extern const struct packed_limits packed_limits;

enum packed_step {
    PACKED_GO_ON,
    PACKED_SKIP, /* the rest of this member is not wanted */
    PACKED_STOP, /* stop the walk */
};

/* Callbacks of a walk. All except `begin` and `bytes` may be NULL. */
struct packed_visitor {
    void *self;

    /* A member begins. ${name}: as in the archive, any bytes; empty for gzip and zstd. */
    enum packed_step (*begin)(void *self, struct span name);

    /* Next bytes of the member, valid until the call returns. */
    enum packed_step (*bytes)(void *self, struct span bytes);

    /* The member ended undamaged. Never called for gzip and zstd. */
    void (*end)(void *self);

    /* Byte ${offset} of the packed file is damaged, described by ${what}: the rest of the current
     * member, or of the file, is missing. The text is valid until the call returns. */
    void (*damage)(void *self, uint64_t offset, const char *what);

    /* The current member cannot be unpacked although it is not damaged. The text is valid until the
     * call returns. */
    void (*refuse)(void *self, const char *why);

    /* True to stop. Polled at least once per 64 KB of the packed file and of the result. */
    bool (*stopped)(void *self);
};

/*
 * Unpack ${bytes} of format ${kind}. True also if damage was reported, or if a callback returned
 * PACKED_STOP. False with ERR_STOPPED if `stopped` returned true, with ERR_UNSUPPORTED if this
 * build lacks the format, with ERR_LIMIT at a limit, or if the file cannot be read.
 */
bool packed_walk(struct etl_bytes *bytes, enum packed_kind kind, const struct packed_limits *limits,
    const struct packed_visitor *visitor, struct error *err);

/* Version of libarchive; NULL if the build has none. */
const char *packed_archive_version(void);

#endif

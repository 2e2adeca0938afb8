#ifndef ETWSHIP_INPUT_TRACE_BOX_H
#define ETWSHIP_INPUT_TRACE_BOX_H

#include "base/map.h"
#include "input/bytes/packed.h"
#include "input/file/trace_scratch.h"

/*
 * Traces that cannot be read in place: in a packed file, or from standard input. A box first lists
 * its traces; trace_box_load then unpacks them into a temporary file. One thread at a time.
 *
 * Of an archive, files with the endings .etl and .evtx are used; packed files in it are refused.
 */
struct box_trace {
    /* for people: PATH/MEMBER, or PATH where there is one alone; no control characters */
    const char *name;
    uint64_t member_hash; /* hash of the member's name */
    struct etl_part part; /* valid once loaded */
    const char *refused;  /* reason why it is unreadable, to follow the name; NULL: readable */
    uint8_t id[16];       /* identity (etl_file.h) */
    bool has_id;          /* trace_box_identify found the identity */
};

/* Environment of boxes; everything borrowed outlives them. */
struct trace_box_env {
    struct trace_scratch *scratch;
    const struct packed_limits *limits; /* NULL: packed_limits */
    void *self;
    bool (*stopped)(void *self); /* polled while unpacking; may be NULL */
    /* Called while loading: byte ${offset} of the packed file is damaged, described by ${what}; the
     * rest of ${name}, a trace or the file, is missing. Texts are valid until the call returns. May
     * be NULL. */
    void (*damage)(void *self, const char *name, uint64_t offset, const char *what);
};

struct trace_box {
    const char *path;
    struct trace_box_env env;
    enum packed_kind kind; /* PACKED_NONE: standard input is an unpacked trace */
    struct etl_handles handles;
    struct etl_bytes bytes;
    struct plat_file *input; /* standard input; NULL: a file */
    struct box_trace *traces;
    size_t count;
    size_t capacity;
    struct map names; /* of traces */
    bool loaded;
    bool told; /* damage was reported in an earlier load */
    bool identified;
};

/* Examine the file ${path}. True with *ret_box NULL: it is not packed, or cannot be opened, which
 * reading it as a trace reports. False with ${err} set: it is packed but unreadable, or
 * ERR_STOPPED. */
bool trace_box_open(const char *path, const struct trace_box_env *env, struct trace_box **ret_box,
    struct error *err);

/* Use standard input, named ${name}. Reads it to its end, so only once per process. NULL: it cannot
 * be read. */
struct trace_box *trace_box_open_stdin(
    const char *name, const struct trace_box_env *env, struct error *err);

void trace_box_destroy(struct trace_box *box); /* NULL is fine */

/* Find the identities of the traces, reading only their first bytes. False: stopped. */
bool trace_box_identify(struct trace_box *box, struct error *err);

/* Unpack all traces after the present content of the scratch file, unless done. Traces that cannot
 * be unpacked are marked as refused. False: stopped. */
bool trace_box_load(struct trace_box *box, struct error *err);

/* The scratch file was truncated to its state before loading. */
void trace_box_unload(struct trace_box *box);

/* Open trace ${index}, which must be loaded, like etl_file_open. */
struct etl_file;
struct trace_naming;
struct arena;
struct etl_file *trace_box_trace(const struct trace_box *box, size_t index,
    const struct trace_naming *naming, struct arena *arena, struct error *err);

#endif

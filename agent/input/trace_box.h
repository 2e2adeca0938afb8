#ifndef ETWSHIP_INPUT_TRACE_BOX_H
#define ETWSHIP_INPUT_TRACE_BOX_H

#include "base/map.h"
#include "input/packed.h"
#include "input/trace_scratch.h"

/*
 * Traces that cannot be read where they are: in a packed file, or from standard input. A box first knows what
 * there is, then, by trace_box_load, holds the bytes in a temporary file. One thread at a time.
 *
 * Of an archive all files are taken whose names end in .etl or .evtx; one that is packed again is refused.
 */
struct box_trace {
    const char *
        name; /* for people: PATH/MEMBER, or PATH where there is one alone; no control characters */
    uint64_t member_hash; /* of its name in the archive */
    struct etl_part part; /* once it is loaded */
    const char *refused;  /* why it cannot be read, after the name; NULL: it can */
    uint8_t id[16];       /* its identity (etl_file.h) ... */
    bool has_id;          /* ... as far as trace_box_identify found one */
};

/* What boxes are given; what is borrowed outlives them. */
struct trace_box_env {
    struct trace_scratch *scratch;
    const struct packed_limits *limits; /* NULL: packed_limits */
    void *self;
    bool (*stopped)(void *self); /* asked while it is unpacked; may be NULL */
    /* ${what} is wrong at byte ${offset} of the packed file, told while it is loaded: what follows of
     * ${name}, a trace or the file, is missing. Texts valid until the call returns. May be NULL. */
    void (*damage)(void *self, const char *name, uint64_t offset, const char *what);
};

struct trace_box {
    const char *path;
    struct trace_box_env env;
    enum packed_kind kind; /* PACKED_NONE: standard input is a trace as it is */
    struct etl_handles handles;
    struct etl_bytes bytes;
    struct plat_file *input; /* standard input; NULL: a file */
    struct box_trace *traces;
    size_t count;
    size_t capacity;
    struct map names; /* of traces */
    bool loaded;
    bool told; /* damage was, when it was loaded before */
    bool identified;
};

/* What is in the file ${path}? True with *ret_box NULL: it is not packed, or cannot be opened, which reading it
 * as a trace tells. False: it is packed, and why it cannot be read, or ERR_STOPPED. */
bool trace_box_open(const char *path, const struct trace_box_env *env, struct trace_box **ret_box,
    struct error *err);

/* Standard input, which is called ${name}; reads it to its end, so once per process. NULL: it cannot be read. */
struct trace_box *trace_box_open_stdin(
    const char *name, const struct trace_box_env *env, struct error *err);

void trace_box_destroy(struct trace_box *box); /* NULL is fine */

/* Find the identities of the traces by their first bytes alone. False: stopped. */
bool trace_box_identify(struct trace_box *box, struct error *err);

/* Unpack all traces behind what the scratch holds, unless it is done. What cannot be unpacked is refused. False:
 * stopped. */
bool trace_box_load(struct trace_box *box, struct error *err);

/* The scratch was cut to before it. */
void trace_box_unload(struct trace_box *box);

/* Open trace number ${index}, which is loaded, as etl_file_open does. */
struct etl_file;
struct trace_naming;
struct arena;
struct etl_file *trace_box_trace(const struct trace_box *box, size_t index,
    const struct trace_naming *naming, struct arena *arena, struct error *err);

#endif

#ifndef ETWSHIP_TESTS_SUPPORT_CRIM_PUT_H
#define ETWSHIP_TESTS_SUPPORT_CRIM_PUT_H

#include "base/buf.h"
#include "base/guid.h"

/*
 * Compiled manifests, as the message compiler (mc.exe of the Windows SDK) lays them out; see
 * agent/schema/README.md, "Program files". Lists end with an entry without name, -1 is no index.
 */
enum { CRIM_PUT_NO_MESSAGE = -1, CRIM_PUT_NONE = -1 };

/* A level, task, opcode, keyword or channel. */
struct crim_put_name {
    const char *name;
    uint64_t value;
    int64_t message;
    uint16_t task;    /* opcode: whose it is */
    bool is_imported; /* channel */
};

struct crim_put_entry {
    uint32_t value;
    int64_t message;
};

struct crim_put_map {
    const char *name;
    const char *signature; /* "VMAP", "BMAP" */
    const struct crim_put_entry *entries;
    size_t count;
};

enum crim_put_flags {
    CRIM_STRUCT = 1,
    CRIM_LENGTH = 2,
    CRIM_LENGTH_OF = 4,
    CRIM_COUNT = 8,
    CRIM_COUNT_OF = 16,
};

struct crim_put_property {
    const char *name;
    uint32_t flags;
    uint8_t in;
    uint8_t out;
    int map; /* index */
    uint16_t count;
    uint16_t length;
    uint16_t first;   /* struct */
    uint16_t members; /* struct */
};

struct crim_put_template {
    const struct crim_put_property *properties; /* top-level ones first; ends without name */
    size_t top_count;
};

struct crim_put_event {
    uint16_t id;
    uint8_t version;
    uint8_t channel;
    uint8_t level;
    uint8_t opcode;
    uint16_t task;
    uint64_t keyword;
    int64_t message;
    int template_at; /* indexes */
    int opcode_at;
    int level_at;
    int task_at;
    int channel_at;
};

struct crim_put_provider {
    struct guid guid;
    const char *name; /* NULL: as compilers before Windows 10 1709 */
    int64_t message;
    const struct crim_put_name *channels;
    const struct crim_put_name *levels;
    const struct crim_put_name *tasks;
    const struct crim_put_name *opcodes;
    const struct crim_put_name *keywords;
    const struct crim_put_map *maps;
    size_t map_count;
    const struct crim_put_template *templates;
    size_t template_count;
    const struct crim_put_event *events;
    size_t event_count;
};

/* Append a manifest to ${out}, which is empty. */
void crim_put(struct buf *out, const struct crim_put_provider *providers, size_t count);

#endif

#ifndef ETWSHIP_ETW_ETW_BLOCK_H
#define ETWSHIP_ETW_ETW_BLOCK_H

#include "etw/etw_control.h"

/*
 * The block of memory that ETW's calls take for a session: EVENT_TRACE_PROPERTIES(_V2), then room
 * for both names; for a start, the extension of EnableFlags, too. ETW writes into it, so it serves
 * one call.
 */
struct etw_block {
    struct etw_properties properties;
    etw_char name[ETW_MAX_NAME_CHARS];
    etw_char file[ETW_MAX_NAME_CHARS];
};

struct etw_start_block {
    struct etw_block block;
    uint32_t extension[ETW_MAX_EXTENSION_BYTES / 4];
};

/* TRACE_ENABLE_FLAG_EXTENSION.Length is 0xff where a list follows. It may be read as a length in
 * dwords as well. */
_Static_assert(ETW_MAX_EXTENSION_BYTES >= 4 * 0xff, "the block holds 0xff dwords");

_Static_assert(offsetof(struct etw_block, name) == 144, "names follow the properties");
_Static_assert(sizeof(struct etw_block) == 144 + 2 * 2048, "both names have their 1024 units");

/* Make it ready to be written into, as version 1 or 2. */
void etw_block_init(struct etw_block *block, int version);

/*
 * Fill it for a start; ${use_ms}: the flush timer's unit. Wnode.BufferSize is that of the whole block,
 * however little of it is used: TraceEvent does the same (TraceEventSession.PropertiesSize), and the
 * toolkit writes an extension of its own into the block. False: the file's name is too long, or the
 * extension.
 */
bool etw_block_fill(struct etw_start_block *start, int version, const struct etw_session_spec *spec,
    bool use_ms, struct error *err);

/* What ETW wrote into it. */
void etw_block_read(const struct etw_block *block, struct etw_session_state *ret_state);

/* A flush timer in the unit that ${mode} has; seconds are rounded up. */
uint32_t etw_block_timer(uint32_t flush_ms, uint32_t mode);

#endif

#ifndef ETWSHIP_ETW_ETW_BLOCK_H
#define ETWSHIP_ETW_ETW_BLOCK_H

#include "etw/session/etw_control.h"

/*
 * The block of memory for ETW's session calls: EVENT_TRACE_PROPERTIES(_V2), then room for both
 * names; for a start also the extension of EnableFlags. ETW writes into it, so each call needs a
 * new one.
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

/* TRACE_ENABLE_FLAG_EXTENSION.Length is 0xff before a list. Some code may read it as a length in
 * dwords. */
_Static_assert(ETW_MAX_EXTENSION_BYTES >= 4 * 0xff, "the block holds 0xff dwords");

_Static_assert(offsetof(struct etw_block, name) == 144, "names follow the properties");
_Static_assert(sizeof(struct etw_block) == 144 + 2 * 2048, "both names have their 1024 units");

/* Initialise it for a query, as version 1 or 2. */
void etw_block_init(struct etw_block *block, int version);

/*
 * Fill it for a start; ${use_ms}: the flush timer's unit. Wnode.BufferSize is the size of the whole
 * block, as in TraceEvent (TraceEventSession.PropertiesSize), since the toolkit writes an extension
 * of its own into it. False: the file's name or the extension is too long.
 */
bool etw_block_fill(struct etw_start_block *start, int version, const struct etw_session_spec *spec,
    bool use_ms, struct error *err);

/* The values that ETW wrote into it. */
void etw_block_read(const struct etw_block *block, struct etw_session_state *ret_state);

/* A flush timer in the unit of ${mode}; seconds are rounded up. */
uint32_t etw_block_timer(uint32_t flush_ms, uint32_t mode);

#endif

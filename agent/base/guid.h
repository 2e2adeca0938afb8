#ifndef ETWSHIP_BASE_GUID_H
#define ETWSHIP_BASE_GUID_H

#include "base/bytes.h"
#include "base/span.h"

/* A GUID as Windows stores it: u32, u16, u16 little-endian, then 8 bytes (RFC 9562 calls this the
 * variant 2 layout). */
struct guid {
    uint8_t bytes[16];
};

enum { GUID_TEXT_SIZE = 36 };

static inline bool guid_equal(const struct guid *a, const struct guid *b)
{
    return load_le64(a->bytes) == load_le64(b->bytes) &&
           load_le64(a->bytes + 8) == load_le64(b->bytes + 8);
}

/* The order of the bytes, for sorting. */
static inline int guid_compare(const struct guid *a, const struct guid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static inline bool guid_is_zero(const struct guid *g)
{
    return (load_le64(g->bytes) | load_le64(g->bytes + 8)) == 0;
}

/* Write 36 characters, lower case with dashes, no braces, no terminator. */
void guid_write(const struct guid *guid, char *text);

/* Read a GUID with or without braces, in either case. False if ${text} is not one. */
bool guid_parse(struct span text, struct guid *ret_guid);

/*
 * The provider GUID that TraceLogging and EventSource derive from a provider name: SHA-1 over a
 * fixed namespace and the upper-cased name in UTF-16BE (TraceLoggingProvider.h, EventSource.cs).
 * ${name} is UTF-8; letters beyond ASCII are not upper-cased.
 */
struct guid guid_from_name(struct span name);

#endif

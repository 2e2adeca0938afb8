#ifndef ETWSHIP_BASE_SPAN_H
#define ETWSHIP_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A borrowed view of bytes: no ownership, no terminator. Passed by value. The empty span may have
 * a NULL pointer. Text in a span is UTF-8 unless its field says otherwise.
 */
struct span {
    const uint8_t *data;
    size_t size;
};

static inline struct span span_make(const void *data, size_t size)
{
    return (struct span){.data = data, .size = size};
}

/* View of a NUL-terminated string without its terminator. NULL gives the empty span. */
static inline struct span span_text(const char *text)
{
    return (struct span){.data = (const uint8_t *)text, .size = text ? strlen(text) : 0};
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool span_is(struct span a, const char *text)
{
    return span_equal(a, span_text(text));
}

/* The bytes from ${offset} on; empty if ${offset} is beyond the end. */
static inline struct span span_from(struct span s, size_t offset)
{
    if (offset >= s.size) {
        return span_make(s.data, 0);
    }
    return span_make(s.data + offset, s.size - offset);
}

/* At most the first ${size} bytes. */
static inline struct span span_first(struct span s, size_t size)
{
    return span_make(s.data, size < s.size ? size : s.size);
}

/* True for ASCII white space. */
static inline bool span_is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* An ASCII letter in lower case; any other byte as it is. */
static inline uint8_t span_lower(uint8_t c)
{
    return (uint8_t)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool span_is_ascii(struct span s);

/* Without leading and trailing white space. */
struct span span_trim(struct span s);

/* Up to its first NUL, if there is one. */
static inline struct span span_until_nul(struct span s)
{
    const uint8_t *nul = s.size ? memchr(s.data, 0, s.size) : NULL;
    return nul ? span_make(s.data, (size_t)(nul - s.data)) : s;
}

/* A copy on the heap, with a NUL behind it. NULL: out of memory. */
char *span_copy(struct span s);

/* Equal, ignoring the case of ASCII letters. */
bool span_equal_nocase(struct span a, struct span b);

/* Offset of the first ${text} in ${s}; SIZE_MAX: it is not in it. */
size_t span_find(struct span s, const char *text);

/* Number of bytes at the front of ${s} that ${is} accepts. */
size_t span_run(struct span s, bool (*is)(uint8_t c));

/* True if ${s} ends in ${end}, ignoring the case of ASCII letters. */
bool span_ends_nocase(struct span s, const char *end);

/* printf arguments for "%.*s". */
#define SPAN_ARG(s) (int)((s).size > 0x7fffffff ? 0x7fffffff : (s).size), (const char *)(s).data

#endif

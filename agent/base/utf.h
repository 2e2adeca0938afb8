#ifndef ETWSHIP_BASE_UTF_H
#define ETWSHIP_BASE_UTF_H

#include "base/span.h"

/*
 * Text of Windows events to UTF-8. The writers below fill memory that the caller reserved: the
 * room needed at most is given by each function's bound. They return the bytes written, never
 * fail, and put U+FFFD in place of what is no character (unpaired surrogates, broken UTF-8,
 * undefined code points of a code page). An odd last byte of UTF-16 is ignored.
 *
 * "json" functions write the inside of a JSON string (RFC 8259 section 7), without the quotes:
 * `"` and `\` escaped, what utf_is_unseen says as \b \f \n \r \t or \uXXXX, everything else as UTF-8.
 */

/*
 * Characters that nobody sees, or that change how others are seen, which names and values from traces
 * must not bring to a terminal or a viewer: C0 controls, DEL, C1 controls, zero-width spaces, joiners and
 * marks, line and paragraph separators, the controls of bidirectional text (Unicode Standard Annex 9,
 * table 4), invisible operators, and the byte order mark.
 */
static inline bool utf_is_unseen(uint32_t c)
{
    bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool is_general = (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
                      (c >= 0x2060 && c <= 0x2069 && c != 0x2065);
    return is_control || is_general || c == 0x061c || c == 0xfeff;
}

/* A bound for every writer: at most 6 output bytes per input byte (\u00xx), plus what the vector
 * code may write beyond its end. */
enum { UTF_SLACK = 64 };

static inline size_t utf16_json_bound(size_t size_bytes)
{
    return size_bytes / 2 * 6 + UTF_SLACK;
}

static inline size_t utf8_json_bound(size_t size_bytes)
{
    return size_bytes * 6 + UTF_SLACK;
}

/* UTF-16LE to JSON string text. Room: utf16_json_bound. */
size_t utf16_to_json(struct span utf16, uint8_t *out);

/* UTF-16LE to plain UTF-8. Room: utf16_json_bound. */
size_t utf16_to_utf8(struct span utf16, uint8_t *out);

/* UTF-8 (not trusted) to JSON string text. Room: utf8_json_bound. */
size_t utf8_to_json(struct span utf8, uint8_t *out);

/* The next character of ${text} at ${*at}, which is advanced past it; U+FFFD for a broken
 * sequence (advanced by one byte at least). ${*at} must be below the size. */
uint32_t utf8_next(struct span text, size_t *at);

/* Encode one character (a surrogate or a value beyond U+10FFFF becomes U+FFFD) into at most four
 * bytes; returns how many. */
size_t utf8_put(uint32_t character, uint8_t *out);

/* Bytes before the first NUL unit of UTF-16LE text, or the even size if there is none. */
size_t utf16_until_nul(struct span utf16);

/*
 * An ANSI code page: what each byte means, and for double-byte code pages each pair. Filled by the
 * platform layer (plat_system.h); codepage_1252 is built in.
 */
struct codepage {
    uint32_t id;           /* Windows number: 1252, 932, 65001 (UTF-8: single and pairs unused) */
    uint16_t single[256];  /* UTF-16 unit; 0xfffd undefined; CODEPAGE_LEAD: first byte of a pair */
    const uint16_t *pairs; /* [lead * 256 + trail], or NULL where the page has none */
    bool is_ascii;         /* single[c] == c below 0x80: ASCII text takes the fast way */
};

enum { CODEPAGE_LEAD = 0xdc00, CODEPAGE_UTF8 = 65001 };

extern const struct codepage codepage_1252;

/* Text in ${page} to JSON string text, or to plain UTF-8. Room: utf8_json_bound. */
size_t codepage_to_json(const struct codepage *page, struct span text, uint8_t *out);
size_t codepage_to_utf8(const struct codepage *page, struct span text, uint8_t *out);

/* The name of the instruction set that utf16_to_json uses on this machine ("ssse3", "sse2",
 * "neon", "scalar"), chosen at the first call. */
const char *utf_engine(void);

/* For tests and benchmarks: use another one from now on. False if this machine lacks it. */
bool utf_set_engine(const char *name);

#endif

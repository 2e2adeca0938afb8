#ifndef ETWSHIP_BASE_UTF_H
#define ETWSHIP_BASE_UTF_H

#include "base/span.h"

/*
 * Converts text of Windows events to UTF-8. The writers fill memory that the caller reserved; each
 * function has a bound for its size. They return the bytes written, never fail, and write U+FFFD
 * for invalid input (unpaired surrogates, invalid UTF-8, undefined code points of a code page). An
 * odd last byte of UTF-16 is ignored.
 *
 * "json" functions write the content of a JSON string (RFC 8259 section 7) without quotes: `"` and
 * `\` escaped, characters of utf_is_unseen as \b \f \n \r \t or \uXXXX, everything else as UTF-8.
 */

/*
 * Invisible characters, and those that change how others are displayed. Names and values from
 * traces must not bring them to a terminal or viewer: C0 controls, DEL, C1 controls, zero-width
 * spaces, joiners and marks, line and paragraph separators, bidirectional controls (Unicode
 * Standard Annex 9, table 4), invisible operators, and the byte order mark.
 */
static inline bool utf_is_unseen(uint32_t c)
{
    bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool is_general = (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
                      (c >= 0x2060 && c <= 0x2069 && c != 0x2065);
    return is_control || is_general || c == 0x061c || c == 0xfeff;
}

/* Bound for every writer: at most 6 output bytes per input byte (\u00xx), plus what vector code may
 * write beyond its end. */
enum { UTF_SLACK = 64 };

static inline size_t utf16_json_bound(size_t size_bytes)
{
    return size_bytes / 2 * 6 + UTF_SLACK;
}

static inline size_t utf8_json_bound(size_t size_bytes)
{
    return size_bytes * 6 + UTF_SLACK;
}

/* Convert UTF-16LE to JSON string text. Size of ${out}: utf16_json_bound. */
size_t utf16_to_json(struct span utf16, uint8_t *out);

/* Convert UTF-16LE to plain UTF-8. Size of ${out}: utf16_json_bound. */
size_t utf16_to_utf8(struct span utf16, uint8_t *out);

/* Convert untrusted UTF-8 to JSON string text. Size of ${out}: utf8_json_bound. */
size_t utf8_to_json(struct span utf8, uint8_t *out);

/* Decode the character of ${text} at ${*at} and advance past it; U+FFFD for an invalid sequence
 * (advances by at least one byte). ${*at} must be below the size. */
uint32_t utf8_next(struct span text, size_t *at);

/* Encode one character into at most four bytes and return their number. A surrogate or value above
 * U+10FFFF becomes U+FFFD. */
size_t utf8_put(uint32_t character, uint8_t *out);

/* Bytes before the first NUL unit of UTF-16LE text, or the even size if there is none. */
size_t utf16_until_nul(struct span utf16);

/*
 * An ANSI code page: the meaning of each byte, and in double-byte code pages of each pair. The
 * platform layer fills it (plat_system.h); codepage_1252 is built in.
 */
struct codepage {
    uint32_t id;           /* Windows number: 1252, 932, 65001 (UTF-8: single and pairs unused) */
    uint16_t single[256];  /* UTF-16 unit; 0xfffd undefined; CODEPAGE_LEAD: first byte of a pair */
    const uint16_t *pairs; /* [lead * 256 + trail], or NULL if the page has none */
    bool is_ascii;         /* single[c] == c below 0x80: ASCII text uses the fast path */
};

enum { CODEPAGE_LEAD = 0xdc00, CODEPAGE_UTF8 = 65001 };

extern const struct codepage codepage_1252;

/* Convert text in ${page} to JSON string text, or to plain UTF-8. Size of ${out}:
 * utf8_json_bound. */
size_t codepage_to_json(const struct codepage *page, struct span text, uint8_t *out);
size_t codepage_to_utf8(const struct codepage *page, struct span text, uint8_t *out);

/* Name of the instruction set that utf16_to_json uses on this machine ("ssse3", "sse2", "neon",
 * "scalar"); selected at the first call. */
const char *utf_engine(void);

/* For tests and benchmarks: use another engine from now on. False if this machine lacks it. */
bool utf_set_engine(const char *name);

#endif

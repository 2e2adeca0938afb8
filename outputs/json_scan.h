#ifndef ETWSHIP_OUTPUTS_JSON_SCAN_H
#define ETWSHIP_OUTPUTS_JSON_SCAN_H

#include "base/span.h"

/*
 * Streaming JSON parser (RFC 8259): input in pieces of any size, no tree, no allocation; calls a
 * function for each token. For replies of servers, which may be long, cut off or not JSON. The
 * grammar is strict, except that UTF-8 in strings is not validated.
 */
enum json_token {
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER, /* its raw text */
    JSON_WORD,   /* true, false, null */
};

enum { JSON_SCAN_MAX_DEPTH = 64, JSON_SCAN_MAX_TEXT = 1024 };

/* ${text}: of keys, strings (unescaped) and numbers, cut at a character to JSON_SCAN_MAX_TEXT
 * bytes; valid during the call. False stops the scan. */
typedef bool (*json_scan_fn)(void *self, enum json_token token, struct span text);

struct json_scan {
    json_scan_fn token;
    void *self;
    uint64_t objects; /* bit N: nesting N is an object */
    unsigned depth;
    int state;
    int number;       /* position in the grammar of numbers */
    const char *word; /* rest of true, false or null */
    uint32_t unit;    /* of \uXXXX, so far */
    unsigned hex_digits;
    uint32_t high; /* first surrogate of a pair, 0: none */
    bool is_key;
    bool is_cut;
    const uint8_t *at;    /* the byte that is read */
    const uint8_t *start; /* of the value; NULL: in an earlier piece */
    size_t size;
    uint8_t text[JSON_SCAN_MAX_TEXT];
};

void json_scan_init(struct json_scan *scan, json_scan_fn token, void *self);

/* False, now and afterwards: not JSON, nested too deep, or stopped by the function. */
bool json_scan_feed(struct json_scan *scan, struct span bytes);

/* During the call for the value ${token}: as it stands in the input, a string with its quotes and
 * escapes. Empty: it began in an earlier piece. */
struct span json_scan_raw(const struct json_scan *scan, enum json_token token);

/* True if the input was one complete object or array, with only white space around it. */
bool json_scan_is_whole(const struct json_scan *scan);

#endif

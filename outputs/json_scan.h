#ifndef ETWSHIP_OUTPUTS_JSON_SCAN_H
#define ETWSHIP_OUTPUTS_JSON_SCAN_H

#include "base/span.h"

/*
 * JSON (RFC 8259) read as it arrives, in pieces of any size, without a tree and without memory of
 * its own: each token is told to a function. For replies of servers, which may be long, cut off, or
 * something else altogether. The grammar is held to the letter, but for the UTF-8 inside of strings,
 * which is passed on as it comes.
 */
enum json_token {
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER, /* as it is written */
    JSON_WORD,   /* true, false, null */
};

enum { JSON_SCAN_MAX_DEPTH = 64, JSON_SCAN_MAX_TEXT = 1024 };

/* ${text}: of keys, strings (without escapes) and numbers, cut on a character at JSON_SCAN_MAX_TEXT
 * bytes; valid during the call. False stops the scan. */
typedef bool (*json_scan_fn)(void *self, enum json_token token, struct span text);

struct json_scan {
    json_scan_fn token;
    void *self;
    uint64_t objects; /* bit N: nesting N is an object */
    unsigned depth;
    int state;
    int number;       /* where in a number */
    const char *word; /* what is left of true, false or null */
    uint32_t unit;    /* of \uXXXX, so far */
    unsigned hex_digits;
    uint32_t high; /* half of a pair of \uXXXX, 0: none */
    bool is_key;
    bool is_cut;
    size_t size;
    uint8_t text[JSON_SCAN_MAX_TEXT];
};

void json_scan_init(struct json_scan *scan, json_scan_fn token, void *self);

/* False, now and from then on: this is no JSON, or is nested too deep, or the function stopped it. */
bool json_scan_feed(struct json_scan *scan, struct span bytes);

/* Was it one whole object or array, with nothing but white space around it? */
bool json_scan_is_whole(const struct json_scan *scan);

#endif

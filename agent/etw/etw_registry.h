#ifndef ETWSHIP_ETW_ETW_REGISTRY_H
#define ETWSHIP_ETW_ETW_REGISTRY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/*
 * The part of the registry that autologgers need: a table of calls, and trees of values in memory.
 * Keys are paths below HKEY_LOCAL_MACHINE, in the 64-bit view, separated by `\`. Text is UTF-8;
 * names are compared without regard to case, as the registry does.
 */
enum etw_registry_type { /* winnt.h: REG_* */
    ETW_REGISTRY_TEXT = 1,
    ETW_REGISTRY_BINARY = 3,
    ETW_REGISTRY_DWORD = 4,
    ETW_REGISTRY_QWORD = 11,
};

enum {
    ETW_REGISTRY_NAME_BYTES =
        1024, /* 255 characters of a key's name, with what they need as UTF-8 */
    ETW_REGISTRY_MAX_DATA_BYTES = 64 * 1024,
    ETW_REGISTRY_MAX_VALUES = 65536, /* of one tree */
    ETW_REGISTRY_MAX_DEPTH = 4,
};

/* Results are Win32 error codes (ETW_ERROR_*), 0 is success. Data is as in the registry, except
 * that texts are UTF-8 without a terminator. */
struct etw_registry_api {
    void *self;

    /* Create the key ${key}, and its parents; an existing key is fine. */
    uint32_t (*make)(void *self, const char *key);

    /* Write a value of an existing key. */
    uint32_t (*set)(void *self, const char *key, const char *name, uint32_t type, struct span data);

    /* The name of the ${index}th key in ${key}; ERROR_NO_MORE_ITEMS: there are no more. */
    uint32_t (*key_at)(
        void *self, const char *key, uint32_t index, char ret_name[ETW_REGISTRY_NAME_BYTES]);

    /* The ${index}th value of ${key}; ${ret_data} is emptied first. */
    uint32_t (*value_at)(void *self, const char *key, uint32_t index,
        char ret_name[ETW_REGISTRY_NAME_BYTES], uint32_t *ret_type, struct buf *ret_data);

    uint32_t (*remove_value)(void *self, const char *key, const char *name);

    /* With everything in it. */
    uint32_t (*remove_key)(void *self, const char *key);
};

/* The registry of this system; NULL: it has none. */
const struct etw_registry_api *etw_registry_load(void);

/* The one in use. Static. */
const struct etw_registry_api *etw_registry_get(void);

/* Use ${api}, which outlives its use; NULL: the system's again. Call before anything else runs. */
void etw_registry_use(const struct etw_registry_api *api);

/* A value at or below the root key of a tree. */
struct etw_registry_value {
    const char *key; /* relative to the root; "": the root */
    const char *name;
    uint32_t type;
    struct span data;
};

/* Values in order of insertion or reading; owned by the tree. */
struct etw_registry_tree {
    struct etw_registry_value *values;
    size_t count;
    size_t capacity;
    bool failed; /* incomplete: out of memory, or beyond the maximum */
    struct arena memory;
};

void etw_registry_init(struct etw_registry_tree *tree);
void etw_registry_fini(struct etw_registry_tree *tree);

/* Add a copy of a value. A failure sets `failed`. */
void etw_registry_put(struct etw_registry_tree *tree, const char *key, const char *name,
    uint32_t type, struct span data);
void etw_registry_put_dword(
    struct etw_registry_tree *tree, const char *key, const char *name, uint32_t number);
void etw_registry_put_qword(
    struct etw_registry_tree *tree, const char *key, const char *name, uint64_t number);
void etw_registry_put_text(
    struct etw_registry_tree *tree, const char *key, const char *name, const char *text);

/* NULL: there is none. */
const struct etw_registry_value *etw_registry_find(
    const struct etw_registry_tree *tree, const char *key, const char *name);

/* The number of a DWORD; false: missing or of another type. */
bool etw_registry_dword(
    const struct etw_registry_tree *tree, const char *key, const char *name, uint32_t *ret_number);

/* True if both have one type and are equal. Texts are compared without regard to case, like paths
 * and GUIDs. */
bool etw_registry_equal(const struct etw_registry_value *a, const struct etw_registry_value *b);

/* Append a value's data for people: 12, 0x1f, text, bytes in hex. */
void etw_registry_show(const struct etw_registry_value *value, struct buf *out);

/*
 * Read all values in ${key} and below it into an empty tree; keys deeper than
 * ETW_REGISTRY_MAX_DEPTH are ignored. False: ERR_MISSING if there is no such key; ERR_LIMIT for
 * more than an autologger has; ERR_IO with the Win32 code; ERR_UNSUPPORTED without a registry.
 */
bool etw_registry_read(const char *key, struct etw_registry_tree *tree, struct error *err);

/* Write all of it to ${key}, in its order; missing keys are created. A failure leaves the values
 * written so far. */
bool etw_registry_write(const char *key, const struct etw_registry_tree *tree, struct error *err);

/* Remove ${key} with everything in it; a missing key is no failure. */
bool etw_registry_remove(const char *key, struct error *err);

/* Remove a value; a missing value is no failure. */
bool etw_registry_remove_value(const char *key, const char *name, struct error *err);

/* Call ${each} with the name of every key in ${key} until it returns false. A missing key has
 * none. */
bool etw_registry_each(
    const char *key, bool (*each)(void *self, const char *name), void *self, struct error *err);

#endif

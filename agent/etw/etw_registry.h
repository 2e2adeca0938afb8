#ifndef ETWSHIP_ETW_ETW_REGISTRY_H
#define ETWSHIP_ETW_ETW_REGISTRY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/*
 * As much of the registry as autologgers need: a table of calls, and trees of values in memory. Keys
 * are paths below HKEY_LOCAL_MACHINE, in the 64-bit view, their parts parted by `\`. Text is UTF-8;
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

/* Results are Win32 error codes (ETW_ERROR_*), 0 is success. Data is what the registry holds, but for
 * texts, which are UTF-8 without an end. */
struct etw_registry_api {
    void *self;

    /* Make the key ${key}, and those above it; one that is there is fine. */
    uint32_t (*make)(void *self, const char *key);

    /* Write a value of a key that is there. */
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

/* Use ${api} instead, which outlives its use; NULL: the system's again. Before anything else runs. */
void etw_registry_use(const struct etw_registry_api *api);

/* A value somewhere below the key that a tree begins with. */
struct etw_registry_value {
    const char *key; /* from there; "": that key itself */
    const char *name;
    uint32_t type;
    struct span data;
};

/* Values in the order in which they were put or read; the memory is the tree's. */
struct etw_registry_tree {
    struct etw_registry_value *values;
    size_t count;
    size_t capacity;
    bool failed; /* without memory, or beyond the maximum: something is missing */
    struct arena memory;
};

void etw_registry_init(struct etw_registry_tree *tree);
void etw_registry_fini(struct etw_registry_tree *tree);

/* Add a value; what is given is copied. A failure shows in `failed`. */
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

/* The number that a DWORD is; false: none is there, or something else. */
bool etw_registry_dword(
    const struct etw_registry_tree *tree, const char *key, const char *name, uint32_t *ret_number);

/* Are both of one type, and equal? Texts without regard to case, as paths and GUIDs are. */
bool etw_registry_equal(const struct etw_registry_value *a, const struct etw_registry_value *b);

/* Append a value's data for people: 12, 0x1f, text, bytes in hex. */
void etw_registry_show(const struct etw_registry_value *value, struct buf *out);

/*
 * Read all values in ${key} and below it into an empty tree; keys deeper than ETW_REGISTRY_MAX_DEPTH
 * are not looked at. False: ERR_MISSING if there is no such key; ERR_LIMIT for more than an autologger
 * has; ERR_IO with the Win32 code; ERR_UNSUPPORTED without a registry.
 */
bool etw_registry_read(const char *key, struct etw_registry_tree *tree, struct error *err);

/* Write all of it to ${key}, in its order; keys are made where there are none. What was written
 * before a failure stays. */
bool etw_registry_write(const char *key, const struct etw_registry_tree *tree, struct error *err);

/* Remove ${key} with everything in it; one that is not there is no failure. */
bool etw_registry_remove(const char *key, struct error *err);

/* Remove a value; one that is not there is no failure. */
bool etw_registry_remove_value(const char *key, const char *name, struct error *err);

/* Call ${each} with the name of every key in ${key} until it returns false. A key that is not there
 * has none. */
bool etw_registry_each(
    const char *key, bool (*each)(void *self, const char *name), void *self, struct error *err);

#endif

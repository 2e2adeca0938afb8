#include "etw/etw_registry.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "etw/etw_types.h"

/*
 * Content of the registry is untrusted: depth, number and size have limits, and a value with a
 * wrong type or size counts as missing.
 */
enum { MAX_KEY_BYTES = 2048, MAX_TREE_BYTES = 16 * 1024 * 1024 };

static _Atomic(const struct etw_registry_api *) used_api;

const struct etw_registry_api *etw_registry_get(void)
{
    const struct etw_registry_api *used = atomic_load(&used_api);
    return used ? used : etw_registry_load();
}

void etw_registry_use(const struct etw_registry_api *api)
{
    atomic_store(&used_api, api);
}

/* ---- trees ----------------------------------------------------------------------------------- */

void etw_registry_init(struct etw_registry_tree *tree)
{
    *tree = (struct etw_registry_tree){.count = 0};
    arena_init(&tree->memory, MAX_TREE_BYTES);
}

void etw_registry_fini(struct etw_registry_tree *tree)
{
    free(tree->values);
    arena_fini(&tree->memory);
    *tree = (struct etw_registry_tree){.count = 0};
}

void etw_registry_put(struct etw_registry_tree *tree, const char *key, const char *name,
    uint32_t type, struct span data)
{
    struct span own_key;
    struct span own_name;
    struct span own_data;
    if (tree->count >= ETW_REGISTRY_MAX_VALUES ||
        !grow_list(&tree->values, tree->count, &tree->capacity, sizeof(*tree->values)) ||
        !arena_copy(&tree->memory, span_text(key), &own_key) ||
        !arena_copy(&tree->memory, span_text(name), &own_name) ||
        !arena_copy(&tree->memory, data, &own_data)) {
        tree->failed = true;
        return;
    }
    tree->values[tree->count++] = (struct etw_registry_value){.key = (const char *)own_key.data,
        .name = (const char *)own_name.data,
        .type = type,
        .data = own_data};
}

void etw_registry_put_dword(
    struct etw_registry_tree *tree, const char *key, const char *name, uint32_t number)
{
    uint8_t data[4];
    store_le32(data, number);
    etw_registry_put(tree, key, name, ETW_REGISTRY_DWORD, span_make(data, sizeof(data)));
}

void etw_registry_put_qword(
    struct etw_registry_tree *tree, const char *key, const char *name, uint64_t number)
{
    uint8_t data[8];
    store_le64(data, number);
    etw_registry_put(tree, key, name, ETW_REGISTRY_QWORD, span_make(data, sizeof(data)));
}

void etw_registry_put_text(
    struct etw_registry_tree *tree, const char *key, const char *name, const char *text)
{
    etw_registry_put(tree, key, name, ETW_REGISTRY_TEXT, span_text(text));
}

const struct etw_registry_value *etw_registry_find(
    const struct etw_registry_tree *tree, const char *key, const char *name)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct etw_registry_value *value = &tree->values[i];
        if (span_equal_nocase(span_text(value->key), span_text(key)) &&
            span_equal_nocase(span_text(value->name), span_text(name))) {
            return value;
        }
    }
    return NULL;
}

bool etw_registry_dword(
    const struct etw_registry_tree *tree, const char *key, const char *name, uint32_t *ret_number)
{
    const struct etw_registry_value *value = etw_registry_find(tree, key, name);
    if (!value || value->type != ETW_REGISTRY_DWORD || value->data.size != 4) {
        return false;
    }
    *ret_number = load_le32(value->data.data);
    return true;
}

bool etw_registry_equal(const struct etw_registry_value *a, const struct etw_registry_value *b)
{
    return a->type == b->type && (a->type == ETW_REGISTRY_TEXT ? span_equal_nocase(a->data, b->data)
                                                               : span_equal(a->data, b->data));
}

void etw_registry_show(const struct etw_registry_value *value, struct buf *out)
{
    enum { SHOWN_BYTES = 64 };
    struct span data = value->data;
    if (value->type == ETW_REGISTRY_TEXT) {
        buf_add_span(out, data);
    } else if (value->type == ETW_REGISTRY_DWORD && data.size == 4) {
        uint32_t number = load_le32(data.data);
        buf_printf(out, number > UINT16_MAX ? "0x%" PRIx32 : "%" PRIu32, number);
    } else if (value->type == ETW_REGISTRY_QWORD && data.size == 8) {
        buf_printf(out, "0x%" PRIx64, load_le64(data.data));
    } else {
        for (size_t i = 0; i < data.size && i < SHOWN_BYTES; i++) {
            buf_printf(out, "%02x", data.data[i]);
        }
        buf_add_text(out, data.size > SHOWN_BYTES ? "..." : data.size ? "" : "nothing");
    }
}

/* ---- the registry ---------------------------------------------------------------------------- */

/* ${child} "": ${parent} itself. */
static bool join(const char *parent, const char *child, char path[MAX_KEY_BYTES], struct error *err)
{
    int size = snprintf(path, MAX_KEY_BYTES, "%s%s%s", parent, *child ? "\\" : "", child);
    return (size > 0 && size < MAX_KEY_BYTES) ||
           error_set(err, ERR_LIMIT, "the name of the registry key is too long");
}

static bool find_api(const struct etw_registry_api **ret_api, struct error *err)
{
    *ret_api = etw_registry_get();
    return *ret_api || error_set(err, ERR_UNSUPPORTED, "this system has no registry");
}

static bool fail(
    struct error *err, uint32_t code, const char *verb, const char *key, const char *name)
{
    const char *why = code == ETW_ERROR_ACCESS_DENIED
                          ? "Windows does not allow it. run as Administrator"
                          : "Windows refuses it";
    error_set(err, ERR_IO, "HKLM\\%.300s%s%.60s cannot be %s: %s (error %" PRIu32 ")", key,
        name ? ", value " : "", name ? name : "", verb, why, code);
    if (err) {
        err->os_code = code;
    }
    return false;
}

struct reading {
    const struct etw_registry_api *api;
    const char *root;
    struct etw_registry_tree *tree;
    struct buf data;
    struct error *err;
};

static bool read_values(struct reading *r, const char *path, const char *below)
{
    char name[ETW_REGISTRY_NAME_BYTES];
    for (uint32_t i = 0; i < ETW_REGISTRY_MAX_VALUES; i++) {
        uint32_t type = 0;
        uint32_t code = r->api->value_at(r->api->self, path, i, name, &type, &r->data);
        if (code == ETW_ERROR_NO_MORE_ITEMS) {
            return true;
        }
        if (code == ETW_ERROR_FILE_NOT_FOUND && i == 0 && !*below) {
            return error_set(r->err, ERR_MISSING, "there is no key HKLM\\%.300s", path);
        }
        if (code) {
            return fail(r->err, code, "read", path, NULL);
        }
        etw_registry_put(r->tree, below, name, type, buf_span(&r->data));
        if (r->tree->failed) {
            break;
        }
    }
    return error_set(r->err, ERR_LIMIT, "HKLM\\%.300s holds more than an autologger does", path);
}

/* Recursion is bounded by the limit of depth. */
static bool read_key(struct reading *r, const char *below, int depth)
{
    char path[MAX_KEY_BYTES];
    char name[ETW_REGISTRY_NAME_BYTES];
    char next[MAX_KEY_BYTES];
    if (!join(r->root, below, path, r->err) || !read_values(r, path, below)) {
        return false;
    }
    for (uint32_t i = 0; depth < ETW_REGISTRY_MAX_DEPTH && i < ETW_REGISTRY_MAX_VALUES; i++) {
        uint32_t code = r->api->key_at(r->api->self, path, i, name);
        if (code == ETW_ERROR_NO_MORE_ITEMS) {
            return true;
        }
        if (code) {
            return fail(r->err, code, "read", path, NULL);
        }
        bool good = *below ? join(below, name, next, r->err) : join(name, "", next, r->err);
        if (!good || !read_key(r, next, depth + 1)) {
            return false;
        }
    }
    return depth >= ETW_REGISTRY_MAX_DEPTH ||
           error_set(r->err, ERR_LIMIT, "HKLM\\%.300s holds more than an autologger does", path);
}

bool etw_registry_read(const char *key, struct etw_registry_tree *tree, struct error *err)
{
    struct reading reading = {.root = key, .tree = tree, .err = err};
    if (!find_api(&reading.api, err)) {
        return false;
    }
    buf_init(&reading.data, ETW_REGISTRY_MAX_DATA_BYTES);
    bool good = read_key(&reading, "", 0);
    buf_fini(&reading.data);
    return good;
}

bool etw_registry_write(const char *key, const struct etw_registry_tree *tree, struct error *err)
{
    const struct etw_registry_api *api;
    char path[MAX_KEY_BYTES];
    const char *made = NULL;
    if (!find_api(&api, err)) {
        return false;
    }
    for (size_t i = 0; i < tree->count; i++) {
        const struct etw_registry_value *value = &tree->values[i];
        if (!join(key, value->key, path, err)) {
            return false;
        }
        if (!made || strcmp(made, value->key) != 0) {
            uint32_t code = api->make(api->self, path);
            if (code) {
                return fail(err, code, "made", path, NULL);
            }
            made = value->key;
        }
        uint32_t code = api->set(api->self, path, value->name, value->type, value->data);
        if (code) {
            return fail(err, code, "written", path, value->name);
        }
    }
    return true;
}

bool etw_registry_remove(const char *key, struct error *err)
{
    const struct etw_registry_api *api;
    if (!find_api(&api, err)) {
        return false;
    }
    uint32_t code = api->remove_key(api->self, key);
    return code == 0 || code == ETW_ERROR_FILE_NOT_FOUND || fail(err, code, "removed", key, NULL);
}

bool etw_registry_remove_value(const char *key, const char *name, struct error *err)
{
    const struct etw_registry_api *api;
    if (!find_api(&api, err)) {
        return false;
    }
    uint32_t code = api->remove_value(api->self, key, name);
    return code == 0 || code == ETW_ERROR_FILE_NOT_FOUND || fail(err, code, "removed", key, name);
}

bool etw_registry_each(
    const char *key, bool (*each)(void *self, const char *name), void *self, struct error *err)
{
    const struct etw_registry_api *api;
    char name[ETW_REGISTRY_NAME_BYTES];
    if (!find_api(&api, err)) {
        return false;
    }
    for (uint32_t i = 0; i < ETW_REGISTRY_MAX_VALUES; i++) {
        uint32_t code = api->key_at(api->self, key, i, name);
        if (code == ETW_ERROR_NO_MORE_ITEMS || (code == ETW_ERROR_FILE_NOT_FOUND && i == 0)) {
            return true;
        }
        if (code) {
            return fail(err, code, "read", key, NULL);
        }
        if (!each(self, name)) {
            return true;
        }
    }
    return true;
}

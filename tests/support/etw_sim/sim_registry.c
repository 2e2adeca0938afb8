#include "support/etw_sim/sim_registry.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/span.h"
#include "etw/etw_types.h"
#include "platform/plat_thread.h"

enum { MAX_ENTRIES = 4096, MAX_LINE = 8192, PATH_BYTES = 1024 };

struct entry {
    char *key;
    char *name; /* NULL: the key itself */
    uint32_t type;
    struct buf data;
};

struct sim_registry {
    struct plat_mutex lock;
    struct etw_registry_api api;
    char path[PATH_BYTES]; /* "": none */
    struct entry entries[MAX_ENTRIES];
    size_t count;
    uint32_t fail_at;
    uint32_t fail_code;
    bool fails_on;
    uint32_t changes;
};

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy) {
        memcpy(copy, text, size);
    }
    return copy;
}

static bool same(const char *a, const char *b)
{
    return span_equal_nocase(span_text(a), span_text(b));
}

static bool is_below(const char *path, const char *above)
{
    size_t size = strlen(above);
    return strlen(path) > size && path[size] == '\\' &&
           span_equal_nocase(span_make(path, size), span_text(above));
}

static void erase(struct sim_registry *r, size_t index)
{
    struct entry *e = &r->entries[index];
    free(e->key);
    free(e->name);
    buf_fini(&e->data);
    r->count--;
    memmove(e, e + 1, (r->count - index) * sizeof(*e));
}

static struct entry *find(struct sim_registry *r, const char *key, const char *name)
{
    for (size_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        if (same(e->key, key) && !e->name == !name && (!name || same(e->name, name))) {
            return e;
        }
    }
    return NULL;
}

static struct entry *add(struct sim_registry *r, const char *key, const char *name)
{
    if (r->count == MAX_ENTRIES) {
        return NULL;
    }
    struct entry *e = &r->entries[r->count++];
    *e = (struct entry){.key = copy_text(key), .name = name ? copy_text(name) : NULL};
    buf_init(&e->data, ETW_REGISTRY_MAX_DATA_BYTES);
    return e;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void clear(struct sim_registry *r)
{
    while (r->count) {
        erase(r, r->count - 1);
    }
}

static void load(struct sim_registry *r)
{
    char line[MAX_LINE];
    FILE *file = r->path[0] ? fopen(r->path, "rb") : NULL;
    if (!r->path[0]) {
        return;
    }
    clear(r);
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        char *name = strchr(line, '\t');
        char *type = name ? strchr(name + 1, '\t') : NULL;
        char *hex = type ? strchr(type + 1, '\t') : NULL;
        if (name) {
            *name++ = 0;
        }
        if (!hex) {
            add(r, line, NULL);
            continue;
        }
        *type++ = 0;
        *hex++ = 0;
        struct entry *e = add(r, line, name);
        e->type = (uint32_t)strtoul(type, NULL, 10);
        for (; hex[0] && hex[1]; hex += 2) {
            const char two[3] = {hex[0], hex[1], 0};
            buf_add_byte(&e->data, (uint8_t)strtoul(two, NULL, 16));
        }
    }
    if (file) {
        fclose(file);
    }
}

static void save(const struct sim_registry *r)
{
    FILE *file = r->path[0] ? fopen(r->path, "wb") : NULL;
    for (size_t i = 0; file && i < r->count; i++) {
        const struct entry *e = &r->entries[i];
        fprintf(file, "%s", e->key);
        if (e->name) {
            fprintf(file, "\t%s\t%u\t", e->name, e->type);
        }
        for (size_t k = 0; k < e->data.size; k++) {
            fprintf(file, "%02x", e->data.data[k]);
        }
        fputc('\n', file);
    }
    if (file) {
        fclose(file);
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Called before anything is changed: 0, or the error that the test has set. */
static uint32_t change(struct sim_registry *r)
{
    load(r);
    r->changes++;
    if (r->fail_at && --r->fail_at == 0) {
        r->fail_at = r->fails_on; /* the next one, too */
        return r->fail_code;
    }
    return 0;
}

static uint32_t do_make(void *self, const char *key)
{
    struct sim_registry *r = self;
    uint32_t code = change(r);
    if (code) {
        return code;
    }
    for (size_t size = 1; size <= strlen(key); size++) {
        char part[PATH_BYTES];
        if (key[size] && key[size] != '\\') {
            continue;
        }
        snprintf(part, sizeof(part), "%.*s", (int)size, key);
        if (!find(r, part, NULL) && !add(r, part, NULL)) {
            return ETW_ERROR_NOT_ENOUGH_MEMORY;
        }
    }
    save(r);
    return 0;
}

static uint32_t do_set(
    void *self, const char *key, const char *name, uint32_t type, struct span data)
{
    struct sim_registry *r = self;
    uint32_t code = change(r);
    if (code || !find(r, key, NULL)) {
        return code ? code : ETW_ERROR_FILE_NOT_FOUND;
    }
    struct entry *e = find(r, key, name);
    e = e ? e : add(r, key, name);
    if (!e) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    e->type = type;
    buf_reset(&e->data);
    buf_add_span(&e->data, data);
    save(r);
    return 0;
}

static uint32_t do_key_at(
    void *self, const char *key, uint32_t index, char ret_name[ETW_REGISTRY_NAME_BYTES])
{
    struct sim_registry *r = self;
    load(r);
    if (!find(r, key, NULL)) {
        return ETW_ERROR_FILE_NOT_FOUND;
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct entry *e = &r->entries[i];
        const char *rest = e->name || !is_below(e->key, key) ? NULL : e->key + strlen(key) + 1;
        if (rest && !strchr(rest, '\\') && index-- == 0) {
            snprintf(ret_name, ETW_REGISTRY_NAME_BYTES, "%s", rest);
            return 0;
        }
    }
    return ETW_ERROR_NO_MORE_ITEMS;
}

static uint32_t do_value_at(void *self, const char *key, uint32_t index,
    char ret_name[ETW_REGISTRY_NAME_BYTES], uint32_t *ret_type, struct buf *ret_data)
{
    struct sim_registry *r = self;
    load(r);
    buf_reset(ret_data);
    if (!find(r, key, NULL)) {
        return ETW_ERROR_FILE_NOT_FOUND;
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct entry *e = &r->entries[i];
        if (e->name && same(e->key, key) && index-- == 0) {
            snprintf(ret_name, ETW_REGISTRY_NAME_BYTES, "%s", e->name);
            *ret_type = e->type;
            buf_add_span(ret_data, buf_span(&e->data));
            return 0;
        }
    }
    return ETW_ERROR_NO_MORE_ITEMS;
}

static uint32_t do_remove_value(void *self, const char *key, const char *name)
{
    struct sim_registry *r = self;
    uint32_t code = change(r);
    const struct entry *e = code ? NULL : find(r, key, name);
    if (!e) {
        return code ? code : ETW_ERROR_FILE_NOT_FOUND;
    }
    erase(r, (size_t)(e - r->entries));
    save(r);
    return 0;
}

static uint32_t do_remove_key(void *self, const char *key)
{
    struct sim_registry *r = self;
    uint32_t code = change(r);
    if (code || !find(r, key, NULL)) {
        return code ? code : ETW_ERROR_FILE_NOT_FOUND;
    }
    for (size_t i = r->count; i > 0; i--) {
        const char *own = r->entries[i - 1].key;
        if (same(own, key) || is_below(own, key)) {
            erase(r, i - 1);
        }
    }
    save(r);
    return 0;
}

/* ---- one at a time: sessions have threads of their own --------------------------------------- */

#define LOCKED(call)               \
    struct sim_registry *r = self; \
    plat_mutex_lock(&r->lock);     \
    uint32_t code = call;          \
    plat_mutex_unlock(&r->lock);   \
    return code

static uint32_t make(void *self, const char *key)
{
    LOCKED(do_make(self, key));
}

static uint32_t set(void *self, const char *key, const char *name, uint32_t type, struct span data)
{
    LOCKED(do_set(self, key, name, type, data));
}

static uint32_t key_at(
    void *self, const char *key, uint32_t index, char ret_name[ETW_REGISTRY_NAME_BYTES])
{
    LOCKED(do_key_at(self, key, index, ret_name));
}

static uint32_t value_at(void *self, const char *key, uint32_t index,
    char ret_name[ETW_REGISTRY_NAME_BYTES], uint32_t *ret_type, struct buf *ret_data)
{
    LOCKED(do_value_at(self, key, index, ret_name, ret_type, ret_data));
}

static uint32_t remove_value(void *self, const char *key, const char *name)
{
    LOCKED(do_remove_value(self, key, name));
}

static uint32_t remove_key(void *self, const char *key)
{
    LOCKED(do_remove_key(self, key));
}

/* ---- for tests ------------------------------------------------------------------------------- */

struct sim_registry *sim_registry_create(const char *path)
{
    struct sim_registry *r = calloc(1, sizeof(*r));
    if (!r) {
        return NULL;
    }
    r->api = (struct etw_registry_api){.self = r,
        .make = make,
        .set = set,
        .key_at = key_at,
        .value_at = value_at,
        .remove_value = remove_value,
        .remove_key = remove_key};
    snprintf(r->path, sizeof(r->path), "%s", path ? path : "");
    plat_mutex_init(&r->lock);
    return r;
}

void sim_registry_destroy(struct sim_registry *registry)
{
    if (registry) {
        clear(registry);
        plat_mutex_fini(&registry->lock);
        free(registry);
    }
}

const struct etw_registry_api *sim_registry_api(struct sim_registry *registry)
{
    return &registry->api;
}

void sim_registry_fail(struct sim_registry *registry, uint32_t nth, uint32_t code)
{
    registry->fail_at = nth;
    registry->fail_code = code;
    registry->fails_on = false;
}

void sim_registry_cut(struct sim_registry *registry, uint32_t nth)
{
    sim_registry_fail(registry, nth, ETW_ERROR_ACCESS_DENIED);
    registry->fails_on = nth != 0;
}

uint32_t sim_registry_changes(const struct sim_registry *registry)
{
    return registry->changes;
}

void sim_registry_dump(const struct sim_registry *registry, struct buf *out)
{
    for (size_t i = 0; i < registry->count; i++) {
        const struct entry *e = &registry->entries[i];
        struct etw_registry_value value = {.type = e->type, .data = buf_span(&e->data)};
        buf_add_text(out, e->key);
        if (e->name) {
            buf_printf(out, " %s=", e->name);
            etw_registry_show(&value, out);
        }
        buf_add_byte(out, '\n');
    }
}

#include "outputs/file/file_bound.h"

#include <stdlib.h>

#include "outputs/file/file_number.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { SCRATCH_BYTES = 4 * EVENT_TEMPLATE_MAX_BYTES };

void file_bound_init(struct file_bound *bound, const struct event_template *template, size_t max)
{
    *bound = (struct file_bound){.template = template, .max = max};
    buf_init(&bound->scratch, SCRATCH_BYTES);
}

void file_bound_fini(struct file_bound *bound)
{
    free(bound->slots);
    buf_fini(&bound->scratch);
    bound->slots = NULL;
}

/* ---- paths that fields have made ------------------------------------------------------------- */

/* The slot of ${hash}, or an empty one. There is always one. */
static uint64_t *slot_in(uint64_t *slots, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (slots[at] && slots[at] != hash) {
        at = (at + 1) & (capacity - 1);
    }
    return &slots[at];
}

static bool grow(struct file_bound *bound)
{
    if (bound->count * 2 < bound->capacity) {
        return true;
    }
    size_t capacity = bound->capacity ? bound->capacity * 2 : 64;
    uint64_t *slots = calloc(capacity, sizeof(*slots));
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < bound->capacity; i++) {
        if (bound->slots[i]) {
            *slot_in(slots, capacity, bound->slots[i]) = bound->slots[i];
        }
    }
    free(bound->slots);
    bound->slots = slots;
    bound->capacity = capacity;
    return true;
}

/* Hash of ${path} without the digits of its time. 0: the template cannot give it. */
static uint64_t hash_of(struct file_bound *bound, struct span path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    buf_reset(&bound->scratch);
    if (!buf_reserve(&bound->scratch, path.size + 1) ||
        !event_template_find_times(bound->template, path, bound->scratch.data)) {
        return 0;
    }
    for (size_t i = 0; i < path.size; i++) {
        uint8_t c = bound->scratch.data[i] ? 0 : path.data[i];
        hash = (hash ^ c) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 32; /* the low bits choose the slot */
    return hash ? hash : 1;
}

enum taken { TAKEN, TOO_MANY, NO_MEMORY };

static enum taken take(struct file_bound *bound, struct span path)
{
    uint64_t hash = hash_of(bound, path);
    if (!hash) {
        return TAKEN;
    }
    if (!grow(bound)) {
        return NO_MEMORY;
    }
    uint64_t *slot = slot_in(bound->slots, bound->capacity, hash);
    if (!*slot && bound->count >= bound->max) {
        return TOO_MANY;
    }
    bound->count += !*slot;
    *slot = hash;
    return TAKEN;
}

/* ---- existing files -------------------------------------------------------------------------- */

/* True for the overflow file, which is not counted. */
static bool is_overflow(struct file_bound *bound, struct span path)
{
    buf_reset(&bound->scratch);
    return event_template_refill(
               bound->template, path, span_text(FILE_BOUND_OVERFLOW), &bound->scratch) &&
           !bound->scratch.failed && span_equal(path, buf_span(&bound->scratch));
}

static bool count_one(void *self, const char *path)
{
    struct file_bound *bound = self;
    if (is_overflow(bound, span_text(path))) {
        return true;
    }
    return take(bound, span_text(path)) == TAKEN && bound->count < bound->max;
}

/* True if the common folder of all files exists. */
static bool has_folder(struct file_bound *bound)
{
    buf_reset(&bound->scratch);
    event_template_start(bound->template, &bound->scratch);
    buf_add_byte(&bound->scratch, 0);
    char *folder = bound->scratch.failed ? NULL
                                         : file_number_folder((const char *)bound->scratch.data);
    bool has = !folder || plat_path_kind(folder) != PLAT_PATH_NONE;
    free(folder);
    return has;
}

bool file_bound_load(struct file_bound *bound, struct error *err)
{
    if (!has_folder(bound)) {
        return true; /* it is created with the first file */
    }
    struct buf pattern;
    struct error why = {0};
    buf_init(&pattern, SCRATCH_BYTES);
    event_template_pattern(bound->template, &pattern);
    buf_add_byte(&pattern, 0);
    bool good = pattern.failed ? error_set(&why, ERR_MEMORY, "out of memory")
                               : plat_glob((const char *)pattern.data, count_one, bound, &why) ||
                                     why.code == ERR_CONFIG; /* no file matches */
    buf_fini(&pattern);
    if (!good && err) {
        *err = why;
    }
    return good;
}

/* ---- paths of events ------------------------------------------------------------------------- */

bool file_bound_take(
    struct file_bound *bound, struct span path, struct span *ret_path, struct error *err)
{
    enum taken taken = take(bound, path);
    *ret_path = path;
    if (taken == TOO_MANY) {
        buf_reset(&bound->scratch);
        event_template_refill(
            bound->template, path, span_text(FILE_BOUND_OVERFLOW), &bound->scratch);
        *ret_path = buf_span(&bound->scratch);
    }
    return (taken != NO_MEMORY && !bound->scratch.failed) ||
           error_set(err, ERR_MEMORY, "out of memory");
}

#include "outputs/file/file_keep.h"

#include <stdlib.h>

#include "base/grow.h"
#include "outputs/file/file_number.h"
#include "platform/plat_path.h"

enum { KEY_BYTES = 16, MAX_FOUND = 1000000 };

/* A finished file. */
struct found {
    uint8_t key[KEY_BYTES]; /* digits of its time, year first */
    uint64_t number;        /* UINT64_MAX: not rotated */
    char *path;
};

struct family {
    struct file_set *set;
    struct span path;     /* of one member */
    const uint8_t *times; /* as event_template_find_times gives it; NULL: none */
    bool has_times;
    struct found *list;
    size_t count;
    size_t capacity;
    bool no_memory;
};

static bool is_time(const struct family *family, size_t at)
{
    return family->times && family->times[at];
}

/* True if ${path} begins like the family's paths, except for the digits of the time. */
static bool is_member(const struct family *family, struct span path)
{
    if (path.size < family->path.size) {
        return false;
    }
    for (size_t i = 0; i < family->path.size; i++) {
        uint8_t c = path.data[i];
        bool good = is_time(family, i) ? c >= '0' && c <= '9' : c == family->path.data[i];
        if (!good) {
            return false;
        }
    }
    return true;
}

static void make_key(const struct family *family, struct span path, uint8_t key[KEY_BYTES])
{
    size_t size = 0;
    memset(key, 0, KEY_BYTES);
    for (const char *letter = "YmdHM"; *letter; letter++) {
        for (size_t i = 0; i < family->path.size && size < KEY_BYTES; i++) {
            if (is_time(family, i) && family->times[i] == (uint8_t)*letter) {
                key[size++] = path.data[i];
            }
        }
    }
}

static bool add(struct family *family, const char *text, uint64_t number)
{
    if (family->count == MAX_FOUND ||
        !grow_list(&family->list, family->count, &family->capacity, sizeof(*family->list))) {
        return false;
    }
    struct found *found = &family->list[family->count];
    found->path = span_copy(span_text(text));
    if (!found->path) {
        return false;
    }
    found->number = number;
    make_key(family, span_text(text), found->key);
    family->count++;
    return true;
}

static bool look_at(void *self, const char *text)
{
    struct family *family = self;
    struct span path = span_text(text);
    struct file_number number = {.number = UINT64_MAX};
    if (!is_member(family, path)) {
        return true;
    }
    struct span ending = span_from(path, family->path.size);
    if (ending.size ? !file_number_parse(ending, &number) : !family->has_times) {
        return true;
    }
    /* Names alone are ambiguous: `Sensor.7` may be the file of a provider with that name. */
    if (!family->set->marks || !file_marks_has_at(family->set->marks, text, family->path.size)) {
        return true;
    }
    const struct file_entry *entry = ending.size ? NULL : file_set_find(family->set, path);
    if (!(entry && entry->file) && !add(family, text, number.number)) {
        family->no_memory = true;
    }
    return !family->no_memory;
}

static bool collect(struct family *family, const char *ending, struct error *err)
{
    size_t ending_size = strlen(ending) + 1;
    char *pattern = malloc(family->path.size + ending_size);
    if (!pattern) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < family->path.size; i++) {
        pattern[i] = is_time(family, i) ? '?' : (char)family->path.data[i];
    }
    memcpy(pattern + family->path.size, ending, ending_size);
    struct error reason = {0};
    bool good = plat_glob(pattern, look_at, family, &reason) || reason.code == ERR_CONFIG;
    free(pattern);
    if (family->no_memory) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!good && err) {
        *err = reason;
    }
    return good;
}

/* Newest first. */
static int by_age(const void *a_, const void *b_)
{
    const struct found *a = a_;
    const struct found *b = b_;
    int order = memcmp(b->key, a->key, KEY_BYTES);
    return order ? order : (a->number < b->number) - (a->number > b->number);
}

static bool remove_old(struct family *family, uint64_t keep, struct error *err)
{
    bool good = true;
    if (family->count > keep) {
        qsort(family->list, family->count, sizeof(*family->list), by_age);
        for (size_t i = (size_t)keep; i < family->count; i++) {
            bool removed = plat_path_remove(family->list[i].path, err);
            if (removed) {
                file_marks_remove(family->set->marks, span_text(family->list[i].path));
            }
            good = removed && good;
        }
    }
    return good;
}

bool file_keep_newest(struct file_set *set, const struct event_template *template, const char *path,
    uint64_t keep, struct error *err)
{
    struct family family = {.set = set, .path = span_text(path)};
    uint8_t *times = template ? malloc(family.path.size + 1) : NULL;
    if (times && event_template_find_times(template, family.path, times)) {
        family.times = times;
        for (size_t i = 0; i < family.path.size; i++) {
            family.has_times = family.has_times || times[i];
        }
    }
    bool good = collect(&family, ".*", err) && (!family.has_times || collect(&family, "", err)) &&
                remove_old(&family, keep, err);
    for (size_t i = 0; i < family.count; i++) {
        free(family.list[i].path);
    }
    free(family.list);
    free(times);
    return good;
}

#include "input/file/input_schedule.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/reader.h"

/*
 * Encoding: a version (1), flags for a base (0, 1) and its identity, then the entries: kind, file
 * number and, depending on the kind, a value. Numbers are little-endian groups of seven bits. Files
 * are numbered in order of appearance; a new one is followed by its identity. Readings are stored
 * as the difference to the previous one of the file.
 */
enum { VERSION = 1, HAS_BASE = 1, HAS_RENUMBERED = 2, MAX_NUMBER_BYTES = 10 };

static const bool has_value[SCHEDULE_KINDS] = {
    [SCHEDULE_WHOLE] = true,
    [SCHEDULE_OPEN] = true,
    [SCHEDULE_START] = true,
    [SCHEDULE_READ] = true,
    [SCHEDULE_HEADER] = true,
    [SCHEDULE_END] = true,
};

void input_schedule_init(struct input_schedule *s)
{
    *s = (struct input_schedule){.entries = NULL};
    map_init(&s->by_id, SCHEDULE_MAX_FILES);
    arena_init(&s->ids, (size_t)SCHEDULE_MAX_FILES * 64);
}

void input_schedule_fini(struct input_schedule *s)
{
    map_fini(&s->by_id);
    arena_fini(&s->ids);
    free(s->entries);
    free(s->files);
    *s = (struct input_schedule){.entries = NULL};
}

/* The map's values are numbers from 1 disguised as pointers, which need no memory. */
static bool find_file(const struct input_schedule *s, const uint8_t *id, uint32_t *ret_file)
{
    const void *number = map_get(&s->by_id, span_make(id, sizeof(s->files->id)));
    if (number) {
        *ret_file = (uint32_t)((uintptr_t)number - 1);
    }
    return number != NULL;
}

static bool add_file(struct input_schedule *s, const uint8_t *id)
{
    if (!grow_list(&s->files, s->file_count, &s->file_capacity, sizeof(*s->files))) {
        return false;
    }
    struct schedule_file *file = &s->files[s->file_count];
    struct span key;
    *file = (struct schedule_file){.done = false};
    memcpy(file->id, id, sizeof(file->id));
    if (!arena_copy(&s->ids, span_make(id, sizeof(file->id)), &key) ||
        !map_put(&s->by_id, key, (void *)(uintptr_t)(s->file_count + 1))) {
        return false;
    }
    s->file_count++;
    return true;
}

static bool add_entry(struct input_schedule *s, const struct schedule_entry *entry)
{
    if (s->first && s->first + s->count == s->capacity) {
        memmove(s->entries, s->entries + s->first, s->count * sizeof(*s->entries));
        s->first = 0;
    }
    if (s->count >= SCHEDULE_MAX_ENTRIES ||
        !grow_list(&s->entries, s->count, &s->capacity, sizeof(*s->entries))) {
        return false;
    }
    s->entries[s->first + s->count++] = *entry;
    return true;
}

void input_schedule_add(
    struct input_schedule *s, enum schedule_kind kind, const uint8_t file_id[16], uint64_t value)
{
    uint32_t file = (uint32_t)s->file_count;
    if (!find_file(s, file_id, &file) && !add_file(s, file_id)) {
        s->incomplete = true;
        return;
    }
    if (s->count && kind == SCHEDULE_READ) {
        struct schedule_entry *last = &s->entries[s->first + s->count - 1];
        if (last->kind == SCHEDULE_READ && last->file == file) {
            last->value = value;
            return;
        }
    }
    const struct schedule_entry entry = {.kind = (uint8_t)kind, .file = file, .value = value};
    s->incomplete = s->incomplete || !add_entry(s, &entry);
}

/* Index of the last entry of each file. */
static size_t *find_last(const struct input_schedule *s)
{
    size_t *last = calloc(s->file_count + 1, sizeof(*last));
    for (size_t i = 0; last && i < s->count; i++) {
        last[s->entries[s->first + i].file] = i;
    }
    return last;
}

void input_schedule_settle(struct input_schedule *s, const uint8_t file_id[16])
{
    uint32_t file;
    if (!find_file(s, file_id, &file)) {
        return;
    }
    s->files[file].done = true;
    size_t *last = find_last(s);
    size_t dropped = 0;
    size_t needed = 0;     /* number of entries to drop together with those seen so far */
    uint32_t ended = file; /* the file that ended last among them */
    for (size_t i = 0; last && i < s->count; i++) {
        const struct schedule_entry *entry = &s->entries[s->first + i];
        if (!s->files[entry->file].done) {
            break;
        }
        bool merged = entry->kind == SCHEDULE_WHOLE && entry->value;
        size_t end = last[entry->file] + 1 + merged;
        needed = end > needed ? end : needed;
        if (entry->kind == SCHEDULE_WHOLE || entry->kind == SCHEDULE_END) {
            ended = entry->file;
        }
        if (needed == i + 1) {
            dropped = needed;
            s->has_base = true;
            memcpy(s->base, s->files[ended].id, sizeof(s->base));
        }
    }
    free(last);
    s->first += dropped;
    s->count -= dropped;
}

static void put_number(struct buf *out, uint64_t value)
{
    while (value >= 0x80) {
        buf_add_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    buf_add_byte(out, (uint8_t)value);
}

/* Append an entry. ${numbers} and ${reached}: per file, its number in the text (0: none yet) and
 * its last reading. */
static void put_entry(const struct input_schedule *s, const struct schedule_entry *entry,
    uint64_t *numbers, uint64_t *reached, uint64_t *count, struct buf *out)
{
    bool is_new = numbers[entry->file] == 0;
    if (is_new) {
        numbers[entry->file] = ++*count;
    }
    buf_add_byte(out, entry->kind);
    put_number(out, numbers[entry->file] - 1);
    if (is_new) {
        buf_add(out, s->files[entry->file].id, sizeof(s->files[entry->file].id));
    }
    if (entry->kind == SCHEDULE_READ) {
        put_number(out, entry->value - reached[entry->file]);
        reached[entry->file] = entry->value;
    } else if (has_value[entry->kind]) {
        put_number(out, entry->value);
    }
}

bool input_schedule_write(const struct input_schedule *s, struct buf *out, struct error *err)
{
    if (s->incomplete) {
        return error_set(err, ERR_LIMIT,
            "too many read steps to save the position. after a restart events may be delivered "
            "twice");
    }
    uint64_t *numbers = calloc(s->file_count * 2 + 1, sizeof(*numbers));
    if (!numbers) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    uint64_t count = 0;
    buf_add_byte(out, VERSION);
    buf_add_byte(out, (s->has_base ? HAS_BASE : 0) | (s->renumbered_after ? HAS_RENUMBERED : 0));
    if (s->has_base) {
        buf_add(out, s->base, sizeof(s->base));
    }
    if (s->renumbered_after) {
        put_number(out, s->renumbered_after);
    }
    for (size_t i = 0; i < s->count; i++) {
        put_entry(s, &s->entries[s->first + i], numbers, numbers + s->file_count, &count, out);
    }
    free(numbers);
    return !out->failed ||
           error_set(err, ERR_LIMIT,
               "too many read steps to save the position. after a restart events may "
               "be delivered twice");
}

static bool read_number(struct reader *r, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < MAX_NUMBER_BYTES; i++) {
        uint8_t byte = reader_u8(r);
        uint64_t bits = byte & 0x7f;
        if (r->failed || (i == MAX_NUMBER_BYTES - 1 && bits > 1)) {
            return false;
        }
        value |= bits << (7 * i);
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

enum read_result { READ_GOOD, READ_WRONG, READ_NO_MEMORY };

static enum read_result read_entry(struct reader *r, struct input_schedule *s)
{
    struct schedule_entry entry = {.kind = reader_u8(r)};
    uint64_t file;
    if (entry.kind >= SCHEDULE_KINDS || !read_number(r, &file) || file > s->file_count) {
        return READ_WRONG;
    }
    entry.file = (uint32_t)file;
    if (file == s->file_count) {
        struct span id = reader_take(r, sizeof(s->files->id));
        uint32_t known;
        if (r->failed || find_file(s, id.data, &known)) {
            return READ_WRONG;
        }
        if (!add_file(s, id.data)) {
            return READ_NO_MEMORY;
        }
    }
    if (has_value[entry.kind] && !read_number(r, &entry.value)) {
        return READ_WRONG;
    }
    return add_entry(s, &entry) ? READ_GOOD : READ_NO_MEMORY;
}

/* Convert readings from differences to positions. */
static bool sum_readings(struct input_schedule *s)
{
    uint64_t *reached = calloc(s->file_count + 1, sizeof(*reached));
    for (size_t i = 0; reached && i < s->count; i++) {
        struct schedule_entry *entry = &s->entries[s->first + i];
        if (entry->kind == SCHEDULE_READ) {
            reached[entry->file] += entry->value; /* wraps like the difference */
            entry->value = reached[entry->file];
        }
    }
    free(reached);
    return reached != NULL;
}

static enum read_result read_base(struct reader *r, struct input_schedule *s)
{
    uint8_t flags = reader_u8(r);
    if (flags & HAS_BASE) {
        struct span id = reader_take(r, sizeof(s->base));
        if (id.size) {
            memcpy(s->base, id.data, sizeof(s->base));
            s->has_base = true;
        }
    }
    bool good = !(flags & HAS_RENUMBERED) ||
                (read_number(r, &s->renumbered_after) && s->renumbered_after);
    return r->failed || !good || flags > (HAS_BASE | HAS_RENUMBERED) ? READ_WRONG : READ_GOOD;
}

bool input_schedule_read(struct span bytes, struct input_schedule *s, struct error *err)
{
    struct reader r = reader_make(bytes);
    enum read_result result = reader_u8(&r) == VERSION ? read_base(&r, s) : READ_WRONG;
    while (result == READ_GOOD && reader_left(&r)) {
        result = read_entry(&r, s);
    }
    if (result == READ_GOOD && sum_readings(s)) {
        return true;
    }
    input_schedule_fini(s);
    input_schedule_init(s);
    return result == READ_WRONG ? error_set(err, ERR_FORMAT, "the saved read position is damaged")
                                : error_set(err, ERR_MEMORY, "out of memory");
}

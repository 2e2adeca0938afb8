#include "input/live/evt_marks.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "base/reader.h"

/* Stored form: a version, then for each channel with a bookmark the size of its name, the name, and
 * the record. */
enum { VERSION = 1, MAX_NAME_BYTES = 1024 };

struct channel {
    char *name;
    size_t name_size;
    uint64_t bookmark;
};

/* Records ${id}, ${id} + 1, …, with numbers ${number}, ${number} + 1, … */
struct run {
    uint64_t id;
    uint64_t number;
    uint32_t count;
    uint32_t channel;
};

struct evt_marks {
    struct plat_mutex mutex;
    struct channel *channels;
    size_t channel_count;
    size_t channel_capacity;
    struct run *runs; /* in the order of their numbers, from `first` on */
    size_t first;
    size_t count;
    size_t capacity;
};

struct evt_marks *evt_marks_create(struct error *err)
{
    struct evt_marks *marks = calloc(1, sizeof(*marks));
    if (!marks) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    plat_mutex_init(&marks->mutex);
    return marks;
}

void evt_marks_destroy(struct evt_marks *marks)
{
    if (!marks) {
        return;
    }
    for (size_t i = 0; i < marks->channel_count; i++) {
        free(marks->channels[i].name);
    }
    free(marks->channels);
    free(marks->runs);
    plat_mutex_fini(&marks->mutex);
    free(marks);
}

/* ---- channels -------------------------------------------------------------------------------- */

static struct span name_of(const struct channel *channel)
{
    return span_make(channel->name, channel->name_size);
}

static size_t add_channel(struct evt_marks *marks, struct span name)
{
    if (marks->channel_count == EVT_MARKS_MAX_CHANNELS || name.size > MAX_NAME_BYTES) {
        return SIZE_MAX;
    }
    bool has_room = grow_list(
        &marks->channels, marks->channel_count, &marks->channel_capacity, sizeof(*marks->channels));
    char *copy = has_room ? span_copy(name) : NULL;
    if (!copy) {
        return SIZE_MAX;
    }
    marks->channels[marks->channel_count] = (struct channel){.name = copy, .name_size = name.size};
    return marks->channel_count++;
}

static size_t find_channel(struct evt_marks *marks, struct span name)
{
    for (size_t i = 0; i < marks->channel_count; i++) {
        if (span_equal_nocase(name_of(&marks->channels[i]), name)) {
            return i;
        }
    }
    return add_channel(marks, name);
}

size_t evt_marks_channel(struct evt_marks *marks, struct span name)
{
    plat_mutex_lock(&marks->mutex);
    size_t index = find_channel(marks, name);
    plat_mutex_unlock(&marks->mutex);
    return index;
}

uint64_t evt_marks_bookmark(struct evt_marks *marks, size_t channel)
{
    plat_mutex_lock(&marks->mutex);
    uint64_t id = marks->channels[channel].bookmark;
    plat_mutex_unlock(&marks->mutex);
    return id;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Drop all runs except the last one of each channel. */
static void thin_out(struct evt_marks *marks)
{
    bool has_later[EVT_MARKS_MAX_CHANNELS] = {false};
    size_t to = marks->first + marks->count;
    for (size_t i = to; marks->runs && i-- > marks->first;) {
        struct run run = marks->runs[i];
        if (!has_later[run.channel]) {
            has_later[run.channel] = true;
            marks->runs[--to] = run;
        }
    }
    marks->count = marks->first + marks->count - to;
    marks->first = to;
}

static bool reserve(struct evt_marks *marks)
{
    if (marks->count == EVT_MARKS_MAX_RUNS) {
        thin_out(marks);
    }
    if (marks->first + marks->count < marks->capacity) {
        return true;
    }
    if (marks->runs && marks->first > marks->count) {
        memmove(marks->runs, marks->runs + marks->first, marks->count * sizeof(*marks->runs));
        marks->first = 0;
        return true;
    }
    return grow_list(
        &marks->runs, marks->first + marks->count, &marks->capacity, sizeof(*marks->runs));
}

/* Add the record to ${run} if it continues it. A record without an event of its own only moves the
 * end of the run. */
static bool extend(struct run *run, size_t channel, uint64_t id, uint64_t number)
{
    if (run->channel != channel || run->count == UINT32_MAX) {
        return false;
    }
    if (id == run->id + run->count && number == run->number + run->count) {
        run->count++;
        return true;
    }
    if (run->count == 1 && number == run->number) {
        run->id = id;
        return true;
    }
    return false;
}

bool evt_marks_add(struct evt_marks *marks, size_t channel, uint64_t id, uint64_t number)
{
    plat_mutex_lock(&marks->mutex);
    struct run *last = marks->count ? &marks->runs[marks->first + marks->count - 1] : NULL;
    bool is_in = last && extend(last, channel, id, number);
    bool good = is_in || (reserve(marks) && marks->runs);
    if (good && !is_in) {
        marks->runs[marks->first + marks->count++] = (struct run){
            .id = id, .number = number, .count = 1, .channel = (uint32_t)channel};
    }
    plat_mutex_unlock(&marks->mutex);
    return good;
}

static void settle(struct evt_marks *marks, uint64_t number)
{
    while (marks->runs && marks->count) {
        struct run *run = &marks->runs[marks->first];
        if (run->number > number) {
            return;
        }
        uint64_t more = number - run->number;
        bool all = more >= run->count - 1u;
        uint32_t taken = all ? run->count : (uint32_t)more + 1;
        marks->channels[run->channel].bookmark = run->id + taken - 1;
        if (!all) {
            run->id += taken;
            run->number += taken;
            run->count -= taken;
            return;
        }
        marks->first++;
        marks->count--;
    }
    marks->first = 0;
}

/* ---- over restarts --------------------------------------------------------------------------- */

bool evt_marks_write(struct evt_marks *marks, uint64_t number, struct buf *out, struct error *err)
{
    plat_mutex_lock(&marks->mutex);
    settle(marks, number);
    buf_add_byte(out, VERSION);
    for (size_t i = 0; i < marks->channel_count; i++) {
        const struct channel *channel = &marks->channels[i];
        if (channel->bookmark) {
            buf_add_le16(out, (uint16_t)channel->name_size);
            buf_add_span(out, name_of(channel));
            buf_add_le64(out, channel->bookmark);
        }
    }
    plat_mutex_unlock(&marks->mutex);
    return !out->failed || error_set(err, ERR_LIMIT, "too many bookmarks");
}

bool evt_marks_read(struct evt_marks *marks, struct span bytes)
{
    struct reader r = reader_make(bytes);
    bool good = bytes.size == 0 || reader_u8(&r) == VERSION;
    while (good && reader_left(&r)) {
        struct span name = reader_take(&r, reader_u16(&r));
        uint64_t bookmark = reader_u64(&r);
        size_t index = r.failed ? SIZE_MAX : find_channel(marks, name);
        good = index != SIZE_MAX;
        if (good) {
            marks->channels[index].bookmark = bookmark;
        }
    }
    return good;
}

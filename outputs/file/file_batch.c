#include "outputs/file/file_batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

/* Records of one file that are not adjacent in the delivery are copied together up to this many
 * bytes, so that a batch over many files needs few writes. */
enum { GATHER_BYTES = 256 * 1024 };

void file_batch_init(struct file_batch *batch, struct file_bound *bound)
{
    *batch = (struct file_batch){.bound = bound};
    buf_init(&batch->gathered, SIZE_MAX / 2);
}

void file_batch_fini(struct file_batch *batch)
{
    free(batch->targets);
    free(batch->starts);
    free(batch->order);
    buf_fini(&batch->gathered);
}

static bool reserve(struct file_batch *batch, size_t routes, size_t records)
{
    size_t capacity = batch->route_capacity; /* of targets and starts */
    return grow_to(&batch->targets, routes + 1, &capacity, sizeof(*batch->targets)) &&
           grow_to(&batch->starts, routes + 1, &batch->route_capacity, sizeof(*batch->starts)) &&
           grow_to(&batch->order, records, &batch->record_capacity, sizeof(*batch->order));
}

/* ---- which record goes where ----------------------------------------------------------------- */

static uint32_t route_of(const struct delivery *delivery, size_t record)
{
    return delivery->routes ? delivery->routes[record] : 0;
}

static size_t route_count(const struct delivery *delivery)
{
    return delivery->routes ? delivery->route_count : 1;
}

/* Counting sort: `starts` and `order`. */
static bool sort_records(
    struct file_batch *batch, const struct delivery *delivery, struct error *err)
{
    size_t routes = route_count(delivery);
    if (!reserve(batch, routes, delivery->record_count)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    memset(batch->starts, 0, (routes + 1) * sizeof(*batch->starts));
    for (size_t i = 0; i < delivery->record_count; i++) {
        uint32_t route = route_of(delivery, i);
        if (route >= routes) {
            return error_set(err, ERR_FORMAT, "a record goes to route %u of %zu", route, routes);
        }
        batch->starts[route + 1]++;
    }
    for (size_t r = 0; r < routes; r++) {
        batch->starts[r + 1] += batch->starts[r];
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        batch->order[batch->starts[route_of(delivery, i)]++] = (uint32_t)i;
    }
    /* Each start has advanced to its end, which is the start of the next. */
    memmove(batch->starts + 1, batch->starts, routes * sizeof(*batch->starts));
    batch->starts[0] = 0;
    return true;
}

static bool has_records(const struct file_batch *batch, size_t route)
{
    return batch->starts[route] < batch->starts[route + 1];
}

static struct file_entry *find_target(struct file_set *set, struct span path, struct error *err)
{
    struct file_entry *entry = file_set_get(set, path, err);
    struct file_entry *same = entry && entry->state == FILE_UNKNOWN ? file_set_find_same(set, entry)
                                                                    : NULL;
    if (same) {
        file_set_remove(set, entry);
    }
    return same ? same : entry;
}

static void warn_of_overflow(const struct file_batch *batch, const struct file_rotator *rotator)
{
    char text[160];
    snprintf(text, sizeof(text),
        "max_files: there are %zu files, and events need more: further events go to the file "
        "with " FILE_BOUND_OVERFLOW,
        batch->bound->max);
    if (rotator->warn) {
        rotator->warn(rotator->warn_self, text);
    }
}

/* The file for events with path ${name}. */
static struct file_entry *choose(struct file_batch *batch, const struct file_rotator *rotator,
    struct span name, bool *ret_is_too_many, struct error *err)
{
    struct span path = name;
    if (batch->bound && !file_set_find(rotator->set, name) &&
        !file_bound_take(batch->bound, name, &path, err)) {
        return NULL;
    }
    *ret_is_too_many = *ret_is_too_many || path.data != name.data;
    return find_target(rotator->set, path, err);
}

bool file_batch_prepare(struct file_batch *batch, struct file_rotator *rotator, const char *path,
    const struct delivery *delivery, bool *ret_covered, struct error *err)
{
    bool covered = true;
    bool is_too_many = false;
    if (!sort_records(batch, delivery, err)) {
        return false;
    }
    for (size_t r = 0; r < route_count(delivery); r++) {
        if (!has_records(batch, r)) {
            continue;
        }
        struct span name = delivery->routes ? delivery->route_names[r] : span_text(path);
        struct file_entry *entry = choose(batch, rotator, name, &is_too_many, err);
        bool is_new = entry && entry->state == FILE_UNKNOWN;
        if (!entry || !file_set_open(rotator->set, entry, err)) {
            return false;
        }
        if (is_new && entry->bytes == 0) {
            file_rotator_began(rotator, entry);
        }
        batch->targets[r] = entry;
        covered = covered && entry->covered;
    }
    if (is_too_many) {
        warn_of_overflow(batch, rotator);
    }
    *ret_covered = covered;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint32_t record_start(const struct delivery *delivery, uint32_t record)
{
    return record ? delivery->record_ends[record - 1] : 0;
}

static uint32_t record_size(const struct delivery *delivery, uint32_t record)
{
    return delivery->record_ends[record] - record_start(delivery, record);
}

/* The bytes of ${count} records, in place if they are adjacent. */
static bool gather(struct file_batch *batch, const struct delivery *delivery,
    const uint32_t *records, size_t count, struct span *ret_bytes)
{
    uint32_t start = record_start(delivery, records[0]);
    if (records[count - 1] - records[0] == count - 1) {
        uint32_t end = delivery->record_ends[records[count - 1]];
        *ret_bytes = span_make(delivery->bytes.data + start, end - start);
        return true;
    }
    buf_reset(&batch->gathered);
    for (size_t i = 0; i < count; i++) {
        start = record_start(delivery, records[i]);
        buf_add(&batch->gathered, delivery->bytes.data + start, record_size(delivery, records[i]));
    }
    *ret_bytes = buf_span(&batch->gathered);
    return !batch->gathered.failed;
}

/* How many of ${records} go into the file in one write: at least one. */
static size_t count_fitting(const struct file_rotator *rotator, const struct file_entry *entry,
    const struct delivery *delivery, const uint32_t *records, size_t count)
{
    uint64_t room = file_rotator_room(rotator, entry);
    uint64_t bytes = record_size(delivery, records[0]);
    size_t fitting = 1;
    while (fitting < count) {
        bytes += record_size(delivery, records[fitting]);
        bool together = records[fitting] - records[0] == fitting || bytes <= GATHER_BYTES;
        if (bytes > room || !together) {
            break;
        }
        fitting++;
    }
    return fitting;
}

static bool write_some(struct file_batch *batch, struct file_rotator *rotator,
    struct file_entry *entry, const struct delivery *delivery, const uint32_t *records,
    size_t *ret_count, size_t count, struct error *err)
{
    struct error reason;
    if (file_rotator_is_due(rotator, entry, record_size(delivery, records[0])) &&
        !file_rotator_rotate(rotator, entry, &reason) && rotator->warn) {
        rotator->warn(rotator->warn_self, reason.text); /* and continue in the present file */
    }
    if (!entry->file && !file_set_open(rotator->set, entry, err)) {
        return false;
    }
    if (!entry->covered) {
        return error_set(
            err, ERR_IO, "%s: changed by another program while it was written", entry->path);
    }
    struct span bytes;
    size_t fitting = count_fitting(rotator, entry, delivery, records, count);
    if (!gather(batch, delivery, records, fitting, &bytes)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    *ret_count = fitting;
    return file_set_write(entry, bytes, err);
}

bool file_batch_write(struct file_batch *batch, struct file_rotator *rotator,
    const struct delivery *delivery, struct error *err)
{
    for (size_t r = 0; r < route_count(delivery); r++) {
        for (size_t at = batch->starts[r]; at < batch->starts[r + 1];) {
            size_t count = 0;
            if (!write_some(batch, rotator, batch->targets[r], delivery, batch->order + at, &count,
                    batch->starts[r + 1] - at, err)) {
                return false;
            }
            at += count;
        }
    }
    return true;
}

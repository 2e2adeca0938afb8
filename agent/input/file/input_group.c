#include <inttypes.h>
#include <stdlib.h>

#include "event/model/record_file.h"
#include "event/model/record_process.h"
#include "input/etl/etl_merge.h"
#include "input/evtx/evtx_hosts.h"
#include "input/file/input_file_own.h"
#include "input/file/width_samples.h"
#include "input/record/etl_format.h"

/*
 * Complete files: a first pass over each for index, metadata and damage, then a second pass in
 * merge order. Losses recorded in a trace's header are reported at its end.
 *
 * Buffers of which nothing is wanted, as they lie outside the requested times or the sink leaves
 * them out by their headers, are not read in the second pass (etl_left_out.h).
 */
enum { LEFT_OUT_BYTES = 16 * 1024 * 1024 }; /* of notes: some 8 million records */

/* Why records of a group are left out. */
enum { REASON_OUTSIDE, FIRST_TAG };

struct reasons {
    size_t budget;
    size_t count;
    uint64_t tags[ETL_LEFT_OUT_REASONS]; /* input_sink.leaves_out, from FIRST_TAG on */
};

static void tell_progress(struct input *in, uint64_t done_bytes)
{
    if (in->sink->progress) {
        in->sink->progress(in->sink->self, done_bytes, in->total_bytes);
    }
}

/* True if the record describes others and must be passed on before them. */
static bool is_wanted_first(const struct event_record *record)
{
    if (record_process_kind(record) != RECORD_OF_OTHERS || record_file_names(record)) {
        return true;
    }
    enum { STACK_KEY_CREATE = 0x1822, STACK_KEY_RUNDOWN = 0x1824, CONFIG_CPU = 0x0b0a };
    if (record->kind == RECORD_KERNEL) {
        uint16_t hook = record->hook_id;
        return (hook >= STACK_KEY_CREATE && hook <= STACK_KEY_RUNDOWN) || hook == CONFIG_CPU;
    }
    return record_is_metadata(record);
}

/* Callbacks of the first pass over a file. */
struct first_pass {
    struct input *in;
    struct etl_file *file;
    struct width_samples *samples; /* NULL: no samples wanted */
    struct reasons *reasons;
    bool was_wanted; /* the first pass wanted the current record */
};

static bool first_pass_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct first_pass *pass = self;
    struct input *in = pass->in;
    (void)epoch;
    in->done_bytes += buffer->leftover ? 0 : buffer->size;
    tell_progress(in, in->done_bytes);
    return !input_file_is_stopped(in);
}

void input_group_teach(struct input *in, const struct event_record *record)
{
    if (is_wanted_first(record) && in->sink->metadata) {
        in->sink->metadata(in->sink->self, record);
    }
}

void input_group_note(const struct etl_file *file, const struct event_record *record)
{
    if (record->kind != RECORD_MESSAGE || !(record->present & RECORD_HAS_SEQUENCE)) {
        return;
    }
    for (size_t i = file->epoch_count; i-- > 0;) {
        if (record->trace == &file->epochs[i]->info.trace) {
            message_numbers_note(
                &file->epochs[i]->messages, record->message_sequence, record->time);
            return;
        }
    }
}

static bool first_pass_record(void *self, const struct event_record *record)
{
    struct first_pass *pass = self;
    input_group_note(pass->file, record);
    pass->was_wanted = is_wanted_first(record);
    if (pass->was_wanted && pass->in->sink->metadata) {
        pass->in->sink->metadata(pass->in->sink->self, record);
    }
    if (width_samples_take(pass->samples, record)) {
        pass->in->sink->sample(pass->in->sink->self, record);
    }
    return true;
}

static void first_pass_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    const struct input *in = ((struct first_pass *)self)->in;
    if (in->sink->damage) {
        in->sink->damage(in->sink->self, trace, offset, what);
    }
}

static bool first_pass_is_stopped(void *self)
{
    return input_file_is_stopped(((struct first_pass *)self)->in);
}

static bool is_outside(const struct input *in, const struct event_record *record)
{
    const struct input_file_settings *s = &in->settings;
    return record->present & RECORD_HAS_TIME &&
           (record->time < s->start || (s->end && record->time >= s->end));
}

/* Number of the reason ${tag}. False: there are too many reasons. */
static bool find_reason(struct reasons *reasons, uint64_t tag, uint8_t *ret_reason)
{
    size_t i = FIRST_TAG;
    while (i < reasons->count && reasons->tags[i] != tag) {
        i++;
    }
    if (i == ETL_LEFT_OUT_REASONS) {
        return false;
    }
    reasons->count = i < reasons->count ? reasons->count : i + 1;
    reasons->tags[i] = tag;
    *ret_reason = (uint8_t)i;
    return true;
}

static bool first_pass_leaves_out(
    void *self, const struct event_record *record, uint8_t *ret_reason)
{
    struct first_pass *pass = self;
    const struct input_sink *sink = pass->in->sink;
    uint64_t tag;
    if (is_outside(pass->in, record)) {
        *ret_reason = REASON_OUTSIDE;
        return true;
    }
    /* Of the kernel's records only, `was_wanted` does not say that it is metadata. */
    bool is_metadata = record->kind == RECORD_KERNEL && record_is_metadata(record);
    bool describes = pass->was_wanted || is_metadata ||
                     (record_file_may(record) && record_file_tells(record));
    return sink->leaves_out && !describes && sink->leaves_out(sink->self, record, &tag) &&
           find_reason(pass->reasons, tag, ret_reason);
}

/* Report ${gap} of the trace ${info}, unless it lies outside the requested times. */
static void tell_gap(struct input *in, const struct etl_info *info, struct gap gap)
{
    const struct input_file_settings *s = &in->settings;
    bool outside = (gap.to && gap.to < s->start) || (s->end && gap.from >= s->end);
    if (gap.count && !outside && in->sink->gap) {
        gap.stage = "etw";
        gap.trace = &info->trace;
        in->sink->gap(in->sink->self, &gap);
    }
}

static void tell_loss(
    struct input *in, const struct etl_info *info, const char *reason, const char *unit, uint32_t n)
{
    tell_gap(in, info,
        (struct gap){.reason = reason,
            .unit = unit,
            .count = n,
            .exact = true,
            .from = info->start_time,
            .to = info->end_time});
}

static void tell_numbers(
    struct input *in, const struct etl_epoch *epoch, const struct message_gap *missing)
{
    tell_gap(in, &epoch->info,
        (struct gap){.reason = message_numbers_reason(&epoch->messages),
            .unit = "events",
            .count = missing->count,
            .exact = !epoch->messages.is_global,
            .from = missing->from,
            .to = missing->to});
}

void input_group_tell_missing(struct input *in, const struct etl_file *file)
{
    struct message_gap missing;
    for (size_t i = 0; i < file->epoch_count; i++) {
        if (message_numbers_cut(&file->epochs[i]->messages, &missing)) {
            tell_numbers(in, file->epochs[i], &missing);
        }
    }
}

void input_group_explain(const struct etl_file *file, uint64_t buffers)
{
    for (size_t i = 0; i < file->epoch_count; i++) {
        message_numbers_explain(&file->epochs[i]->messages, 0, buffers);
    }
}

void input_group_tell_losses(struct input *in, const struct etl_file *file)
{
    for (size_t i = 0; i < file->epoch_count; i++) {
        const struct etl_info *info = &file->epochs[i]->info;
        struct message_gap missing;
        tell_loss(in, info, "events_lost", "events", info->events_lost);
        tell_loss(in, info, "buffers_lost", "buffers", info->buffers_lost);
        message_numbers_explain(&file->epochs[i]->messages, info->events_lost, info->buffers_lost);
        if (message_numbers_end(&file->epochs[i]->messages, &missing)) {
            tell_numbers(in, file->epochs[i], &missing);
        }
    }
}

bool input_group_give(struct input *in, const struct event_record *record)
{
    if (input_file_is_stopped(in)) {
        return false;
    }
    return is_outside(in, record) || in->sink->record(in->sink->self, record);
}

/* Count records that are left out. False: stop. */
static bool count_left_out(
    struct input *in, const struct reasons *reasons, const struct etl_merge_left_out *left_out)
{
    const struct input_sink *sink = in->sink;
    bool go_on = !input_file_is_stopped(in);
    for (size_t i = FIRST_TAG; go_on && i < reasons->count; i++) {
        go_on = !left_out->counts[i] ||
                sink->left_out(sink->self, reasons->tags[i], left_out->counts[i], left_out->newest);
    }
    return go_on;
}

/* Second pass over indexed files. */
static enum input_end deliver(struct input *in, struct etl_file *const *files,
    struct etl_merge *merge, const struct reasons *reasons, struct error *err)
{
    uint64_t told_bytes = UINT64_MAX;
    for (;;) {
        const struct event_record *record;
        size_t file;
        switch (etl_merge_next(merge, &record, &file, err)) {
        case ETL_MERGE_RECORD:
            if (!input_group_give(in, record)) {
                return INPUT_STOPPED;
            }
            break;
        case ETL_MERGE_LEFT_OUT:
            if (!count_left_out(in, reasons, etl_merge_left_out(merge))) {
                return INPUT_STOPPED;
            }
            break;
        case ETL_MERGE_FILE_END:
            input_group_tell_losses(in, files[file]);
            break;
        case ETL_MERGE_END:
            return INPUT_DONE;
        case ETL_MERGE_FAILED:
            return INPUT_FAILED;
        }
        if (etl_merge_bytes(merge) != told_bytes) {
            told_bytes = etl_merge_bytes(merge);
            tell_progress(in, in->done_bytes + told_bytes);
        }
    }
}

static void tell_ends(struct input *in, struct etl_file *const *files, size_t count)
{
    for (size_t i = 0; in->sink->file_end && i < count; i++) {
        in->sink->file_end(in->sink->self, files[i]->id);
    }
}

void input_group_end(struct input *in, const struct etl_file *file)
{
    for (size_t i = 0; in->sink->trace_end && i < file->epoch_count; i++) {
        in->sink->trace_end(in->sink->self, &file->epochs[i]->info.trace);
    }
    const struct trace_info *host;
    size_t cursor = 0;
    while (in->sink->trace_end && file->log && (host = evtx_hosts_next(file->log, &cursor))) {
        in->sink->trace_end(in->sink->self, host);
    }
}

/* Can records be left out before the second pass? */
static bool may_leave_out(const struct input *in)
{
    const struct input_file_settings *s = &in->settings;
    return in->sink->leaves_out || s->start || s->end;
}

/* First pass over the files. STOPPED and FAILED as for the whole group. */
static enum input_end index_files(struct input *in, struct etl_file *const *files, size_t count,
    struct reasons *reasons, struct error *err)
{
    struct first_pass pass = {
        .in = in, .samples = in->sink->sample ? width_samples_create() : NULL, .reasons = reasons};
    const struct etl_visitor visitor = {
        .self = &pass,
        .buffer = first_pass_buffer,
        .record = first_pass_record,
        .skips_plain_events = true,
        .leaves_out = may_leave_out(in) ? first_pass_leaves_out : NULL,
        .damage = first_pass_damage,
        .is_stopped = first_pass_is_stopped,
    };
    enum input_end end = INPUT_DONE;
    for (size_t i = 0; end == INPUT_DONE && i < count; i++) {
        pass.file = files[i];
        etl_left_out_init(&files[i]->left_out, &reasons->budget);
        if (!etl_file_index(files[i], &visitor, err)) {
            end = INPUT_FAILED;
        } else if (input_file_is_stopped(in)) {
            end = INPUT_STOPPED;
        }
    }
    width_samples_destroy(pass.samples);
    return end;
}

/* Stacks may belong to left-out records, so if there are stacks, nothing is left out. */
static void respect_stacks(struct etl_file *const *files, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        for (size_t e = 0; e < files[i]->epoch_count; e++) {
            any |= files[i]->epochs[e]->info.trace.has_stacks;
        }
    }
    for (size_t i = 0; any && i < count; i++) {
        etl_left_out_clear(&files[i]->left_out);
    }
}

static enum input_end run_group(struct input *in, struct etl_file *const *files, size_t count,
    struct reasons *reasons, struct error *err)
{
    enum input_end end = index_files(in, files, count, reasons, err);
    if (end != INPUT_DONE) {
        return end;
    }
    respect_stacks(files, count);
    struct etl_merge *merge = etl_merge_create(files, count, err);
    if (!merge) {
        return INPUT_FAILED;
    }
    end = deliver(in, files, merge, reasons, err);
    in->done_bytes += etl_merge_bytes(merge);
    etl_merge_destroy(merge);
    if (end == INPUT_DONE) {
        tell_ends(in, files, count);
    }
    return end;
}

enum input_end input_group_run(
    struct input *in, struct etl_file *const *files, size_t count, struct error *err)
{
    struct reasons reasons = {.budget = LEFT_OUT_BYTES, .count = FIRST_TAG};
    enum input_end end = run_group(in, files, count, &reasons, err);
    for (size_t i = 0; i < count; i++) {
        etl_left_out_fini(&files[i]->left_out);
        input_group_end(in, files[i]);
    }
    return end;
}

/* ---- current paths --------------------------------------------------------------------------- */

/* Open the path's file if it is to be read. */
static struct etl_file *open_new(struct input *in, struct input_path *path)
{
    uint8_t id[16];
    if (path->box && in->sink->is_done && input_boxes_read_id(path, id) &&
        input_paths_is_taken(in, path, id)) {
        path->state = PATH_TAKEN; /* avoids unpacking it */
        return NULL;
    }
    struct etl_file *file = input_paths_open(in, path);
    bool wanted = file && !input_paths_is_taken(in, path, file->id);
    if (wanted && path->id) {
        memcpy(file->id, path->id, sizeof(file->id));
        memcpy(file->records, input_paths_records(path), sizeof(file->records));
    }
    path->state = file ? PATH_TAKEN : PATH_BAD;
    path->stamp = plat_path_stamp(path->path);
    if (!wanted) {
        etl_file_destroy(file);
    }
    return wanted ? file : NULL;
}

static enum input_end take_each(struct input *in, struct input_path *const *paths, size_t count)
{
    for (size_t i = 0; i < count && !input_file_is_stopped(in); i++) {
        input_boxes_release(in, paths[i]);
        struct etl_file *file = paths[i]->state == PATH_NEW ? open_new(in, paths[i]) : NULL;
        if (!file) {
            continue;
        }
        struct error why;
        input_file_note(in, SCHEDULE_WHOLE, file->id, 0);
        enum input_end end = input_group_run(in, &file, 1, &why);
        etl_file_destroy(file);
        if (end == INPUT_FAILED) {
            input_file_remember(in, &why);
        } else if (end == INPUT_STOPPED) {
            return end;
        }
    }
    return input_file_is_stopped(in) ? INPUT_STOPPED : INPUT_DONE;
}

static enum input_end take_merged(struct input *in, struct etl_file *const *files, size_t count)
{
    struct error why;
    for (size_t i = 0; i < count; i++) {
        input_file_note(in, SCHEDULE_WHOLE, files[i]->id, i + 1 < count);
    }
    enum input_end end = input_group_run(in, files, count, &why);
    if (end == INPUT_FAILED) {
        input_file_remember(in, &why);
        end = INPUT_DONE;
    }
    return end;
}

static enum input_end take_all(struct input *in, struct input_path *const *paths, size_t count)
{
    struct etl_file **files = calloc(count + 1, sizeof(struct etl_file *));
    if (!files) {
        struct error why;
        error_set(&why, ERR_MEMORY, "out of memory for %zu files", count);
        input_file_remember(in, &why);
        return INPUT_DONE;
    }
    size_t opened = 0;
    for (size_t i = 0; i < count && !input_file_is_stopped(in); i++) {
        struct etl_file *file = paths[i]->state == PATH_NEW ? open_new(in, paths[i]) : NULL;
        if (file) {
            files[opened++] = file;
        }
    }
    enum input_end end = input_file_is_stopped(in) ? INPUT_STOPPED : INPUT_DONE;
    if (end == INPUT_DONE && opened) {
        end = take_merged(in, files, opened);
    }
    for (size_t i = 0; i < opened; i++) {
        etl_file_destroy(files[i]);
    }
    free(files);
    return end;
}

enum input_end input_group_take(
    struct input *in, struct input_path *const *paths, size_t count, bool merge)
{
    enum input_end end = merge ? take_all(in, paths, count) : take_each(in, paths, count);
    input_boxes_release(in, NULL);
    return end;
}

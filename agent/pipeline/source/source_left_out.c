#include "pipeline/source/source_own.h"

enum { MAX_LEFT_OUT = 16384 /* events between two slabs */ };

/* The turn of ${count} events, the latest of the time ${newest}, of which the gates said ${tag}.
 * All of them are new, or none. */
static bool count_left_out(struct source *source, uint64_t newest, uint64_t tag, uint64_t count)
{
    if (source->state == SOURCE_STOPPED) {
        return false;
    }
    bool is_new = source->counts.sequence >= source->settings.resume;
    enum source_gates_level level = source_gates_count(
        source->settings.gates, tag, is_new ? count : 0);
    source->newest = newest > source->newest ? newest : source->newest;
    source->events += count;
    source->counts.sequence += count;
    if (is_new) {
        source->slab_counts.received += count;
        source->slab_counts.filtered += level == SOURCE_GATES_SESSION ? count : 0;
        source->left_out += level == SOURCE_GATES_STREAMS ? count : 0;
        source->since_slab += count;
    } else {
        source->counts.resumed += count;
    }
    if (source->settings.max_events && source->events >= source->settings.max_events) {
        source_change(source, SOURCE_STOPPED);
    }
    if (source->since_slab >= MAX_LEFT_OUT) {
        /* positions advance, and held records do not wait for more */
        source_hand_over_counts(source);
        source_hand_over(source, UINT64_MAX);
    }
    return source->state != SOURCE_STOPPED;
}

bool source_left_out_one(void *self, uint64_t time, uint64_t tag)
{
    return count_left_out(self, time, tag, 1);
}

bool source_left_out_ask(void *self, const struct event_record *record, uint64_t *ret_tag)
{
    const struct source *source = self;
    return source->counts.sequence >= source->settings.resume &&
           source_gates_ask(source->settings.gates, record, source->counts.sequence, ret_tag) !=
               SOURCE_GATES_PASS;
}

bool source_left_out_many(void *self, uint64_t tag, uint64_t count, uint64_t newest)
{
    struct source *source = self;
    source->counts.seen += count;
    source->quiet_since_ns = 0;
    source_offer_metadata(source);
    return stack_join_flush(source->stacks) && count_left_out(source, newest, tag, count);
}

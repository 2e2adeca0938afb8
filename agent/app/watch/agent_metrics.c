#include "app/watch/agent_metrics.h"

#include <stdio.h>

#include "app/watch/summary.h"
#include "base/filetime.h"
#include "base/guid.h"
#include "base/put.h"
#include "platform/plat_clock.h"
#include "platform/plat_self.h"

enum { MAX_RULE_NAME_BYTES = 200, MAX_PROVIDERS = 50, MAX_PROVIDER_NAME_BYTES = 200 };

/* ---- sessions -------------------------------------------------------------------------------- */

/* An event that the configuration drops is no loss. */
static bool is_loss(enum session_drop reason)
{
    return reason != SESSION_DROP_STACK_WALK;
}

static void add_drops(struct metric_set *set, const struct session_counts *counts)
{
    for (int i = 0; i < SESSION_DROP_COUNT; i++) {
        metric_set_label(set, 1, span_text(ledger_session_drop_stage((enum session_drop)i)));
        metric_set_label(set, 2, span_text(ledger_session_drop_reason((enum session_drop)i)));
        metric_set_number(set, METRIC_SESSION_DROPPED, counts->dropped[i]);
    }
}

static void add_losses(struct metric_set *set, const struct session_counts *counts)
{
    metric_set_label(set, 1, span_text("etw"));
    metric_set_label(set, 2, span_text("events_lost"));
    metric_set_number(set, METRIC_SESSION_LOST, counts->etw_events_lost);
    for (int i = 0; i < SESSION_DROP_COUNT; i++) {
        if (is_loss((enum session_drop)i)) {
            metric_set_label(set, 1, span_text(ledger_session_drop_stage((enum session_drop)i)));
            metric_set_label(set, 2, span_text(ledger_session_drop_reason((enum session_drop)i)));
            metric_set_number(set, METRIC_SESSION_LOST, counts->dropped[i]);
        }
    }
}

static void add_session(
    struct metric_set *set, const char *name, const struct session_counts *counts)
{
    metric_set_label(set, 0, span_text(name));
    metric_set_number(set, METRIC_SESSION_RECEIVED, counts->received);
    metric_set_number(set, METRIC_SESSION_METADATA, counts->metadata);
    metric_set_number(set, METRIC_SESSION_JOINED, counts->joined);
    metric_set_number(set, METRIC_SESSION_FILTERED, counts->filtered);
    metric_set_number(set, METRIC_SESSION_ACCEPTED, counts->accepted);
    add_drops(set, counts);
    metric_set_number(set, METRIC_SESSION_UNLEARNED, counts->unlearned);
    metric_set_number(set, METRIC_SESSION_DEFINITIONS_EVICTED, counts->definitions_evicted);
    metric_set_number(set, METRIC_SESSION_DEFINITIONS_REFUSED, counts->definitions_refused);
    metric_set_number(set, METRIC_SESSION_DEFINITIONS_CONFLICTS, counts->definitions_conflicts);
    metric_set_number(set, METRIC_SESSION_GAPS, counts->gaps);
    for (int i = 0; i < GUARD_ACTIONS; i++) {
        metric_set_label(set, 1, span_text(event_guard_action_name((enum guard_action)i)));
        metric_set_number(set, METRIC_SESSION_GUARD, counts->guard[i]);
    }
    metric_set_number(set, METRIC_SESSION_UNDECODED, counts->decode.raw);
    metric_set_number(set, METRIC_SESSION_PARTIAL, counts->decode.partial);
    metric_set_number(set, METRIC_SESSION_CUT, counts->decode.cut);
    metric_set_number(set, METRIC_SESSION_UNKNOWN_MESSAGES, counts->decode.messages);
    metric_set_number(set, METRIC_SESSION_WITHOUT_MESSAGE, counts->decode.silent);
    metric_set_number(set, METRIC_SESSION_ETW_EVENTS_LOST, counts->etw_events_lost);
    metric_set_number(set, METRIC_SESSION_ETW_BUFFERS_LOST, counts->etw_buffers_lost);
    add_losses(set, counts);
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Batches on the disk that wait for output ${index}. */
static void add_backlog(struct metric_set *set, struct spool *spool, size_t index)
{
    struct spool_backlog backlog;
    if (spool->keeps) {
        spool->ops->backlog(spool, index, &backlog);
        metric_set_number(set, METRIC_OUTPUT_BACKLOG_BATCHES, backlog.batches);
        metric_set_number(set, METRIC_OUTPUT_BACKLOG_EVENTS, backlog.records);
        metric_set_number(set, METRIC_OUTPUT_BACKLOG_BYTES, backlog.bytes);
        metric_set_number(set, METRIC_OUTPUT_BACKLOG_OLDEST, backlog.oldest_ms);
    }
}

/* Events held while their routes accept nothing. */
static void add_parked(struct metric_set *set, const struct output_counts *counts)
{
    metric_set_number(set, METRIC_OUTPUT_PARKED_EVENTS, counts->parked);
    metric_set_number(set, METRIC_OUTPUT_PARKED_ROUTES, counts->parked_routes);
    if (counts->parked_routes) {
        metric_set_text(set, METRIC_OUTPUT_PARKED_FIRST, span_text(counts->parked_first));
    }
}

static void add_guarantee(struct metric_set *set, const struct output_counts *counts)
{
    if (counts->guarantee) {
        metric_set_text(set, METRIC_OUTPUT_GUARANTEE, span_text(counts->guarantee));
        metric_set_label(set, 1, span_text(counts->guarantee));
        metric_set_number(set, METRIC_OUTPUT_GUARANTEE_INFO, 1);
    }
}

static void add_output(struct metric_set *set, const char *name, const struct output_counts *counts,
    struct spool *spool, size_t index)
{
    metric_set_label(set, 0, span_text(name));
    metric_set_number(set, METRIC_OUTPUT_OFFERED, counts->offered);
    metric_set_number(set, METRIC_OUTPUT_FILTERED, counts->filtered);
    metric_set_number(set, METRIC_OUTPUT_ROLLED_UP, counts->rolled_up);
    metric_set_number(set, METRIC_OUTPUT_ACKED, counts->acked);
    metric_set_number(set, METRIC_OUTPUT_DEAD_LETTERED, counts->dead_lettered);
    metric_set_number(set, METRIC_OUTPUT_DEAD_LETTERED_TOO_OLD, counts->kept_too_old);
    for (int i = 0; i < OUTPUT_DROP_COUNT; i++) {
        metric_set_label(set, 1, span_text(ledger_output_drop_name((enum output_drop)i)));
        metric_set_number(set, METRIC_OUTPUT_DROPPED, counts->dropped[i]);
    }
    metric_set_number(set, METRIC_OUTPUT_PENDING, counts->pending);
    metric_set_number(set, METRIC_OUTPUT_BYTES, counts->bytes);
    metric_set_number(set, METRIC_OUTPUT_RETRIES, counts->retries);
    metric_set_number(set, METRIC_OUTPUT_DUPLICATES, counts->unexpected_duplicates);
    metric_set_number(set, METRIC_OUTPUT_MAYBE_DUPLICATES, counts->maybe_duplicates);
    add_guarantee(set, counts);
    metric_set_number(set, METRIC_OUTPUT_DEGRADED, counts->degraded);
    add_parked(set, counts);
    add_backlog(set, spool, index);
    metric_set_histogram(set, METRIC_OUTPUT_LATENCY, &counts->latency);
    metric_set_number(set, METRIC_OUTPUT_OWN_OFFERED, counts->own_offered);
    metric_set_number(set, METRIC_OUTPUT_OWN_ACKED, counts->own_acked);
    metric_set_number(set, METRIC_OUTPUT_OWN_DROPPED, counts->own_dropped);
    metric_set_number(set, METRIC_OUTPUT_OWN_PENDING, counts->own_pending);
}

/* ---- filters --------------------------------------------------------------------------------- */

static void add_rule(struct metric_set *set, const struct agent_filter *filter, size_t index)
{
    struct span name = span_first(filter_rule_name(filter->filter, index), MAX_RULE_NAME_BYTES);
    metric_set_label_number(set, 1, index + 1);
    metric_set_label(set, 2, span_text(filter->where));
    metric_set_label(set, 3, name);
    metric_set_text(set, METRIC_FILTER_RULE_NAME, name);
    metric_set_number(set, METRIC_FILTER_RULE_HITS,
        atomic_load_explicit(&filter->hits[index], memory_order_relaxed));
    metric_set_number(set, METRIC_FILTER_RULE_DROPPED,
        atomic_load_explicit(&filter->dropped[index], memory_order_relaxed));
    metric_set_number(set, METRIC_FILTER_RULE_UNSURE, filter_rule_unsure(filter->filter, index));
}

static void add_filter(struct metric_set *set, const struct agent_filter *filter, size_t list)
{
    size_t count = filter_rule_count(filter->filter);
    metric_set_label_number(set, 0, list + 1);
    metric_set_text(set, METRIC_FILTER_OF, span_text(filter->where));
    metric_set_list(set, METRIC_FILTER_RULE_LIST);
    for (size_t i = 0; i < count; i++) {
        add_rule(set, filter, i);
    }
    metric_set_label(set, 1, span_text(filter->where));
    metric_set_number(set, METRIC_FILTER_UNMATCHED,
        atomic_load_explicit(&filter->hits[count], memory_order_relaxed));
}

/* ---- memory and spool ------------------------------------------------------------------------ */

static void add_full(struct metric_set *set, const struct spool_usage *usage)
{
    bool by_size = usage->room == SPOOL_NO_ROOM_FULL;
    bool by_disk = usage->room == SPOOL_NO_ROOM_DISK;
    metric_set_text(set, METRIC_SPOOL_FULL,
        span_text(by_size   ? "max_size"
                  : by_disk ? "disk"
                            : "no"));
    metric_set_number(set, METRIC_SPOOL_FAILING, usage->failing);
    metric_set_label(set, 0, span_text("max_size"));
    metric_set_number(set, METRIC_SPOOL_IS_FULL, by_size);
    metric_set_label(set, 0, span_text("disk"));
    metric_set_number(set, METRIC_SPOOL_IS_FULL, by_disk);
}

static void add_memory(struct metric_set *set, struct pipeline *pipeline)
{
    struct spool *spool = pipeline_spool(pipeline);
    struct spool_usage usage;
    spool->ops->usage(spool, &usage);
    metric_set_number(set, METRIC_MEMORY_QUEUE, pipeline_queue_bytes(pipeline));
    metric_set_number(set, METRIC_MEMORY_SPOOL, usage.bytes);
    metric_set_number(set, METRIC_MEMORY_SPOOL_MAX, usage.max_bytes);
    metric_set_number(set, METRIC_MEMORY_SPOOL_BATCHES, usage.batches);
    metric_set_number(set, METRIC_MEMORY_PEAK, plat_peak_rss_bytes());
    metric_set_text(set, METRIC_SPOOL_MODE, span_text(spool->keeps ? "durable" : "memory"));
    metric_set_number(set, METRIC_SPOOL_BYTES, usage.bytes);
    metric_set_number(set, METRIC_SPOOL_MAX_BYTES, usage.max_bytes);
    metric_set_number(set, METRIC_SPOOL_BATCHES, usage.batches);
    metric_set_number(set, METRIC_SPOOL_OLDEST, usage.oldest_ms);
    if (spool->keeps && usage.free_bytes != UINT64_MAX) {
        metric_set_number(set, METRIC_SPOOL_FREE_DISK, usage.free_bytes);
    }
    if (spool->keeps) {
        add_full(set, &usage);
    }
}

static void add_dead_letters(struct metric_set *set, struct dead_letters *letters)
{
    struct dead_letters_usage usage;
    if (letters && letters->ops->usage(letters, &usage, NULL)) {
        metric_set_number(set, METRIC_DEAD_LETTERS_BYTES, usage.bytes);
        metric_set_number(set, METRIC_DEAD_LETTERS_EVICTED, usage.evicted);
    }
}

/* ---- providers ------------------------------------------------------------------------------- */

struct provider_count {
    char name[MAX_PROVIDER_NAME_BYTES + 1];
    uint64_t events;
    uint64_t undecoded;
};

struct provider_counts {
    struct provider_count shown[MAX_PROVIDERS];
    size_t count;
    struct provider_count others;
};

/* By their names, as several ids may have the same one. */
static struct provider_count *find_provider(struct provider_counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->count; i++) {
        if (strcmp(counts->shown[i].name, name) == 0) {
            return &counts->shown[i];
        }
    }
    if (counts->count == MAX_PROVIDERS) {
        return &counts->others;
    }
    struct provider_count *found = &counts->shown[counts->count++];
    *found = (struct provider_count){.events = 0};
    memcpy(found->name, name, strlen(name) + 1);
    return found;
}

static void count_provider(void *self, const struct summary_provider *provider)
{
    char name[MAX_PROVIDER_NAME_BYTES + 1];
    char guid[GUID_TEXT_SIZE];
    struct span shown = span_first(provider->name, MAX_PROVIDER_NAME_BYTES);
    if (!shown.size) {
        guid_write(provider->guid, guid);
        shown = span_make(guid, sizeof(guid));
    }
    memcpy(name, shown.data, shown.size);
    name[shown.size] = '\0';
    struct provider_count *count = provider->guid ? find_provider(self, name)
                                                  : &((struct provider_counts *)self)->others;
    count->events += provider->events;
    count->undecoded += provider->undecoded;
}

static void add_provider(
    struct metric_set *set, const char *name, const struct provider_count *count)
{
    metric_set_label(set, 0, span_text(name));
    metric_set_number(set, METRIC_PROVIDER_EVENTS, count->events);
    metric_set_number(set, METRIC_PROVIDER_UNDECODED, count->undecoded);
}

static void add_providers(struct metric_set *set, const struct agent_metrics_inputs *inputs)
{
    struct provider_counts counts = {.count = 0};
    for (size_t i = 0; i < inputs->worker_count; i++) {
        summary_look(inputs->summaries[i], count_provider, &counts);
    }
    metric_set_list(set, METRIC_PROVIDER_LIST);
    for (size_t i = 0; i < counts.count; i++) {
        add_provider(set, counts.shown[i].name, &counts.shown[i]);
    }
    add_provider(set, "(others)", &counts.others);
}

static void add_loads(struct metric_set *set, const struct agent_loads *loads)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    put_filetime(&end, loads->loaded);
    metric_set_text(set, METRIC_CONFIG_LOADED, span_make(text, (size_t)(end - text)));
    metric_set_number(set, METRIC_CONFIG_LOADED_TIME,
        loads->loaded > FILETIME_UNIX_EPOCH
            ? (loads->loaded - FILETIME_UNIX_EPOCH) / FILETIME_PER_MS
            : 0);
    char hash[17];
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)loads->shown);
    metric_set_text(set, METRIC_CONFIG_HASH, span_text(hash));
    metric_set_label(set, 0, span_text(hash));
    metric_set_number(set, METRIC_CONFIG_INFO, 1);
    metric_set_number(set, METRIC_CONFIG_RELOADS, loads->reloads);
    metric_set_number(set, METRIC_CONFIG_FAILED_RELOADS, loads->failed_reloads);
}

/* ---- all of it ------------------------------------------------------------------------------- */

uint64_t agent_metrics_error(const struct agent_status *status, const struct agent_plan *plan)
{
    uint64_t error = 0;
    for (size_t i = 0; i < plan->session_count; i++) {
        error += ledger_session_error(&status->sessions[i]);
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        error += ledger_output_error(&status->outputs[i]);
    }
    return error;
}

void agent_metrics_process(uint64_t uptime_ns, struct metric_set *set)
{
    metric_set_number(set, METRIC_UPTIME, uptime_ns / NS_PER_MS);
    metric_set_number(set, METRIC_CPU, plat_cpu_ns() / NS_PER_MS);
    metric_set_label(set, 0, span_text(ETWSHIP_VERSION));
    metric_set_label(set, 1, span_text(ETWSHIP_COMMIT));
    metric_set_number(set, METRIC_BUILD, 1);
}

void agent_metrics_collect(const struct agent_metrics_inputs *inputs, struct metric_set *set)
{
    const struct agent_plan *plan = inputs->plan;
    const struct agent_status *status = inputs->status;
    metric_set_list(set, METRIC_SESSION_LIST);
    for (size_t i = 0; i < plan->session_count; i++) {
        add_session(set, agent_plan_session_name(plan, i), &status->sessions[i]);
    }
    metric_set_list(set, METRIC_OUTPUT_LIST);
    for (size_t i = 0; i < plan->output_count; i++) {
        add_output(set, agent_plan_output_name(plan, i), &status->outputs[i],
            pipeline_spool(inputs->pipeline), i);
    }
    metric_set_list(set, METRIC_FILTER_LIST);
    for (size_t i = 0; i < plan->filter_count; i++) {
        add_filter(set, &plan->filters[i], i);
    }
    add_memory(set, inputs->pipeline);
    add_dead_letters(set, pipeline_dead_letters(inputs->pipeline));
    add_providers(set, inputs);
    add_loads(set, inputs->loads);
    metric_set_number(set, METRIC_CONSERVATION_ERROR, agent_metrics_error(status, plan));
    agent_metrics_process(inputs->uptime_ns, set);
}

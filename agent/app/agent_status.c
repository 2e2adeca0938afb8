#include "app/agent_status.h"

#include <stdlib.h>

#include "base/put.h"
#include "event/value_json.h"
#include "platform/plat_system.h"

bool agent_status_init(
    struct agent_status *status, const struct agent_plan *plan, struct error *err)
{
    status->sessions = calloc(plan->session_count + 1, sizeof(*status->sessions));
    status->outputs = calloc(plan->output_count + 1, sizeof(*status->outputs));
    return (status->sessions && status->outputs) || error_set(err, ERR_MEMORY, "out of memory");
}

void agent_status_fini(struct agent_status *status)
{
    free(status->sessions);
    free(status->outputs);
}

void agent_status_look(struct agent_status *status, struct pipeline *pipeline)
{
    books_look(pipeline_books(pipeline), status->sessions, status->outputs);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void add_number(struct buf *out, const char *name, uint64_t value)
{
    buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void add_session(struct buf *out, const char *name, const struct session_counts *counts)
{
    buf_add_text(out, "{\"name\":");
    value_json_string(span_text(name), out);
    add_number(out, "received", counts->received);
    add_number(out, "metadata", counts->metadata);
    add_number(out, "joined", counts->joined);
    add_number(out, "filtered", counts->filtered);
    add_number(out, "accepted", counts->accepted);
    buf_add_text(out, ",\"dropped\":{");
    for (int i = 0; i < SESSION_DROP_COUNT; i++) {
        buf_printf(out, "%s\"%s_%s\":%llu", i ? "," : "",
            books_session_drop_stage((enum session_drop)i),
            books_session_drop_reason((enum session_drop)i),
            (unsigned long long)counts->dropped[i]);
    }
    buf_add_byte(out, '}');
    add_number(out, "unlearned", counts->unlearned);
    buf_printf(out, ",\"definitions\":{\"evicted\":%llu,\"refused\":%llu,\"conflicts\":%llu}",
        (unsigned long long)counts->definitions_evicted,
        (unsigned long long)counts->definitions_refused,
        (unsigned long long)counts->definitions_conflicts);
    add_number(out, "gaps", counts->gaps);
    buf_add_text(out, ",\"guard\":{");
    for (int i = 0; i < GUARD_ACTIONS; i++) {
        buf_printf(out, "%s\"%s\":%llu", i ? "," : "",
            event_guard_action_name((enum guard_action)i), (unsigned long long)counts->guard[i]);
    }
    buf_add_byte(out, '}');
    add_number(out, "undecoded", counts->decode.raw);
    add_number(out, "partial", counts->decode.partial);
    add_number(out, "cut", counts->decode.cut);
    add_number(out, "unknown_messages", counts->decode.messages);
    buf_add_byte(out, '}');
}

/* What waits on the disk for output number ${index}. */
static void add_backlog(struct buf *out, struct spool *spool, size_t index)
{
    struct spool_backlog backlog;
    if (!spool->keeps) {
        return;
    }
    spool->ops->backlog(spool, index, &backlog);
    buf_printf(out, ",\"backlog\":{\"batches\":%llu", (unsigned long long)backlog.batches);
    add_number(out, "events", backlog.records);
    add_number(out, "bytes", backlog.bytes);
    add_number(out, "oldest_ms", backlog.oldest_ms);
    buf_add_byte(out, '}');
}

static void add_spool(struct buf *out, const struct spool *spool, const struct spool_usage *usage)
{
    buf_printf(out, ",\"spool\":{\"mode\":\"%s\"", spool->keeps ? "durable" : "memory");
    add_number(out, "bytes", usage->bytes);
    add_number(out, "max_bytes", usage->max_bytes);
    add_number(out, "batches", usage->batches);
    add_number(out, "oldest_ms", usage->oldest_ms);
    if (spool->keeps && usage->free_bytes != UINT64_MAX) {
        add_number(out, "free_disk_bytes", usage->free_bytes);
    }
    if (spool->keeps) {
        buf_printf(out, ",\"full\":\"%s\"",
            usage->room == SPOOL_NO_ROOM_FULL   ? "max_size"
            : usage->room == SPOOL_NO_ROOM_DISK ? "disk"
                                                : "no");
        buf_printf(out, ",\"failing\":%s", usage->failing ? "true" : "false");
    }
    buf_add_byte(out, '}');
}

/* What is held while its routes take nothing. */
static void add_parked(struct buf *out, const struct output_counts *counts)
{
    buf_printf(out, ",\"parked\":{\"events\":%llu", (unsigned long long)counts->parked);
    add_number(out, "routes", counts->parked_routes);
    if (counts->parked_routes) {
        buf_add_text(out, ",\"first\":");
        value_json_string(span_text(counts->parked_first), out);
    }
    buf_add_byte(out, '}');
}

static void add_output(struct buf *out, const char *name, const struct output_counts *counts,
    struct spool *spool, size_t index)
{
    buf_add_text(out, "{\"name\":");
    value_json_string(span_text(name), out);
    add_number(out, "offered", counts->offered);
    add_number(out, "filtered", counts->filtered);
    add_number(out, "rolled_up", counts->rolled_up);
    add_number(out, "acked", counts->acked);
    add_number(out, "dead_lettered", counts->dead_lettered);
    add_number(out, "dead_lettered_too_old", counts->kept_too_old);
    buf_add_text(out, ",\"dropped\":{");
    for (int i = 0; i < OUTPUT_DROP_COUNT; i++) {
        buf_printf(out, "%s\"%s\":%llu", i ? "," : "", books_output_drop_name((enum output_drop)i),
            (unsigned long long)counts->dropped[i]);
    }
    buf_add_byte(out, '}');
    add_number(out, "pending", counts->pending);
    add_number(out, "bytes", counts->bytes);
    add_number(out, "retries", counts->retries);
    add_number(out, "unexpected_duplicates", counts->unexpected_duplicates);
    buf_printf(out, ",\"degraded\":%s", counts->degraded ? "true" : "false");
    add_parked(out, counts);
    add_backlog(out, spool, index);
    buf_printf(out, ",\"own\":{\"offered\":%llu,\"acked\":%llu,\"dropped\":%llu,\"pending\":%llu}}",
        (unsigned long long)counts->own_offered, (unsigned long long)counts->own_acked,
        (unsigned long long)counts->own_dropped, (unsigned long long)counts->own_pending);
}

static void add_filter(struct buf *out, const struct agent_filter *filter)
{
    size_t count = filter_rule_count(filter->filter);
    buf_add_text(out, "{\"of\":");
    value_json_string(span_text(filter->where), out);
    buf_add_text(out, ",\"rules\":[");
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, i ? ",{\"name\":" : "{\"name\":");
        value_json_string(span_first(filter_rule_name(filter->filter, i), 200), out);
        add_number(out, "hits", atomic_load_explicit(&filter->hits[i], memory_order_relaxed));
        add_number(out, "dropped", atomic_load_explicit(&filter->dropped[i], memory_order_relaxed));
        add_number(out, "unsure", filter_rule_unsure(filter->filter, i));
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
    add_number(out, "unmatched", atomic_load_explicit(&filter->hits[count], memory_order_relaxed));
    buf_add_byte(out, '}');
}

static void add_dead_letters(struct buf *out, struct dead_letters *letters)
{
    struct dead_letters_usage usage;
    if (letters && letters->ops->usage(letters, &usage, NULL)) {
        buf_printf(out, ",\"dead_letters\":{\"bytes\":%llu,\"evicted\":%llu}",
            (unsigned long long)usage.bytes, (unsigned long long)usage.evicted);
    }
}

static void add_loads(struct buf *out, const struct agent_loads *loads)
{
    buf_add_text(out, ",\"config\":{\"loaded\":\"");
    if (buf_reserve(out, PUT_MAX)) {
        uint8_t *end = out->data + out->size;
        put_filetime(&end, loads->loaded);
        out->size = (size_t)(end - out->data);
    }
    buf_add_byte(out, '"');
    add_number(out, "reloads", loads->reloads);
    add_number(out, "failed_reloads", loads->failed_reloads);
    buf_add_byte(out, '}');
}

void agent_status_json(const struct agent_status *status, const struct agent_plan *plan,
    struct pipeline *pipeline, const struct agent_loads *loads, uint64_t uptime_ns, struct buf *out)
{
    buf_add_text(out, "{\"sessions\":[");
    for (size_t i = 0; i < plan->session_count; i++) {
        buf_add_text(out, i ? "," : "");
        add_session(out, plan->session_configs[i]->name, &status->sessions[i]);
    }
    buf_add_text(out, "],\"outputs\":[");
    for (size_t i = 0; i < plan->output_count; i++) {
        buf_add_text(out, i ? "," : "");
        add_output(
            out, plan->output_configs[i]->name, &status->outputs[i], pipeline_spool(pipeline), i);
    }
    buf_add_text(out, "],\"filters\":[");
    for (size_t i = 0; i < plan->filter_count; i++) {
        buf_add_text(out, i ? "," : "");
        add_filter(out, &plan->filters[i]);
    }
    struct spool_usage spool;
    pipeline_spool(pipeline)->ops->usage(pipeline_spool(pipeline), &spool);
    buf_printf(out, "],\"memory\":{\"queue_bytes\":%llu",
        (unsigned long long)pipeline_queue_bytes(pipeline));
    add_number(out, "spool_bytes", spool.bytes);
    add_number(out, "spool_max_bytes", spool.max_bytes);
    add_number(out, "spool_batches", spool.batches);
    add_number(out, "peak_rss_bytes", plat_peak_rss_bytes());
    buf_add_byte(out, '}');
    add_spool(out, pipeline_spool(pipeline), &spool);
    add_dead_letters(out, pipeline_dead_letters(pipeline));
    add_loads(out, loads);
    add_number(out, "uptime_ms", uptime_ns / 1000000);
    add_number(out, "cpu_ms", plat_cpu_ns() / 1000000);
    buf_add_byte(out, '}');
}

/* ---- a line ----------------------------------------------------------------------------------- */

static void add_if_any(struct buf *out, uint64_t count, const char *what)
{
    if (count) {
        buf_printf(out, ", %llu %s", (unsigned long long)count, what);
    }
}

/* Limits that held something back, and rules that could not be judged for some events, by their names. */
static void add_limits(struct buf *out, const struct agent_filter *filter)
{
    for (size_t i = 0; i < filter_rule_count(filter->filter); i++) {
        uint64_t unsure = filter_rule_unsure(filter->filter, i);
        if (unsure) {
            struct span name = span_first(filter_rule_name(filter->filter, i), 100);
            buf_printf(out, "; rule %.*s of %s: unsure of %llu", SPAN_ARG(name), filter->where,
                (unsigned long long)unsure);
        }
        uint64_t held = atomic_load_explicit(&filter->dropped[i], memory_order_relaxed);
        if (held && filter_rule_action(filter->filter, i) == FILTER_ACTION_LIMIT) {
            struct span name = span_first(filter_rule_name(filter->filter, i), 100);
            buf_printf(out, "; limit %.*s of %s: %llu held back", SPAN_ARG(name), filter->where,
                (unsigned long long)held);
        }
    }
}

void agent_status_line(
    const struct agent_status *status, const struct agent_plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->session_count; i++) {
        const struct session_counts *counts = &status->sessions[i];
        uint64_t over_budget = counts->dropped[SESSION_DROP_BUDGET_SAMPLED] +
                               counts->dropped[SESSION_DROP_BUDGET_VERBOSE] +
                               counts->dropped[SESSION_DROP_BUDGET_PROVIDER];
        uint64_t dropped = counts->dropped[SESSION_DROP_FULL] +
                           counts->dropped[SESSION_DROP_STOPPED] +
                           counts->dropped[SESSION_DROP_SPOOL_FULL] +
                           counts->dropped[SESSION_DROP_SPOOL_DISK];
        buf_printf(out, "%ssession %.100s: %llu received, %llu accepted", i ? "; " : "",
            plan->session_configs[i]->name, (unsigned long long)counts->received,
            (unsigned long long)counts->accepted);
        add_if_any(out, over_budget, "over budget");
        add_if_any(out, dropped, "dropped");
        add_if_any(out, counts->decode.messages, "messages without format");
        add_if_any(out, counts->definitions_evicted, "definitions evicted");
        add_if_any(out, counts->definitions_refused, "definitions refused");
        add_if_any(out, counts->definitions_conflicts, "definitions in conflict");
        add_if_any(out, counts->guard[GUARD_REPAIRED], "repaired");
        add_if_any(out, counts->guard[GUARD_FAILED], "repairs failed");
        add_if_any(out, counts->guard[GUARD_GAVE_UP], "repairs given up");
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        const struct output_counts *counts = &status->outputs[i];
        uint64_t dropped = 0;
        for (int k = 0; k < OUTPUT_DROP_COUNT; k++) {
            dropped += counts->dropped[k];
        }
        buf_printf(out, "; output %.100s: %llu acked, %llu pending", plan->output_configs[i]->name,
            (unsigned long long)counts->acked, (unsigned long long)counts->pending);
        add_if_any(out, dropped, "dropped");
        add_if_any(out, counts->dead_lettered, "dead-lettered");
        add_if_any(out, counts->kept_too_old, "of them too old");
        add_if_any(out, counts->parked, "held");
        add_if_any(out, counts->unexpected_duplicates, "unexpected duplicates");
        buf_add_text(out, counts->degraded ? ", degraded" : "");
    }
    for (size_t i = 0; i < plan->filter_count; i++) {
        add_limits(out, &plan->filters[i]);
    }
}

#include "app/watch/summary.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/order.h"
#include "base/visible.h"
#include "platform/plat_clock.h"

enum { MAX_PROVIDERS = 4096, MAX_OUTPUTS = 64, SHOWN = 12, RECENT_ROWS = 64 };

/* One thread counts, others may read meanwhile. */
struct provider_row {
    struct guid guid;
    struct span name;
    atomic_uint_fast64_t events;
    atomic_uint_fast64_t undecoded;
    struct provider_row *_Atomic next; /* the one that came next */
};

struct output_row {
    struct span name;
    uint64_t events;
    uint64_t bytes;
    uint64_t dead_letters;
    uint64_t kept_too_old; /* of these */
    uint64_t lost_too_old;
    uint64_t maybe_duplicates;
};

struct summary {
    struct arena arena;
    struct map providers; /* GUID -> provider_row */
    struct provider_row others;
    struct provider_row *_Atomic first;
    struct provider_row *last;
    struct provider_row *recent[RECENT_ROWS]; /* by a byte of the GUID: most events find theirs */
    uint64_t events;
    uint64_t raw;
    uint64_t partial;
    uint64_t gaps;
    uint64_t lost;
    uint64_t letters_evicted;
    uint64_t started_ns;
    struct output_row outputs[MAX_OUTPUTS];
    size_t output_count;
};

struct summary *summary_create(void)
{
    struct summary *summary = calloc(1, sizeof(*summary));
    if (summary) {
        arena_init(&summary->arena, 4 * 1024 * 1024);
        map_init(&summary->providers, MAX_PROVIDERS);
        summary->others.name = span_text("(others)");
        summary->started_ns = plat_monotonic_ns();
    }
    return summary;
}

void summary_destroy(struct summary *summary)
{
    if (summary) {
        map_fini(&summary->providers);
        arena_fini(&summary->arena);
        free(summary);
    }
}

static uint64_t value_of(const atomic_uint_fast64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Only its own thread writes it. */
static void add_to(atomic_uint_fast64_t *count, uint64_t value)
{
    atomic_store_explicit(count, value_of(count) + value, memory_order_relaxed);
}

/* A thread that finds the row finds all of it. */
static void publish(struct summary *summary, struct provider_row *row)
{
    atomic_store_explicit(
        summary->last ? &summary->last->next : &summary->first, row, memory_order_release);
    summary->last = row;
}

static struct provider_row *find_row(
    struct summary *summary, const struct guid *guid, struct span name)
{
    struct provider_row **recent = &summary->recent[guid->bytes[0] % RECENT_ROWS];
    if (*recent && guid_equal(&(*recent)->guid, guid)) {
        return *recent;
    }
    struct span key = span_make(guid->bytes, sizeof(guid->bytes));
    struct provider_row *row = map_get(&summary->providers, key);
    if (!row) {
        row = arena_alloc(&summary->arena, sizeof(*row));
        if (!row) {
            return &summary->others;
        }
        *row = (struct provider_row){.guid = *guid};
        arena_copy(&summary->arena, name, &row->name);
        key.data = row->guid.bytes;
        if (!map_put(&summary->providers, key, row)) {
            return &summary->others;
        }
        publish(summary, row);
    }
    *recent = row;
    return row;
}

static struct provider_row *row_of(struct summary *summary, const struct event *event)
{
    const struct event_schema *schema = event->schema;
    return find_row(summary, schema ? &schema->provider : &event->record->provider,
        schema ? schema->provider_name : span_make(NULL, 0));
}

static bool on_event(void *self, const struct event *event)
{
    struct summary *summary = self;
    bool raw = event_is_undecoded(event);
    struct provider_row *row = row_of(summary, event);
    add_to(&row->events, 1);
    if (raw || event->status == DECODE_PARTIAL) {
        add_to(&row->undecoded, 1);
    }
    summary->events++;
    summary->raw += raw;
    summary->partial += event->status == DECODE_PARTIAL;
    return true;
}

static void on_gap(void *self, const struct gap *gap, uint64_t now, uint64_t sequence)
{
    struct summary *summary = self;
    (void)now;
    if (sequence) { /* else it was lost after the source: outputs report their own losses */
        summary->gaps++;
        summary->lost += gap->count;
    }
}

struct event_observer summary_observer(struct summary *summary)
{
    return (struct event_observer){.self = summary, .event = on_event, .gap = on_gap};
}

static void tell(const struct provider_row *row, const struct guid *guid,
    void (*each)(void *self, const struct summary_provider *provider), void *self)
{
    struct summary_provider provider = {.guid = guid,
        .name = row->name,
        .events = value_of(&row->events),
        .undecoded = value_of(&row->undecoded)};
    each(self, &provider);
}

void summary_look(const struct summary *summary,
    void (*each)(void *self, const struct summary_provider *provider), void *self)
{
    const struct provider_row *row = atomic_load_explicit(&summary->first, memory_order_acquire);
    while (row) {
        tell(row, &row->guid, each, self);
        row = atomic_load_explicit(&row->next, memory_order_acquire);
    }
    tell(&summary->others, NULL, each, self);
}

void summary_merge(struct summary *summary, const struct summary *other)
{
    size_t cursor = 0;
    const struct map_slot *slot;
    while ((slot = map_next(&other->providers, &cursor))) {
        const struct provider_row *from = slot->value;
        struct provider_row *row = find_row(summary, &from->guid, from->name);
        add_to(&row->events, value_of(&from->events));
        add_to(&row->undecoded, value_of(&from->undecoded));
    }
    add_to(&summary->others.events, value_of(&other->others.events));
    add_to(&summary->others.undecoded, value_of(&other->others.undecoded));
    summary->events += other->events;
    summary->raw += other->raw;
    summary->partial += other->partial;
    summary->gaps += other->gaps;
    summary->lost += other->lost;
}

/* NULL: there is no room for it. */
static struct output_row *output_row(struct summary *summary, const char *name)
{
    struct span text = span_text(name);
    for (size_t i = 0; i < summary->output_count; i++) {
        if (span_equal(summary->outputs[i].name, text)) {
            return &summary->outputs[i];
        }
    }
    struct output_row *row = &summary->outputs[summary->output_count];
    if (summary->output_count == MAX_OUTPUTS || !arena_copy(&summary->arena, text, &row->name)) {
        return NULL;
    }
    summary->output_count++;
    return row;
}

void summary_add_output(struct summary *summary, const char *name, uint64_t events, uint64_t bytes,
    uint64_t dead_letters)
{
    struct output_row *row = output_row(summary, name);
    if (row) {
        row->events += events;
        row->bytes += bytes;
        row->dead_letters += dead_letters;
    }
}

void summary_add_too_old(struct summary *summary, const char *name, uint64_t kept, uint64_t lost)
{
    struct output_row *row = output_row(summary, name);
    if (row) {
        row->kept_too_old += kept;
        row->lost_too_old += lost;
    }
}

void summary_add_maybe_duplicates(struct summary *summary, const char *name, uint64_t records)
{
    struct output_row *row = output_row(summary, name);
    if (row) {
        row->maybe_duplicates += records;
    }
}

void summary_add_evicted(struct summary *summary, uint64_t letters)
{
    summary->letters_evicted += letters;
}

static int by_events(const void *a, const void *b)
{
    const struct provider_row *x = *(struct provider_row *const *)a;
    const struct provider_row *y = *(struct provider_row *const *)b;
    int order = order_u64(value_of(&y->events), value_of(&x->events));
    return order ? order : guid_compare(&x->guid, &y->guid);
}

static void write_providers(const struct summary *summary, struct buf *out)
{
    struct provider_row *rows[MAX_PROVIDERS];
    size_t count = 0;
    size_t cursor = 0;
    const struct map_slot *slot;
    while ((slot = map_next(&summary->providers, &cursor)) && count < MAX_PROVIDERS) {
        rows[count++] = slot->value;
    }
    qsort(rows, count, sizeof(rows[0]), by_events);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        char guid[GUID_TEXT_SIZE];
        guid_write(&rows[i]->guid, guid);
        struct span name = rows[i]->name.size ? span_first(rows[i]->name, 200)
                                              : span_make(guid, sizeof(guid));
        buf_printf(out, "  %12llu  ", (unsigned long long)value_of(&rows[i]->events));
        visible_add(out, name);
        uint64_t undecoded = value_of(&rows[i]->undecoded);
        if (undecoded) {
            buf_printf(out, "  (%llu undecoded)", (unsigned long long)undecoded);
        }
        buf_add_byte(out, '\n');
    }
    if (count > SHOWN) {
        buf_printf(out, "  … and %zu more providers\n", count - SHOWN);
    }
}

void summary_write(const struct summary *summary, struct buf *out)
{
    double seconds = (double)(plat_monotonic_ns() - summary->started_ns) / 1e9;
    buf_printf(out, "%llu events in %.2f s, %llu undecoded, %llu in part\n",
        (unsigned long long)summary->events, seconds, (unsigned long long)summary->raw,
        (unsigned long long)summary->partial);
    if (summary->gaps) {
        buf_printf(out, "%llu gaps: %llu events, buffers or bytes lost before they were read\n",
            (unsigned long long)summary->gaps, (unsigned long long)summary->lost);
    }
    write_providers(summary, out);
    for (size_t i = 0; i < summary->output_count; i++) {
        const struct output_row *row = &summary->outputs[i];
        buf_add_text(out, "output ");
        visible_add(out, row->name);
        buf_printf(out, ": %llu events, %llu bytes", (unsigned long long)row->events,
            (unsigned long long)row->bytes);
        if (row->dead_letters > row->kept_too_old) {
            buf_printf(out, ", %llu refused (etwship deadletter list)",
                (unsigned long long)(row->dead_letters - row->kept_too_old));
        }
        if (row->kept_too_old) {
            buf_printf(out, ", %llu given up as too old (etwship deadletter list)",
                (unsigned long long)row->kept_too_old);
        }
        if (row->lost_too_old) {
            buf_printf(out, ", %llu lost as too old", (unsigned long long)row->lost_too_old);
        }
        if (row->maybe_duplicates) {
            buf_printf(out, ", %llu maybe duplicates", (unsigned long long)row->maybe_duplicates);
        }
        buf_add_byte(out, '\n');
    }
    if (summary->letters_evicted) {
        buf_printf(out, "%llu refused events are lost: there was no room for more dead letters\n",
            (unsigned long long)summary->letters_evicted);
    }
}

#include "app/watch/agent_history.h"

#include <stdlib.h>

#include "status/metric_json.h"

enum { NAME_BYTES = 256 };

struct series {
    enum metric_id id; /* of the counter that it follows */
    char name[NAME_BYTES];
    uint64_t last;
    bool is_new;                          /* its counter was not seen at the last mark */
    bool is_seen;                         /* at this mark */
    size_t unseen;                        /* marks without it */
    uint64_t counts[AGENT_HISTORY_MARKS]; /* a ring, with its place in the history */
};

struct agent_history {
    struct series *series[AGENT_HISTORY_MAX_SERIES];
    size_t next; /* of the ring */
    size_t marks;
};

struct agent_history *agent_history_create(void)
{
    return calloc(1, sizeof(struct agent_history));
}

void agent_history_destroy(struct agent_history *history)
{
    if (history) {
        for (size_t i = 0; i < AGENT_HISTORY_MAX_SERIES; i++) {
            free(history->series[i]);
        }
        free(history);
    }
}

/* NULL: there is no room for another one. */
static struct series *find(struct agent_history *history, enum metric_id id, struct span name)
{
    struct series **room = NULL;
    name = span_first(name, NAME_BYTES - 1);
    for (size_t i = 0; i < AGENT_HISTORY_MAX_SERIES; i++) {
        struct series **place = &history->series[i];
        if (*place && (*place)->id == id && span_is(name, (*place)->name)) {
            return *place;
        }
        room = room || *place ? room : place;
    }
    struct series *made = room ? calloc(1, sizeof(*made)) : NULL;
    if (made) {
        made->id = id;
        made->is_new = true;
        memcpy(made->name, name.data, name.size);
        *room = made;
    }
    return made;
}

/* A counter that fell has begun again, as after a reload. */
static void take(struct series *series, uint64_t value, size_t place)
{
    uint64_t from = value >= series->last ? series->last : 0;
    series->counts[place] = series->is_new ? 0 : value - from;
    series->last = value;
    series->is_new = false;
    series->is_seen = true;
    series->unseen = 0;
}

void agent_history_mark(struct agent_history *history, const struct metric_set *set)
{
    size_t place = history->next;
    for (size_t i = 0; i < set->count; i++) {
        const struct metric_sample *sample = &set->samples[i];
        bool is_followed = sample->id == METRIC_SESSION_RECEIVED ||
                           sample->id == METRIC_OUTPUT_ACKED;
        struct series *series = is_followed ? find(history, sample->id, sample->labels[0]) : NULL;
        if (series) {
            take(series, sample->number, place);
        }
    }
    for (size_t i = 0; i < AGENT_HISTORY_MAX_SERIES; i++) {
        struct series *series = history->series[i];
        if (series && !series->is_seen) {
            series->counts[place] = 0;
            series->is_new = true;
            if (++series->unseen == AGENT_HISTORY_MARKS) {
                free(series);
                history->series[i] = NULL;
            }
        } else if (series) {
            series->is_seen = false;
        }
    }
    history->next = (place + 1) % AGENT_HISTORY_MARKS;
    history->marks += history->marks < AGENT_HISTORY_MARKS;
}

static void add_counts(
    const struct agent_history *history, const struct series *series, struct buf *out)
{
    size_t first = history->next + AGENT_HISTORY_MARKS - history->marks;
    for (size_t i = 0; i < history->marks; i++) {
        buf_printf(out, "%s%llu", i ? "," : "",
            (unsigned long long)series->counts[(first + i) % AGENT_HISTORY_MARKS]);
    }
}

static void add_all(const struct agent_history *history, enum metric_id id, struct buf *out)
{
    const char *before = "";
    for (size_t i = 0; i < AGENT_HISTORY_MAX_SERIES; i++) {
        const struct series *series = history->series[i];
        if (series && series->id == id) {
            buf_add_text(out, before);
            metric_json_string(span_text(series->name), out);
            buf_add_text(out, ":[");
            add_counts(history, series, out);
            buf_add_byte(out, ']');
            before = ",";
        }
    }
}

void agent_history_json(const struct agent_history *history, struct buf *out)
{
    buf_printf(out, "{\"every_s\":%d,\"sessions\":{", AGENT_HISTORY_EVERY_MS / 1000);
    add_all(history, METRIC_SESSION_RECEIVED, out);
    buf_add_text(out, "},\"outputs\":{");
    add_all(history, METRIC_OUTPUT_ACKED, out);
    buf_add_text(out, "}}");
}

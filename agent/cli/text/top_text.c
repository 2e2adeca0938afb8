#include "cli/text/top_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/visible.h"
#include "status/metric_read.h"

enum { MAX_ROWS = 1200, NAME_BYTES = 64, COLUMNS = 6, MAX_PROVIDERS = 15 };

/* The metric of each column. A rate is shown per second, a count as it is. */
struct column {
    const char *metric;
    const char *title;
    bool is_rate;
};

static const struct column session_columns[COLUMNS] = {
    {"etwship_session_events_total", "in/s", true},
    {"etwship_session_filtered_events_total", "filtered/s", true},
    {"etwship_session_accepted_events_total", "accepted/s", true},
    {"etwship_session_lost_events_total", "lost", false},
    {"etwship_session_etw_lost_buffers_total", "buffers lost", false},
    {"etwship_session_gaps_total", "gaps", false}};

static const struct column output_columns[COLUMNS] = {
    {"etwship_output_acked_events_total", "acked/s", true},
    {"etwship_output_acked_bytes_total", "bytes/s", true},
    {"etwship_output_pending_events", "pending", false},
    {"etwship_output_retries_total", "retries", false},
    {"etwship_output_dead_lettered_events_total", "dead letters", false},
    {"etwship_output_dropped_events_total", "lost", false}};

/* The first metric determines the rows. */
static const struct column provider_columns[COLUMNS] = {
    {"etwship_provider_events_total", "events/s", true},
    {"etwship_provider_undecoded_events_total", "undecoded/s", true}};

struct row {
    char name[NAME_BYTES];
    double values[COLUMNS];
};

struct table {
    struct row rows[MAX_ROWS];
    size_t count;
};

struct top_look {
    uint64_t at_ns;
    struct table sessions;
    struct table outputs;
    struct table providers;
    double healthy;
    double spool_bytes;
    double spool_max_bytes;
    double peak_bytes;
    double cpu_seconds;
    double uptime_seconds;
    double conservation_error;
};

struct top_look *top_text_create(void)
{
    return calloc(1, sizeof(struct top_look));
}

void top_text_destroy(struct top_look *look)
{
    free(look);
}

/* ${name} has at most NAME_BYTES with its NUL. */
static struct row *find_row(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i].name, name) == 0) {
            return &table->rows[i];
        }
    }
    if (table->count == MAX_ROWS) {
        return NULL;
    }
    struct row *row = &table->rows[table->count++];
    *row = (struct row){.name = ""};
    memcpy(row->name, name, strlen(name) + 1);
    return row;
}

/* Samples that differ in other labels only, such as reasons, are added. */
static void add(struct table *table, const struct column *columns, const char *label,
    const struct metric_line *line)
{
    char name[NAME_BYTES];
    struct buf text;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!columns[i].metric || !span_is(line->name, columns[i].metric)) {
            continue;
        }
        buf_init(&text, 4096);
        if (metric_read_label(line, label, &text)) {
            snprintf(
                name, sizeof(name), "%.*s", SPAN_ARG(span_first(buf_span(&text), NAME_BYTES - 1)));
            visible_fit(name, sizeof(name));
            struct row *row = find_row(table, name);
            if (row) {
                row->values[i] += line->value;
            }
        }
        buf_fini(&text);
    }
}

static void set(double *member, const struct metric_line *line, const char *name)
{
    if (span_is(line->name, name)) {
        *member = line->value;
    }
}

bool top_text_read(
    struct span metrics, uint64_t now_ns, struct top_look *ret_look, struct error *err)
{
    struct metric_line line;
    bool any = false;
    *ret_look = (struct top_look){.at_ns = now_ns};
    while (metric_read_next(&metrics, &line)) {
        any = true;
        add(&ret_look->sessions, session_columns, "session", &line);
        add(&ret_look->outputs, output_columns, "output", &line);
        add(&ret_look->providers, provider_columns, "provider", &line);
        set(&ret_look->healthy, &line, "etwship_healthy");
        set(&ret_look->spool_bytes, &line, "etwship_spool_bytes");
        set(&ret_look->spool_max_bytes, &line, "etwship_spool_max_bytes");
        set(&ret_look->peak_bytes, &line, "etwship_memory_peak_bytes");
        set(&ret_look->cpu_seconds, &line, "etwship_cpu_seconds_total");
        set(&ret_look->uptime_seconds, &line, "etwship_uptime_seconds");
        set(&ret_look->conservation_error, &line, "etwship_conservation_error");
    }
    return any || error_set(err, ERR_FORMAT, "the answer is not from an agent");
}

static const struct row *same_row(const struct table *table, const struct row *row, size_t index)
{
    bool same = index < table->count && strcmp(table->rows[index].name, row->name) == 0;
    return same ? &table->rows[index] : NULL;
}

/* ${before} NULL: new. A counter that decreased was reset, as by a reload. */
static double shown(const struct column *column, const struct row *before, const struct row *now,
    size_t index, double seconds)
{
    double value = now->values[index];
    if (!column->is_rate) {
        return value;
    }
    double from = before && before->values[index] <= value ? before->values[index] : 0;
    return before && seconds > 0 ? (value - from) / seconds : 0;
}

static void write_table(const struct table *before, const struct table *now,
    const struct column *columns, const char *title, size_t most, double seconds, const char *end,
    struct buf *out)
{
    buf_printf(out, "%s\n%-24s", end, title);
    for (size_t i = 0; i < COLUMNS && columns[i].metric; i++) {
        buf_printf(out, " %13s", columns[i].title);
    }
    buf_printf(out, "%s\n", end);
    for (size_t r = 0; r < now->count && r < most; r++) {
        const struct row *row = &now->rows[r];
        const struct row *old = same_row(before, row, r);
        buf_printf(out, "%-24s", row->name);
        for (size_t i = 0; i < COLUMNS && columns[i].metric; i++) {
            buf_printf(out, " %13.0f", shown(&columns[i], old, row, i, seconds));
        }
        buf_printf(out, "%s\n", end);
    }
}

struct ranked {
    struct row row;
    struct row old;
    double rate;
};

static int by_rate(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    return x->rate != y->rate ? (x->rate > y->rate ? -1 : 1) : strcmp(x->row.name, y->row.name);
}

/* Sort by rate, as there may be more rows than a screen has lines. */
static void write_providers(const struct top_look *before, const struct top_look *now,
    double seconds, const char *end, struct buf *out)
{
    enum { MOST = 64 };
    struct ranked ranked[MOST];
    static struct table olds; /* large, and one thread draws */
    static struct table news;
    size_t count = 0;
    olds.count = 0;
    news.count = 0;
    for (size_t i = 0; i < now->providers.count && count < MOST; i++) {
        const struct row *row = &now->providers.rows[i];
        const struct row *old = same_row(&before->providers, row, i);
        if (row->values[0] > 0) {
            ranked[count++] = (struct ranked){.row = *row,
                .old = old ? *old : *row,
                .rate = shown(&provider_columns[0], old, row, 0, seconds)};
        }
    }
    qsort(ranked, count, sizeof(ranked[0]), by_rate);
    for (size_t i = 0; i < count; i++) {
        olds.rows[olds.count++] = ranked[i].old;
        news.rows[news.count++] = ranked[i].row;
    }
    if (count) {
        write_table(&olds, &news, provider_columns, "PROVIDER", MAX_PROVIDERS, seconds, end, out);
    }
}

void top_text_write(
    const struct top_look *before, const struct top_look *now, bool clears, struct buf *out)
{
    const char *end = clears ? "\x1b[K" : "";
    double seconds = now->at_ns > before->at_ns ? (double)(now->at_ns - before->at_ns) / 1e9 : 0;
    double cpu = seconds > 0 && now->cpu_seconds > before->cpu_seconds
                     ? (now->cpu_seconds - before->cpu_seconds) / seconds * 100
                     : 0;
    buf_printf(out,
        "etwship %s, up %.0f s, CPU %.1f %%, memory at most %.1f MB, spool %.1f of %.0f MB%s\n",
        now->healthy != 0 ? "healthy" : "degraded: see etwship status", now->uptime_seconds, cpu,
        now->peak_bytes / 1048576, now->spool_bytes / 1048576, now->spool_max_bytes / 1048576, end);
    if (now->conservation_error != 0) {
        buf_printf(out, "%.0f events are not accounted for: please report it%s\n",
            now->conservation_error, end);
    }
    write_table(
        &before->sessions, &now->sessions, session_columns, "SESSION", MAX_ROWS, seconds, end, out);
    write_table(
        &before->outputs, &now->outputs, output_columns, "OUTPUT", MAX_ROWS, seconds, end, out);
    write_providers(before, now, seconds, end, out);
}

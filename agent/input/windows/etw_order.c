#include "input/windows/etw_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "input/windows/etw_raw.h"

/*
 * A row is the queue of one processor's buffers; its first buffer is open at the row's next record.
 * Records of one processor keep their order. The next row is found by comparing all rows. Records
 * of one row tend to follow each other, so the row continues without comparison while it stays
 * ahead of the second-best (as in etl_pending.c).
 */
struct held {
    struct held *next;
    struct etw_trace *trace;
    size_t size;
    _Alignas(8) uint8_t bytes[];
};

struct row {
    uint16_t cpu;
    bool open;   /* `raw` reads `first` */
    bool loaded; /* `record` is next */
    struct held *first;
    struct held *last;
    struct etw_raw raw;
    struct event_record record;
};

struct etw_order {
    struct etw_order_settings settings;
    struct row **rows;
    size_t row_count;
    size_t row_capacity;
    size_t bytes;
    uint64_t newest; /* time of the newest delivered record */
    uint64_t late;
    bool refused;
};

struct etw_order *etw_order_create(const struct etw_order_settings *settings, struct error *err)
{
    struct etw_order *order = calloc(1, sizeof(*order));
    if (!order) {
        error_set(err, ERR_MEMORY, "out of memory for a session");
        return NULL;
    }
    order->settings = *settings;
    return order;
}

static void drop_first(struct etw_order *order, struct row *row)
{
    struct held *first = row->first;
    row->first = first->next;
    row->open = false;
    order->bytes -= first->size;
    free(first);
}

void etw_order_destroy(struct etw_order *order)
{
    if (!order) {
        return;
    }
    for (size_t i = 0; i < order->row_count; i++) {
        while (order->rows[i]->first) {
            drop_first(order, order->rows[i]);
        }
        free(order->rows[i]);
    }
    free(order->rows);
    free(order);
}

bool etw_order_is_empty(const struct etw_order *order)
{
    return order->bytes == 0;
}

uint64_t etw_order_late(const struct etw_order *order)
{
    return order->late;
}

static void give_record(struct etw_order *order, const struct event_record *record)
{
    if (record->time < order->newest) {
        order->late++;
    } else {
        order->newest = record->time;
    }
    order->refused = order->refused || !order->settings.record(order->settings.self, record);
}

/* Advance to the row's next record, in its first buffer or later ones. */
static void advance(struct etw_order *order, struct row *row)
{
    row->loaded = false;
    while (row->first && !row->loaded) {
        struct held *first = row->first;
        if (!row->open) {
            row->open = true;
            etw_raw_open(&row->raw, span_make(first->bytes, first->size), first->trace);
        }
        row->loaded = etw_raw_next(&row->raw, &row->record);
        if (!row->loaded) {
            if (row->raw.problem) {
                order->settings.problem(order->settings.self, row->raw.problem);
            }
            drop_first(order, row);
        }
    }
}

/* ---- adding buffers -------------------------------------------------------------------------- */

static struct row *row_of(struct etw_order *order, uint16_t cpu)
{
    for (size_t i = 0; i < order->row_count; i++) {
        if (order->rows[i]->cpu == cpu) {
            return order->rows[i];
        }
    }
    if (!grow_list(&order->rows, order->row_count, &order->row_capacity, sizeof(struct row *))) {
        return NULL;
    }
    struct row *row = calloc(1, sizeof(*row));
    if (row) {
        row->cpu = cpu;
        order->rows[order->row_count++] = row;
    }
    return row;
}

static bool hold(struct etw_order *order, uint16_t cpu, struct span buffer, struct etw_trace *trace)
{
    struct row *row = row_of(order, cpu);
    struct held *held = row ? malloc(sizeof(*held) + buffer.size) : NULL;
    if (!held) {
        return false;
    }
    held->next = NULL;
    held->trace = trace;
    held->size = buffer.size;
    memcpy(held->bytes, buffer.data, buffer.size);
    order->bytes += held->size;
    if (row->first) {
        row->last->next = held;
    } else {
        row->first = held;
    }
    row->last = held;
    if (!row->loaded) {
        advance(order, row);
    }
    return true;
}

/* Memory is short: deliver held records first, then this buffer as it is. */
static void pass(struct etw_order *order, struct etw_raw *raw)
{
    struct event_record record;
    etw_order_give(order, UINT64_MAX);
    while (!order->refused && etw_raw_next(raw, &record)) {
        give_record(order, &record);
    }
    if (raw->problem) {
        order->settings.problem(order->settings.self, raw->problem);
    }
}

void etw_order_add(struct etw_order *order, struct span buffer, struct etw_trace *trace)
{
    struct etw_raw raw;
    if (!etw_raw_open(&raw, buffer, trace)) {
        order->settings.problem(order->settings.self, raw.problem);
    } else if (!hold(order, raw.cpu, raw.buffer, trace)) {
        pass(order, &raw);
    }
}

/* ---- delivering records ---------------------------------------------------------------------- */

/* The row with the oldest record; ${ret_second}: the oldest time of the other rows. */
static struct row *find_oldest(const struct etw_order *order, uint64_t *ret_second)
{
    struct row *oldest = NULL;
    *ret_second = UINT64_MAX;
    for (size_t i = 0; i < order->row_count; i++) {
        struct row *row = order->rows[i];
        if (row->loaded && (!oldest || row->record.time < oldest->record.time)) {
            *ret_second = oldest ? oldest->record.time : UINT64_MAX;
            oldest = row;
        } else if (row->loaded && row->record.time < *ret_second) {
            *ret_second = row->record.time;
        }
    }
    return oldest;
}

void etw_order_give(struct etw_order *order, uint64_t until)
{
    uint64_t second;
    struct row *row = find_oldest(order, &second);
    while (row && !order->refused &&
           (row->record.time <= until || order->bytes > order->settings.max_bytes)) {
        give_record(order, &row->record);
        advance(order, row);
        if (!row->loaded || row->record.time > second) {
            row = find_oldest(order, &second);
        }
    }
}

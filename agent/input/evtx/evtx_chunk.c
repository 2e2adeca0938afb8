#include "input/evtx/evtx_chunk.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"
#include "input/evtx/evtx_carve.h"
#include "input/evtx/evtx_event.h"
#include "input/evtx/evtx_format.h"
#include "input/evtx/evtx_hosts.h"
#include "input/evtx/evtx_plan.h"
#include "input/evtx/evtx_system.h"

/*
 * A chunk is read into memory as a whole, because its records refer to each other: a name or
 * template is stored in the record that used it first. Where a record is damaged, the reader
 * searches for the next one. Records begin at multiples of eight bytes.
 */
enum {
    /* Limit for one chunk: a token costs 1, names and values cost evtx_tree_cost. Records of real
     * chunks cost about 500 each. */
    CHUNK_WORK = 2 * 1024 * 1024,
    ALIGNMENT = 8,
    MIN_RECORD_BYTES = EVTX_RECORD_HEAD_BYTES + EVTX_RECORD_TAIL_BYTES,
};

/* The checksums of a chunk, in the order in which they are checked. */
enum sum { SUM_OF_HEADER, SUM_OF_RECORDS, SUM_COUNT };

struct evtx_chunk {
    struct etl_bytes *bytes;
    struct evtx_place place;
    struct evtx_scope scope;
    bool is_read;
    unsigned sums_checked; /* next one to check (enum sum) */
    uint32_t at;           /* next record */
    uint32_t end;          /* end of the records */
    uint32_t work;         /* work that is left */
    uint32_t problem_at;
    const char *problem;
    struct error error;
    struct evtx_event event;
    struct evtx_tree tree;
    struct evtx_room room;
    struct evtx_plans plans;
    uint8_t data[EVTX_CHUNK_BYTES];
};

bool evtx_chunk_is_log(struct span head)
{
    return head.size >= sizeof(EVTX_FILE_MAGIC) &&
           memcmp(head.data, EVTX_FILE_MAGIC, sizeof(EVTX_FILE_MAGIC)) == 0;
}

bool evtx_chunk_parse(
    const uint8_t head[EVTX_CHUNK_HEAD_BYTES], uint64_t offset, struct evtx_place *ret_place)
{
    if (memcmp(head, EVTX_CHUNK_MAGIC, sizeof(EVTX_CHUNK_MAGIC)) != 0) {
        return false;
    }
    uint32_t end = load_le32(head + EVTX_CHUNK_FREE_AT);
    bool makes_sense = end >= EVTX_CHUNK_HEADER_BYTES && end <= EVTX_CHUNK_BYTES;
    *ret_place = (struct evtx_place){.offset = offset,
        .first_number = load_le64(head + EVTX_CHUNK_FIRST_NUMBER_AT),
        .last_number = load_le64(head + EVTX_CHUNK_LAST_NUMBER_AT),
        .end = makes_sense ? end : EVTX_CHUNK_BYTES,
        .empty = end == EVTX_CHUNK_HEADER_BYTES};
    return true;
}

struct evtx_chunk *evtx_chunk_create(void)
{
    return malloc(sizeof(struct evtx_chunk));
}

void evtx_chunk_destroy(struct evtx_chunk *chunk)
{
    free(chunk);
}

void evtx_chunk_open(struct evtx_chunk *chunk, struct etl_bytes *bytes,
    const struct evtx_place *place, const struct evtx_scope *scope)
{
    chunk->bytes = bytes;
    chunk->place = *place;
    chunk->scope = *scope;
    chunk->is_read = false;
    chunk->sums_checked = scope->checks_sums ? SUM_OF_HEADER : SUM_COUNT;
    chunk->at = place->carves ? place->end : EVTX_CHUNK_HEADER_BYTES;
    chunk->end = place->carves ? EVTX_CHUNK_BYTES : place->end;
    chunk->work = CHUNK_WORK;
    chunk->problem = NULL;
    chunk->problem_at = 0;
    evtx_plans_clear(&chunk->plans);
}

static bool read_chunk(struct evtx_chunk *c)
{
    size_t got;
    if (!etl_bytes_read(c->bytes, c->place.offset, c->data, sizeof(c->data), &got, &c->error)) {
        return false;
    }
    memset(c->data + got, 0, sizeof(c->data) - got);
    c->end = c->end < got ? c->end : (uint32_t)got;
    c->sums_checked = got < sizeof(c->data) ? SUM_COUNT : c->sums_checked; /* reported already */
    c->is_read = true;
    return true;
}

static void fail(struct evtx_chunk *c, uint32_t at, const char *what)
{
    if (!c->problem) {
        c->problem = what;
        c->problem_at = at;
    }
}

/* ---- checksums ------------------------------------------------------------------------------- */

/* The checksums are not valid in a chunk that is being written, or was when the machine stopped. */
static bool has_sums(const struct evtx_chunk *c)
{
    return (load_le32(c->data + EVTX_CHUNK_FLAGS_AT) & (EVTX_FLAG_DIRTY | EVTX_FLAG_NO_CRC)) == 0;
}

static bool is_header_right(const struct evtx_chunk *c)
{
    uint32_t told = load_le32(c->data + EVTX_CHUNK_HEADER_CRC_AT);
    uLong sum = crc32(0, c->data, EVTX_CHUNK_FLAGS_AT);
    sum = crc32(sum, c->data + EVTX_CHUNK_HEADER_REST_AT,
        EVTX_CHUNK_HEADER_BYTES - EVTX_CHUNK_HEADER_REST_AT);
    return told == 0 || told == sum;
}

static bool are_records_right(const struct evtx_chunk *c)
{
    uint32_t told = load_le32(c->data + EVTX_CHUNK_RECORDS_CRC_AT);
    uint32_t end = load_le32(c->data + EVTX_CHUNK_FREE_AT);
    return told == 0 || end < EVTX_CHUNK_HEADER_BYTES || end > EVTX_CHUNK_BYTES ||
           told == crc32(0, c->data + EVTX_CHUNK_HEADER_BYTES, end - EVTX_CHUNK_HEADER_BYTES);
}

/* False: a checksum is wrong, and is set as the problem. The next call checks the remaining
 * ones. */
static bool check_sums(struct evtx_chunk *c)
{
    while (c->sums_checked < SUM_COUNT && has_sums(c)) {
        switch ((enum sum)c->sums_checked++) {
        case SUM_OF_HEADER:
            if (!is_header_right(c)) {
                fail(c, 0, "the checksum of the chunk's header is wrong");
                return false;
            }
            break;
        case SUM_OF_RECORDS:
            if (!are_records_right(c)) {
                fail(c, EVTX_CHUNK_HEADER_BYTES,
                    "the checksum of the chunk's records is wrong; they are read anyway");
                return false;
            }
            break;
        case SUM_COUNT:
            break;
        }
    }
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Size of the record at ${at}; 0 if there is no record. */
static uint32_t record_size(const struct evtx_chunk *c, uint32_t at)
{
    if (c->end < at + MIN_RECORD_BYTES || load_le32(c->data + at) != EVTX_RECORD_MAGIC) {
        return 0;
    }
    uint32_t size = load_le32(c->data + at + 4);
    bool fits = size >= MIN_RECORD_BYTES && size <= c->end - at;
    return fits && load_le32(c->data + at + size - EVTX_RECORD_TAIL_BYTES) == size ? size : 0;
}

/* Find the next record. False: there is none. */
static bool find_record(struct evtx_chunk *c, uint32_t *ret_size)
{
    uint32_t from = c->at;
    while (c->at < c->end && !(*ret_size = record_size(c, c->at))) {
        c->at = (c->at / ALIGNMENT + 1) * ALIGNMENT;
    }
    bool found = c->at < c->end;
    if (from < c->end && c->at != from) {
        fail(c, from,
            found ? "no record: skipped to the next one" : "rest of the chunk skipped: no record");
    }
    return found;
}

static void begin_record(struct evtx_chunk *c)
{
    const uint8_t *head = c->data + c->at;
    c->event.record = (struct event_record){.trace = c->scope.trace,
        .position = c->scope.position,
        .log_record_id = load_le64(head + 8),
        .time = load_le64(head + 16)};
    c->event.record.position.record_offset = c->at;
}

static const struct trace_info *trace_of(const struct evtx_chunk *c)
{
    return evtx_hosts_trace(c->scope.hosts, c->scope.trace, c->event.computer);
}

/* False: the record has to be read from its XML. */
static bool read_by_plan(struct evtx_chunk *c, uint32_t at, uint32_t size)
{
    struct evtx_plan *plan = evtx_plans_find(
        &c->plans, &c->room, span_make(c->data, sizeof(c->data)), at, size);
    if (!plan) {
        return false;
    }
    begin_record(c);
    if (!evtx_plan_run(plan, &c->room, &c->work, &c->event)) {
        return false;
    }
    c->event.record.trace = evtx_plan_trace(plan);
    if (!c->event.record.trace) {
        c->event.record.trace = trace_of(c);
        evtx_plan_set_trace(plan, c->event.record.trace);
    }
    return true;
}

/* False: the record could not be read as an event. */
static bool read_record(struct evtx_chunk *c, uint32_t size)
{
    uint32_t at = c->at + EVTX_RECORD_HEAD_BYTES;
    size -= MIN_RECORD_BYTES;
    if (!c->place.carves && read_by_plan(c, at, size)) {
        return true;
    }
    begin_record(c);
    uint32_t work = c->work;
    const struct evtx_fragment fragment = {
        .chunk = span_make(c->data, sizeof(c->data)), .at = at, .size = size};
    const char *in_xml = evtx_tree_read(&c->tree, &c->room, &fragment, &c->work);
    const char *in_event = NULL;
    bool is_known = evtx_event_fill(&c->event, &c->tree, &in_event);
    if (in_xml || in_event) {
        fail(c, c->at, in_xml ? in_xml : in_event);
    } else if (is_known && !c->place.carves) {
        evtx_plans_add(&c->plans, &c->room, &c->tree, &c->event, work - c->work);
    }
    if (is_known) {
        c->event.record.trace = trace_of(c);
        c->event.record.log_problem = in_xml ? in_xml : in_event;
    }
    return is_known;
}

/* ---- leftovers ------------------------------------------------------------------------------- */

/* Find the next possible leftover. False: there is none. */
static bool find_leftover(struct evtx_chunk *c, uint32_t *ret_size)
{
    c->at = (c->at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (; c->at < c->end; c->at += ALIGNMENT) {
        *ret_size = record_size(c, c->at);
        if (*ret_size &&
            (!c->scope.carves_again || evtx_carve_has(c->scope.carve, c->place.offset + c->at))) {
            return true;
        }
    }
    return false;
}

/* Nothing proves that the values of a leftover are what they were: other data may stand in the
 * middle of it. Its names show that. */
static bool has_names(const struct evtx_tree *tree)
{
    struct evtx_system parts;
    uint16_t event = evtx_tree_find(tree, 0, EVTX_NODE_ELEMENT, "Event");
    evtx_system_find(tree, evtx_tree_find(tree, event, EVTX_NODE_ELEMENT, "System"), &parts);
    return evtx_system_has_names(tree, &parts);
}

/* False: the record is also in the log, or was found before. */
static bool is_new(const struct evtx_chunk *c)
{
    const struct event_record *record = &c->event.record;
    return c->scope.carves_again ||
           evtx_carve_note(c->scope.carve, record->log_record_id, record->time);
}

/* The second pass reads what the first one took. */
static bool take_leftover(struct evtx_chunk *c, uint32_t at)
{
    return c->scope.carves_again || evtx_carve_take(c->scope.carve, c->place.offset + at) ||
           error_set(
               &c->error, ERR_MEMORY, "%s: out of memory for dropped records", c->bytes->path);
}

static enum evtx_step next_leftover(struct evtx_chunk *c)
{
    uint32_t size;
    while (find_leftover(c, &size)) {
        uint32_t at = c->at;
        bool is_known = read_record(c, size);
        if (!is_known || c->problem || !has_names(&c->tree)) {
            c->at += ALIGNMENT; /* an unreadable record may contain another one */
            c->problem = "a dropped record contains overwritten data, or refers to it";
            c->problem_at = at;
            return EVTX_STEP_DAMAGED;
        }
        c->at += size;
        if (is_new(c)) {
            c->event.record.present |= RECORD_IS_CARVED;
            return take_leftover(c, at) ? EVTX_STEP_RECORD : EVTX_STEP_FAILED;
        }
    }
    return EVTX_STEP_END;
}

bool evtx_chunk_load(struct evtx_chunk *c, uint32_t from, struct evtx_place *ret_place)
{
    if (!read_chunk(c)) {
        return false;
    }
    c->at = from;
    if (!evtx_chunk_parse(c->data, c->place.offset, ret_place)) {
        *ret_place = (struct evtx_place){.offset = c->place.offset};
    }
    return true;
}

uint32_t evtx_chunk_whole(const struct evtx_chunk *c)
{
    uint32_t at = c->at;
    for (uint32_t size; at < c->end && (size = record_size(c, at)) != 0;) {
        at += size;
    }
    return at;
}

void evtx_chunk_cut(struct evtx_chunk *c, uint32_t end)
{
    c->end = end < c->end ? end : c->end;
}

enum evtx_step evtx_chunk_next(struct evtx_chunk *c)
{
    uint32_t size;
    c->problem = NULL;
    if (!c->is_read && !read_chunk(c)) {
        return EVTX_STEP_FAILED;
    }
    if (c->place.carves) {
        return next_leftover(c);
    }
    if (!check_sums(c)) {
        return EVTX_STEP_DAMAGED;
    }
    if (!find_record(c, &size)) {
        return c->problem ? EVTX_STEP_DAMAGED : EVTX_STEP_END;
    }
    bool is_known = read_record(c, size);
    c->at += size;
    return is_known ? EVTX_STEP_RECORD : EVTX_STEP_DAMAGED;
}

const struct event_record *evtx_chunk_record(const struct evtx_chunk *chunk)
{
    return &chunk->event.record;
}

const char *evtx_chunk_problem(const struct evtx_chunk *chunk)
{
    return chunk->problem;
}

const struct error *evtx_chunk_error(const struct evtx_chunk *chunk)
{
    return &chunk->error;
}

uint64_t evtx_chunk_offset(const struct evtx_chunk *chunk)
{
    return chunk->place.offset + chunk->problem_at;
}

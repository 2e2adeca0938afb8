#include "event/model/event_overflow.h"

#include <stdint.h>

#include "base/filetime.h"
#include "base/text/json_escape.h"
#include "base/utf.h"

/*
 * The record is copied and read once; unchanged parts are copied back in runs, from `pending` to
 * the next change. A path grows and shrinks with the levels of nesting, in the escaped spelling of
 * the record, so that names need no escaping of their own. Limits apply to sizes in unescaped
 * UTF-8.
 *
 * The reader supports the JSON that the agent's writers make. Other text passes unchanged.
 */
enum {
    MAX_LEVELS = 64,
    MAX_RECORD_BYTES = 64 * 1024 * 1024,
    KEPT_BYTES = 1024 * 1024, /* memory to keep for the next record */
    MAX_SUFFIX_BYTES = 12,    /* `_2`; a new name is compared with those that have this ending */
    LONG_NAME_BYTES = EVENT_NAME_MAX_BYTES - MAX_SUFFIX_BYTES,
    TRIES = 16,
};

struct level {
    bool is_list;
    uint32_t index;    /* of the list's element */
    size_t path_size;  /* size of `path` before this level */
    size_t path_bytes; /* unescaped, without the indexes of lists */
    size_t name_start; /* where names of its members begin in `path` */
    size_t siblings;   /* number of long names before those of this object */
};

struct name {
    size_t start;
    size_t size;
};

struct scan {
    struct event_overflow *self;
    const struct event_overflow_limits *limits;
    struct buf *out;
    const uint8_t *pending;
    const uint8_t *at;
    const uint8_t *end;
    struct level levels[MAX_LEVELS];
    size_t depth;
    size_t path_bytes; /* of the value that comes next */
    bool expects_key;
};

/* ---- escaped text ---------------------------------------------------------------------------- */

/* The escaped size of the character at ${p}; ${ret_bytes}: its size in UTF-8. */
static size_t next_character(const uint8_t *p, const uint8_t *end, size_t *ret_bytes)
{
    size_t left = (size_t)(end - p);
    size_t size;
    if (*p == '\\') {
        uint8_t utf8[4];
        *ret_bytes = utf8_put(json_escape_read(span_make(p, left), &size), utf8);
        return size;
    }
    size = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    size = size < left ? size : left;
    *ret_bytes = size;
    return size;
}

/* The longest start of ${text} that is at most ${max} bytes unescaped; ${ret_bytes}: that it is. */
static struct span fitting(struct span text, size_t max, size_t *ret_bytes)
{
    size_t at = 0;
    size_t total = 0;
    while (at < text.size) {
        size_t bytes;
        size_t size = next_character(text.data + at, text.data + text.size, &bytes);
        if (bytes > max - total) {
            break;
        }
        total += bytes;
        at += size;
    }
    *ret_bytes = total;
    return span_first(text, at);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* True if one of the names in ${in}, from number ${first} on, consists of these two parts. Similar
 * names mostly differ at the end. */
static bool is_taken(const struct buf *names, size_t first, const struct buf *in, struct span stem,
    struct span suffix)
{
    size_t size = stem.size + suffix.size;
    for (size_t at = first; at < names->size; at += sizeof(struct name)) {
        struct name name;
        memcpy(&name, names->data + at, sizeof(name));
        const uint8_t *text = in->data + name.start;
        if (name.size == size && span_equal(span_make(text + stem.size, suffix.size), suffix) &&
            span_equal(span_make(text, stem.size), stem)) {
            return true;
        }
    }
    return false;
}

/* The ending of the ${n}-th equal name. */
static struct span suffix_of(size_t n, char text[MAX_SUFFIX_BYTES])
{
    char *p = text + MAX_SUFFIX_BYTES;
    if (n > 1) {
        do {
            *--p = (char)('0' + n % 10);
            n /= 10;
        } while (n && p > text + 1);
        *--p = '_';
    }
    return span_make((const uint8_t *)p, (size_t)(text + MAX_SUFFIX_BYTES - p));
}

/* Append at most ${max} bytes of ${text}; if the name exists, with a number. Adds it to ${names};
 * ${ret_bytes}: its size unescaped. */
static void add_name(struct buf *names, size_t first, struct span text, size_t max, struct buf *out,
    size_t *ret_bytes)
{
    char memory[MAX_SUFFIX_BYTES];
    size_t number = 1;
    struct span suffix = suffix_of(number, memory);
    struct span stem = fitting(text, max, ret_bytes);
    while (is_taken(names, first, out, stem, suffix)) {
        /* One of these numbers is free in any case: there are fewer names. */
        number = number < TRIES ? number + 1 : number + (names->size - first) / sizeof(struct name);
        suffix = suffix_of(number, memory);
        stem = fitting(text, max - suffix.size, ret_bytes);
    }
    *ret_bytes += suffix.size;
    struct name name = {.start = out->size, .size = stem.size + suffix.size};
    buf_add_span(out, stem);
    buf_add_span(out, suffix);
    buf_add(names, &name, sizeof(name));
}

/* ---- the record ------------------------------------------------------------------------------ */

static struct level *top_of(struct scan *scan)
{
    return scan->depth ? &scan->levels[scan->depth - 1] : NULL;
}

/* Copy what was read up to ${p} unchanged. */
static void keep_until(struct scan *scan, const uint8_t *p)
{
    buf_add(scan->out, scan->pending, (size_t)(p - scan->pending));
    scan->pending = p;
}

/* The text of the string that begins at `at`; moves past its closing quote. */
static bool read_string(struct scan *scan, struct span *ret_text)
{
    const uint8_t *start = ++scan->at;
    while (scan->at < scan->end && *scan->at != '"') {
        scan->at += *scan->at == '\\' ? 2 : 1;
    }
    if (scan->at >= scan->end) {
        return false;
    }
    *ret_text = span_make(start, (size_t)(scan->at++ - start));
    return true;
}

/* A member's name is part of the path of its value. */
static void on_key(struct scan *scan, struct span key)
{
    const struct level *level = top_of(scan);
    struct buf *path = &scan->self->path;
    size_t bytes;
    if (key.size > LONG_NAME_BYTES) {
        keep_until(scan, key.data);
        scan->pending = key.data + key.size;
        size_t start = scan->out->size;
        add_name(
            &scan->self->siblings, level->siblings, key, EVENT_NAME_MAX_BYTES, scan->out, &bytes);
        key = span_make(scan->out->data + start, scan->out->size - start);
    } else {
        fitting(key, SIZE_MAX, &bytes);
    }
    path->size = level->path_size;
    buf_add_text(path, path->size ? "." : "");
    buf_add_span(path, key);
    scan->path_bytes = level->path_bytes + (level->path_bytes != 0) + bytes;
    scan->expects_key = false;
}

/* ---- times ----------------------------------------------------------------------------------- */

static const char time_key[] = "@timestamp";

/* The last nanosecond that 63 bits hold, in 100 ns, and the last of the year 9999. */
#define LAST_NANOS (FILETIME_UNIX_EPOCH + INT64_MAX / 100)
#define LAST_DATE UINT64_C(2650467743999999999)

const char *event_overflow_nearest_time(enum event_times times, uint64_t filetime)
{
    switch (times) {
    case EVENT_TIMES_DATE:
        return filetime > LAST_DATE ? "9999-12-31T23:59:59.9999999Z" : NULL;
    case EVENT_TIMES_NANOS:
        return filetime > LAST_NANOS            ? "2262-04-11T23:47:16.8547758Z"
               : filetime < FILETIME_UNIX_EPOCH ? "1970-01-01T00:00:00.0000000Z"
                                                : NULL;
    default:
        return NULL;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The path of a list's element has its index. */
static void enter_element(struct scan *scan)
{
    const struct level *level = top_of(scan);
    if (level && level->is_list) {
        scan->self->path.size = level->path_size;
        scan->path_bytes = level->path_bytes;
        buf_add_byte(&scan->self->path, '[');
        buf_add_u64(&scan->self->path, level->index);
        buf_add_byte(&scan->self->path, ']');
    }
}

/* Add ${text}, at the current path, as a member of `overflow`. */
static void add_overflow(struct scan *scan, struct span text)
{
    size_t bytes;
    struct buf *members = &scan->self->members;
    size_t name_start = top_of(scan)->name_start;
    buf_add_text(members, ",\"");
    add_name(&scan->self->names, 0, span_from(buf_span(&scan->self->path), name_start), SIZE_MAX,
        members, &bytes);
    buf_add_text(members, "\":\"");
    buf_add_span(members, text);
    buf_add_byte(members, '"');
}

/* True if it is the record's own time and the index cannot hold it. */
static bool replace_time(struct scan *scan, struct span text)
{
    if (!scan->limits->time || scan->depth != 1 ||
        !span_is(buf_span(&scan->self->path), time_key)) {
        return false;
    }
    keep_until(scan, text.data);
    scan->pending = text.data + text.size;
    buf_add_text(scan->out, scan->limits->time);
    add_overflow(scan, text);
    return true;
}

static void on_text(struct scan *scan, struct span text)
{
    enter_element(scan);
    size_t max = scan->limits->max_string_bytes;
    size_t room = max > scan->path_bytes + 1 ? max - scan->path_bytes - 1 : 0;
    size_t bytes;
    if (replace_time(scan, text) || max == 0 || text.size <= room) {
        return;
    }
    struct span head = fitting(text, room, &bytes);
    if (head.size == text.size) {
        return;
    }
    keep_until(scan, text.data + head.size);
    scan->pending = text.data + text.size;
    add_overflow(scan, text);
}

static bool open_level(struct scan *scan, bool is_list)
{
    enter_element(scan);
    const struct level *above = top_of(scan);
    struct span path = buf_span(&scan->self->path);
    if (scan->depth == MAX_LEVELS || (!above && is_list)) {
        return false;
    }
    size_t name_start = above ? above->name_start : 0;
    if (!is_list && name_start == 0 && span_is(path, scan->limits->payload)) {
        name_start = path.size + 1;
    }
    scan->levels[scan->depth++] = (struct level){.is_list = is_list,
        .path_size = path.size,
        .path_bytes = scan->path_bytes,
        .name_start = name_start,
        .siblings = scan->self->siblings.size};
    scan->expects_key = !is_list;
    return true;
}

static bool close_level(struct scan *scan, bool is_list)
{
    const struct level *level = top_of(scan);
    if (!level || level->is_list != is_list) {
        return false;
    }
    scan->self->siblings.size = level->siblings;
    scan->expects_key = false;
    struct buf *members = &scan->self->members;
    if (--scan->depth == 0 && members->size) {
        keep_until(scan, scan->at);
        buf_add_text(scan->out, ",\"overflow\":{");
        buf_add_span(scan->out, span_from(buf_span(members), 1)); /* without its comma */
        buf_add_byte(scan->out, '}');
    }
    return true;
}

static bool on_comma(struct scan *scan)
{
    struct level *level = top_of(scan);
    if (!level) {
        return false;
    }
    level->index++;
    scan->expects_key = !level->is_list;
    return true;
}

static bool on_string(struct scan *scan)
{
    struct span text;
    if (scan->depth == 0 || !read_string(scan, &text)) {
        return false;
    }
    if (scan->expects_key) {
        on_key(scan, text);
    } else {
        on_text(scan, text);
    }
    return true;
}

/* Read the token at `at` and move past it. False: it is not valid here. */
static bool step(struct scan *scan)
{
    uint8_t c = *scan->at;
    bool ok = true;
    switch (c) {
    case '"':
        return on_string(scan);
    case '{':
    case '[':
        ok = open_level(scan, c == '[');
        break;
    case '}':
    case ']':
        ok = close_level(scan, c == ']');
        break;
    case ',':
        ok = on_comma(scan);
        break;
    default: /* a colon, or a part of a number or word */
        break;
    }
    scan->at++;
    return ok;
}

static bool run(struct scan *scan)
{
    const struct event_overflow *self = scan->self;
    bool ok = true;
    while (ok && scan->at < scan->end) {
        bool was_open = scan->depth > 0;
        ok = step(scan) && !self->path.failed && !self->members.failed && !self->names.failed &&
             !self->siblings.failed;
        if (was_open && scan->depth == 0) {
            break;
        }
    }
    keep_until(scan, scan->end);
    return ok && scan->depth == 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

void event_overflow_init(struct event_overflow *overflow)
{
    buf_init(&overflow->original, MAX_RECORD_BYTES);
    buf_init(&overflow->members, MAX_RECORD_BYTES);
    buf_init(&overflow->path, MAX_RECORD_BYTES);
    buf_init(&overflow->names, MAX_RECORD_BYTES);
    buf_init(&overflow->siblings, MAX_RECORD_BYTES);
}

void event_overflow_fini(struct event_overflow *overflow)
{
    buf_fini(&overflow->original);
    buf_fini(&overflow->members);
    buf_fini(&overflow->path);
    buf_fini(&overflow->names);
    buf_fini(&overflow->siblings);
}

/* Empty, and not larger than a usual record needs. */
static void reset(struct event_overflow *overflow)
{
    if (overflow->original.capacity > KEPT_BYTES || overflow->members.capacity > KEPT_BYTES) {
        event_overflow_fini(overflow);
        event_overflow_init(overflow);
    }
    buf_reset(&overflow->original);
    buf_reset(&overflow->members);
    buf_reset(&overflow->path);
    buf_reset(&overflow->names);
    buf_reset(&overflow->siblings);
}

void event_overflow_apply(struct event_overflow *overflow,
    const struct event_overflow_limits *limits, size_t start, struct buf *out)
{
    if (out->failed || out->size == start) {
        return;
    }
    struct span record = span_make(out->data + start, out->size - start);
    reset(overflow);
    buf_add_span(&overflow->original, record);
    if (overflow->original.failed) {
        out->failed = true;
        return;
    }
    record = buf_span(&overflow->original);
    struct scan scan = {.self = overflow,
        .limits = limits,
        .out = out,
        .pending = record.data,
        .at = record.data,
        .end = record.data + record.size};
    out->size = start;
    if (!run(&scan) && !out->failed) {
        out->size = start;
        buf_add_span(out, record);
    }
}

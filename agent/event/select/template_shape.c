#include "event/select/template_shape.h"

#include <stdlib.h>
#include <string.h>

#include "event/select/event_template.h"

/*
 * Two shapes meet if their automata accept a common text. A state is a pair of positions; a field
 * is one mandatory byte followed by a loop. Positions never decrease, so the states are visited in
 * order, with two rows of them in memory.
 */
enum { MAX_SHAPE_BYTES = 4 * EVENT_TEMPLATE_MAX_BYTES, LOOP = 4 /* the rest of a field */ };

/* ---- make ------------------------------------------------------------------------------------ */

static bool is_separator(uint8_t c)
{
    return c == '/' || c == '\\';
}

/* `a//b` and `a/./b` are `a/b`. */
static void add_byte(struct buf *out, uint8_t c)
{
    size_t size = out->size;
    if (is_separator(c) && size > 1 && is_separator(out->data[size - 1])) {
        return; /* the first two of a path may be special: \\host */
    }
    if (is_separator(c) && size > 1 && out->data[size - 1] == '.' &&
        is_separator(out->data[size - 2])) {
        out->size--;
        return;
    }
    buf_add_byte(out, c);
}

void template_shape_make(struct span text, struct buf *out)
{
    struct buf shape;
    struct event_template *template = event_template_create(text, EVENT_TEMPLATE_PATH, NULL);
    buf_init(&shape, MAX_SHAPE_BYTES);
    if (template) {
        event_template_shape(template, &shape);
    } else {
        buf_add_span(&shape, text);
    }
    event_template_destroy(template);
    for (size_t i = 0; i < shape.size; i++) {
        add_byte(out, shape.data[i]);
    }
    buf_fini(&shape);
}

bool template_shape_add_rotation(size_t index, struct buf *out)
{
    static const char *const endings[] = {"", ".gz", ".gz.tmp"};
    if (index >= sizeof(endings) / sizeof(endings[0])) {
        return false;
    }
    buf_add_byte(out, '.');
    buf_add_byte(out, TEMPLATE_SHAPE_DIGIT);
    buf_add_byte(out, TEMPLATE_SHAPE_DIGITS);
    buf_add_text(out, endings[index]);
    return true;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static uint8_t fold(uint8_t c, bool folds_case)
{
    if (c == '\\') {
        return '/';
    }
    return folds_case && c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool repeats(uint8_t symbol)
{
    return symbol == TEMPLATE_SHAPE_DIGITS || symbol == LOOP;
}

static bool takes_digits(uint8_t symbol)
{
    return symbol == TEMPLATE_SHAPE_DIGIT || symbol == TEMPLATE_SHAPE_DIGITS;
}

static bool takes_any(uint8_t symbol)
{
    return symbol == TEMPLATE_SHAPE_FIELD || symbol == LOOP;
}

/* True if some byte matches both symbols. */
static bool share_byte(uint8_t a, uint8_t b, bool folds_case)
{
    if (takes_any(a) || takes_any(b)) {
        uint8_t other = takes_any(a) ? b : a;
        return !is_separator(other);
    }
    if (takes_digits(a) || takes_digits(b)) {
        uint8_t other = takes_digits(a) ? b : a;
        return takes_digits(other) || is_digit(other);
    }
    return fold(a, folds_case) == fold(b, folds_case);
}

/* Expand the shape: a loop after each field, and a NUL at the end, which matches no byte. */
static bool unfold(struct span shape, struct buf *out)
{
    for (size_t i = 0; i < shape.size; i++) {
        buf_add_byte(out, shape.data[i]);
        if (shape.data[i] == TEMPLATE_SHAPE_FIELD) {
            buf_add_byte(out, LOOP);
        }
    }
    buf_add_byte(out, 0);
    return !out->failed;
}

/* From the states of one place in `a`, in ${row}, to those of the next. */
static void step(uint8_t a, const struct buf *b, bool *row, bool *next, bool folds_case)
{
    bool a_repeats = repeats(a);
    size_t size = b->size - 1;
    memset(next, 0, b->size * sizeof(*next));
    for (size_t j = 0; j <= size; j++) {
        uint8_t c = b->data[j];
        if (!row[j]) {
            continue;
        }
        if (a_repeats) {
            next[j] = true;
        }
        if (j < size && repeats(c)) {
            row[j + 1] = true;
        }
        if (a && j < size && share_byte(a, c, folds_case)) {
            bool *target = a_repeats ? row : next;
            target[repeats(c) ? j : j + 1] = true;
        }
    }
}

static bool meet(const struct buf *a, const struct buf *b, bool folds_case)
{
    bool *rows = calloc(2 * b->size, sizeof(*rows));
    if (!rows) {
        return true;
    }
    bool *row = rows;
    bool *next = rows + b->size;
    row[0] = true;
    for (size_t i = 0; i < a->size; i++) {
        bool *after = next;
        step(a->data[i], b, row, after, folds_case);
        if (i + 1 < a->size) {
            next = row;
            row = after;
        }
    }
    bool found = row[b->size - 1];
    free(rows);
    return found;
}

bool template_shape_meet(struct span a, struct span b, bool folds_case)
{
    struct buf first;
    struct buf second;
    buf_init(&first, 2 * MAX_SHAPE_BYTES);
    buf_init(&second, 2 * MAX_SHAPE_BYTES);
    bool found = !unfold(a, &first) || !unfold(b, &second) || meet(&first, &second, folds_case);
    buf_fini(&first);
    buf_fini(&second);
    return found;
}

static bool meets_rotated(struct span a, struct span b, bool folds_case)
{
    struct buf rotated;
    bool found = false;
    bool more = true;
    buf_init(&rotated, MAX_SHAPE_BYTES + 64);
    for (size_t i = 0; more && !found; i++) {
        buf_reset(&rotated);
        buf_add_span(&rotated, b);
        more = template_shape_add_rotation(i, &rotated);
        found = more && (rotated.failed || template_shape_meet(a, buf_span(&rotated), folds_case));
    }
    buf_fini(&rotated);
    return found;
}

bool template_shape_meet_rotated(struct span a, struct span b, bool folds_case)
{
    return template_shape_meet(a, b, folds_case) || meets_rotated(a, b, folds_case) ||
           meets_rotated(b, a, folds_case);
}

bool template_shape_meets_itself(struct span shape)
{
    return meets_rotated(shape, shape, true);
}

bool template_shape_hides_time(struct span shape)
{
    bool has_field = false;
    bool has_time = false; /* after a field */
    for (size_t i = 0; i < shape.size; i++) {
        uint8_t c = shape.data[i];
        if (is_separator(c)) {
            has_field = false;
            has_time = false;
        } else if (c == TEMPLATE_SHAPE_DIGIT) {
            has_time = has_field;
        } else if (c == TEMPLATE_SHAPE_FIELD) {
            if (has_time) {
                return true;
            }
            has_field = true;
        }
    }
    return false;
}

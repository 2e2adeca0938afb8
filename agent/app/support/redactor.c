#include "app/support/redactor.h"

#include <stdlib.h>

#include "app/support/redactor_marks.h"
#include "base/grow.h"
#include "base/visible.h"

/*
 * All that is to be hidden is marked first, byte by byte, so that secrets may overlap, hold one
 * another, and be found in any order; then each marked run becomes three stars.
 */
enum { MAX_FORM_BYTES = 512 * 1024, SHORTEST_PART_BYTES = 8, MAX_CUT_BYTES = 4096 };

void redactor_fini(struct redactor *redactor)
{
    for (size_t i = 0; i < redactor->count; i++) {
        free(redactor->items[i]);
    }
    free(redactor->items);
    free(redactor->sizes);
    *redactor = (struct redactor){0};
}

static bool grow(struct redactor *r)
{
    size_t capacity = r->capacity; /* of both lists */
    return grow_list(&r->items, r->count, &capacity, sizeof(*r->items)) &&
           grow_list(&r->sizes, r->count, &r->capacity, sizeof(*r->sizes));
}

/* One form, as it stands. */
static void add_form(struct redactor *r, struct span form)
{
    if (form.size < REDACTOR_SHORTEST_BYTES || r->failed) {
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        if (r->sizes[i] == form.size && memcmp(r->items[i], form.data, form.size) == 0) {
            return;
        }
    }
    char *copy = r->count < REDACTOR_MAX_ITEMS && grow(r) ? malloc(form.size) : NULL;
    if (!copy) {
        r->failed = true;
        return;
    }
    memcpy(copy, form.data, form.size);
    r->sizes[r->count] = form.size;
    r->items[r->count++] = copy;
}

static void add_buf(struct redactor *r, struct buf *form)
{
    r->failed |= form->failed;
    add_form(r, buf_span(form));
    buf_reset(form);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void put_json(struct span text, struct buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\') {
            buf_add_byte(out, '\\');
            buf_add_byte(out, c);
        } else if (c < 0x20) {
            buf_printf(out, "\\u%04x", c);
        } else {
            buf_add_byte(out, c);
        }
    }
}

/* As people read it (visible.h), by itself and within JSON. */
static void add_visible_forms(struct redactor *r, struct span text, struct buf *form)
{
    visible_add(form, text);
    add_buf(r, form);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\') {
            buf_add_byte(form, '\\');
        }
        buf_add_byte(form, text.data[i]);
    }
    visible_make_line(form, 0);
    add_buf(r, form);
}

/* RFC 3986, 2.3: all but the unreserved characters. */
static void put_percent(struct span text, const char *format, struct buf *out)
{
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (size_t i = 0; i < text.size; i++) {
        if (memchr(unreserved, text.data[i], sizeof(unreserved) - 1)) {
            buf_add_byte(out, text.data[i]);
        } else {
            buf_printf(out, format, text.data[i]);
        }
    }
}

/* RFC 4648, 4, without the padding, which need not be there. */
static void put_base64(struct span text, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < text.size; i += 3) {
        size_t left = text.size - i;
        uint32_t bits = (uint32_t)text.data[i] << 16;
        bits |= left > 1 ? (uint32_t)text.data[i + 1] << 8 : 0;
        bits |= left > 2 ? text.data[i + 2] : 0;
        buf_add_byte(out, (uint8_t)digits[bits >> 18]);
        buf_add_byte(out, (uint8_t)digits[bits >> 12 & 63]);
        if (left > 1) {
            buf_add_byte(out, (uint8_t)digits[bits >> 6 & 63]);
        }
        if (left > 2) {
            buf_add_byte(out, (uint8_t)digits[bits & 63]);
        }
    }
}

static void add_forms(struct redactor *r, struct span text, const char *user)
{
    if (text.size < REDACTOR_SHORTEST_BYTES) {
        return;
    }
    struct buf form;
    buf_init(&form, MAX_FORM_BYTES);
    add_form(r, text);
    put_json(text, &form);
    add_buf(r, &form);
    add_visible_forms(r, text, &form);
    put_percent(text, "%%%02X", &form);
    add_buf(r, &form);
    put_percent(text, "%%%02x", &form);
    add_buf(r, &form);
    put_base64(text, &form);
    add_buf(r, &form);
    if (user) {
        struct buf pair;
        buf_init(&pair, MAX_FORM_BYTES);
        buf_printf(&pair, "%s:%.*s", user, SPAN_ARG(text));
        put_base64(buf_span(&pair), &form);
        r->failed |= pair.failed;
        add_buf(r, &form);
        buf_fini(&pair);
    }
    buf_fini(&form);
}

/* Add what follows the first ${separator}, if that could be a secret by itself. */
static void add_half(struct redactor *r, struct span text, char separator)
{
    const uint8_t *at = memchr(text.data, separator, text.size);
    size_t start = at ? (size_t)(at - text.data) + 1 : text.size;
    if (text.size - start >= SHORTEST_PART_BYTES) {
        add_forms(r, span_from(text, start), NULL);
    }
}

/* `user:password` of `scheme://user:password@host`, and the password alone. */
static void add_login(struct redactor *r, struct span text)
{
    const char *start = strstr((const char *)text.data, "://");
    const char *end = start ? strrchr(start, '@') : NULL;
    if (end) {
        struct span login = span_make(start + 3, (size_t)(end - start) - 3);
        const uint8_t *colon = memchr(login.data, ':', login.size);
        size_t user = colon ? (size_t)(colon - login.data) + 1 : 0;
        add_forms(r, login, NULL);
        add_forms(r, span_from(login, user), NULL);
    }
}

void redactor_add(struct redactor *redactor, const char *text, const char *user)
{
    struct span whole = span_text(text);
    add_forms(redactor, whole, user);
    add_login(redactor, whole);
    if (whole.size) {
        add_half(redactor, whole, ' ');
        add_half(redactor, whole, ':');
    }
}

/* What a quoted value of YAML means, as far as quotes and backslashes go: \" \\ ''.
 * Has it changed? */
static bool unescape(char *text)
{
    size_t size = 0;
    const char *from = text;
    while (*from) {
        bool is_pair = (from[0] == '\\' && (from[1] == '"' || from[1] == '\\')) ||
                       (from[0] == '\'' && from[1] == '\'');
        from += is_pair;
        text[size++] = *from++;
    }
    text[size] = '\0';
    return from != text + size;
}

void redactor_add_source(struct redactor *redactor, struct span text)
{
    struct span value;
    for (size_t at = 0; redactor_marks_next_value(text, &at, &value);) {
        char *copy = span_copy(value);
        if (!copy) {
            redactor->failed = true;
            return;
        }
        redactor_add(redactor, copy, NULL);
        if (unescape(copy)) {
            redactor_add(redactor, copy, NULL);
        }
        free(copy);
    }
}

/* ---- hiding ---------------------------------------------------------------------------------- */

static void mark_known(const struct redactor *r, struct span text, uint8_t *marks)
{
    for (size_t i = 0; i < r->count; i++) {
        size_t size = r->sizes[i];
        uint8_t first = (uint8_t)r->items[i][0];
        for (size_t at = 0; at + size <= text.size; at++) {
            const uint8_t *next = memchr(text.data + at, first, text.size - size - at + 1);
            if (!next) {
                break;
            }
            at = (size_t)(next - text.data);
            if (memcmp(next, r->items[i], size) == 0) {
                memset(marks + at, 1, size);
            }
        }
    }
}

/* At the end of a cut line there may be only the beginning of a secret. */
static void mark_cut(const struct redactor *r, struct span text, size_t end, uint8_t *marks)
{
    for (size_t i = 0; i < r->count; i++) {
        size_t most = r->sizes[i] - 1 < end ? r->sizes[i] - 1 : end;
        most = most < MAX_CUT_BYTES ? most : MAX_CUT_BYTES;
        for (size_t left = most; left >= REDACTOR_SHORTEST_BYTES; left--) {
            if (memcmp(text.data + end - left, r->items[i], left) == 0) {
                memset(marks + end - left, 1, left);
                break;
            }
        }
    }
}

static void mark_cuts(const struct redactor *r, struct span text, uint8_t *marks)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    for (size_t at = 0; at + 2 < text.size; at++) {
        if (memcmp(text.data + at, ellipsis, 3) == 0) {
            mark_cut(r, text, at, marks);
        }
    }
    mark_cut(r, text, text.size, marks);
}

static void write_unmarked(struct span text, const uint8_t *marks, struct buf *out)
{
    for (size_t at = 0; at < text.size;) {
        const uint8_t *next = memchr(marks + at, !marks[at], text.size - at);
        size_t end = next ? (size_t)(next - marks) : text.size;
        if (marks[at]) {
            buf_add_text(out, "***");
        } else {
            buf_add_span(out, span_make(text.data + at, end - at));
        }
        at = end;
    }
}

void redactor_write(struct redactor *redactor, struct span text, struct buf *out)
{
    uint8_t *marks = text.size ? calloc(text.size, 1) : NULL;
    redactor->failed |= text.size && !marks;
    if (!redactor->failed && text.size) {
        mark_known(redactor, text, marks);
        mark_cuts(redactor, text, marks);
        redactor_marks_guess(text, marks);
        write_unmarked(text, marks, out);
    }
    free(marks);
}

#include "status/metric_read.h"

#include <stdlib.h>

enum { VALUE_MAX_BYTES = 40 };

static bool is_name(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Bytes up to the quote that ends a value, which ${text} begins with; SIZE_MAX: there is none. */
static size_t value_size(struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') {
            return i;
        }
        i += text.data[i] == '\\';
    }
    return SIZE_MAX;
}

/* Take NAME="VALUE" off. */
static bool next_label(struct span *rest, struct span *ret_name, struct span *ret_value)
{
    size_t size = span_run(*rest, is_name);
    *ret_name = span_first(*rest, size);
    struct span behind = span_from(*rest, size);
    if (!size || !span_is(span_first(behind, 2), "=\"")) {
        return false;
    }
    behind = span_from(behind, 2);
    size = value_size(behind);
    if (size == SIZE_MAX) {
        return false;
    }
    *ret_value = span_first(behind, size);
    behind = span_from(behind, size + 1);
    *rest = behind.size && behind.data[0] == ',' ? span_from(behind, 1) : behind;
    return true;
}

static bool read_labels(struct span *rest, struct span *ret_labels)
{
    *ret_labels = span_make(rest->data, 0);
    if (!rest->size || rest->data[0] != '{') {
        return true;
    }
    struct span at = span_from(*rest, 1);
    const uint8_t *start = at.data;
    struct span name;
    struct span value;
    while (next_label(&at, &name, &value)) {}
    if (!at.size || at.data[0] != '}') {
        return false;
    }
    *ret_labels = span_make(start, (size_t)(at.data - start));
    *rest = span_from(at, 1);
    return true;
}

static bool read_line(struct span line, struct metric_line *ret_line)
{
    char value[VALUE_MAX_BYTES];
    size_t size = span_run(line, is_name);
    ret_line->name = span_first(line, size);
    line = span_from(line, size);
    if (!size || !read_labels(&line, &ret_line->labels) || line.size < 2 || line.data[0] != ' ' ||
        line.size > sizeof(value)) {
        return false;
    }
    memcpy(value, line.data + 1, line.size - 1);
    value[line.size - 1] = '\0';
    char *end;
    ret_line->value = strtod(value, &end);
    return *end == '\0' && strlen(value) == line.size - 1;
}

bool metric_read_next(struct span *rest, struct metric_line *ret_line)
{
    while (rest->size) {
        const uint8_t *end = memchr(rest->data, '\n', rest->size);
        struct span line = span_first(*rest, end ? (size_t)(end - rest->data) : rest->size);
        *rest = span_from(*rest, line.size + 1);
        if (read_line(line, ret_line)) {
            return true;
        }
    }
    return false;
}

bool metric_read_label(const struct metric_line *line, const char *name, struct buf *out)
{
    struct span rest = line->labels;
    struct span found;
    struct span value;
    while (next_label(&rest, &found, &value)) {
        if (!span_is(found, name)) {
            continue;
        }
        for (size_t i = 0; i < value.size; i++) {
            bool escaped = value.data[i] == '\\' && i + 1 < value.size;
            uint8_t c = value.data[i + escaped];
            buf_add_byte(out, escaped && c == 'n' ? '\n' : c);
            i += escaped;
        }
        return true;
    }
    return false;
}

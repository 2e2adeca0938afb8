#include "outputs/kafka/kafka_position.h"

static const char head[] = "etwship 1 ";

enum { ID_MAX_BYTES = 60, NUMBER_MAX_DIGITS = 18 };

void kafka_position_begin(
    struct kafka_position_writer *writer, struct buf *out, uint64_t transaction)
{
    *writer = (struct kafka_position_writer){.out = out};
    buf_add_text(out, head);
    buf_add_u64(out, transaction);
    buf_add_byte(out, '\n');
}

void kafka_position_add(struct kafka_position_writer *writer, struct span id)
{
    size_t shared = 0;
    id = span_first(id, ID_MAX_BYTES);
    while (
        shared < id.size && shared < writer->last_size && id.data[shared] == writer->last[shared]) {
        shared++;
    }
    buf_add_byte(writer->out, (uint8_t)('0' + shared));
    buf_add_span(writer->out, span_from(id, shared));
    buf_add_byte(writer->out, '\n');
    if (id.size > shared) {
        memcpy(writer->last + shared, id.data + shared, id.size - shared);
    }
    writer->last_size = id.size;
}

static struct span next_line(struct span *text, bool *whole)
{
    const uint8_t *end = text->size ? memchr(text->data, '\n', text->size) : NULL;
    *whole = end != NULL;
    struct span line = span_first(*text, end ? (size_t)(end - text->data) : text->size);
    *text = span_from(*text, end ? line.size + 1 : text->size);
    return line;
}

static bool read_head(struct span line, uint64_t *ret_transaction)
{
    uint64_t number = 0;
    if (!span_is(span_first(line, sizeof(head) - 1), head)) {
        return false;
    }
    line = span_from(line, sizeof(head) - 1);
    for (size_t i = 0; i < line.size; i++) {
        if (line.data[i] < '0' || line.data[i] > '9') {
            return false;
        }
        number = i < NUMBER_MAX_DIGITS ? number * 10 + (uint64_t)(line.data[i] - '0') : 0;
    }
    *ret_transaction = number;
    return line.size && line.size <= NUMBER_MAX_DIGITS;
}

bool kafka_position_read(struct span text, uint64_t *ret_transaction,
    bool (*take)(void *self, struct span id), void *self)
{
    uint8_t id[ID_MAX_BYTES];
    size_t size = 0;
    bool whole;
    struct span line = next_line(&text, &whole);
    if (!whole || !read_head(line, ret_transaction)) {
        return false;
    }
    while (take && text.size) {
        line = next_line(&text, &whole);
        size_t shared = line.size ? (size_t)(line.data[0] - '0') : SIZE_MAX;
        if (!whole || shared > size || line.size - 1 > ID_MAX_BYTES - shared) {
            return false;
        }
        line = span_from(line, 1);
        if (line.size) {
            memcpy(id + shared, line.data, line.size);
        }
        size = shared + line.size;
        if (!take(self, span_make(id, size))) {
            return false;
        }
    }
    return true;
}

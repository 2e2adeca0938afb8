#include "outputs/relp/relp_frame.h"

enum { MAX_DIGITS = 9 };

/* Read a number and check that a space or line feed follows. ${*at} moves to the latter. */
static enum relp_read read_number(struct span bytes, size_t *at, uint32_t *ret_number)
{
    size_t start = *at;
    uint32_t number = 0;
    while (*at < bytes.size && bytes.data[*at] >= '0' && bytes.data[*at] <= '9') {
        if (*at - start == MAX_DIGITS) {
            return RELP_BAD;
        }
        number = number * 10 + (uint32_t)(bytes.data[*at] - '0');
        ++*at;
    }
    *ret_number = number;
    return *at == bytes.size ? RELP_MORE : *at == start ? RELP_BAD : RELP_FRAME;
}

static enum relp_read read_command(struct span bytes, size_t *at, struct span *ret_command)
{
    size_t start = *at;
    while (*at < bytes.size && bytes.data[*at] >= 'a' && bytes.data[*at] <= 'z') {
        if (*at - start == RELP_MAX_COMMAND) {
            return RELP_BAD;
        }
        ++*at;
    }
    *ret_command = span_make(bytes.data + start, *at - start);
    return *at == bytes.size ? RELP_MORE : *at == start ? RELP_BAD : RELP_FRAME;
}

static enum relp_read read_byte(struct span bytes, size_t *at, uint8_t expected)
{
    if (*at >= bytes.size) {
        return RELP_MORE;
    }
    return bytes.data[(*at)++] == expected ? RELP_FRAME : RELP_BAD;
}

enum relp_read relp_frame_read(struct span bytes, struct relp_frame *ret_frame, size_t *ret_size)
{
    size_t at = 0;
    uint32_t size = 0;
    enum relp_read state = read_number(bytes, &at, &ret_frame->txnr);
    state = state == RELP_FRAME ? read_byte(bytes, &at, ' ') : state;
    state = state == RELP_FRAME ? read_command(bytes, &at, &ret_frame->command) : state;
    state = state == RELP_FRAME ? read_byte(bytes, &at, ' ') : state;
    state = state == RELP_FRAME ? read_number(bytes, &at, &size) : state;
    if (state != RELP_FRAME || size > RELP_MAX_DATA) {
        return state == RELP_MORE ? RELP_MORE : RELP_BAD;
    }
    ret_frame->data = span_make(NULL, 0);
    if (size) {
        state = read_byte(bytes, &at, ' ');
        if (state != RELP_FRAME || bytes.size - at < size) {
            return state == RELP_BAD ? RELP_BAD : RELP_MORE;
        }
        ret_frame->data = span_make(bytes.data + at, size);
        at += size;
    } else if (bytes.data[at] == ' ') {
        at++; /* some programs write it anyway */
    }
    state = read_byte(bytes, &at, '\n');
    *ret_size = at;
    return state;
}

void relp_frame_begin(struct buf *out, uint32_t txnr, const char *command, size_t data_size)
{
    buf_add_u64(out, txnr);
    buf_add_byte(out, ' ');
    buf_add_text(out, command);
    buf_add_byte(out, ' ');
    buf_add_u64(out, data_size);
    if (data_size) {
        buf_add_byte(out, ' ');
    }
}

int relp_frame_code(struct span data)
{
    int code = 0;
    for (size_t i = 0; i < 3; i++) {
        if (i >= data.size || data.data[i] < '0' || data.data[i] > '9') {
            return 0;
        }
        code = code * 10 + (data.data[i] - '0');
    }
    return data.size == 3 || data.data[3] == ' ' || data.data[3] == '\n' ? code : 0;
}

/* The value of `commands=` is a comma-separated list. */
bool relp_frame_offers(struct span data, const char *command)
{
    static const char key[] = "commands=";
    for (size_t at = 0; at < data.size;) {
        struct span line = span_from(data, at);
        const uint8_t *feed = memchr(line.data, '\n', line.size);
        line = feed ? span_first(line, (size_t)(feed - line.data)) : line;
        at += line.size + 1;
        if (!span_is(span_first(line, sizeof(key) - 1), key)) {
            continue;
        }
        for (struct span rest = span_from(line, sizeof(key) - 1); rest.size;) {
            const uint8_t *comma = memchr(rest.data, ',', rest.size);
            struct span one = comma ? span_first(rest, (size_t)(comma - rest.data)) : rest;
            if (span_is(span_trim(one), command)) {
                return true;
            }
            rest = span_from(rest, one.size + 1);
        }
    }
    return false;
}

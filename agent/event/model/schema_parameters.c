#include "event/model/schema_parameters.h"

#include <stdlib.h>

#include "base/order.h"
#include "base/utf.h"

static int by_number(const void *a, const void *b)
{
    return order_u64(
        ((const struct schema_parameter *)a)->number, ((const struct schema_parameter *)b)->number);
}

void schema_parameters_sort(struct schema_parameter *list, size_t count)
{
    qsort(list, count, sizeof(*list), by_number);
}

struct span schema_parameters_find(const struct schema_parameters *parameters, uint32_t number)
{
    size_t low = 0;
    size_t high = parameters ? parameters->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct schema_parameter *at = &parameters->list[middle];
        if (at->number == number) {
            return at->text;
        }
        if (at->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return span_make(NULL, 0);
}

static bool is_digit(uint16_t unit)
{
    return unit >= '0' && unit <= '9';
}

/* Read `%%` and a number at ${at}. False: it does not stand there, or is too large. */
static bool read_reference(struct span utf16, size_t at, uint32_t *ret_number, size_t *ret_end)
{
    enum { MARK_BYTES = 4 };
    uint64_t number = 0;
    size_t from = at + MARK_BYTES;
    if (from > utf16.size || load_le16(utf16.data + at) != '%' ||
        load_le16(utf16.data + at + 2) != '%') {
        return false;
    }
    size_t end = from;
    for (; end + 2 <= utf16.size && is_digit(load_le16(utf16.data + end)); end += 2) {
        number = number * 10 + (load_le16(utf16.data + end) - (unsigned)'0');
        if (number > UINT32_MAX) {
            return false;
        }
    }
    *ret_number = (uint32_t)number;
    *ret_end = end;
    return end > from;
}

/* The next reference from ${*at} on that has a text. */
static bool next_known(const struct schema_parameters *parameters, struct span utf16, size_t *at,
    size_t *ret_end, struct span *ret_text)
{
    uint32_t number;
    for (; *at + 2 <= utf16.size; *at += 2) {
        if (utf16.data[*at] == '%' && read_reference(utf16, *at, &number, ret_end)) {
            *ret_text = schema_parameters_find(parameters, number);
            if (ret_text->data) {
                return true;
            }
        }
    }
    return false;
}

static void add_utf16(struct buf *out, struct span utf16)
{
    if (utf16.size && buf_reserve(out, utf16_json_bound(utf16.size))) {
        out->size += utf16_to_utf8(utf16, out->data + out->size);
    }
}

struct span schema_parameters_expand(
    const struct schema_parameters *parameters, struct span utf16, struct buf *memory)
{
    utf16 = span_first(utf16, utf16_until_nul(utf16));
    size_t at = 0;
    size_t end;
    struct span text;
    if (!next_known(parameters, utf16, &at, &end, &text)) {
        return span_make(NULL, 0);
    }
    if (at == 0 && end == utf16.size) {
        return text;
    }
    if (!memory) {
        return span_make(NULL, 0);
    }
    buf_reset(memory);
    size_t done = 0;
    do {
        add_utf16(memory, span_make(utf16.data + done, at - done));
        buf_add_span(memory, text);
        done = at = end;
    } while (next_known(parameters, utf16, &at, &end, &text));
    add_utf16(memory, span_from(utf16, done));
    return memory->failed ? span_make(NULL, 0) : buf_span(memory);
}

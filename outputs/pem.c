#include "outputs/pem.h"

#include "base/text/base64.h"

enum { MAX_DIGITS = 64 * 1024 };

/* The first line of ${text}, without white space around it. */
static struct span take_line(struct span *text)
{
    const uint8_t *feed = memchr(text->data, '\n', text->size);
    struct span line = feed ? span_first(*text, (size_t)(feed - text->data)) : *text;
    *text = span_from(*text, line.size + (feed ? 1 : 0));
    return span_trim(line);
}

static bool is_edge(struct span line, const char *edge, const char *label)
{
    static const char dashes[] = "-----";
    size_t head = strlen(edge);
    size_t tail = strlen(label) + sizeof(dashes) - 1;
    return line.size >= head + tail && memcmp(line.data, edge, head) == 0 &&
           memcmp(line.data + line.size - tail, label, strlen(label)) == 0 &&
           memcmp(line.data + line.size - (sizeof(dashes) - 1), dashes, sizeof(dashes) - 1) == 0;
}

bool pem_read(struct span pem, const char *label, struct buf *out)
{
    struct buf digits;
    bool inside = false;
    bool whole = false;
    buf_init(&digits, MAX_DIGITS);
    while (pem.size && !whole) {
        struct span line = take_line(&pem);
        if (is_edge(line, "-----END ", label)) {
            whole = inside;
        } else if (inside) {
            buf_add_span(&digits, line);
        } else {
            inside = is_edge(line, "-----BEGIN ", label);
        }
    }
    bool good = whole && !digits.failed && base64_read(buf_span(&digits), out) && !out->failed;
    buf_fini(&digits);
    return good;
}

#include <stdlib.h>

#include "schema/text_encoding.h"
#include "schema/tmf.h"

bool tmf_read(struct span bytes, struct arena *arena, const char *origin,
    const struct tmf_sink *sink, struct error *err)
{
    struct span text;
    struct tmf_reader *reader = malloc(sizeof(*reader));
    if (!reader || !text_encoding_to_utf8(bytes, arena, &text)) {
        free(reader);
        return error_set(err, ERR_MEMORY, "no memory left for trace message formats");
    }
    tmf_reader_init(reader, arena, origin, sink);
    while (text.size) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) + 1 : text.size;
        tmf_reader_line(reader, span_first(text, size));
        text = span_from(text, size);
    }
    bool ok = tmf_reader_end(reader);
    free(reader);
    return ok || error_set(err, ERR_MEMORY, "no memory left for trace message formats");
}

#include <stdlib.h>

#include "schema/text/text_encoding.h"
#include "schema/wpp/tmf.h"

/* Remove and return the first line of ${text}. */
static struct span take_line(struct span *text)
{
    const uint8_t *end = memchr(text->data, '\n', text->size);
    struct span line = span_first(*text, end ? (size_t)(end - text->data) + 1 : text->size);
    *text = span_from(*text, line.size);
    return line;
}

/* The name after `#enumv`, or empty. */
static struct span enumeration_name(struct span line)
{
    static const char word[] = "#enumv";
    size_t size = sizeof(word) - 1;
    line = span_trim(line);
    bool is_one = line.size > size && memcmp(line.data, word, size) == 0 &&
                  span_is_blank(line.data[size]);
    return is_one ? span_trim(span_from(line, size)) : span_make(NULL, 0);
}

/* The first enumeration of a name wins. One that is too long is ignored: its values stay
 * numbers. */
static bool add_enumeration(
    struct map *enumerations, struct arena *arena, struct span name, struct span values)
{
    if (values.size > TMF_MAX_LINE_BYTES || map_get(enumerations, name) ||
        enumerations->count == TMF_MAX_ENUMERATIONS) {
        return true;
    }
    struct tmf_enumeration *made = arena_alloc(arena, sizeof(*made));
    if (!made) {
        return false;
    }
    *made = (struct tmf_enumeration){.name = name, .values = values};
    return map_put(enumerations, made->name, made);
}

/* Read all enumerations of a text first, because they follow the messages that use them. */
static bool read_enumerations(struct span text, struct arena *arena, struct map *enumerations)
{
    struct span name = span_make(NULL, 0);
    struct span values = span_make(NULL, 0);
    while (text.size) {
        struct span line = take_line(&text);
        struct span trimmed = span_trim(line);
        struct span next = enumeration_name(line);
        if (next.size) {
            name = next;
            values = span_make(NULL, 0);
        } else if (name.size && span_is(trimmed, "{")) {
            values = span_first(text, 0);
        } else if (name.size && values.data && span_is(trimmed, "}")) {
            values.size = (size_t)(line.data - values.data);
            if (!add_enumeration(enumerations, arena, name, values)) {
                return false;
            }
            name = span_make(NULL, 0);
        }
    }
    return true;
}

bool tmf_read(struct span bytes, struct arena *arena, const char *origin,
    const struct tmf_sink *sink, struct error *err)
{
    struct span text;
    struct tmf_reader *reader = malloc(sizeof(*reader));
    if (!reader || !text_encoding_to_utf8(bytes, arena, &text)) {
        free(reader);
        return error_set(err, ERR_MEMORY, "no memory left for trace message formats");
    }
    struct map enumerations;
    map_init(&enumerations, TMF_MAX_ENUMERATIONS);
    tmf_reader_init(reader, arena, origin, sink);
    reader->enumerations = &enumerations;
    bool ok = read_enumerations(text, arena, &enumerations);
    while (ok && text.size) {
        tmf_reader_line(reader, take_line(&text));
    }
    ok = ok && tmf_reader_end(reader);
    map_fini(&enumerations);
    free(reader);
    return ok || error_set(err, ERR_MEMORY, "no memory left for trace message formats");
}

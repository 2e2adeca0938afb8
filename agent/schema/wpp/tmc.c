#include "schema/wpp/tmc.h"

enum { MAX_BITS = 32 }; /* flags of a classic provider */

void tmc_reader_init(struct tmc_reader *reader, struct wpp_controls *controls)
{
    *reader = (struct tmc_reader){.controls = controls};
}

/* Remove and return the first word of ${text}. */
static struct span take_word(struct span *text)
{
    size_t size = 0;
    while (size < text->size && !span_is_blank(text->data[size])) {
        size++;
    }
    struct span word = span_first(*text, size);
    *text = span_trim(span_from(*text, size));
    return word;
}

static void begin_control(struct tmc_reader *reader, struct span name)
{
    reader->control = wpp_controls_add(reader->controls, &reader->guid, name);
    reader->failed = reader->failed || !reader->control;
    reader->wants_name = false;
    reader->bit = 0;
}

static void add_flag(struct tmc_reader *reader, struct span name)
{
    if (reader->bit < MAX_BITS) {
        reader->failed |= !wpp_controls_add_flag(
            reader->controls, reader->control, name, UINT64_C(1) << reader->bit++);
    }
}

void tmc_reader_line(struct tmc_reader *reader, struct span line)
{
    struct span rest = span_trim(line);
    struct guid guid;
    if (rest.size == 0 || span_is(span_first(rest, 2), "//")) {
        return;
    }
    struct span word = take_word(&rest);
    if (word.data[word.size - 1] == ':') { /* TMC: or PUBLIC_TMF: */
        return;
    }
    if (guid_parse(word, &guid)) {
        if (reader->wants_name) {
            begin_control(reader, span_make(NULL, 0));
        }
        reader->guid = guid;
        reader->wants_name = true;
        reader->control = NULL;
        if (rest.size) {
            begin_control(reader, take_word(&rest));
        }
    } else if (reader->wants_name) {
        begin_control(reader, word);
    } else if (reader->control) {
        add_flag(reader, word);
    }
}

bool tmc_reader_end(struct tmc_reader *reader)
{
    if (reader->wants_name) {
        begin_control(reader, span_make(NULL, 0));
    }
    return !reader->failed;
}

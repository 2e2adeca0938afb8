#include "pipeline/deliver/dead_letter.h"

#include "base/put.h"
#include "base/text/base64.h"
#include "event/value/value_json.h"

/* In front of a document that is no text, as that of a format in protobuf, which begins with a
 * control character as no text of a format does. */
static const char encoded[] = "base64:";

static void add_text(struct buf *out, const char *name, struct span text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text.size) {
        value_json_string(text, out);
    } else {
        buf_add_text(out, "null");
    }
}

static void add_head(const struct dead_letter *letter, struct buf *out)
{
    uint8_t time[PUT_MAX];
    uint8_t *end = put_filetime_or_hex(time, letter->time);
    buf_printf(out, "{\"id\":%llu,\"time\":\"%.*s\"", (unsigned long long)letter->id,
        (int)(end - time), (const char *)time);
    add_text(out, "output", letter->output);
    if (letter->status > 0) {
        buf_printf(out, ",\"status\":%d", letter->status);
    } else {
        buf_add_text(out, ",\"status\":null");
    }
    add_text(out, "type", letter->type);
    add_text(out, "reason", letter->reason);
    add_text(out, "index", letter->index);
}

static bool is_object(struct span text)
{
    return text.size >= 2 && text.data[0] == '{' && text.data[text.size - 1] == '}' &&
           !memchr(text.data, '\n', text.size);
}

static bool is_binary(struct span document)
{
    return document.size && document.data[0] < ' ';
}

static void add_document(struct span document, struct buf *out)
{
    if (document.size == 0) {
        buf_add_text(out, "null");
    } else if (is_object(document)) {
        buf_add_span(out, document);
    } else if (is_binary(document)) {
        buf_printf(out, "\"%s", encoded);
        base64_write(out, document);
        buf_add_byte(out, '"');
    } else {
        value_json_string(document, out);
    }
}

void dead_letter_json(const struct dead_letter *letter, struct buf *out)
{
    add_head(letter, out);
    buf_add_text(out, ",\"document\":");
    add_document(letter->document, out);
    buf_add_byte(out, '}');
}

#include "app/install/install_note.h"

#include <stdlib.h>
#include <string.h>

#include "base/put.h"
#include "platform/plat_hash.h"

static const char first_line[] = "etwship installation 1";

/* By enum service_start. */
static const char *const starts[] = {"delayed", "auto", "demand", "disabled"};

static bool is_line(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

bool install_note_digest(
    struct span text, char ret_digest[INSTALL_NOTE_DIGEST_BYTES], struct error *err)
{
    uint8_t digest[PLAT_HASH_BYTES];
    if (!plat_hash_of(text, digest, err)) {
        return false;
    }
    *put_hex_bytes((uint8_t *)ret_digest, span_make(digest, sizeof(digest))) = 0;
    return true;
}

bool install_note_write(const struct install_note *note, struct buf *out, struct error *err)
{
    if (!is_line(note->account) || !is_line(note->command)) {
        return error_set(err, ERR_FORMAT,
            "the service is registered with control characters. look at it: sc qc " SERVICE_NAME);
    }
    buf_printf(out, "%s\nconfig %d\nservice %d\n", first_line, note->has_config, note->has_service);
    if (note->has_service) {
        buf_printf(out, "runs %d\nstart %s\naccount %s\ncommand %s\n", note->runs,
            starts[note->start], note->account, note->command);
    }
    if (*note->wrote) {
        buf_printf(out, "wrote %s\n", note->wrote);
    }
    return !out->failed || error_set(err, ERR_MEMORY, "out of memory");
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct span take_line(struct span *text)
{
    const uint8_t *end = text->size ? memchr(text->data, '\n', text->size) : NULL;
    size_t size = end ? (size_t)(end - text->data) : text->size;
    struct span line = span_first(*text, size);
    *text = span_from(*text, size + (end != NULL));
    return line;
}

/* The value of the line `${key} value`, which comes next. */
static bool take_value(struct span *text, const char *key, struct span *ret_value)
{
    struct span line = take_line(text);
    size_t size = strlen(key);
    if (!span_is(span_first(line, size), key) || line.size <= size || line.data[size] != ' ') {
        return false;
    }
    *ret_value = span_from(line, size + 1);
    return true;
}

static bool take_flag(struct span *text, const char *key, bool *ret_flag)
{
    struct span value;
    if (!take_value(text, key, &value) || !(span_is(value, "0") || span_is(value, "1"))) {
        return false;
    }
    *ret_flag = span_is(value, "1");
    return true;
}

static bool take_start(struct span *text, enum service_start *ret_start)
{
    struct span value;
    if (!take_value(text, "start", &value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (span_is(value, starts[i])) {
            *ret_start = (enum service_start)i;
            return true;
        }
    }
    return false;
}

static bool take_text(struct span *text, const char *key, char *ret_text, size_t size)
{
    struct span value;
    if (!take_value(text, key, &value) || value.size == 0 || value.size >= size) {
        return false;
    }
    memcpy(ret_text, value.data, value.size);
    ret_text[value.size] = '\0';
    return strlen(ret_text) == value.size && is_line(ret_text);
}

static bool take_service(struct span *text, struct install_note *note)
{
    return take_flag(text, "runs", &note->runs) && take_start(text, &note->start) &&
           take_text(text, "account", note->account, sizeof(note->account)) &&
           take_text(text, "command", note->command, sizeof(note->command));
}

static bool take_digest(struct span *text, char ret_digest[INSTALL_NOTE_DIGEST_BYTES])
{
    return take_text(text, "wrote", ret_digest, INSTALL_NOTE_DIGEST_BYTES) &&
           strspn(ret_digest, "0123456789abcdef") == INSTALL_NOTE_DIGEST_BYTES - 1;
}

bool install_note_read(struct span text, struct install_note *ret_note, struct error *err)
{
    *ret_note = (struct install_note){.has_config = false};
    bool good = span_is(take_line(&text), first_line) &&
                take_flag(&text, "config", &ret_note->has_config) &&
                take_flag(&text, "service", &ret_note->has_service) &&
                (!ret_note->has_service || take_service(&text, ret_note)) &&
                (text.size == 0 || take_digest(&text, ret_note->wrote)) && text.size == 0;
    return good || error_set(err, ERR_FORMAT, "not written by an installation of etwship");
}

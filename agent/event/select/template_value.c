#include "event/select/template_value.h"

#include "base/utf.h"

/* Fit for a name on every system that files may travel to: MS-FSCC 2.1.5 (what Windows forbids),
 * what utf_is_unseen says, what else of U+2060 to U+206F is not shown (DerivedCoreProperties.txt of
 * Unicode, Default_Ignorable_Code_Point), and what is not UTF-8. */
static bool is_fit_for_path(uint32_t c)
{
    bool is_ignored = c >= 0x2065 && c <= 0x206f;
    bool is_forbidden = c < 0x80 && strchr("<>:\"/\\|?*", (int)c);
    return !utf_is_unseen(c) && !is_ignored && !is_forbidden && c != 0xfffd;
}

/* How many bytes at ${at} are letters that most names consist of: they stay as they are. */
static size_t plain_run(struct span value, size_t at)
{
    size_t end = at;
    for (; end < value.size; end++) {
        uint8_t c = value.data[end];
        uint8_t lower = c | ('a' - 'A');
        bool is_plain = (lower >= 'a' && lower <= 'z') || (c >= '-' && c <= '9' && c != '/') ||
                        c == '_' || c == ' ';
        if (!is_plain) {
            break;
        }
    }
    return end - at;
}

void template_value_add_path(struct buf *out, struct span value, size_t max)
{
    size_t end = out->size + max;
    for (size_t at = 0; at < value.size;) {
        uint8_t bytes[4];
        size_t run = plain_run(value, at);
        if (run > end - out->size) {
            buf_add(out, value.data + at, end - out->size);
            return;
        }
        buf_add(out, value.data + at, run);
        at += run;
        if (out->failed || at == value.size) {
            return;
        }
        uint32_t c = utf8_next(value, &at);
        size_t size = utf8_put(is_fit_for_path(c) ? c : '_', bytes);
        if (out->size + size > end) {
            return;
        }
        buf_add(out, bytes, size);
    }
}

void template_value_add_index(struct buf *out, struct span value, size_t max)
{
    value = span_first(value, max);
    for (size_t i = 0; i < value.size; i++) {
        uint8_t c = value.data[i];
        c = (uint8_t)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
        buf_add_byte(out, good ? c : '_');
    }
}

/* A device of Windows, with any ending: learn.microsoft.com, "Naming Files, Paths, and Namespaces".
 * The superscripts one to three count as digits. */
static bool is_device(struct span name)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul", "conin$", "conout$"};
    const uint8_t *dot = name.size ? memchr(name.data, '.', name.size) : NULL;
    struct span stem = dot ? span_first(name, (size_t)(dot - name.data)) : name;
    if (!stem.size || !strchr("canplCANPL", stem.data[0])) {
        return false;
    }
    while (stem.size && stem.data[stem.size - 1] == ' ') {
        stem.size--;
    }
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (span_equal_nocase(stem, span_text(devices[i]))) {
            return true;
        }
    }
    if (!span_equal_nocase(span_first(stem, 3), span_text("com")) &&
        !span_equal_nocase(span_first(stem, 3), span_text("lpt"))) {
        return false;
    }
    struct span digit = span_from(stem, 3);
    return (digit.size == 1 && digit.data[0] >= '0' && digit.data[0] <= '9') ||
           span_is(digit, "\xc2\xb9") || span_is(digit, "\xc2\xb2") || span_is(digit, "\xc2\xb3");
}

void template_value_finish(struct buf *out, size_t start)
{
    if (out->failed || out->size == start) {
        return;
    }
    uint8_t *last = &out->data[out->size - 1];
    if (*last == '.' || *last == ' ') {
        *last = '_';
    }
    if (is_device(span_from(buf_span(out), start))) {
        buf_add_byte(out, '_');
        memmove(out->data + start + 1, out->data + start, out->size - start - 1);
        out->data[start] = '_';
    }
}

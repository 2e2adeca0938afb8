#include <stdlib.h>
#include <string.h>

#include "app/support/redactor.h"
#include "app/support/redactor_marks.h"
#include "fuzz/fuzz.h"

/*
 * Texts that are given away. The first line is the secret, the rest the text: the result contains
 * the secret nowhere. The whole input is also used as a configuration, whose values lie in it.
 */
enum { MAX_SECRET_BYTES = 256 };

static bool holds(struct span text, struct span part)
{
    for (size_t at = 0; at + part.size <= text.size; at++) {
        if (memcmp(text.data + at, part.data, part.size) == 0) {
            return true;
        }
    }
    return false;
}

static void check_hidden(const char *secret, struct span text)
{
    struct redactor redactor = {0};
    struct buf out;
    buf_init(&out, 4 * text.size + 64);
    redactor_add(&redactor, secret, "user");
    redactor_write(&redactor, text, &out);
    if (redactor.failed || out.failed || holds(buf_span(&out), span_text(secret))) {
        abort();
    }
    buf_fini(&out);
    redactor_fini(&redactor);
}

static void check_values(struct span text)
{
    size_t at = 0;
    size_t before = 0;
    struct span value;
    while (redactor_marks_next_value(text, &at, &value)) {
        if (at <= before || at > text.size || value.data < text.data || value.size == 0 ||
            value.data + value.size > text.data + text.size) {
            abort();
        }
        before = at;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char secret[MAX_SECRET_BYTES + 1];
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t length = line ? (size_t)(line - data) : 0;
    struct span text = span_make(data + length, size - length);
    check_values(span_make(data, size));
    if (length >= REDACTOR_SHORTEST_BYTES && length <= MAX_SECRET_BYTES &&
        !memchr(data, '*', length) && !memchr(data, 0, length)) {
        memcpy(secret, data, length);
        secret[length] = '\0';
        check_hidden(secret, text);
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const texts[] = {
        "hunter2\npassword=hunter2 hunter2hunter2 {\"token\":\"hunt\xe2\x80\xa6",
        "id:secret-half\nhttps://u:secret-half@h/p?secret-half ApiKey aWQ6c2VjcmV0\n",
        "aaaa\naaaaaaa a\\\"aaaa\\\" Bearer aaaa.bbbb.cccc\r\n",
        "x: y://z@w\nauth: {api_key: 'a b', password: c#d} # token: e\n",
    };
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    if (index >= TEXTS || strlen(texts[index]) > max) {
        return 0;
    }
    memcpy(out, texts[index], strlen(texts[index]));
    return strlen(texts[index]);
}

#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "pipeline/dead_letter.h"

/* What is read is written, and reads back to the same letter. */

enum { MAX_TEXT = 1 << 22 };

static bool is_same(const struct dead_letter *a, const struct dead_letter *b)
{
    return a->id == b->id && a->time == b->time && a->status == b->status &&
           span_equal(a->document, b->document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf texts;
    struct buf line;
    struct buf again_texts;
    struct dead_letter letter;
    struct dead_letter again;
    buf_init(&texts, MAX_TEXT);
    buf_init(&line, MAX_TEXT);
    buf_init(&again_texts, MAX_TEXT);
    if (dead_letter_read(span_make(data, size), &texts, &letter)) {
        dead_letter_write(&letter, &line);
        if (line.failed ||
            !dead_letter_read(span_first(buf_span(&line), line.size - 1), &again_texts, &again)) {
            abort();
        }
        /* Only JSON objects keep bytes that are no UTF-8. */
        bool is_object = letter.document.size && letter.document.data[0] == '{';
        if (is_object && !is_same(&letter, &again)) {
            abort();
        }
    }
    buf_fini(&texts);
    buf_fini(&line);
    buf_fini(&again_texts);
    return 0;
}

#define HEAD                                                                                  \
    "{\"id\":7,\"time\":\"2026-11-21T19:00:00.1234567Z\",\"output\":\"siem\",\"status\":400," \
    "\"type\":\"t\\u00e4\",\"reason\":\"a \\\"b\\\" \\ud83d\\ude00\",\"index\":\"logs\","     \
    "\"route\":null,\"document_id\":\"0011\",\"document_bytes\":"

static const char *const seeds[] = {HEAD "         7,\"document\":{\"a\":1}}",
    HEAD "4,\"document\":null}", HEAD "5,\"document\":\"a\\n\"}"};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

#include <stdlib.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "outputs/elasticsearch/es_reply.h"
#include "support/json_check.h"

/*
 * The first two bytes give the number of events and the sizes of the pieces; the rest is the reply.
 * Reading it in pieces and at once must give equal results. A reply that is accepted as complete is
 * JSON to another reader, too, unless it has something that only that reader refuses: broken UTF-8
 * or a repeated key.
 */

enum { MAX_TEXT = 1 << 22 };

static bool note(void *self, size_t place, const struct es_answer *answer)
{
    struct buf *text = self;
    if (answer->status < 100 || answer->status > 599 || answer->index.size > ES_REPLY_MAX_INDEX) {
        abort();
    }
    buf_printf(text, "%zu %d ", place, answer->status);
    buf_add_span(text, answer->index);
    buf_add_span(text, answer->type);
    buf_add_span(text, answer->reason);
    return true;
}

static bool read_reply(struct span json, size_t expected, size_t piece, struct buf *text)
{
    struct error err = {0};
    struct es_reply reply;
    bool good = true;
    es_reply_init(&reply, expected, note, text);
    for (size_t at = 0; good && at < json.size; at += piece) {
        good = es_reply_feed(&reply, span_first(span_from(json, at), piece));
    }
    bool whole = es_reply_end(&reply, &err);
    if ((whole && !good) || whole == (err.code != ERR_NONE)) {
        abort();
    }
    struct es_answer refusal = es_reply_refusal(&reply);
    buf_printf(text, "%d ", refusal.status);
    buf_add_span(text, refusal.type);
    buf_add_span(text, refusal.reason);
    return whole;
}

/* Without the white space between tokens, which the other reader does not know. */
static void add_bare(struct span json, struct buf *out)
{
    bool in_string = false;
    for (size_t i = 0; i < json.size; i++) {
        uint8_t c = json.data[i];
        if (in_string || !memchr(" \n\r\t", c, 4)) {
            buf_add_byte(out, c);
        }
        if (in_string && c == '\\' && i + 1 < json.size) {
            buf_add_byte(out, json.data[++i]);
        } else if (c == '"') {
            in_string = !in_string;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf at_once;
    struct buf in_pieces;
    size_t at = 0;
    if (size < 2) {
        return 0;
    }
    struct span json = span_make(data + 2, size - 2);
    buf_init(&at_once, MAX_TEXT);
    buf_init(&in_pieces, MAX_TEXT);
    bool whole = read_reply(json, data[0] % 8, json.size + 1, &at_once);
    if (whole != read_reply(json, data[0] % 8, 1 + data[1] % 16, &in_pieces) ||
        !span_equal(buf_span(&at_once), buf_span(&in_pieces))) {
        abort();
    }
    buf_reset(&in_pieces);
    add_bare(json, &in_pieces);
    const char *fault = whole ? json_check(buf_span(&in_pieces), &at) : NULL;
    if (fault && !strstr(fault, "UTF-8") && !strstr(fault, "twice")) {
        abort();
    }
    buf_fini(&at_once);
    buf_fini(&in_pieces);
    return 0;
}

static const char *const seeds[] = {
    "\x02\x03{\"took\":30,\"errors\":true,\"items\":[{\"create\":{\"_index\":\".ds-logs\",\"_id\":"
    "\"1\",\"_shards\":{\"total\":2},\"status\":201}},{\"create\":{\"_index\":\"logs\",\"_id\":"
    "null,"
    "\"status\":400,\"error\":{\"type\":\"mapper_parsing_exception\",\"reason\":\"failed \\\"x\\\" "
    "\\ud83d\\ude00\",\"caused_by\":{\"type\":\"t\"}}}}]}",
    "\x01\x01{\"errors\":false,\"items\":[{\"index\":{\"status\":429,\"error\":\"text\"}}]}",
    "\x01\x02{\"error\":{\"root_cause\":[{\"type\":\"a\"}],\"type\":\"b\"},\"status\":400}",
    "\x03\x00{\"items\":[{\"index\":{\"status\":201}},{\"index\":{\"status\":201}},{\"a\":{}}]}",
    "\x01\x04{\"error\":\"Content-Type header [] is not supported\",\"status\":406}",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

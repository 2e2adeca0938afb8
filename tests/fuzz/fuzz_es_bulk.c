#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/delivery_id.h"
#include "outputs/elasticsearch/es_bulk.h"
#include "support/json_check.h"

/* Four lines: the rendered route, the pipeline, the routing value, and the namespace; the rest are
 * documents, one a line. Whatever they contain, the body alternates between a line of JSON and a
 * document, and servers accept the names in it. */

enum { MAX_DOCUMENTS = 64, MAX_VALUE = 512 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static struct span next_line(struct span *rest)
{
    const uint8_t *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    struct span line = span_first(*rest, end ? (size_t)(end - rest->data) : rest->size);
    *rest = span_from(*rest, line.size + (end != NULL));
    return line;
}

/* As a text, up to a NUL; NULL where the line is empty. */
static const char *text_of(struct span line, char out[MAX_VALUE])
{
    line = span_first(line, MAX_VALUE - 1);
    if (line.size) {
        memcpy(out, line.data, line.size);
    }
    out[line.size] = '\0';
    return out[0] ? out : NULL;
}

static void check_name(struct span name)
{
    check(name.size > 0 && name.size <= ES_NAME_MAX);
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];
        check(c > ' ' && c != 0x7f && !(c >= 'A' && c <= 'Z') && !memchr("\\/*?\"<>|,#:", c, 11));
    }
    check(!span_is(name, ".") && !span_is(name, "..") && !memchr("-_+.", name.data[0], 4));
}

static void check_body(struct span body, const struct delivery *delivery)
{
    uint32_t start = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        size_t at;
        check(json_check(next_line(&body), &at) == NULL);
        struct span document = span_make(
            delivery->bytes.data + start, delivery->record_ends[i] - start);
        start = delivery->record_ends[i];
        check(body.size >= document.size && span_equal(span_first(body, document.size), document));
        body = span_from(body, document.size);
    }
    check(body.size == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char texts[3][MAX_VALUE];
    uint32_t ends[MAX_DOCUMENTS];
    static const uint32_t routes[MAX_DOCUMENTS];
    static const struct delivery_ids ids = {.epoch = UINT64_MAX, .first_number = UINT64_MAX - 3};
    struct span rest = span_make(data, size);
    struct span route = next_line(&rest);
    struct error err;
    char name[ES_NAME_MAX];
    struct es_bulk_options options = {.action = "create", .ids = size % 2};
    options.pipeline = text_of(next_line(&rest), texts[0]);
    options.routing = text_of(next_line(&rest), texts[1]);
    options.name.data_stream.namespace = text_of(next_line(&rest), texts[2]);
    options.name.data_stream.dataset = "etw.{event.name}";
    struct delivery delivery = {.bytes = rest,
        .record_ends = ends,
        .routes = routes,
        .route_names = &route,
        .route_count = 1,
        .ids = &ids};
    struct span documents = rest;
    while (documents.size && delivery.record_count < MAX_DOCUMENTS) {
        next_line(&documents);
        if (documents.size == 0 && rest.data[rest.size - 1] != '\n') {
            break; /* the host ends each with a line break */
        }
        ends[delivery.record_count++] = (uint32_t)(rest.size - documents.size);
    }
    struct es_bulk bulk;
    es_bulk_init(&bulk);
    bool built = es_bulk_build(&bulk, &options, "native", &delivery, &err);
    check(built == (route.size > 0));
    if (built && delivery.record_count) {
        struct es_body body = es_bulk_body(&bulk, 0, delivery.record_count);
        struct buf whole;
        buf_init(&whole, 1 << 26);
        es_bulk_gather(&body, &whole);
        check(!whole.failed && whole.size == body.size);
        check_body(buf_span(&whole), &delivery);
        buf_fini(&whole);
    }
    es_bulk_fini(&bulk);
    check_name(span_make(name, es_name_write(&options.name, "ecs", route, name)));
    return 0;
}

static const char *const seeds[] = {
    "etw.dns_client\npipe\nshard\nprod\n{\"a\":1}\n{}\n",
    "etw.\"}}\np\"\nr\\\n..\n{}\n",
    "\n\n\n\n{}\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

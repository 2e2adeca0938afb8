#include <stdlib.h>
#include <string.h>

#include "event/select/event_fields.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "support/json_check.h"

/*
 * Byte 0 is the size of a list of fields, which follows; bit 7 says whether its names are those of
 * ecs. The rest is a line. Nothing beyond the line is read. A line of JSON stays JSON, and
 * selecting fields again changes nothing.
 */
enum { MAX_LINE = 1 << 20 };

static void keep(struct event_fields *fields, struct span line, struct buf *out)
{
    size_t at;
    bool is_json = json_check(line, &at) == NULL && line.size && line.data[0] == '{';
    /* A block of the exact size, so that a sanitizer sees every read beyond it. */
    buf_add_span(out, line);
    event_fields_keep(fields, 0, out);
    if (!is_json || out->failed || out->size == 0) {
        return;
    }
    struct buf again;
    buf_init(&again, MAX_LINE);
    buf_add(&again, out->data, out->size);
    event_fields_keep(fields, 0, &again);
    if (json_check(span_first(buf_span(out), out->size - 1), &at) ||
        !span_equal(buf_span(out), buf_span(&again))) {
        abort();
    }
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct span list = span_first(span_make(data + 1, size - 1), data[0] & 0x7f);
    struct span line = span_from(span_make(data + 1, size - 1), list.size);
    struct event_fields *fields = event_fields_create(
        list, data[0] & 0x80 ? &event_format_ecs : &event_format_native, NULL);
    if (fields) {
        struct buf out;
        buf_init(&out, MAX_LINE);
        keep(fields, line, &out);
        buf_reset(&out);
        buf_add_span(&out, line);
        event_fields_list(fields, 0, &out);
        buf_fini(&out);
    }
    event_fields_destroy(fields);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const struct {
        bool ecs;
        const char *list;
    } lists[] = {{false, "data.A.B,process.pid,data['x.y'],data.L[*].T,tags"}, {false, "data"},
        {false, "@timestamp, message,labels.a.b,event.id"}, {false, "data.A,data.A.B"},
        {true, "winlog.event_data.A,event.code,labels.x.y"}, {true, "event,host.os"}};
    static const char native_line[] = "{\"@timestamp\":\"t\",\"event\":{\"code\":1,\"name\":"
                                      "\"a\\\"}{\\\\\"},\"process\":{\"pid\":4},"
                                      "\"data\":{\"A\":{\"B\":[1,{\"B\":2}],\"C\":null},\"L\":[{"
                                      "\"T\":1,\"U\":2},{},3,[{\"T\":4}]],"
                                      "\"x.y\":\"\\u0000\"},\"labels\":{\"a.b\":\"c\"},\"tags\":["
                                      "\"a\",\"b\"],\"message\":\"m\"}\n";
    static const char ecs_line[] =
        "{\"event\":{\"code\":\"1\"},\"winlog\":{\"event_data\":{\"A\":\"x\\\\\",\"B\":\"\"}},"
        "\"host\":{\"os\":{\"type\":\"windows\"}},\"labels\":{\"x.y\":\"z\"}}\n";
    static const char *const lines[] = {
        native_line, ecs_line, "{\"data\":{\"A\":[[[[{\"B\":1}]]]]}", "{}\n", "[1,2]\n", ""};
    enum { LISTS = sizeof(lists) / sizeof(lists[0]), LINES = sizeof(lines) / sizeof(lines[0]) };
    if (index >= LISTS * LINES) {
        return 0;
    }
    const char *list = lists[index / LINES].list;
    const char *line = lines[index % LINES];
    size_t list_size = strlen(list);
    size_t line_size = strlen(line);
    if (1 + list_size + line_size > max) {
        return 0;
    }
    out[0] = (uint8_t)(list_size | (lists[index / LINES].ecs ? 0x80 : 0));
    memcpy(out + 1, list, list_size);
    memcpy(out + 1 + list_size, line, line_size);
    return 1 + list_size + line_size;
}

#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "base/utf.h"
#include "fuzz/fuzz.h"
#include "input/record/host_facts.h"

/*
 * Records one after the other: a byte for class and pointer size, version, 16 bits for the
 * payload's size, the payload. Facts that are learned are UTF-8 texts within their room, and known
 * facts stay.
 */
enum { MAX_UNITS = 512, UTF8_BYTES_PER_UNIT = 3, MAX_TEXT = MAX_UNITS * UTF8_BYTES_PER_UNIT };

static const uint8_t config_ex[16] = {
    0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0};

static void check_text(struct span text, size_t max)
{
    size_t at = 0;
    while (at < text.size) {
        uint8_t bytes[4];
        size_t start = at;
        size_t size = utf8_put(utf8_next(text, &at), bytes);
        if (size != at - start || memcmp(bytes, text.data + start, size) != 0) {
            abort();
        }
    }
    if (text.size > max) {
        abort();
    }
}

static struct event_record read_record(struct reader *r)
{
    uint8_t form = reader_u8(r);
    bool is_build = form & 1;
    struct event_record record = {.kind = is_build ? RECORD_CLASSIC : RECORD_KERNEL,
        .pointer_size = form & 0x80 ? 4 : 8,
        .hook_id = 0x0b0a,
        .descriptor = {.version = reader_u8(r), .opcode = 32}};
    memcpy(record.provider.bytes, config_ex, sizeof(config_ex));
    record.payload = reader_take(r, reader_u16(r));
    return record;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct trace_info trace = {.host_name = {.size = 0}};
    struct reader r = reader_make(span_make(data, size));
    arena_init(&arena, (size_t)1 << 20);
    while (reader_left(&r) && !r.failed) {
        struct trace_info before = trace;
        struct event_record record = read_record(&r);
        host_facts_learn(&trace, &record, &arena);
        check_text(trace.host_name, MAX_TEXT);
        check_text(trace.host_domain, MAX_TEXT);
        check_text(trace.host_fqdn, 2 * MAX_TEXT + 1);
        check_text(trace.host_architecture, MAX_TEXT);
        check_text(trace.os_name, MAX_TEXT);
        if ((before.host_name.size && !span_equal(before.host_name, trace.host_name)) ||
            (before.os_name.size && !span_equal(before.os_name, trace.os_name))) {
            abort();
        }
    }
    arena_fini(&arena);
    return 0;
}

static size_t put_utf16(uint8_t *out, const char *text)
{
    size_t size = 2 * strlen(text);
    for (size_t i = 0; i < size; i += 2) {
        out[i] = (uint8_t)text[i / 2];
        out[i + 1] = 0;
    }
    return size + 2;
}

/* A machine with its domain, and its build, in both orders. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    enum { HEAD = 4, CPU_BYTES = 20 + 512 + 268 + 16 + 2, BUILD_BYTES = 8 + 2 * 64 };
    static const uint8_t forms[] = {0, 1, 0x80, 1};
    size_t at = 0;
    if (index > 2 || max < 2 * (size_t)(HEAD + CPU_BYTES)) {
        return 0;
    }
    memset(out, 0, 2 * (size_t)(HEAD + CPU_BYTES));
    for (size_t i = 0; i < 2; i++) {
        uint8_t form = forms[index + i];
        size_t size = form & 1 ? BUILD_BYTES : CPU_BYTES;
        uint8_t *payload = out + at + HEAD;
        out[at] = form;
        out[at + 1] = 3;
        out[at + 2] = (uint8_t)size;
        out[at + 3] = (uint8_t)(size >> 8);
        if (form & 1) {
            size_t build = put_utf16(payload + 8, "22000.613.amd64fre");
            put_utf16(payload + 8 + build, "Windows 10 Pro");
        } else {
            put_utf16(payload + 20, "HOST-7");
            put_utf16(payload + 20 + 512, "corp.example");
            payload[form & 0x80 ? 808 : 816] = 9;
        }
        at += HEAD + size;
    }
    return at;
}

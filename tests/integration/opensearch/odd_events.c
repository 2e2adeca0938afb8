#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/etl_encode.h"
#include "support/etl_writer.h"

/*
 * odd_events FILE.etl [FILETIME]: TraceLogging events that indices are known to refuse: a string of
 * 60,000 bytes, 2,000 names of fields, one name with two types, the largest number of 64 bits,
 * numbers that are no numbers. FILETIME: when they happened.
 *
 * TraceLoggingProvider.h: a UINT16 size, a byte of tags, the name; fields of a name and a type.
 */
enum { IN_UNICODE = 1, IN_ANSI = 2, IN_INT32 = 7, IN_UINT64 = 10, IN_DOUBLE = 12 };
enum { MAX_BYTES = 64 * 1024, LONG_BYTES = 60000, NAMES = 2000, NAMES_EACH = 100 };

struct odd {
    struct buf blob;
    struct buf payload;
    struct buf record;
    struct etl_writer *writer;
    int64_t time;
};

static void fail(const char *what)
{
    fprintf(stderr, "odd_events: %s\n", what);
    exit(1);
}

static void begin(struct odd *odd, const char *name)
{
    buf_reset(&odd->blob);
    buf_reset(&odd->payload);
    buf_add(&odd->blob, "\0\0\0", 3);
    buf_add(&odd->blob, name, strlen(name) + 1);
}

static void add_field(
    struct odd *odd, const char *name, uint8_t type, const void *value, size_t size)
{
    buf_add(&odd->blob, name, strlen(name) + 1);
    buf_add_byte(&odd->blob, type);
    buf_add(&odd->payload, value, size);
}

static void end(struct odd *odd)
{
    struct error err;
    odd->blob.data[0] = (uint8_t)odd->blob.size;
    odd->blob.data[1] = (uint8_t)(odd->blob.size >> 8);
    const struct extended_item item = {EXTENDED_SCHEMA_TL, buf_span(&odd->blob)};
    const struct etl_event event = {.pointer_size = 8,
        .flags = EVENT_FLAG_64_BIT,
        .thread_id = 8,
        .process_id = 4,
        .time = ++odd->time,
        .provider = {.bytes = "odd event source"},
        .descriptor = {.channel = 11, .level = 4},
        .extended = &item,
        .extended_count = 1};
    buf_reset(&odd->record);
    etl_encode_event(&odd->record, &event, buf_span(&odd->payload));
    if (odd->record.failed ||
        !etl_writer_put(odd->writer, 0, odd->time, buf_span(&odd->record), &err)) {
        fail("an event is too long");
    }
}

static void add_long(struct odd *odd)
{
    char *text = malloc(LONG_BYTES + 2);
    if (!text) {
        fail("out of memory");
    }
    memset(text, 'x', LONG_BYTES);
    text[LONG_BYTES] = text[LONG_BYTES + 1] = '\0';
    begin(odd, "ScriptBlock");
    add_field(odd, "ScriptBlockText", IN_ANSI, text, LONG_BYTES + 1);
    end(odd);
    /* U+7878: three bytes each, and no place to cut between them. */
    begin(odd, "ScriptBlock");
    add_field(odd, "ScriptBlockText", IN_UNICODE, text, LONG_BYTES + 2);
    end(odd);
    free(text);
}

static void add_names(struct odd *odd)
{
    for (int32_t i = 0; i < NAMES; i++) {
        char name[32];
        if (i % NAMES_EACH == 0) {
            begin(odd, "Names");
        }
        snprintf(name, sizeof(name), "Field%d", (int)i);
        add_field(odd, name, IN_INT32, &i, sizeof(i));
        if ((i + 1) % NAMES_EACH == 0) {
            end(odd);
        }
    }
}

static void add_types(struct odd *odd)
{
    const uint64_t largest = UINT64_MAX;
    const uint64_t not_a_number = UINT64_C(0x7ff8000000000000);
    const int32_t number = -1;
    begin(odd, "Same");
    add_field(odd, "Same", IN_INT32, &number, sizeof(number));
    end(odd);
    begin(odd, "Same");
    add_field(odd, "Same", IN_ANSI, "text", 5);
    end(odd);
    begin(odd, "Largest");
    add_field(odd, "Largest", IN_UINT64, &largest, sizeof(largest));
    end(odd);
    begin(odd, "None");
    add_field(odd, "None", IN_DOUBLE, &not_a_number, sizeof(not_a_number));
    end(odd);
}

int main(int argc, char **argv)
{
    struct error err;
    struct odd odd = {.time = 0};
    FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
    if (!file) {
        fail("usage: odd_events FILE.etl [FILETIME]");
    }
    const struct etl_options options = {.buffer_size = 128 * 1024,
        .start_time = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
        .boot_time = argc > 2 ? 1 : 0};
    buf_init(&odd.blob, MAX_BYTES);
    buf_init(&odd.payload, MAX_BYTES);
    buf_init(&odd.record, 2 * MAX_BYTES);
    odd.writer = etl_writer_create(&options, etl_writer_to_file(file), 0, &err);
    if (!odd.writer) {
        fail(err.text);
    }
    add_long(&odd);
    add_names(&odd);
    add_types(&odd);
    if (!etl_writer_close(odd.writer, &err) || fclose(file) != 0) {
        fail("cannot write");
    }
    etl_writer_destroy(odd.writer);
    buf_fini(&odd.record);
    buf_fini(&odd.payload);
    buf_fini(&odd.blob);
    return 0;
}

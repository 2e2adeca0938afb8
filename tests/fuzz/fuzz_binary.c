#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "schema/binary/parameter_files.h"
#include "schema/binary/pe_resources.h"
#include "schema/manifest/manifest_binary.h"
#include "support/crim_sample.h"
#include "support/memory_file.h"

/* Any bytes as a program file, or as the compiled manifest in one: it is refused or read, within
 * the memory, and every definition that was read can be found again. */
enum { MAX_MEMORY = 1 << 24, MAX_TABLES = 4 };

static const struct manifest_options options = {.source = "binary", .max_bytes = MAX_MEMORY};

static void parse(struct span bytes, const struct message_table *tables, size_t count)
{
    struct error err = {0};
    struct manifest *manifest = manifest_binary_parse(bytes, tables, count, &options, &err);
    if (!manifest && (err.code == ERR_NONE || !err.text[0])) {
        abort();
    }
    for (size_t i = 0; manifest && i < manifest->event_count; i++) {
        const struct event_schema *e = manifest->events[i];
        size_t first = 0;
        size_t found = manifest_events_find(
            manifest, &e->provider, e->descriptor.id, e->descriptor.version, &first);
        if (first > i || i >= first + found || !e->has_layout) {
            abort();
        }
    }
    manifest_events_destroy(manifest);
}

/* The tables as texts of parameters: in the order of their numbers, each once. */
static void read_parameters(const struct message_table *tables, size_t count)
{
    static const struct guid provider;
    struct parameter_files *files = parameter_files_create(NULL);
    if (!files) {
        abort();
    }
    parameter_files_add(files, span_text("msobjs.dll"), 0, tables, count);
    parameter_files_add_own(files, &provider, 0, tables, count);
    const struct schema_parameters *found[] = {
        parameter_files_find(files, &provider, span_text("LSA")),
        parameter_files_find(files, &provider, span_text("any"))};
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        for (size_t k = 1; found[i] && k < found[i]->count; k++) {
            if (found[i]->list[k - 1].number >= found[i]->list[k].number) {
                abort();
            }
        }
    }
    parameter_files_destroy(files);
}

/* What ${resource} says lies in ${file}, as far as it does. */
static struct span bytes_of(struct span file, const struct pe_resource *resource)
{
    size_t offset = resource->offset < file.size ? (size_t)resource->offset : file.size;
    return span_first(span_from(file, offset), resource->size);
}

static void parse_program(struct span file)
{
    static struct pe_resources resources;
    struct memory_file memory = {.bytes = file};
    const struct pe_input input = {.read = memory_file_read, .self = &memory};
    struct message_table tables[MAX_TABLES];
    size_t count = 0;
    struct error err = {0};
    if (!pe_resources_find(&input, &resources, &err)) {
        if (err.code == ERR_NONE || !err.text[0]) {
            abort();
        }
        return;
    }
    for (size_t i = 0; i < resources.count && count < MAX_TABLES; i++) {
        if (resources.list[i].type == PE_MESSAGE_TABLE) {
            if (message_table_init(&tables[count], bytes_of(file, &resources.list[i]), &err)) {
                count++;
            } else {
                message_table_fini(&tables[count]);
            }
        }
    }
    for (size_t i = 0; i < resources.count; i++) {
        if (resources.list[i].type == PE_WEVT_TEMPLATE) {
            parse(bytes_of(file, &resources.list[i]), tables, count);
        }
    }
    read_parameters(tables, count);
    for (size_t i = 0; i < count; i++) {
        message_table_fini(&tables[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span file = span_make(data, size);
    if (size >= 4 && memcmp(data, "CRIM", 4) == 0) {
        parse(file, NULL, 0);
    } else {
        parse_program(file);
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    struct buf crim;
    struct buf texts;
    struct buf file;
    size_t size = 0;
    buf_init(&crim, 1 << 16);
    buf_init(&texts, 1 << 16);
    buf_init(&file, 1 << 16);
    crim_sample_put(&crim);
    crim_sample_put_messages(&texts, false);
    const struct pe_put_resource resources[] = {
        {.type_name = "WEVT_TEMPLATE", .bytes = buf_span(&crim)},
        {.type = 11, .language = 0x409, .bytes = buf_span(&texts)}};
    if (index < 2) {
        pe_put(&file, &(struct pe_put_options){.is_32_bit = index == 1}, resources, 2, NULL);
    } else if (index == 2) {
        buf_add_span(&file, buf_span(&crim));
    } else if (index == 3) {
        crim_sample_put_overlaps(&file, 40);
    }
    if (index < 4 && !file.failed) {
        size = file.size < max ? file.size : max;
        memcpy(out, file.data, size);
    }
    buf_fini(&crim);
    buf_fini(&texts);
    buf_fini(&file);
    return size;
}

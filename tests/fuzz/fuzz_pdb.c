#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "schema/wpp/pdb.h"
#include "schema/wpp/tmf.h"
#include "support/memory_file.h"
#include "support/pdb_put.h"

/* Any bytes as a PDB file; bytes that are none as the symbols of a module in one. It is refused
 * with a text, or its annotations are handed over complete, no more than the file has room for, and
 * read as trace message formats. */
enum { MAX_MEMORY = 1 << 24, MIN_ANNOTATION_BYTES = 12, FILE_BYTES = 1 << 16 };

struct reading {
    struct tmf_reader tmf;
    struct arena arena;
    size_t annotations;
    size_t bytes; /* of the strings */
};

static bool on_message(void *self, const struct tmf_message *message)
{
    (void)self;
    return message->argument_count <= TMF_MAX_ARGUMENTS || (abort(), false);
}

static void on_warning(void *self, const char *text)
{
    (void)self;
    if (!text[0]) {
        abort();
    }
}

static bool on_annotation(void *self, const struct pdb_annotation *annotation)
{
    struct reading *reading = self;
    static struct span kept[PDB_MAX_STRINGS];
    struct span function;
    if (annotation->count == 0 || annotation->count > PDB_MAX_STRINGS ||
        !span_is(annotation->strings[0], "TMF:") || annotation->offset < 4 ||
        annotation->function.size > PDB_MAX_NAME_BYTES) {
        abort();
    }
    reading->annotations++;
    bool ok = arena_copy(&reading->arena, annotation->function, &function);
    for (size_t i = 0; ok && i < annotation->count; i++) {
        struct span line = annotation->strings[i];
        if (line.size && memchr(line.data, 0, line.size)) {
            abort();
        }
        reading->bytes += line.size + 1;
        ok = arena_copy(&reading->arena, line, &kept[i]);
    }
    return ok && tmf_reader_annotation(
                     &reading->tmf, kept + 1, annotation->count - 1, annotation->offset, function);
}

static void read_file(struct span file)
{
    static struct reading reading;
    struct memory_file memory = {.bytes = file};
    const struct msf_input input = {.read = memory_file_read, .self = &memory, .size = file.size};
    const struct tmf_sink messages = {.message = on_message, .warn = on_warning};
    const struct pdb_sink sink = {
        .annotation = on_annotation, .warn = on_warning, .self = &reading};
    struct pdb_about about;
    struct error err = {0};
    reading.annotations = reading.bytes = 0;
    arena_init(&reading.arena, MAX_MEMORY);
    tmf_reader_init(&reading.tmf, &reading.arena, "fuzz.pdb", &messages);
    if (!pdb_read(&input, "TMF:", "fuzz.pdb", &sink, &about, &err) &&
        (err.code == ERR_NONE || !err.text[0])) {
        abort();
    }
    tmf_reader_end(&reading.tmf);
    arena_fini(&reading.arena);
    if (about.annotations != reading.annotations || about.with_symbols > about.modules ||
        reading.annotations * MIN_ANNOTATION_BYTES > file.size || reading.bytes > file.size) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = span_make(data, size);
    read_file(bytes);
    if (msf_kind_of(span_first(bytes, MSF_HEAD_BYTES)) == MSF_NONE) {
        const struct pdb_put_module module = {.name = "m.obj", .symbols = bytes};
        struct buf file;
        buf_init(&file, FILE_BYTES + 2 * size);
        pdb_put(&file, &(struct pdb_put_options){.block_size = 512}, &module, 1);
        read_file(buf_span(&file));
        buf_fini(&file);
    }
    return 0;
}

#define HEAD "a5bbbdd9-73f9-3bed-93aa-521a4c96d934 m // SRC=a.c MJ= MN="

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const message[] = {"TMF:", HEAD,
        "#typev a_c31 10 \"%0[%!FUNC!] %10!d! %11!s!\" //   LEVEL=L FLAGS=F", "{",
        "a, ItemLong -- 10", "b, ItemString -- 11", "}"};
    static const char *const control[] = {
        "TMC:", "a5bbbdd9-73f9-3bed-93aa-521a4c96d934", "Name", "FLAG", "PUBLIC_TMF:"};
    static const struct pdb_put_options options[] = {{.block_size = 512},
        {.block_size = 1024, .is_fastlink = true}, {.block_size = 512, .is_stripped = true}};
    struct buf symbols;
    struct buf more;
    struct buf file;
    size_t size = 0;
    enum { FILES = sizeof(options) / sizeof(options[0]) };
    if (index > FILES) {
        return 0;
    }
    buf_init(&symbols, 1 << 16);
    buf_init(&more, 1 << 16);
    buf_init(&file, 1 << 17);
    pdb_put_signature(&symbols);
    pdb_put_function(&symbols, "ns::run");
    pdb_put_annotation(&symbols, message, sizeof(message) / sizeof(message[0]));
    pdb_put_record(&symbols, 0x0006, span_make("", 0));
    buf_add_span(&more, buf_span(&symbols));
    pdb_put_annotation(&more, control, sizeof(control) / sizeof(control[0]));
    pdb_put_annotation(&more, message, 3);
    const struct pdb_put_module modules[] = {{.name = "one.obj", .symbols = buf_span(&symbols)},
        {.name = "none.obj"}, {.name = "two.obj", .symbols = buf_span(&more)}};
    if (index == FILES) {
        buf_add_span(&file, buf_span(&more));
    } else {
        pdb_put(&file, &options[index], modules, index == 1 ? 1 : 3);
    }
    if (!file.failed && file.size <= max) {
        memcpy(out, file.data, file.size);
        size = file.size;
    }
    buf_fini(&symbols);
    buf_fini(&more);
    buf_fini(&file);
    return size;
}

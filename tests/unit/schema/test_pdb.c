#include "schema/wpp/pdb.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "support/etl_put.h"
#include "support/memory_file.h"
#include "support/pdb_put.h"
#include "support/test.h"

/* PDB files of the writer in tests/support, complete and broken. */
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_KEPT = 8, MAX_STRINGS = 8 };

struct kept {
    char module[300];
    char function[PDB_MAX_NAME_BYTES + 1];
    uint32_t offset;
    char strings[MAX_STRINGS][100];
    size_t count;
};

static struct {
    struct kept kept[MAX_KEPT];
    size_t count;
    size_t wanted; /* it stops after so many */
    char warnings[16384];
    struct pdb_about about;
    struct error err;
} found;

static bool keep(void *self, const struct pdb_annotation *annotation)
{
    (void)self;
    struct kept *kept = &found.kept[found.count % MAX_KEPT];
    snprintf(kept->module, sizeof(kept->module), "%s", annotation->module);
    snprintf(kept->function, sizeof(kept->function), "%.*s", SPAN_ARG(annotation->function));
    kept->offset = annotation->offset;
    kept->count = annotation->count;
    for (size_t i = 0; i < annotation->count && i < MAX_STRINGS; i++) {
        snprintf(
            kept->strings[i], sizeof(kept->strings[i]), "%.*s", SPAN_ARG(annotation->strings[i]));
    }
    return ++found.count != found.wanted;
}

static void note(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(found.warnings);
    snprintf(found.warnings + used, sizeof(found.warnings) - used, "%s\n", text);
}

static bool read_wanted(struct span file, const char *kind, size_t wanted)
{
    struct memory_file memory = {.bytes = file};
    const struct msf_input input = {.read = memory_file_read, .self = &memory, .size = file.size};
    const struct pdb_sink sink = {.annotation = keep, .warn = note};
    memset(&found, 0, sizeof(found));
    found.wanted = wanted;
    return pdb_read(&input, kind, "d.pdb", &sink, &found.about, &found.err);
}

static bool read_modules(
    const struct pdb_put_options *options, const struct pdb_put_module *modules, size_t count)
{
    struct buf file;
    buf_init(&file, 1 << 24);
    pdb_put(&file, options, modules, count);
    assert_false(file.failed);
    bool ok = read_wanted(buf_span(&file), "TMF:", 0);
    buf_fini(&file);
    return ok;
}

static const struct pdb_put_options plain = {.block_size = 512};

static void put_symbols(struct buf *symbols)
{
    buf_init(symbols, 1 << 22);
    pdb_put_signature(symbols);
}

static void put_strings(struct buf *symbols, const char *kind, const char *text)
{
    const char *const strings[] = {kind, text};
    pdb_put_annotation(symbols, strings, 2);
}

/* ---- sound files ----------------------------------------------------------------------------- */

static void annotations_come_with_module_offset_and_function(void **state)
{
    (void)state;
    static const char *const message[] = {"TMF:", "guid module", "#typev", "{", "a, b -- 10", "}"};
    struct buf one;
    struct buf two;
    put_symbols(&one);
    pdb_put_record(&one, 0x1101, span_text("a.obj"));
    put_strings(&one, "TMF:", "in no function");
    pdb_put_function(&one, "ns::run");
    uint32_t place = (uint32_t)one.size;
    pdb_put_annotation(&one, message, COUNT_OF(message));
    put_strings(&one, "Debug", "AssertFail");
    pdb_put_record(&one, 0x0006, span_make("", 0));
    pdb_put_function(&one, "second");
    put_strings(&one, "TMF:", "");
    put_symbols(&two);
    put_strings(&two, "TMF:", "of the second module");
    const struct pdb_put_module modules[] = {
        {.name = "C:\\build\\one.obj", .symbols = buf_span(&one)}, {.name = "import:ntoskrnl.exe"},
        {.name = "bell\a\x1b[31m", .symbols = buf_span(&two)}};

    assert_true(read_modules(&plain, modules, 3));
    assert_string_equal(found.warnings, "");
    assert_int_equal(found.count, 4);
    assert_int_equal(found.about.annotations, 4);
    assert_int_equal(found.about.modules, 3);
    assert_int_equal(found.about.with_symbols, 2);
    assert_string_equal(found.kept[0].function, "");
    assert_int_equal(found.kept[1].offset, place);
    assert_string_equal(found.kept[1].function, "ns::run");
    assert_string_equal(found.kept[1].module, "C:\\build\\one.obj");
    assert_int_equal(found.kept[1].count, COUNT_OF(message));
    for (size_t i = 0; i < COUNT_OF(message); i++) {
        assert_string_equal(found.kept[1].strings[i], message[i]);
    }
    assert_string_equal(found.kept[2].function, "second");
    assert_string_equal(found.kept[2].strings[1], "");
    assert_string_equal(found.kept[3].function, "");
    assert_string_equal(found.kept[3].module, "bell??[31m");
    assert_string_equal(found.kept[3].strings[1], "of the second module");
    assert_null(pdb_lack(&found.about));
    buf_fini(&one);
    buf_fini(&two);
}

static void other_kinds_can_be_asked_for(void **state)
{
    (void)state;
    static const char *const control[] = {"TMC:", "d58c126f-b309-11d1-969e-0000f875a5bc", "Name",
        "FLAG_ONE", "FLAG_TWO", "PUBLIC_TMF:"};
    struct buf symbols;
    struct buf file;
    put_symbols(&symbols);
    put_strings(&symbols, "TMF:", "a message");
    pdb_put_annotation(&symbols, control, COUNT_OF(control));
    const struct pdb_put_module module = {.name = "m", .symbols = buf_span(&symbols)};
    buf_init(&file, 1 << 20);
    pdb_put(&file, &plain, &module, 1);
    assert_true(read_wanted(buf_span(&file), "TMC:", 0));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kept[0].count, COUNT_OF(control));
    assert_string_equal(found.kept[0].strings[4], "FLAG_TWO");
    assert_true(read_wanted(buf_span(&file), "TM", 0));
    assert_int_equal(found.count, 0);
    buf_fini(&symbols);
    buf_fini(&file);
}

/* Far more than the window of one megabyte, with records across its end. */
static void symbols_of_any_size_are_read(void **state)
{
    (void)state;
    enum { RECORDS = 70 };
    static char text[60000];
    struct buf symbols;
    buf_init(&symbols, 1 << 23);
    pdb_put_signature(&symbols);
    for (size_t i = 0; i < RECORDS; i++) {
        memset(text, 'a' + (int)(i % 26), sizeof(text) - 1 - i);
        text[sizeof(text) - 1 - i] = '\0';
        put_strings(&symbols, "TMF:", text);
    }
    put_strings(&symbols, "TMF:", "the end");
    const struct pdb_put_module module = {.name = "m", .symbols = buf_span(&symbols)};
    assert_true(read_modules(&(struct pdb_put_options){.block_size = 4096}, &module, 1));
    assert_string_equal(found.warnings, "");
    assert_int_equal(found.count, RECORDS + 1);
    assert_string_equal(found.kept[RECORDS % MAX_KEPT].strings[1], "the end");
    buf_fini(&symbols);
}

static void the_sink_can_end_the_reading(void **state)
{
    (void)state;
    struct buf symbols;
    struct buf file;
    put_symbols(&symbols);
    put_strings(&symbols, "TMF:", "1");
    put_strings(&symbols, "TMF:", "2");
    const struct pdb_put_module modules[] = {
        {.name = "m", .symbols = buf_span(&symbols)}, {.name = "n", .symbols = buf_span(&symbols)}};
    buf_init(&file, 1 << 20);
    pdb_put(&file, &plain, modules, 2);
    assert_true(read_wanted(buf_span(&file), "TMF:", 1));
    assert_int_equal(found.count, 1);
    assert_true(read_wanted(buf_span(&file), "TMF:", 3));
    assert_int_equal(found.count, 3);
    buf_fini(&symbols);
    buf_fini(&file);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* A module "bad" between two good ones. */
static void read_beside_good(struct span bad, uint32_t claimed)
{
    struct buf good;
    put_symbols(&good);
    put_strings(&good, "TMF:", "good");
    const struct pdb_put_module modules[] = {{.name = "before", .symbols = buf_span(&good)},
        {.name = "bad", .symbols = bad, .claimed = claimed},
        {.name = "after", .symbols = buf_span(&good)}};
    assert_true(read_modules(&plain, modules, 3));
    assert_string_equal(found.kept[0].module, "before");
    assert_string_equal(found.kept[(found.count - 1) % MAX_KEPT].module, "after");
    buf_fini(&good);
}

static void a_damaged_module_is_told_and_the_others_read(void **state)
{
    (void)state;
    static const struct {
        const char *bytes; /* after one good annotation of 24 bytes */
        size_t size;
        const char *warning;
    } damages[] = {
        {"\0\0\x19\x10", 4,
            "d.pdb(bad):28: a record has no kind: the rest of this module is skipped\n"},
        {"\x01\0\x19\x10", 4,
            "d.pdb(bad):28: a record has no kind: the rest of this module is skipped\n"},
        {"\x0a\0\x19\x10", 4,
            "d.pdb(bad):28: a record ends after the symbols: the rest of this module is "
            "skipped\n"},
        {"\x02\0", 2, "d.pdb(bad):28: a truncated record: the rest of this module is skipped\n"},
        {"\x0e\0\x19\x10\0\0\0\0\0\0\x01\0TMF:", 16,
            "d.pdb(bad):28: an annotation is truncated: skipped\n"},
        {"\x12\0\x19\x10\0\0\0\0\0\0\x03\0TMF:\0x\0\0", 20, ""},
        {"\x12\0\x19\x10\0\0\0\0\0\0\x05\0TMF:\0x\0\0", 20,
            "d.pdb(bad):28: an annotation is truncated: skipped\n"},
        {"\x12\0\x19\x10\0\0\0\0\0\0\x01\x02TMF:\0x\0\0", 20,
            "d.pdb(bad):28: an annotation has too many strings: skipped\n"},
        {"\x06\0\x19\x10\0\0\0\0", 8, "d.pdb(bad):28: an annotation is truncated: skipped\n"},
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct buf symbols;
        put_symbols(&symbols);
        put_strings(&symbols, "TMF:", "first");
        assert_int_equal(symbols.size, 28);
        buf_add(&symbols, damages[i].bytes, damages[i].size);
        read_beside_good(buf_span(&symbols), 0);
        assert_string_equal(found.warnings, damages[i].warning);
        assert_int_equal(found.about.damaged, damages[i].warning[0] != '\0');
        assert_int_equal(found.count, damages[i].warning[0] ? 3 : 4);
        assert_string_equal(found.kept[1].module, "bad");
        assert_string_equal(found.kept[1].strings[1], "first");
        buf_fini(&symbols);
    }
}

static void a_module_that_contradicts_the_file_is_left_out(void **state)
{
    (void)state;
    struct buf symbols;
    put_symbols(&symbols);
    put_strings(&symbols, "TMF:", "x");
    read_beside_good(buf_span(&symbols), 1000);
    assert_int_equal(found.count, 2);
    assert_string_equal(
        found.warnings, "d.pdb(bad):0: its stream is smaller than its symbols: skipped\n");
    read_beside_good(buf_span(&symbols), 3);
    assert_string_equal(
        found.warnings, "d.pdb(bad):0: its stream is smaller than its symbols: skipped\n");
    store_le32(symbols.data, 2);
    read_beside_good(buf_span(&symbols), 0);
    assert_string_equal(
        found.warnings, "d.pdb(bad):0: its symbols have an unknown version: skipped\n");
    buf_fini(&symbols);
}

/* The place of the second module according to the directory: after one block each for info stream,
 * list of modules, and first module. */
static void a_module_outside_of_the_file_is_left_out(void **state)
{
    (void)state;
    enum { BLOCK = 512, MAP_AT = 0x34, STREAMS = PDB_PUT_FIRST_MODULE + 3, BEFORE = 3 };
    struct buf symbols;
    struct buf file;
    put_symbols(&symbols);
    put_strings(&symbols, "TMF:", "x");
    const struct pdb_put_module modules[] = {{.name = "before", .symbols = buf_span(&symbols)},
        {.name = "bad", .symbols = buf_span(&symbols)},
        {.name = "after", .symbols = buf_span(&symbols)}};
    buf_init(&file, 1 << 16);
    pdb_put(&file, &plain, modules, 3);
    uint32_t map = load_le32(file.data + MAP_AT);
    uint8_t *directory = file.data + (size_t)load_le32(file.data + (size_t)map * BLOCK) * BLOCK;
    assert_int_equal(load_le32(directory), STREAMS);
    store_le32(directory + 4 + 4 * STREAMS + 4 * BEFORE, 1000000);
    assert_true(read_wanted(buf_span(&file), "TMF:", 0));
    assert_int_equal(found.count, 2);
    assert_string_equal(found.kept[0].module, "before");
    assert_string_equal(found.kept[1].module, "after");
    assert_string_equal(found.warnings,
        "d.pdb(bad):0: refers to block 1000000 but the file has 10 blocks; "
        "it is damaged or truncated: skipped\n");
    buf_fini(&symbols);
    buf_fini(&file);
}

static void modules_that_share_a_stream_are_read_as_far_as_a_file_can_be(void **state)
{
    (void)state;
    enum { ANNOTATIONS = 200 };
    struct buf symbols;
    struct buf file;
    struct pdb_put_module modules[PDB_PUT_MAX_MODULES];
    put_symbols(&symbols);
    for (size_t i = 0; i < ANNOTATIONS; i++) {
        put_strings(&symbols, "TMF:", "x");
    }
    modules[0] = (struct pdb_put_module){.name = "m", .symbols = buf_span(&symbols)};
    for (size_t i = 1; i < PDB_PUT_MAX_MODULES; i++) {
        modules[i] = (struct pdb_put_module){.name = "m",
            .symbols = span_make("", 0),
            .claimed = (uint32_t)symbols.size,
            .stream = PDB_PUT_FIRST_MODULE};
    }
    buf_init(&file, 1 << 20);
    pdb_put(&file, &plain, modules, PDB_PUT_MAX_MODULES);
    assert_true(read_wanted(buf_span(&file), "TMF:", 0));
    size_t fit = file.size / symbols.size;
    assert_true(fit > 0 && fit < PDB_PUT_MAX_MODULES);
    assert_int_equal(found.count, fit * ANNOTATIONS);
    assert_int_equal(found.about.damaged, PDB_PUT_MAX_MODULES - fit);
    assert_non_null(
        strstr(found.warnings, "d.pdb(m):0: its modules are larger than the file: skipped\n"));
    buf_fini(&symbols);
    buf_fini(&file);
}

static void what_is_told_of_one_file_has_an_end(void **state)
{
    (void)state;
    struct buf symbols;
    put_symbols(&symbols);
    for (size_t i = 0; i < PDB_MAX_WARNINGS + 5; i++) {
        pdb_put_record(&symbols, 0x1019, span_make("\0\0\0\0\0\0\x02\0TMF:", 12));
    }
    const struct pdb_put_module module = {.name = "m", .symbols = buf_span(&symbols)};
    assert_true(read_modules(&plain, &module, 1));
    size_t lines = 0;
    for (const char *at = found.warnings; (at = strchr(at, '\n')); at++) {
        lines++;
    }
    assert_int_equal(lines, PDB_MAX_WARNINGS + 1);
    assert_non_null(strstr(found.warnings, "d.pdb: 5 further warnings\n"));
    assert_int_equal(found.about.damaged, PDB_MAX_WARNINGS + 5);
    buf_fini(&symbols);
}

static void a_list_of_modules_is_read_up_to_its_damage(void **state)
{
    (void)state;
    struct buf symbols;
    struct buf dbi;
    struct buf file;
    put_symbols(&symbols);
    put_strings(&symbols, "TMF:", "x");
    buf_init(&dbi, 1 << 16);
    etl_put_u32(&dbi, 0xffffffff);
    etl_put_u32(&dbi, 19990903);
    etl_put_zeros(&dbi, 16);
    etl_put_u32(&dbi, 68 + 70); /* one module, and one whose name has no end */
    etl_put_zeros(&dbi, 64 - 28 + 34);
    etl_put_u16(&dbi, 4);
    etl_put_u32(&dbi, (uint32_t)symbols.size);
    etl_put_zeros(&dbi, 24);
    buf_add(&dbi, "m\0\0", 4);
    etl_put_zeros(&dbi, 64);
    buf_add(&dbi, "second", 6);
    const struct span streams[] = {span_make(NULL, 0), span_make(NULL, 0), span_make(NULL, 0),
        buf_span(&dbi), buf_span(&symbols)};
    buf_init(&file, 1 << 16);
    pdb_put_msf(&file, 512, streams, COUNT_OF(streams));
    assert_true(read_wanted(buf_span(&file), "TMF:", 0));
    assert_int_equal(found.count, 1);
    assert_string_equal(found.warnings,
        "d.pdb: its list of modules is damaged at byte 68 of 138; the rest is skipped\n");

    store_le32(dbi.data + 4, 930803);
    buf_reset(&file);
    pdb_put_msf(&file, 512, streams, COUNT_OF(streams));
    assert_false(read_wanted(buf_span(&file), "TMF:", 0));
    assert_string_equal(found.err.text, "its list of modules (DBI) has an unknown version");

    store_le32(dbi.data + 4, 19990903);
    store_le32(dbi.data + 24, 139);
    buf_reset(&file);
    pdb_put_msf(&file, 512, streams, COUNT_OF(streams));
    assert_false(read_wanted(buf_span(&file), "TMF:", 0));
    assert_string_equal(found.err.text, "stream 3 has 202 bytes instead of 203");
    buf_fini(&symbols);
    buf_fini(&dbi);
    buf_fini(&file);
}

/* ---- what is missing ------------------------------------------------------------------------- */

static void it_is_told_why_there_may_be_nothing(void **state)
{
    (void)state;
    struct buf symbols;
    put_symbols(&symbols);
    pdb_put_function(&symbols, "f");
    const struct pdb_put_module bare = {.name = "bare.obj"};
    const struct pdb_put_module full = {.name = "full.obj", .symbols = buf_span(&symbols)};
    assert_true(read_modules(&(struct pdb_put_options){.is_fastlink = true}, &bare, 1));
    assert_string_equal(pdb_lack(&found.about), "was linked with /DEBUG:FASTLINK, so its symbols "
                                                "are in the object files: link with /DEBUG:FULL");
    assert_true(read_modules(&(struct pdb_put_options){.is_stripped = true}, &bare, 1));
    assert_string_equal(pdb_lack(&found.about),
        "has no private symbols: they were stripped. use the PDB that the linker wrote");
    assert_true(read_modules(&plain, NULL, 0));
    assert_string_equal(pdb_lack(&found.about),
        "has no modules, like every PDB of the compiler. use the PDB that the linker wrote");
    assert_true(read_modules(&plain, &bare, 1));
    assert_string_equal(pdb_lack(&found.about), "has modules, but none of them has symbols");
    assert_true(read_modules(&plain, &full, 1));
    assert_null(pdb_lack(&found.about));
    assert_string_equal(found.warnings, "");
    buf_fini(&symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annotations_come_with_module_offset_and_function),
        cmocka_unit_test(other_kinds_can_be_asked_for),
        cmocka_unit_test(symbols_of_any_size_are_read),
        cmocka_unit_test(the_sink_can_end_the_reading),
        cmocka_unit_test(a_damaged_module_is_told_and_the_others_read),
        cmocka_unit_test(a_module_that_contradicts_the_file_is_left_out),
        cmocka_unit_test(a_module_outside_of_the_file_is_left_out),
        cmocka_unit_test(modules_that_share_a_stream_are_read_as_far_as_a_file_can_be),
        cmocka_unit_test(what_is_told_of_one_file_has_an_end),
        cmocka_unit_test(a_list_of_modules_is_read_up_to_its_damage),
        cmocka_unit_test(it_is_told_why_there_may_be_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

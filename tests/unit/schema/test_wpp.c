#include "unit/schema/wpp_rig.h"

#include <stdlib.h>

#include "base/buf.h"
#include "event/value/wpp_format.h"
#include "platform/plat_file.h"
#include "platform/plat_thread.h"
#include "support/pdb_put.h"
#include "support/temp_folder.h"

/* The source over real files, in a folder of this test. */
static const char folder[] = "test_wpp_files";

#define GUID_A "aaaaaaaa-0000-0000-0000-000000000001"
#define GUID_B "bbbbbbbb-0000-0000-0000-000000000002"
#define MESSAGE(number, text) \
    "#typev a_c1 " number " \"" text "\" // FUNC=f\n{\nx, ItemLong -- 10\n}\n"

static const struct {
    const char *name;
    const char *text;
} files[] = {
    {"a/1.tmf", GUID_A " one // SRC=a.c\n" MESSAGE("10", "first %10!d!") MESSAGE("11", "x")},
    {"a/2.TMF", GUID_A " one // SRC=a.c\n" MESSAGE("11", "x") MESSAGE("10", "second %10!d!")},
    {"a/sub/3.tmf", GUID_B " two // SRC=b.c\n" MESSAGE("10", "sub") "#typev bad\n"},
    {"a/none.txt", GUID_B " two // SRC=b.c\n" MESSAGE("12", "not asked for")},
    {"a/manifest.man", "not ours"},
};

static void path_of(const char *name, char *path, size_t size)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", folder, name) < size);
}

static int write_files(void **state)
{
    (void)state;
    struct error err = {0};
    char path[512];
    path_of("a/sub", path, sizeof(path));
    assert_true(plat_dir_create(path, &err));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        path_of(files[i].name, path, sizeof(path));
        struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
        assert_non_null(file);
        assert_true(plat_file_write(file, span_text(files[i].text), &err));
        plat_file_close(file);
    }
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static const struct event_schema *find(
    void *source, enum record_kind kind, const char *guid, uint16_t number)
{
    struct event_record record = {.kind = kind, .descriptor = {.id = number}};
    assert_true(guid_parse(span_text(guid), &record.provider));
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    assert_true(found.count <= 1);
    return found.count ? found.list[0] : NULL;
}

static void a_folder_is_searched_and_the_first_file_counts(void **state)
{
    (void)state;
    char path[512];
    path_of("a", path, sizeof(path));
    void *source = create(path);
    const struct event_schema *schema = find(source, RECORD_MESSAGE, GUID_A, 10);
    assert_non_null(schema);
    assert_int_equal(schema->kind, SCHEMA_WPP);
    assert_span(schema->provider_name, "one");
    assert_span(schema->event_name, "f");
    assert_span(schema->wpp->pieces[0].text, "first ");
    assert_ptr_equal(schema, find(source, RECORD_MESSAGE, GUID_A, 10));
    assert_span(find(source, RECORD_MESSAGE, GUID_B, 10)->wpp->source, "b.c");
    /* Differences and errors are reported. Equal descriptions in two files are not. */
    assert_string_equal(warnings,
        "test_wpp_files/a/2.TMF:6: message 10 of " GUID_A
        " differs from test_wpp_files/a/1.tmf:2, which is used because it came first\n"
        "test_wpp_files/a/sub/3.tmf:6: skipped a message without a format in quotes\n");
    ops->destroy(source);
}

/* A source whose built-in messages ${text} describes. */
static void *create_of(const char *text, size_t max_bytes)
{
    const struct schema_source_settings settings = {
        .tmf = span_text(text), .max_tmf_bytes = max_bytes, .warn = on_warning};
    struct error err = {0};
    warnings[0] = 0;
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

/* Each case is a second description of the message. */
static void whatever_two_descriptions_differ_in_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *place;
        const char *format;
        const char *comment;
        const char *second; /* argument */
        bool differs;
    } cases[] = {
        {"a_c1", "%10!d! %11!d!", "FUNC=f", "y, ItemLong -- 11\n", false},
        /* Code that two programs contain. */
        {"b_c9", "%10!d! %11!d!", "FUNC=g", "y, ItemLong -- 11\n", false},
        {"a_c1", "%10!d! %11!x!", "FUNC=f", "y, ItemLong -- 11\n", true},
        {"a_c1", "%10!d! %11!d!", "LEVEL=L FUNC=f", "y, ItemLong -- 11\n", true},
        {"a_c1", "%10!d! %11!d!", "FLAGS=F FUNC=f", "y, ItemLong -- 11\n", true},
        {"a_c1", "%10!d! %11!d!", "FUNC=f", "y, ItemULong -- 11\n", true},
        {"a_c1", "%10!d! %11!d!", "FUNC=f", "z, ItemLong -- 11\n", true},
        {"a_c1", "%10!d! %11!d!", "FUNC=f", "y, ItemLong -- 12\n", true},
        {"a_c1", "%10!d! %11!d!", "FUNC=f", "", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf text;
        buf_init(&text, 4096);
        buf_add_text(&text, GUID_A " one // SRC=a.c\n");
        for (size_t k = 0; k <= 1; k++) {
            size_t at = k * i;
            buf_printf(&text, "#typev %s 10 \"%s\" // %s\n{\nx, ItemLong -- 10\n%s}\n",
                cases[at].place, cases[at].format, cases[at].comment, cases[at].second);
        }
        buf_add_byte(&text, 0);
        ops->destroy(create_of((const char *)text.data, 0));
        bool told = strstr(warnings,
                        "built in:7: message 10 of " GUID_A " differs from built in:2") != NULL;
        if (told != cases[i].differs) {
            fail_msg("case %zu: %s", i, warnings);
        }
        buf_fini(&text);
    }
}

static void of_other_messages_nothing_is_known(void **state)
{
    (void)state;
    char path[512];
    path_of("a/1.tmf", path, sizeof(path));
    void *source = create(path);
    assert_string_equal(warnings, "");
    assert_non_null(find(source, RECORD_MESSAGE, GUID_A, 11));
    assert_null(find(source, RECORD_MESSAGE, GUID_B, 10));
    assert_null(find(source, RECORD_MESSAGE, GUID_A, 12));
    assert_null(find(source, RECORD_EVENT, GUID_A, 10));
    assert_null(find(source, RECORD_CLASSIC, GUID_A, 10));
    ops->destroy(source);
    ops->destroy(NULL);
}

/* ---- PDB files ------------------------------------------------------------------------------- */

#define LINES(guid, number, text)                                                                  \
    "TMF:", guid " drv // SRC=d.c MJ= MN=", "#typev d_c5 " number " \"" text "\" // LEVEL=L", "{", \
        "x, ItemLong -- 10", "}"

static void write_pdb(
    const char *name, const struct pdb_put_options *options, const char *const *lines, size_t count)
{
    struct error err = {0};
    struct buf symbols;
    struct buf file;
    char path[512];
    buf_init(&symbols, 1 << 16);
    buf_init(&file, 1 << 20);
    pdb_put_signature(&symbols);
    pdb_put_function(&symbols, "drv::run");
    for (size_t i = 0; i < count; i += 6) {
        pdb_put_annotation(&symbols, lines + i, 6);
    }
    const struct pdb_put_module module = {.name = "d.obj", .symbols = buf_span(&symbols)};
    pdb_put(&file, options, &module, 1);
    assert_false(symbols.failed || file.failed);
    path_of(name, path, sizeof(path));
    struct plat_file *out = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_non_null(out);
    assert_true(plat_file_write(out, buf_span(&file), &err));
    plat_file_close(out);
    buf_fini(&symbols);
    buf_fini(&file);
}

/* PDB files beside TMF files, in the order of the paths. In a folder, symbols without messages are
 * no reason to complain; removed symbols are. */
static void pdb_files_are_read_like_formats(void **state)
{
    (void)state;
    static const struct pdb_put_options plain = {.block_size = 512};
    static const char *const lines[] = {LINES(GUID_A, "10", "of a pdb"),
        LINES(GUID_B, "12",
            "gr\xfc\xdf"
            "e"),
        LINES(GUID_A, "11", "y")};
    struct error err = {0};
    char path[512];
    path_of("p/sub", path, sizeof(path));
    assert_true(plat_dir_create(path, &err));
    write_pdb("p/1.pdb", &plain, lines, 12);
    write_pdb("p/2.PDB", &plain, lines + 12, 6);
    write_pdb("p/none.pdb", &plain, NULL, 0);
    write_pdb("p/removed.pdb", &(struct pdb_put_options){.is_stripped = true}, NULL, 0);
    write_pdb("p/sub/linked.pdb", &(struct pdb_put_options){.is_fastlink = true}, NULL, 0);
    write_pdb("p/symbols.bin", &plain, lines, 6);
    path_of("p/3.tmf", path, sizeof(path));
    struct plat_file *tmf = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_true(tmf && plat_file_write(tmf, span_text(files[0].text), &err));
    plat_file_close(tmf);
    path_of("p/net.pdb", path, sizeof(path));
    struct plat_file *net = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_true(net && plat_file_write(net, span_text("BSJB"), &err));
    plat_file_close(net);

    path_of("p", path, sizeof(path));
    void *source = create(path);
    const struct event_schema *schema = find(source, RECORD_MESSAGE, GUID_A, 10);
    assert_non_null(schema);
    assert_span(schema->provider_name, "drv");
    assert_span(schema->event_name, "drv::run");
    assert_span(schema->wpp->source, "d.c");
    assert_span(schema->wpp->pieces[0].text, "of a pdb");
    assert_span(find(source, RECORD_MESSAGE, GUID_B, 12)->wpp->pieces[0].text, "gr\xc3\xbc\xc3\x9f"
                                                                               "e");
    assert_span(find(source, RECORD_MESSAGE, GUID_A, 11)->wpp->pieces[0].text, "y");
    assert_string_equal(warnings,
        "test_wpp_files/p/3.tmf:2: message 10 of " GUID_A
        " differs from test_wpp_files/p/1.pdb(d.obj):52, which is used because it came first\n"
        "test_wpp_files/p/3.tmf:6: message 11 of " GUID_A
        " differs from test_wpp_files/p/2.PDB(d.obj):52, which is used because it came "
        "first\ntest_wpp_files/p/removed.pdb: has no private symbols: they were stripped. use the "
        "PDB that the linker wrote\ntest_wpp_files/p/sub/linked.pdb: was linked with "
        "/DEBUG:FASTLINK, so its symbols are in the object files: link with /DEBUG:FULL\n");
    ops->destroy(source);
}

/* A folder may have the symbols of all of Windows. */
static void what_pdb_files_lack_is_told_of_a_few(void **state)
{
    (void)state;
    enum { FILES = 23, TOLD = 20 };
    struct error err = {0};
    char path[512];
    path_of("public", path, sizeof(path));
    assert_true(plat_dir_create(path, &err));
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "public/%02d.pdb", i);
        write_pdb(path, &(struct pdb_put_options){.is_stripped = true}, NULL, 0);
    }
    path_of("public", path, sizeof(path));
    ops->destroy(create(path));
    size_t lines = 0;
    for (const char *at = warnings; (at = strchr(at, '\n')); at++) {
        lines++;
    }
    assert_int_equal(lines, TOLD + 1);
    assert_non_null(strstr(warnings, "\n3 more PDB files lack their symbols\n"));
}

/* The report names the file, whatever its modules are called; it never names no file, or the
 * previous one. */
static void modules_without_a_name_have_a_place(void **state)
{
    (void)state;
    static const char *const lines[] = {LINES(GUID_A, "10", "one"), LINES(GUID_A, "10", "two")};
    struct error err = {0};
    struct buf symbols;
    struct buf file;
    char path[512];
    path_of("nameless.pdb", path, sizeof(path));
    buf_init(&symbols, 1 << 16);
    buf_init(&file, 1 << 20);
    pdb_put_signature(&symbols);
    pdb_put_annotation(&symbols, lines, 6);
    pdb_put_annotation(&symbols, lines + 6, 6);
    const struct pdb_put_module module = {.name = "", .symbols = buf_span(&symbols)};
    pdb_put(&file, &(struct pdb_put_options){.block_size = 512}, &module, 1);
    assert_true(plat_file_replace(path, buf_span(&file), &err));
    ops->destroy(create(path));
    assert_string_equal(warnings,
        "test_wpp_files/nameless.pdb():136: message 10 of " GUID_A
        " differs from test_wpp_files/nameless.pdb():4, which is used because it came first\n");
    buf_fini(&symbols);
    buf_fini(&file);
}

/* The content decides the type of a file that the user names, and the source reports everything
 * about it. */
static void a_named_pdb_file_is_known_by_its_content(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool has_message;
        const char *warning;
    } named[] = {
        {"p/symbols.bin", true, ""},
        {"p/none.pdb", false,
            "test_wpp_files/p/none.pdb: has no trace messages (annotations of WPP)\n"},
        {"p/net.pdb", false, "test_wpp_files/p/net.pdb: not a PDB file of native code (MSF)\n"},
        {"a/none.txt", false,
            "test_wpp_files/a/none.txt: not a file of event definitions. name a manifest, MOF "
            "text, program file, trace message format, PDB or schema pack\n"},
    };
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        char path[512];
        path_of(named[i].name, path, sizeof(path));
        void *source = create(path);
        assert_int_equal(find(source, RECORD_MESSAGE, GUID_A, 10) != NULL, named[i].has_message);
        assert_string_equal(warnings, named[i].warning);
        ops->destroy(source);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Folders hold many versions of one program's symbols. */
static void what_is_known_takes_no_memory_again(void **state)
{
    (void)state;
    enum { COPIES = 1000, MEMORY = 64 * 1024 };
    static const struct {
        const char *known;
        const char *next;
        const char *guid;
        uint16_t number;
    } cases[] = {{"a/1.tmf", "a/sub/3.tmf", GUID_B, 10}, {"p/1.pdb", "p/2.PDB", GUID_A, 11}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char known[512];
        char next[512];
        const char *paths[COPIES + 1];
        path_of(cases[i].known, known, sizeof(known));
        path_of(cases[i].next, next, sizeof(next));
        for (size_t k = 0; k < COPIES; k++) {
            paths[k] = known;
        }
        paths[COPIES] = next;
        void *source = create_within(paths, COPIES + 1, MEMORY);
        assert_null(strstr(warnings, "memory"));
        assert_non_null(find(source, RECORD_MESSAGE, GUID_A, 10));
        assert_non_null(find(source, RECORD_MESSAGE, cases[i].guid, cases[i].number));
        ops->destroy(source);
    }
}

/* More annotations than are held at a time: texts and places of the last are right, too. */
static void messages_of_a_long_pdb_file_are_kept(void **state)
{
    (void)state;
    enum { SAME = 400, PER_MESSAGE = 6 };
    static const char *const one[] = {LINES(GUID_A, "10", "one")};
    static const char *const last[] = {LINES(GUID_A, "11", "last")};
    const char *lines[(SAME + 1) * PER_MESSAGE];
    for (size_t i = 0; i < SAME * PER_MESSAGE; i++) {
        lines[i] = one[i % PER_MESSAGE];
    }
    memcpy(lines + SAME * PER_MESSAGE, last, sizeof(last));
    write_pdb("long.pdb", &(struct pdb_put_options){.block_size = 512}, lines,
        sizeof(lines) / sizeof(lines[0]));
    char pdb[512];
    char tmf[512];
    path_of("long.pdb", pdb, sizeof(pdb));
    path_of("a/1.tmf", tmf, sizeof(tmf));
    const char *const paths[] = {pdb, tmf};
    void *source = create_within(paths, 2, 0);
    const struct event_schema *schema = find(source, RECORD_MESSAGE, GUID_A, 11);
    assert_non_null(schema);
    assert_span(schema->event_name, "drv::run");
    assert_span(schema->wpp->source, "d.c");
    assert_span(schema->wpp->pieces[0].text, "last");
    assert_span(find(source, RECORD_MESSAGE, GUID_A, 10)->wpp->pieces[0].text, "one");
    assert_non_null(strstr(
        warnings, ":2: message 10 of " GUID_A " differs from test_wpp_files/long.pdb(d.obj):52"));
    assert_non_null(strstr(
        warnings, ":6: message 11 of " GUID_A " differs from test_wpp_files/long.pdb(d.obj):"));
    ops->destroy(source);
}

static void that_no_memory_is_left_is_told_once(void **state)
{
    (void)state;
    char tmf[512];
    char pdb[512];
    path_of("a", tmf, sizeof(tmf));
    path_of("p/1.pdb", pdb, sizeof(pdb));
    const char *const paths[] = {pdb, tmf, pdb, tmf};
    for (size_t first = 0; first < 2; first++) {
        ops->destroy(create_within(paths + first, 3, 16));
        const char *told = strstr(warnings, ": no memory left for trace message formats");
        assert_non_null(told);
        assert_int_equal(strlen(strchr(told, '\n')), 1);
    }
}

/* Memory may run out anywhere inside a message: that message is then not known at all. */
static void a_message_that_memory_does_not_reach_for_is_left_out(void **state)
{
    (void)state;
    static const char text[] = GUID_A " one // SRC=a.c\n" MESSAGE("10", "first") MESSAGE("11", "x");
    bool seen[3] = {false};
    for (size_t bytes = 16; bytes <= 1024; bytes += 16) {
        void *source = create_of(text, bytes);
        const struct event_schema *first = find(source, RECORD_MESSAGE, GUID_A, 10);
        const struct event_schema *second = find(source, RECORD_MESSAGE, GUID_A, 11);
        assert_int_equal(
            !second, strstr(warnings, "no memory left for trace message formats") != NULL);
        assert_true(first || !second);
        if (first) {
            assert_span(first->wpp->pieces[0].text, "first");
        }
        seen[(first != NULL) + (second != NULL)] = true;
        ops->destroy(source);
    }
    assert_true(seen[0] && seen[1] && seen[2]);
}

/* ---- caches on several threads --------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 500 };

static void find_often(void *self)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct event_record record = {
            .kind = RECORD_MESSAGE, .descriptor = {.id = (uint16_t)(10 + i % 4)}};
        struct schema_candidates found = {.count = 0};
        guid_parse(span_text(GUID_A), &record.provider);
        ops->find(self, &record, &found);
        if (found.count != (i % 4 < 2)) {
            abort();
        }
    }
}

static void threads_share_it(void **state)
{
    (void)state;
    char path[512];
    path_of("a", path, sizeof(path));
    void *source = create(path);
    struct plat_thread *threads[THREADS];
    struct error err = {0};
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = plat_thread_start("find", find_often, source, &err);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        plat_thread_join(threads[i]);
    }
    assert_true(find(source, RECORD_MESSAGE, GUID_A, 11)->has_layout);
    ops->destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_searched_and_the_first_file_counts),
        cmocka_unit_test(whatever_two_descriptions_differ_in_is_told),
        cmocka_unit_test(of_other_messages_nothing_is_known),
        cmocka_unit_test(pdb_files_are_read_like_formats),
        cmocka_unit_test(what_pdb_files_lack_is_told_of_a_few),
        cmocka_unit_test(modules_without_a_name_have_a_place),
        cmocka_unit_test(a_named_pdb_file_is_known_by_its_content),
        cmocka_unit_test(what_is_known_takes_no_memory_again),
        cmocka_unit_test(messages_of_a_long_pdb_file_are_kept),
        cmocka_unit_test(that_no_memory_is_left_is_told_once),
        cmocka_unit_test(a_message_that_memory_does_not_reach_for_is_left_out),
        cmocka_unit_test(threads_share_it),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}

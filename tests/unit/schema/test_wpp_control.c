#include "schema/wpp/wpp_control.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "schema/mof/mof_parse.h"
#include "schema/wpp/mof_control.h"
#include "schema/wpp/tmc.h"
#include "support/pdb_put.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Control GUIDs and flags: lines, MOF classes, and files in a folder of this test. */
#define GUID_A "d58c126f-b309-11d1-969e-0000f875a5bc"
#define GUID_B "3a2a4e84-4c21-4981-ae10-3fda0d9b0f83"

static const char folder[] = "test_wpp_control_files";
static struct wpp_controls controls;
static char warnings[2048];

static void on_warning(void *self, const char *text)
{
    (void)self;
    snprintf(warnings + strlen(warnings), sizeof(warnings) - strlen(warnings), "%s\n", text);
}

static int start(void **state)
{
    (void)state;
    wpp_controls_init(&controls);
    controls.warn = on_warning;
    warnings[0] = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    wpp_controls_fini(&controls);
    return 0;
}

static const struct wpp_control *control_of(const char *text)
{
    struct guid guid;
    assert_true(guid_parse(span_text(text), &guid));
    const struct wpp_control *at = controls.first;
    while (at && !guid_equal(&at->guid, &guid)) {
        at = at->next;
    }
    assert_non_null(at);
    return at;
}

static uint64_t bits_of(const struct wpp_control *control, const char *flag)
{
    const struct wpp_flag *found = wpp_control_flag(control, span_text(flag));
    return found ? found->bits : 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void read_lines(const char *const *lines)
{
    struct tmc_reader reader;
    tmc_reader_init(&reader, &controls);
    for (; *lines; lines++) {
        tmc_reader_line(&reader, span_text(*lines));
    }
    assert_true(tmc_reader_end(&reader));
}

static void lines_of_a_file_are_read(void **state)
{
    (void)state;
    static const char *const lines[] = {"// PDB:  driver.pdb\r\n", "//PDB:  Last Updated :2024\r\n",
        "stray\r\n", GUID_A "  DriverTraceGuid // comment\r\n", "\r\n", "\tTRACE_DRIVER\r\n",
        "    TRACE_POWER  \r\n", "{" GUID_B "}\r\n", "Other\r\n", "One\r\n", NULL};
    read_lines(lines);
    assert_int_equal(controls.count, 2);
    const struct wpp_control *control = control_of(GUID_A);
    assert_span(control->name, "DriverTraceGuid");
    assert_int_equal(control->flag_count, 2);
    assert_int_equal(bits_of(control, "TRACE_DRIVER"), 1);
    assert_int_equal(bits_of(control, "trace_power"), 2);
    assert_int_equal(bits_of(control, "stray"), 0);
    assert_span(control_of(GUID_B)->name, "Other");
    assert_int_equal(bits_of(control_of(GUID_B), "One"), 1);
}

/* An annotation of a PDB: a row of strings, with the kind before them and perhaps a mark after
 * them. */
static void strings_of_an_annotation_are_read(void **state)
{
    (void)state;
    static const char *const strings[] = {
        "TMC:", GUID_A, "DriverTraceGuid", "F0", "F1", "F2", "PUBLIC_TMF:", NULL};
    read_lines(strings);
    assert_int_equal(controls.count, 1);
    assert_int_equal(bits_of(control_of(GUID_A), "F2"), 4);
    assert_int_equal(control_of(GUID_A)->flag_count, 3);
}

static void what_is_cut_off_still_counts(void **state)
{
    (void)state;
    static const char *const lines[] = {GUID_A, GUID_B, NULL};
    read_lines(lines);
    assert_int_equal(controls.count, 2);
    assert_int_equal(control_of(GUID_A)->name.size, 0);
    assert_int_equal(control_of(GUID_B)->flag_count, 0);
}

/* EnableTraceEx2 gives classic providers 32 bits. */
static void a_provider_has_32_flags(void **state)
{
    (void)state;
    struct tmc_reader reader;
    tmc_reader_init(&reader, &controls);
    tmc_reader_line(&reader, span_text(GUID_A " Many"));
    for (unsigned i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof(name), "F%u", i);
        tmc_reader_line(&reader, span_text(name));
    }
    assert_true(tmc_reader_end(&reader));
    assert_int_equal(control_of(GUID_A)->flag_count, 32);
    assert_int_equal(bits_of(control_of(GUID_A), "F31"), 0x80000000);
}

/* ---- MOF text -------------------------------------------------------------------------------- */

/* Some flags of the example in "Event Tracing MOF Qualifiers": the last one is not the next bit. */
static void flags_of_a_class_have_two_names(void **state)
{
    (void)state;
    struct mof_model model;
    struct error err;
    mof_model_init(&model, 1 << 20);
    assert_true(mof_parse(&model,
        span_text("[guid(\"{" GUID_B "}\")] class IIS_Trace : EventTrace {\n"
                  "[DefineValues{\"UseUrlFilter\", \"IISAuthentication\", \"IISFastCGI\"},\n"
                  " Values{\"url\", \"auth\", \"fastcgi\"},\n"
                  " ValueMap{\"0x00000001\", \"0x00000002\", \"0x00001000\"}: amended]\n"
                  "uint32 Flags;\n"
                  "[Values{\"Fatal\"}, ValueMap{\"0x1\"}] uint32 Level; };\n"
                  "[Guid(\"{" GUID_A "}\")] class Event : IIS_Trace {};"
                  "[Guid(\"{" GUID_A "}\"), EventType(1)] class Type : EventTrace {};"),
        "a.mof", &err));
    mof_model_link(&model);
    assert_true(mof_control_find(&model, &controls));
    assert_int_equal(controls.count, 1);
    const struct wpp_control *control = control_of(GUID_B);
    assert_span(control->name, "IIS_Trace");
    assert_int_equal(control->flag_count, 6);
    assert_int_equal(bits_of(control, "IISFastCGI"), 0x1000);
    assert_int_equal(bits_of(control, "auth"), 2);
    assert_int_equal(bits_of(control, "Fatal"), 0);
    mof_model_fini(&model);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write(const char *name, const char *text)
{
    struct error err;
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text(text), &err));
    plat_file_close(file);
}

static int write_files(void **state)
{
    (void)state;
    struct error err;
    char path[256];
    snprintf(path, sizeof(path), "%s/sub", folder);
    assert_true(plat_dir_create(path, &err));
    write("a.tmc", GUID_A " A\nONE\nTWO\n");
    write("driver.tmf", "// nothing of controls\n");
    write("bad.pdb", "no PDB");
    write("sub/b.mof", "[Guid(\"" GUID_B "\")] class B : EventTrace {};");
    return start(state);
}

static int remove_files(void **state)
{
    stop(state);
    return temp_folder_remove(folder);
}

static void write_pdb(const char *path, const struct buf *symbols)
{
    static const struct pdb_put_options options = {.block_size = 512};
    struct error err;
    struct buf file;
    buf_init(&file, 1 << 20);
    const struct pdb_put_module module = {.name = "m.obj", .symbols = buf_span(symbols)};
    pdb_put(&file, &options, &module, 1);
    assert_false(symbols->failed || file.failed);
    assert_true(plat_file_replace(path, buf_span(&file), &err));
    buf_fini(&file);
}

static void annotations_of_symbols_are_read(void **state)
{
    (void)state;
    struct error err = {0};
    char path[256];
    snprintf(path, sizeof(path), "%s/driver.pdb", folder);
    static const char *const control[] = {
        "TMC:", GUID_B, "DriverTraceGuid", "F0", "F1", "PUBLIC_TMF:"};
    struct buf symbols;
    buf_init(&symbols, 1 << 20);
    pdb_put_signature(&symbols);
    pdb_put_annotation(&symbols, control, sizeof(control) / sizeof(control[0]));
    write_pdb(path, &symbols);
    buf_fini(&symbols);
    assert_true(wpp_controls_read(&controls, path, &err));
    assert_int_equal(controls.count, 1);
    assert_span(control_of(GUID_B)->name, "DriverTraceGuid");
    assert_int_equal(control_of(GUID_B)->flag_count, 2);
    assert_int_equal(bits_of(control_of(GUID_B), "F1"), 2);
}

/* A control GUID without room is reported, as for other files. */
static void more_controls_than_there_is_room_for_are_told(void **state)
{
    (void)state;
    struct error err = {0};
    struct buf symbols;
    char path[256];
    snprintf(path, sizeof(path), "%s/many.pdb", folder);
    buf_init(&symbols, 1 << 20);
    pdb_put_signature(&symbols);
    for (unsigned i = 0; i <= WPP_MAX_CONTROLS; i++) {
        char guid[64];
        snprintf(guid, sizeof(guid), "d58c126f-b309-11d1-969e-%012x", i);
        const char *const control[] = {"TMC:", guid, "Driver"};
        pdb_put_annotation(&symbols, control, sizeof(control) / sizeof(control[0]));
    }
    write_pdb(path, &symbols);
    buf_fini(&symbols);
    assert_false(wpp_controls_read(&controls, path, &err));
    assert_string_equal(err.text, "no memory left for control GUIDs");
    assert_int_equal(controls.count, WPP_MAX_CONTROLS);
}

static size_t read_path(const char *name, bool good)
{
    struct error err = {0};
    char path[256];
    stop(NULL);
    start(NULL);
    snprintf(path, sizeof(path), "%s%s", folder, name);
    assert_int_equal(wpp_controls_read(&controls, path, &err), good);
    assert_int_equal(err.text[0] == 0, good);
    return controls.count;
}

static void files_folders_and_neighbours_are_read(void **state)
{
    (void)state;
    assert_int_equal(read_path("/a.tmc", true), 1);
    assert_int_equal(bits_of(control_of(GUID_A), "TWO"), 2);
    assert_int_equal(read_path("/sub/b.mof", true), 1);
    assert_span(control_of(GUID_B)->name, "B");
    assert_int_equal(read_path("", true), 2);
    assert_non_null(strstr(warnings, "bad.pdb: "));
    assert_int_equal(read_path("/driver.tmf", true), 1);
    assert_span(control_of(GUID_A)->name, "A");
    assert_int_equal(read_path("/bad.pdb", false), 0);
    assert_int_equal(read_path("/none.tmf", false), 0);
}

/* Three files of the folder may have flags: a.tmc, bad.pdb and sub/b.mof. driver.tmf is not
 * used. */
static void files_beyond_the_limit_are_told_and_not_read(void **state)
{
    (void)state;
    static const char told[] = "b.mof: too many files; this file and further files are ignored";
    char path[256];
    struct error err = {0};
    snprintf(path, sizeof(path), "%s", folder);
    for (size_t max = 2; max <= 3; max++) {
        stop(NULL);
        start(NULL);
        controls.max_files = max;
        assert_true(wpp_controls_read(&controls, path, &err));
        assert_int_equal(controls.count, max - 1);
        assert_int_equal(strstr(warnings, told) != NULL, max == 2);
    }
    /* Not the next one, nor any later one. */
    stop(NULL);
    start(NULL);
    controls.max_files = 1;
    assert_true(wpp_controls_read(&controls, path, &err));
    assert_int_equal(controls.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_of_a_file_are_read, start, stop),
        cmocka_unit_test_setup_teardown(strings_of_an_annotation_are_read, start, stop),
        cmocka_unit_test_setup_teardown(what_is_cut_off_still_counts, start, stop),
        cmocka_unit_test_setup_teardown(a_provider_has_32_flags, start, stop),
        cmocka_unit_test_setup_teardown(flags_of_a_class_have_two_names, start, stop),
        cmocka_unit_test_setup_teardown(annotations_of_symbols_are_read, write_files, remove_files),
        cmocka_unit_test_setup_teardown(
            more_controls_than_there_is_room_for_are_told, write_files, remove_files),
        cmocka_unit_test_setup_teardown(
            files_folders_and_neighbours_are_read, write_files, remove_files),
        cmocka_unit_test_setup_teardown(
            files_beyond_the_limit_are_told_and_not_read, write_files, remove_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

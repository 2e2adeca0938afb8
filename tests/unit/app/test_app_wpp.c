#include "app/config/app_wpp.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Flags of WPP by name: files of this test give the GUID and the bits of a provider. */
#define GUID_A "d58c126f-b309-11d1-969e-0000f875a5bc"
#define GUID_B "3a2a4e84-4c21-4981-ae10-3fda0d9b0f83"

static const char folder[] = "test_app_wpp_files";

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
    snprintf(path, sizeof(path), "%s/one", folder);
    assert_true(plat_dir_create(path, &err));
    snprintf(path, sizeof(path), "%s/none", folder);
    assert_true(plat_dir_create(path, &err));
    write("one/driver.tmf", "");
    write("one/driver.tmc", GUID_A " Driver\nTRACE_DRIVER\nTRACE_DEVICE\nTRACE_POWER\n");
    write("other.mof",
        "[Guid(\"{" GUID_B "}\")] class Other : EventTrace {\n"
        "[Values{\"TRACE_DRIVER\", \"TRACE_USB\"}, ValueMap{\"0x1\", \"0x100\"}] uint32 Flags; };");
    write("none/driver.tmf", "");
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

struct result {
    struct app_config config;
    struct config_report report;
    bool good;
};

/* ${entry} is a provider's; @ stands for the folder. */
static const struct provider_spec *load(struct result *result, const char *entry)
{
    char text[1024] = "sessions:\n- providers:\n  - ";
    size_t size = strlen(text);
    for (; *entry; entry++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, *entry == '@' ? "%s" : "%.1s",
            *entry == '@' ? folder : entry);
    }
    snprintf(text + size, sizeof(text) - size, "\noutputs: [{type: stdout}]\n");
    config_report_init(&result->report);
    result->good = app_config_parse(
        span_text(text), "c.yaml", app_modules(), NULL, &result->config, &result->report);
    if (!result->good) {
        return NULL;
    }
    const struct app_provider *providers = result->config.sessions[0].providers.items;
    return &providers[0].spec;
}

static void unload(struct result *result)
{
    if (result->good) {
        app_config_fini(&result->config);
    }
    config_report_fini(&result->report);
}

static void assert_means(const char *entry, const char *guid, uint64_t bits)
{
    struct result result;
    const struct provider_spec *spec = load(&result, entry);
    if (!spec) {
        fail_msg("%s: %s", entry, result.report.lines[0].text);
    }
    char text[GUID_TEXT_SIZE + 1] = "";
    guid_write(&spec->guid, text);
    assert_string_equal(guid_is_zero(&spec->guid) ? "" : text, guid);
    assert_int_equal(spec->any.bits, bits);
    assert_true(spec->classic);
    unload(&result);
}

static void assert_refused(const char *entry, const char *what)
{
    struct result result;
    assert_null(load(&result, entry));
    assert_int_equal(result.report.line_count, 1);
    assert_string_equal(result.report.lines[0].what, what);
    assert_int_equal(result.report.lines[0].line, 3);
    unload(&result);
}

static void names_become_bits(void **state)
{
    (void)state;
    assert_means("{wpp: @/one/driver.tmc, flags: [TRACE_POWER]}", GUID_A, 4);
    assert_means("{wpp: @/one/driver.tmc, flags: [trace_power, TRACE_DRIVER, 0x80]}", GUID_A, 0x85);
    assert_means("{wpp: @/other.mof, flags: [TRACE_USB]}", GUID_B, 0x100);
    /* A .tmf file says nothing about it; the files beside it do. */
    assert_means("{wpp: @/one/driver.tmf, flags: [TRACE_DEVICE]}", GUID_A, 2);
    assert_means("{wpp: @/one/driver.tmf}", GUID_A, 0);
}

static void one_of_several_is_chosen(void **state)
{
    (void)state;
    assert_means("{wpp: @, flags: [TRACE_POWER, TRACE_DRIVER]}", GUID_A, 5);
    assert_means("{wpp: @, flags: [TRACE_DRIVER, TRACE_USB]}", GUID_B, 0x101);
    assert_means("{wpp: @, name: other, flags: [TRACE_DRIVER]}", GUID_B, 1);
    assert_means("{wpp: @, name: " GUID_A ", flags: [TRACE_DRIVER]}", GUID_A, 1);
    assert_means("{wpp: @}", "", 0);
}

/* If nothing has to be looked up, no file is missed: the files may be on another machine. */
static void numbers_need_no_file(void **state)
{
    (void)state;
    assert_means("{wpp: nowhere.tmf, name: " GUID_A ", flags: [0x2, 8]}", GUID_A, 0xa);
    assert_means("{wpp: nowhere.tmf, flags: [0x2]}", "", 2);
    assert_means("{wpp: @/none/driver.tmf}", "", 0);
}

static void unknown_names_are_errors(void **state)
{
    (void)state;
    assert_refused("{wpp: @/one/driver.tmc, flags: [TRACE_POWR]}",
        "flags: wpp names no flag 'TRACE_POWR'. did you mean 'TRACE_POWER'? known: TRACE_DRIVER, "
        "TRACE_DEVICE, TRACE_POWER");
    assert_refused("{wpp: @, flags: [NOTHING]}",
        "flags: wpp names no flag 'NOTHING'. known: "
        "TRACE_DRIVER, TRACE_DEVICE, TRACE_POWER, TRACE_USB");
    assert_refused("{wpp: @, flags: [TRACE_DRIVER]}",
        "wpp: its files have several control GUIDs that match. add name: one of Driver " GUID_A
        ", Other " GUID_B);
    assert_refused("{wpp: @, name: Third, flags: [TRACE_DRIVER]}",
        "name: none of the control GUIDs that wpp names. those are: Driver " GUID_A
        ", Other " GUID_B);
    assert_refused("{wpp: @/none/driver.tmf, flags: [A]}",
        "wpp: it names no control GUID, nor does a .mof, .tmc or .pdb beside a .tmf. name such a "
        "file, "
        "or write flags as numbers, and name: GUID");
    assert_refused("{wpp: nowhere.mof, flags: [A]}", "wpp: there is no such file or folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_bits),
        cmocka_unit_test(one_of_several_is_chosen),
        cmocka_unit_test(numbers_need_no_file),
        cmocka_unit_test(unknown_names_are_errors),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}

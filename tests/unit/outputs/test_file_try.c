#include "outputs/file/file_try.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* The words of `etwship test-output` about the place to which a path leads. */
static char folder[TEMP_FOLDER_BYTES];

struct examined {
    enum output_finding finding;
    char text[1024];
};

static void on_say(void *self, enum output_finding finding, const char *text)
{
    struct examined *examined = self;
    examined->finding = finding;
    snprintf(examined->text, sizeof(examined->text), "%s", text);
}

static struct examined examine(const char *path)
{
    struct examined examined = {.text = ""};
    const struct output_talk talk = {.name = "file", .say = on_say, .host = &examined};
    bool good = file_try(path, &talk);
    assert_int_equal(examined.finding, good ? OUTPUT_FOUND_GOOD : OUTPUT_FOUND_FAULT);
    return examined;
}

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "file_try");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void the_folder_of_what_all_events_share_is_tried(void **state)
{
    (void)state;
    static const struct {
        const char *below;
        bool missing;
    } cases[] = {{"e.ndjson", false}, {"{provider.name}.ndjson", false}, {"%Y/e.ndjson", false},
        {"new/e.ndjson", true}, {"new/newer/%Y.ndjson", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[512];
        char expected[512];
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].below);
        snprintf(expected, sizeof(expected), "%s: files can be made there%s", folder,
            cases[i].missing ? ", and the folders that are missing" : "");
        assert_string_equal(examine(path).text, expected);
    }
}

static void a_path_without_a_folder_is_of_the_current_one(void **state)
{
    (void)state;
    static const char *const paths[] = {"e.ndjson", "{provider.name}", "%Y.ndjson"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_string_equal(examine(paths[i]).text, ".: files can be made there");
    }
}

/* Other accounts may write there. The test asks about the root, so no folder is missing. */
static void a_file_in_the_root_is_of_the_root(void **state)
{
    (void)state;
    static const char *const paths[] = {"/e.ndjson", "/{provider.name}", "/"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct examined examined = examine(paths[i]);
        const char *expected = examined.finding == OUTPUT_FOUND_GOOD ? "/: files can be made there"
                                                                     : "//etwship-test-";
        assert_memory_equal(examined.text, expected, strlen(expected));
        assert_null(strstr(examined.text, "missing"));
    }
}

static void a_folder_below_a_file_cannot_be_made(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof(path), "%s/plain", folder);
    assert_true(plat_file_replace(path, span_text("x"), NULL));
    snprintf(path, sizeof(path), "%s/plain/e.ndjson", folder);
    struct examined examined = examine(path);
    assert_int_equal(examined.finding, OUTPUT_FOUND_FAULT);
    assert_non_null(
        strstr(examined.text, "give the user that runs etwship the right to write there"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_of_what_all_events_share_is_tried),
        cmocka_unit_test(a_path_without_a_folder_is_of_the_current_one),
        cmocka_unit_test(a_file_in_the_root_is_of_the_root),
        cmocka_unit_test(a_folder_below_a_file_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

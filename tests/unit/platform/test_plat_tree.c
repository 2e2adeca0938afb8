/* A folder is removed with everything in it, and with nothing outside of it. */
#include "platform/plat_tree.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "tree");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static const char *path_of(const char *name)
{
    static char paths[2][TEMP_FOLDER_BYTES + 64];
    static int at;
    at = !at;
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", folder, name);
    return paths[at];
}

static void make_file(const char *name)
{
    struct plat_file *file = plat_file_open(path_of(name), PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    plat_file_close(file);
}

static void all_of_it_goes(void **state)
{
    (void)state;
    assert_true(plat_dir_create(path_of("t/a/b/\xc3\xbc c"), NULL));
    assert_true(plat_dir_create(path_of("t/empty"), NULL));
    make_file("t/one");
    make_file("t/a/two");
    make_file("t/a/b/\xc3\xbc c/three");
    make_file("stays");
    assert_true(plat_tree_remove(path_of("t"), NULL));
    assert_false(temp_file_is_there(path_of("t")));
    assert_true(temp_file_is_there(path_of("stays")));
}

static void links_go_and_what_they_name_stays(void **state)
{
    (void)state;
    assert_true(plat_dir_create(path_of("elsewhere"), NULL));
    assert_true(plat_dir_create(path_of("l"), NULL));
    make_file("elsewhere/kept");
    if (!temp_file_link(path_of("elsewhere"), path_of("l/link"))) {
        skip();
    }
    assert_true(plat_tree_remove(path_of("l"), NULL));
    assert_false(temp_file_is_there(path_of("l")));
    assert_true(temp_file_is_there(path_of("elsewhere/kept")));
}

static void one_that_is_not_there_is_gone_already(void **state)
{
    (void)state;
    assert_true(plat_tree_remove(path_of("nothing"), NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_goes),
        cmocka_unit_test(links_go_and_what_they_name_stays),
        cmocka_unit_test(one_that_is_not_there_is_gone_already),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

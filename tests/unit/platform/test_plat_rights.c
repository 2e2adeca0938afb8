#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_rights.h"
#include "support/temp_folder.h"

/* tests/unit/trust tests the meaning of rights. Wine keeps those of Linux and shows them as
 * lists. */

static char folder[TEMP_FOLDER_BYTES];

static int set_up(void **state)
{
    (void)state;
    return temp_folder_make(folder, "rights");
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void path_in(char path[TEMP_FOLDER_BYTES + 32], const char *name)
{
    snprintf(path, TEMP_FOLDER_BYTES + 32, "%s/%s", folder, name);
}

static void assert_kind(const char *path, enum plat_rights_kind kind)
{
    struct plat_rights rights = {.kind = PLAT_RIGHTS_OTHER};
    struct plat_rights_self self;
    plat_rights_self(&self);
    assert_true(plat_rights_read(path, &rights, NULL));
    assert_int_equal(rights.kind, kind);
    assert_int_equal(rights.is_folder, kind == PLAT_RIGHTS_FOLDER);
    bool has_list = self.has_sids && kind != PLAT_RIGHTS_NONE;
    assert_int_equal(rights.descriptor != NULL, has_list);
    if (has_list) {
        assert_true(rights.descriptor_bytes >= 20);
        assert_int_equal(rights.descriptor[0], 1);           /* revision */
        assert_int_equal(rights.descriptor[3] & 0x80, 0x80); /* self-relative */
        assert_int_equal(rights.descriptor[2] & 0x04, 0x04); /* with a list */
    }
    plat_rights_fini(&rights);
}

static void files_folders_and_what_is_not_there_are_told_apart(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 32];
    path_in(path, "file");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    assert_kind(folder, PLAT_RIGHTS_FOLDER);
    assert_kind(path, PLAT_RIGHTS_FILE);
    path_in(path, "none");
    assert_kind(path, PLAT_RIGHTS_NONE);
    path_in(path, "none/none");
    assert_kind(path, PLAT_RIGHTS_NONE);
}

/* Links are those of Linux on Wine, which follows them itself. */
static void a_link_is_read_and_not_followed(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 32];
    struct plat_rights rights;
    path_in(path, "link");
    if (temp_system_is_wine() || !temp_file_link("nowhere", path)) {
        skip();
    }
    assert_true(plat_rights_read(path, &rights, NULL));
    assert_int_equal(rights.kind, PLAT_RIGHTS_LINK);
    assert_non_null(rights.link);
    assert_true(rights.link_bytes >= strlen("nowhere"));
    plat_rights_fini(&rights);
}

static void the_process_knows_its_account(void **state)
{
    (void)state;
    struct plat_rights_self self;
    plat_rights_self(&self);
    assert_int_equal(self.has_sids, self.sid_bytes != 0);
    assert_true(self.sid_bytes <= sizeof(self.sid));
    if (self.has_sids) {
        assert_int_equal(self.sid[0], 1);
        assert_int_equal(self.sid_bytes, 8 + 4 * self.sid[1]);
    }
}

static void a_path_is_made_absolute_from_where_we_are(void **state)
{
    (void)state;
    char *here = plat_rights_absolute("x", NULL);
    char *program = plat_rights_program(NULL);
    char *there = plat_rights_absolute(folder, NULL);
    assert_non_null(here);
    assert_non_null(program);
    assert_non_null(there);
    assert_true(strlen(here) > 2);
    assert_int_equal(here[strlen(here) - 1], 'x');
    assert_int_equal(plat_path_kind(program), PLAT_PATH_FILE);
    assert_int_equal(plat_path_kind(there), PLAT_PATH_DIR);
    free(here);
    free(program);
    free(there);
}

/* The second time it exists already. Only Windows itself can show whom it lets in. */
static void a_folder_with_a_list_of_its_own_is_made_on_windows(void **state)
{
    (void)state;
    static const char sddl[] = "D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
    char path[TEMP_FOLDER_BYTES + 32];
    struct plat_rights_self self;
    struct error err = {.code = ERR_NONE};
    plat_rights_self(&self);
    path_in(path, "ours");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(plat_rights_protect(path, sddl, &err), self.has_sids);
        assert_int_equal(err.code, self.has_sids ? ERR_NONE : ERR_UNSUPPORTED);
        assert_int_equal(plat_path_kind(path), self.has_sids ? PLAT_PATH_DIR : PLAT_PATH_NONE);
    }
    path_in(path, "no folder");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    assert_false(plat_rights_protect(path, sddl, &err));
    assert_int_equal(err.code, self.has_sids ? ERR_CONFIG : ERR_UNSUPPORTED);
    path_in(path, "broken");
    assert_false(plat_rights_protect(path, "D:(what)", &err));
    assert_int_equal(plat_path_kind(path), PLAT_PATH_NONE);
}

static void a_private_folder_can_be_used_by_its_maker(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 32];
    path_in(path, "a/private/");
    assert_true(plat_dir_create_private(path, NULL));
    assert_true(plat_dir_create_private(path, NULL));
    path_in(path, "a/private/file");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    assert_kind(path, PLAT_RIGHTS_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_folders_and_what_is_not_there_are_told_apart),
        cmocka_unit_test(a_link_is_read_and_not_followed),
        cmocka_unit_test(the_process_knows_its_account),
        cmocka_unit_test(a_path_is_made_absolute_from_where_we_are),
        cmocka_unit_test(a_folder_with_a_list_of_its_own_is_made_on_windows),
        cmocka_unit_test(a_private_folder_can_be_used_by_its_maker),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

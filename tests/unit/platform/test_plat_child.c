#include "platform/plat_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_rights.h"
#include "platform/plat_self.h"
#include "support/await.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* The launched program is this one: `test FILE CODE` makes the file and ends with the code. */
enum { HOUR_MS = 3600 * 1000 };

static char folder[TEMP_FOLDER_BYTES];
static char *program;

static int make_folder(void **state)
{
    (void)state;
    program = plat_rights_program(NULL);
    return program ? temp_folder_make(folder, "child") : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    free(program);
    return temp_folder_remove(folder);
}

static struct plat_child *launch(const char *file, int code)
{
    char line[4096];
    struct error err = {0};
    snprintf(line, sizeof(line), "\"%s\" \"%s\" %d", program, file, code);
    struct plat_child *child = plat_child_launch(line, folder, &err);
    if (!child) {
        print_error("%s\n", err.text);
    }
    assert_non_null(child);
    return child;
}

static uint32_t await_end(struct plat_child *child)
{
    uint32_t code = 0;
    AWAIT(plat_child_has_ended(child, &code));
    return code;
}

static bool is_made(const char *file)
{
    char path[2 * TEMP_FOLDER_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return plat_path_kind(path) == PLAT_PATH_FILE;
}

static void the_program_is_the_first_word(void **state)
{
    static const struct {
        const char *line;
        const char *program;
    } rows[] = {
        {"C:\\app\\app.exe -x", "C:\\app\\app.exe"},
        {" \t/bin/app", "/bin/app"},
        {"\"C:\\Program Files\\a.exe\" \"b c\"", "C:\\Program Files\\a.exe"},
        {"\"C:\\Program Files\\a.exe", ""},
        {"\"\" x", ""},
        {"  ", ""},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(span_is(plat_child_program(rows[i].line), rows[i].program));
    }
}

static void it_runs_from_when_it_is_let_go(void **state)
{
    (void)state;
    struct plat_child *child = launch("ran", 42);
    assert_true(plat_child_pid(child) > 0);
    assert_true(plat_child_pid(child) != plat_process_id());
    assert_true(plat_child_started(child) > 0);
    assert_false(plat_child_has_ended(child, NULL));
    assert_false(is_made("ran"));
    assert_true(plat_child_go(child, NULL));
    assert_true(plat_child_go(child, NULL));
    assert_int_equal(await_end(child), 42);
    assert_true(is_made("ran"));
    plat_child_close(child);
}

static bool is_gone(uint32_t pid)
{
    struct error err = {0};
    struct plat_child *child = plat_child_open(pid, &err);
    plat_child_close(child);
    assert_true(child || err.code == ERR_MISSING);
    return !child;
}

static void a_child_that_never_ran_ends_with_its_owner(void **state)
{
    (void)state;
    struct plat_child *child = launch("never", 0);
    uint32_t pid = plat_child_pid(child);
    plat_child_close(child);
    assert_false(is_made("never"));
    AWAIT(is_gone(pid));
}

static void a_process_that_runs_is_known_again(void **state)
{
    (void)state;
    struct plat_child *child = launch("known", 7);
    struct plat_child *same = plat_child_open(plat_child_pid(child), NULL);
    assert_non_null(same);
    assert_int_equal(plat_child_started(same), plat_child_started(child));
    assert_false(plat_child_has_ended(same, NULL));
    plat_child_go(child, NULL);
    await_end(child);
    await_end(same);
    plat_child_close(same);
    plat_child_close(child);
}

static void it_can_be_ended(void **state)
{
    (void)state;
    struct plat_child *child = launch("wait", -1);
    plat_child_go(child, NULL);
    plat_child_kill(child);
    assert_true(plat_child_has_ended(child, NULL));
    plat_child_close(child);
}

static void one_that_was_opened_has_ended_when_it_was_killed(void **state)
{
    (void)state;
    struct plat_child *child = launch("opened", -1);
    struct plat_child *same = plat_child_open(plat_child_pid(child), NULL);
    assert_non_null(same);
    plat_child_go(child, NULL);
    plat_child_kill(same);
    assert_true(plat_child_has_ended(same, NULL));
    await_end(child);
    plat_child_close(same);
    plat_child_close(child);
}

static bool is_us(void *self, uint32_t pid)
{
    bool *found = self;
    *found = *found || pid == plat_process_id();
    return true;
}

static void processes_are_found_by_name(void **state)
{
    bool found = false;
    (void)state;
    const char *name = program;
    for (const char *at = program; *at; at++) {
        name = *at == '/' || *at == '\\' ? at + 1 : name;
    }
    assert_true(plat_child_find(name, is_us, &found, NULL));
    assert_true(found);
    found = false;
    assert_true(plat_child_find("no-such-program.exe", is_us, &found, NULL));
    assert_false(found);
}

static void what_is_not_there_is_not_started(void **state)
{
    struct error err = {0};
    (void)state;
    assert_null(plat_child_launch("/no/such/program -x", folder, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_null(plat_child_launch("\"no end", folder, &err));
    assert_null(plat_child_open(0x7ffffff0, &err));
    assert_int_equal(err.code, ERR_MISSING);
}

/* The launched program runs this. */
static int play(const char *file, int code)
{
    FILE *made = fopen(file, "w");
    if (!made || fclose(made) != 0) {
        return 99;
    }
    while (code < 0) {
        plat_sleep_ms(HOUR_MS); /* until the test ends it */
    }
    return code;
}

int main(int argc, char **argv)
{
    plat_process_init(&argc, &argv);
    if (argc == 3) {
        return play(argv[1], atoi(argv[2]));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_is_the_first_word),
        cmocka_unit_test(it_runs_from_when_it_is_let_go),
        cmocka_unit_test(a_child_that_never_ran_ends_with_its_owner),
        cmocka_unit_test(a_process_that_runs_is_known_again),
        cmocka_unit_test(it_can_be_ended),
        cmocka_unit_test(one_that_was_opened_has_ended_when_it_was_killed),
        cmocka_unit_test(processes_are_found_by_name),
        cmocka_unit_test(what_is_not_there_is_not_started),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

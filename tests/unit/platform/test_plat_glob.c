#define _GNU_SOURCE

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "platform/plat_file.h"

/* The matching itself is tested in base/test_glob.c; here, that real folders are read right. */
static int make_tree(void **state)
{
    static char folder[] = "/tmp/etwship-glob-XXXXXX";
    if (!mkdtemp(folder)) {
        return -1;
    }
    char command[512];
    snprintf(command, sizeof(command),
        "cd %s && chmod 755 . && mkdir -p one/two real && touch b.etl a.etl one/c.etl "
        "one/two/d.etl real/e.etl 'x?.etl' && ln -s ../real one/link && ln -s a.etl l.etl && "
        "ln -s nothing gone.etl && mkfifo pipe.etl && mkdir folder.etl",
        folder);
    *state = folder;
    return system(command);
}

static int remove_tree(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", (const char *)*state);
    return system(command);
}

static bool collect(void *self, const char *path)
{
    buf_add_text(self, path);
    buf_add_byte(self, ' ');
    return true;
}

static void folders_are_searched_as_the_pattern_says(void **state)
{
    static const struct {
        const char *pattern;
        const char *paths;
    } cases[] = {
        {"a.etl", "a.etl "},
        /* No fifo and no folder; a link to a file, and one to nothing, which fails when opened. */
        {"*.etl", "a.etl b.etl gone.etl l.etl x?.etl "},
        {"x?.etl", "x?.etl "},
        {"./*/c.etl", "./one/c.etl "},
        {"one/**", "one/c.etl one/two/d.etl "},
        {"**/[a-e].etl", ""},
        {"**/?.etl", "a.etl b.etl l.etl one/c.etl one/two/d.etl real/e.etl "},
        {"one/link/*.etl", "one/link/e.etl "},
        {"one/l*/*.etl", "one/link/e.etl "},
    };
    assert_int_equal(chdir(*state), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf paths;
        buf_init(&paths, 10000);
        struct error err = {0};
        assert_int_equal(
            plat_glob(cases[i].pattern, collect, &paths, &err), cases[i].paths[0] != '\0');
        assert_span(buf_span(&paths), cases[i].paths);
        buf_fini(&paths);
    }
    assert_int_equal(chdir("/"), 0);
}

static void a_folder_that_cannot_be_read_is_an_error(void **state)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/locked", (const char *)*state);
    assert_int_equal(mkdir(path, 0), 0);
    bool is_root = geteuid() == 0;
    if (is_root) {
        assert_int_equal(seteuid(65534), 0);
    }
    char pattern[160];
    snprintf(pattern, sizeof(pattern), "%s/**/*.etl", (const char *)*state);
    struct buf paths;
    buf_init(&paths, 10000);
    struct error err = {0};
    bool good = plat_glob(pattern, collect, &paths, &err);
    if (is_root) {
        assert_int_equal(seteuid(0), 0);
    }
    rmdir(path);
    assert_false(good);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "/locked"));
    assert_int_equal(paths.size, 0);
    buf_fini(&paths);

    snprintf(pattern, sizeof(pattern), "%s/missing/*.etl", (const char *)*state);
    assert_false(plat_glob(pattern, collect, &paths, &err));
    assert_non_null(strstr(err.text, "/missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_searched_as_the_pattern_says),
        cmocka_unit_test(a_folder_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}

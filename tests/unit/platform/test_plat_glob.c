#define _GNU_SOURCE

#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

/* base/test_glob.c tests the matching itself. Here it runs over real folders. */
static char folder[TEMP_FOLDER_BYTES];

static int make_tree(void **state)
{
    (void)state;
    static const char *const folders[] = {"one", "one/two", "real", "folder.etl"};
    static const char *const files[] = {
        "b.etl", "a.etl", "one/c.etl", "one/two/d.etl", "real/e.etl", "x?.etl"};
    if (temp_folder_make(folder, "glob") != 0 || chdir(folder) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (mkdir(folders[i], 0755) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int fd = open(files[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0 || close(fd) != 0) {
            return -1;
        }
    }
    bool good = symlink("../real", "one/link") == 0 && symlink("a.etl", "l.etl") == 0 &&
                symlink("nothing", "gone.etl") == 0 && mkfifo("pipe.etl", 0600) == 0;
    return good ? chdir("/") : -1;
}

static int remove_tree(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static bool collect(void *self, const char *path)
{
    buf_add_text(self, path);
    buf_add_byte(self, ' ');
    return true;
}

static void folders_are_searched_as_the_pattern_says(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *paths;
    } cases[] = {
        {"a.etl", "a.etl "},
        /* Neither a fifo nor a folder matches. A link to a file does, and so does a dangling link,
         * which then cannot be opened. */
        {"*.etl", "a.etl b.etl gone.etl l.etl x?.etl "},
        {"x?.etl", "x?.etl "},
        {"./*/c.etl", "./one/c.etl "},
        {"one/**", "one/c.etl one/two/d.etl "},
        {"**/[a-e].etl", ""},
        {"**/?.etl", "a.etl b.etl l.etl one/c.etl one/two/d.etl real/e.etl "},
        {"one/link/*.etl", "one/link/e.etl "},
        {"one/l*/*.etl", "one/link/e.etl "},
    };
    assert_int_equal(chdir(folder), 0);
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
    (void)state;
    char path[TEMP_FOLDER_BYTES + 8];
    snprintf(path, sizeof(path), "%s/locked", folder);
    assert_int_equal(mkdir(path, 0), 0);
    bool is_root = geteuid() == 0;
    if (is_root) {
        assert_int_equal(seteuid(65534), 0);
    }
    char pattern[160];
    snprintf(pattern, sizeof(pattern), "%s/**/*.etl", folder);
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

    snprintf(pattern, sizeof(pattern), "%s/missing/*.etl", folder);
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

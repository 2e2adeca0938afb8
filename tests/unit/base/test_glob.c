#include "support/test.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/text/glob.h"

/* A file system of a few paths. "locked" cannot be read; "link" is a link to a folder. */
static const char *const files[] = {
    "b.etl",
    "a.etl",
    "B.ETL",
    "a.txt",
    "x*y.etl",
    "logs/b.etl",
    "logs/a.etl",
    "logs/2024/one.etl",
    "logs/2024/deep/two.etl",
    "logs/logs/a.etl",
    "logs/link/linked.etl",
    "gr\xc3\xbc\xc3\x9f.etl",
    "/root/r.etl",
};

static enum glob_kind kind_of(const char *path)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t size = strlen(path);
        if (strcmp(files[i], path) == 0) {
            return GLOB_FILE;
        }
        if (size && strncmp(files[i], path, size) == 0 && files[i][size] == '/') {
            return GLOB_DIR;
        }
    }
    return GLOB_NONE;
}

static bool list(const char *folder, glob_entry_fn *entry, void *self, struct error *err)
{
    if (strcmp(folder, "locked/") == 0) {
        return error_set(err, ERR_IO, "%s: locked", folder);
    }
    const char *prefix = strcmp(folder, ".") == 0 ? "" : folder;
    size_t prefix_size = strlen(prefix);
    char last[64] = "";
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strncmp(files[i], prefix, prefix_size) != 0 ||
            (prefix_size == 0 && files[i][0] == '/')) {
            continue;
        }
        const char *rest = files[i] + prefix_size;
        const char *slash = strchr(rest, '/');
        char name[64];
        snprintf(name, sizeof(name), "%.*s", slash ? (int)(slash - rest) : 63, rest);
        if (strcmp(name, last) == 0) {
            continue;
        }
        memcpy(last, name, sizeof(last));
        enum glob_kind kind = !slash                      ? GLOB_FILE
                              : strcmp(name, "link") == 0 ? GLOB_DIR_LINK
                                                          : GLOB_DIR;
        if (!entry(self, name, kind)) {
            break;
        }
    }
    return true;
}

static const struct glob_fs fs = {.separators = "/", .kind = kind_of, .list = list};

static bool collect(void *self, const char *path)
{
    buf_add_text(self, path);
    buf_add_byte(self, ' ');
    return true;
}

static void patterns_name_files_in_byte_order(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *paths;
    } cases[] = {
        {"a.etl", "a.etl "},
        {"*.etl", "a.etl b.etl gr\xc3\xbc\xc3\x9f.etl x*y.etl "},
        {"?.etl", "a.etl b.etl "},
        {"gr??.etl", "gr\xc3\xbc\xc3\x9f.etl "},
        {"x*y.etl", "x*y.etl "}, /* a file has exactly this name */
        {"logs/*", "logs/a.etl logs/b.etl "},
        {"logs/**/*.etl", "logs/2024/deep/two.etl logs/2024/one.etl logs/a.etl logs/b.etl "
                          "logs/logs/a.etl "},
        {"logs/**", "logs/2024/deep/two.etl logs/2024/one.etl logs/a.etl logs/b.etl "
                    "logs/logs/a.etl "},
        {"logs/*/*.etl", "logs/2024/one.etl logs/link/linked.etl logs/logs/a.etl "},
        {"**/logs/a.etl", "logs/a.etl logs/logs/a.etl "},
        {"**/**/logs/**/a.etl", "logs/a.etl logs/logs/a.etl "}, /* two ways, found once */
        {"*/2024/*/t*o.etl", "logs/2024/deep/two.etl "},
        {"/root/*", "/root/r.etl "},
        {"logs/2*//one.etl", "logs/2024/one.etl "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf paths;
        buf_init(&paths, 10000);
        struct error err = {0};
        bool good = glob_run(cases[i].pattern, &fs, collect, &paths, &err);
        if (!good) {
            print_error("%s: %s\n", cases[i].pattern, err.text);
        }
        assert_true(good);
        assert_span(buf_span(&paths), cases[i].paths);
        buf_fini(&paths);
    }
}

static void what_names_nothing_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        enum error_code code;
        const char *text;
    } cases[] = {
        {"", ERR_CONFIG, "no such file"},
        {"missing.etl", ERR_CONFIG, "no such file"},
        {"*.evtx", ERR_CONFIG, "no file matches"},
        {"logs/*/", ERR_CONFIG, "names a folder"},
        {"logs", ERR_CONFIG, "names a folder"},
        {"locked/*.etl", ERR_IO, "locked"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf paths;
        buf_init(&paths, 10000);
        struct error err = {0};
        assert_false(glob_run(cases[i].pattern, &fs, collect, &paths, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_int_equal(paths.size, 0);
        buf_fini(&paths);
    }
}

static bool only_one(void *self, const char *path)
{
    (void)path;
    ++*(unsigned *)self;
    return false;
}

static void a_caller_with_enough_matches_can_stop(void **state)
{
    (void)state;
    unsigned calls = 0;
    assert_true(glob_run("*.etl", &fs, only_one, &calls, NULL));
    assert_int_equal(calls, 1);
}

static void a_pattern_of_many_components_is_refused(void **state)
{
    (void)state;
    char pattern[300] = "";
    for (size_t i = 0; i < 59; i++) {
        memcpy(pattern + i * 2, "*/", 3);
    }
    struct error err = {0};
    assert_false(glob_run(pattern, &fs, collect, NULL, &err));
    assert_int_equal(err.code, ERR_CONFIG); /* 59 are fine, and match nothing */
    memcpy(pattern + strlen(pattern), "*", 2);
    assert_false(glob_run(pattern, &fs, collect, NULL, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

/* Endless folders, like in a loop of mounts. */
static bool list_endless(const char *folder, glob_entry_fn *entry, void *self, struct error *err)
{
    (void)folder;
    (void)err;
    entry(self, "down", GLOB_DIR);
    return true;
}

static void endless_folders_end_at_a_limit(void **state)
{
    (void)state;
    static const struct glob_fs endless = {
        .separators = "/", .kind = kind_of, .list = list_endless};
    struct error err = {0};
    assert_false(glob_run("**/x", &endless, collect, NULL, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void names_match_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *name;
        bool exact;
        bool folded;
    } cases[] = {
        {"", "", true, true},
        {"", "a", false, false},
        {"*", "", true, true},
        {"?", "", false, false},
        {"a*b*c", "aXbXbXc", true, true},
        {"a*b*c", "aXbXbX", false, false},
        {"**", "abc", true, true},
        {"A*", "abc", false, true},
        {"*.ETL", "a.etl", false, true},
        {"?", "\xe2\x82\xac", true, true},
        {"??", "\xe2\x82\xac", false, false},
        {"?", "\xff", true, true},
        {"*a", "aaaaaaaaaaaaaaaaab", false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct span pattern = span_text(cases[i].pattern);
        struct span name = span_text(cases[i].name);
        assert_int_equal(glob_match(pattern, name, false), cases[i].exact);
        assert_int_equal(glob_match(pattern, name, true), cases[i].folded);
    }
}

static void paths_match_whole_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
        bool matches;
    } cases[] = {
        {"/a/*.etl", "/a/b.etl", true},
        {"/a/*.etl", "/a/b/c.etl", false},
        {"/a/*.etl", "a/b.etl", false},
        {"/a/**/*.etl", "/a/b.etl", true},
        {"/a/**/*.etl", "/a/b/c/d.etl", true},
        {"/a/**/*.etl", "/a/b/c/d.log", false},
        {"/a/**/c/**/d", "/a/x/c/y/c/d", true},
        {"/a/**/c/**/d", "/a/x/y/d", false},
        {"/a/**", "/a/b/c", true},
        {"/a/**", "/a", false},
        {"C:\\t/*.etl", "C:\\t\\x.etl", true},
        {"**/x", "x", true},
        {"a", "a", true},
        {"a", "", false},
        {"", "a", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool got = glob_match_path(
            span_text(cases[i].pattern), span_text(cases[i].path), "/\\", false);
        if (got != cases[i].matches) {
            fail_msg("%s, %s", cases[i].pattern, cases[i].path);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_name_files_in_byte_order),
        cmocka_unit_test(what_names_nothing_is_an_error),
        cmocka_unit_test(a_caller_with_enough_matches_can_stop),
        cmocka_unit_test(a_pattern_of_many_components_is_refused),
        cmocka_unit_test(endless_folders_end_at_a_limit),
        cmocka_unit_test(names_match_patterns),
        cmocka_unit_test(paths_match_whole_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

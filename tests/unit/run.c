/* The tests of a layer: `unit_store catalogue` runs those of store/test_catalogue.c, and
 * `unit_store` those of all files. tests.def, which the build writes, names the files. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

#define TEST(name) int test_main_##name(void);
#include "tests.def"
#undef TEST

static const struct {
    const char *name;
    int (*run)(void);
} files[] = {
#define TEST(name) {#name, test_main_##name},
#include "tests.def"
#undef TEST
};

static int run_all(void)
{
    bool failed = false;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int code = files[i].run();
        failed |= code != 0 && code != SKIPPED;
    }
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        return run_all();
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strcmp(argv[1], files[i].name) == 0) {
            return files[i].run();
        }
    }
    fprintf(stderr, "%s: there is no test %s\n", argv[0], argv[1]);
    return 2;
}

#include "unit/schema/wpp_rig.h"

#include <stdlib.h>

#include "base/arena.h"
#include "event/value/wpp_format.h"
#include "platform/plat_file.h"
#include "schema/wpp/tmf.h"

/* The source over the shared trace message formats. */

struct count {
    size_t files;
    size_t messages;
    size_t types; /* different ones */
};

static bool count_message(void *self, const struct tmf_message *message)
{
    assert_false(message->is_cut);
    assert_true(message->line > 0);
    assert_true(message->source.size > 0 && message->function.size > 0 && message->level.size > 0);
    for (size_t i = 0; i < message->argument_count; i++) {
        assert_non_null(message->arguments[i].item);
        assert_int_equal(message->arguments[i].number, TMF_FIRST_ARGUMENT + i);
    }
    ++*(size_t *)self;
    return true;
}

/* grep's count: lines with that beginning. */
static size_t count_lines(const char *text, const char *start)
{
    size_t count = strncmp(text, start, strlen(start)) == 0;
    char pattern[32];
    snprintf(pattern, sizeof(pattern), "\n%s", start);
    for (const char *at = strstr(text, pattern); at; at = strstr(at + 1, pattern)) {
        count++;
    }
    return count;
}

static bool count_file(void *self, const char *path)
{
    struct count *count = self;
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    size_t messages = 0;
    struct arena arena;
    arena_init(&arena, 1 << 26);
    assert_true(plat_file_load(path, 1 << 24, &text, &size, &err));
    const struct tmf_sink sink = {.message = count_message, .warn = on_warning, .self = &messages};
    assert_true(tmf_read(span_make(text, size), &arena, path, &sink, &err));
    char *copy = calloc(1, size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    if (messages != count_lines(copy, "#typev ") || messages == 0) {
        fail_msg("%s: %zu messages, %zu lines", path, messages, count_lines(copy, "#typev "));
    }
    free(copy);
    free(text);
    arena_fini(&arena);
    count->files++;
    count->messages += messages;
    return true;
}

static void check_schema(void *self, const struct event_schema *schema)
{
    assert_true(schema->has_layout);
    assert_non_null(schema->wpp);
    assert_null(schema->open_end);
    assert_true(schema->wpp->piece_count > 0);
    ((struct count *)self)->types++;
}

/* The drivers' authors count 2610 types of messages in their PDB files. Two more files have one
 * each. */
static void the_shared_formats_are_all_read(void **state)
{
    (void)state;
    const char *shared = getenv("ETWSHIP_SHARED");
    char path[1024];
    char pattern[1100];
    snprintf(path, sizeof(path), "%s/data/manifests", shared ? shared : "");
    if (!shared || plat_path_kind(path) != PLAT_PATH_DIR) {
        print_message("no shared trace message formats: skipped\n");
        skip();
    }
    struct error err = {0};
    struct count count = {.files = 0};
    warnings[0] = 0;
    snprintf(pattern, sizeof(pattern), "%s/tmf-*/*.tmf", path);
    assert_true(plat_glob(pattern, count_file, &count, &err));
    assert_int_equal(count.files, 92);
    assert_int_equal(count.messages, 3867);
    void *source = create(path);
    assert_string_equal(warnings, "");
    ops->list(source, check_schema, &count);
    assert_int_equal(count.types, 2610 + 2);
    ops->destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shared_formats_are_all_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

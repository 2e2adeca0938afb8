#include "support/test.h"

#include "support/etw_sim/sim_world_parse.h"

static struct arena arena;
static struct error err;

static struct sim_world_item *parse(const char *text)
{
    struct sim_world_item *first = NULL;
    err = (struct error){0};
    return sim_world_parse(span_text(text), "w.world", &arena, &first, &err) ? first : NULL;
}

static void every_statement_is_read(void **state)
{
    (void)state;
    const struct sim_world_item *item = parse(
        "processors 4\n"
        "  windows 0x4f7c  # 20348\n"
        "own 12 \"my program.exe\"\r\n"
        "\n"
        "emit Some-Provider sub/trace.etl rate 10 rounds 2\n"
        "provider P guid {1C95126E-7EEA-49A9-A3FE-A378B03DDB4D} kind classic pid 4 kernel error 5\n"
        "session S mode 0x100 open_error 5\n"
        "process 4 System package \"\" app A");
    assert_non_null(item);
    assert_int_equal(item->verb, SIM_WORLD_PROCESSORS);
    assert_int_equal(item->number, 4);
    item = item->next;
    assert_int_equal(item->number, 20348);
    item = item->next;
    assert_int_equal(item->number, 12);
    assert_string_equal(item->name, "my program.exe");
    item = item->next;
    assert_int_equal(item->verb, SIM_WORLD_EMIT);
    assert_int_equal(item->line, 5);
    assert_string_equal(item->name, "Some-Provider");
    assert_string_equal(item->path, "sub/trace.etl");
    assert_int_equal(item->rate, 10);
    assert_int_equal(item->rounds, 2);
    item = item->next;
    assert_int_equal(item->guid.bytes[0], 0x6e);
    assert_int_equal(item->kind, ETW_SIM_CLASSIC);
    assert_int_equal(item->pid, 4);
    assert_int_equal(item->kernel, 1);
    assert_int_equal(item->error, 5);
    assert_int_equal(item->unregistered, 0);
    item = item->next;
    assert_int_equal(item->mode, 0x100);
    assert_int_equal(item->open_error, 5);
    item = item->next;
    assert_string_equal(item->package, "");
    assert_string_equal(item->app, "A");
    assert_null(item->next);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"\nnonsense 1\n", "w.world:2: 'nonsense' is no statement of a world"},
        {"processors", "w.world:1: 'processors' needs something behind it"},
        {"processors two", "w.world:1: 'two' is no number of 32 bits"},
        {"processors 4294967296", "w.world:1: '4294967296' is no number of 32 bits"},
        {"processors 0x", "w.world:1: '0x' is no number of 32 bits"},
        {"processors \"\"", "w.world:1: '' is no number of 32 bits"},
        {"processors 1 2", "w.world:1: 'processors' knows no '2'"},
        {"emit P", "w.world:1: 'emit' needs something behind it"},
        {"own 1 \"x", "w.world:1: a quote is not closed"},
        {"session S guid 12", "w.world:1: '12' is no GUID"},
        {"session S guid", "w.world:1: 'guid' needs something behind it"},
        {"provider P kind odd", "w.world:1: 'odd' is no kind of provider"},
        {"provider P rate 3", "w.world:1: 'provider' knows no 'rate'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_null(parse(rows[i].text));
        assert_string_equal(err.text, rows[i].message);
        assert_int_equal(err.code, ERR_FORMAT);
    }
}

static void nothing_is_an_empty_world(void **state)
{
    (void)state;
    assert_null(parse(""));
    assert_int_equal(err.code, ERR_NONE);
    assert_null(parse("# only this\n\n \t\r\n"));
    assert_int_equal(err.code, ERR_NONE);
}

static void a_nul_is_no_text(void **state)
{
    (void)state;
    struct sim_world_item *first = NULL;
    assert_false(sim_world_parse(span_make("own 1 a\0b", 9), "w.world", &arena, &first, &err));
    assert_string_equal(err.text, "w.world:1: a NUL is no text");
}

static int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int drop_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_is_read),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(nothing_is_an_empty_world),
        cmocka_unit_test(a_nul_is_no_text),
    };
    return cmocka_run_group_tests(tests, make_arena, drop_arena);
}

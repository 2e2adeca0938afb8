#include "cli/commands/cli_main.h"
#include "cli/options/trace_options.h"

#include "support/test.h"

static const struct cli_option options[] = {
    {.name = "max-events", .letter = 'n', .argument = "N", .help = "h"},
    {.name = "provider", .letter = 'p', .argument = "P", .repeated = true, .help = "h"},
    {.name = "schema", .argument = "PATH", .repeated = true, .help = "h"},
    {.name = "pretty", .help = "h"},
    {.name = "mode", .argument = "all|one", .help = "h"},
    {.name = "kind", .argument = "N", .values = "a|b", .help = "h"},
    {.name = "verbose", .letter = 'v', .help = "h"},
    {.name = NULL},
};
static const struct cli_command command = {.name = "test",
    .synopsis = "[options] FILE",
    .summary = "s",
    .description = "d",
    .options = options,
    .operands = {"FILE", 0, 3}};
static const struct cli_command with_verbs = {.name = "verbs",
    .synopsis = "show|list",
    .summary = "s",
    .description = "d",
    .verbs = "show|list",
    .operands = {"show or list", 1, 2}};
static const struct cli_command bare = {.name = "bare",
    .synopsis = "FILE",
    .summary = "s",
    .description = "d",
    .operands = {"FILE", 1, 1}};

enum { MAX_WORDS = 16 };

/* argv from the words in ${line}, which is cut into pieces. */
static int split(char *line, char **argv)
{
    int argc = 0;
    for (char *word = strtok(line, " "); word && argc < MAX_WORDS; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return argc;
}

struct parsed {
    char line[256];
    struct cli_args args;
    int exit_code;
    bool ok;
};

static void parse(struct parsed *p, const struct cli_command *of, const char *line)
{
    char *argv[MAX_WORDS];
    strcpy(p->line, line);
    p->exit_code = -1;
    p->args.operand_count = 77;
    p->ok = cli_parse(of, split(p->line, argv), argv, &p->args, &p->exit_code);
}

static void values_may_be_written_in_every_form(void **state)
{
    (void)state;
    static const char *const lines[] = {"test -n5", "test -n 5", "test -n=5", "test --max-events 5",
        "test --max-events=5", "test a -n5 b", "test -n9 -n5", "test --pretty -n5",
        "test -v -n 5 -- a"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct parsed p;
        parse(&p, &command, lines[i]);
        assert_true(p.ok);
        assert_string_equal(cli_value(&p.args, "max-events"), "5");
        uint64_t count = 0;
        assert_true(cli_count(&p.args, "max-events", &count));
        assert_int_equal(count, 5);
        cli_args_fini(&p.args);
    }
}

static void flags_are_there_or_not(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &command, "test --pretty");
    assert_true(p.ok);
    assert_string_equal(cli_value(&p.args, "pretty"), "");
    assert_null(cli_value(&p.args, "verbose"));
    assert_null(cli_value(&p.args, "max-events"));
    assert_null(cli_value(&p.args, "no such option"));
    uint64_t count = 7;
    assert_true(cli_count(&p.args, "max-events", &count));
    assert_int_equal(count, 0);
    cli_args_fini(&p.args);
}

static void repeated_options_keep_their_order(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &command, "test -p a --schema s -pb x --provider=c --provider d -p=");
    assert_true(p.ok);
    const char *values[8];
    assert_int_equal(cli_values(&p.args, "provider", values, 8), 5);
    static const char *const expected[] = {"a", "b", "c", "d", ""};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(values[i], expected[i]);
    }
    assert_int_equal(cli_values(&p.args, "provider", values, 2), 2);
    assert_int_equal(cli_values(&p.args, "schema", values, 8), 1);
    assert_string_equal(values[0], "s");
    assert_int_equal(p.args.operand_count, 1);
    assert_string_equal(p.args.operands[0], "x");
    cli_args_fini(&p.args);
}

static void a_double_dash_ends_the_options(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &command, "test -v -- -n --help --");
    assert_true(p.ok);
    assert_int_equal(p.args.operand_count, 3);
    assert_string_equal(p.args.operands[0], "-n");
    assert_string_equal(p.args.operands[1], "--help");
    assert_string_equal(p.args.operands[2], "--");
    assert_null(cli_value(&p.args, "max-events"));
    cli_args_fini(&p.args);
}

static void a_single_dash_is_an_operand_and_joined_values_may_look_like_options(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &command, "test - -p=-v --provider=--help");
    assert_true(p.ok);
    assert_int_equal(p.args.operand_count, 1);
    assert_string_equal(p.args.operands[0], "-");
    assert_null(cli_value(&p.args, "verbose"));
    const char *values[4];
    assert_int_equal(cli_values(&p.args, "provider", values, 4), 2);
    assert_string_equal(values[0], "-v");
    assert_string_equal(values[1], "--help");
    cli_args_fini(&p.args);
}

static void values_may_begin_with_a_dash(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &command, "test --schema -1h -p -x");
    assert_true(p.ok);
    assert_string_equal(cli_value(&p.args, "schema"), "-1h");
    assert_string_equal(cli_value(&p.args, "provider"), "-x");
    cli_args_fini(&p.args);
}

static void a_value_is_one_of_those_that_the_table_names(void **state)
{
    (void)state;
    static const char *const good[] = {"test --mode all", "test --mode=one", "test --kind b"};
    static const char *const bad[] = {"test --mode ALL", "test --mode=", "test --mode al",
        "test --mode all|one", "test --kind c", "test --kind N"};
    struct parsed p;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        parse(&p, &command, good[i]);
        assert_true(p.ok);
        cli_args_fini(&p.args);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        parse(&p, &command, bad[i]);
        if (p.ok || p.exit_code != EXIT_USAGE) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
}

static void the_first_operand_is_a_verb(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &with_verbs, "verbs show stop");
    assert_true(p.ok);
    cli_args_fini(&p.args);
    parse(&p, &with_verbs, "verbs stop show");
    assert_false(p.ok);
    assert_int_equal(p.exit_code, EXIT_USAGE);
}

static void a_wrong_line_is_a_usage_error(void **state)
{
    (void)state;
    static const char *const lines[] = {"test -x", "test --unknown", "test --unknown=1",
        "test --=1", "test --max", "test --max-eventss=1", "test -n", "test --max-events",
        "test a --schema", "test --pretty=1", "test -vn", "test -v5", "test a b c d", "test -p -v",
        "test --schema --pretty", "test --schema --max-events=1", "test -n --help"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct parsed p;
        parse(&p, &command, lines[i]);
        if (p.ok || p.exit_code != EXIT_USAGE) {
            fail_msg("'%s' was taken", lines[i]);
        }
        assert_int_equal(p.args.operand_count, 77); /* untouched */
    }
}

static void operands_are_counted(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &bare, "bare");
    assert_false(p.ok);
    assert_int_equal(p.exit_code, EXIT_USAGE);
    parse(&p, &bare, "bare a b");
    assert_false(p.ok);
    assert_int_equal(p.exit_code, EXIT_USAGE);
    parse(&p, &bare, "bare -v");
    assert_false(p.ok);
    parse(&p, &bare, "bare a");
    assert_true(p.ok);
    cli_args_fini(&p.args);
}

static void help_is_no_error(void **state)
{
    (void)state;
    static const char *const lines[] = {"test --help", "test -h", "test a -v -h --unknown"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct parsed p;
        parse(&p, &command, lines[i]);
        assert_false(p.ok);
        assert_int_equal(p.exit_code, EXIT_DONE);
    }
}

static void counts_are_numbers_from_1_on(void **state)
{
    (void)state;
    static const char *const lines[] = {"test -n0", "test -n=-1", "test -n=+1", "test -n=1x",
        "test -n=x", "test -n=", "test -n=0x10", "test -n=1.5", "test -n=18446744073709551616",
        "test -n=99999999999999999999999"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct parsed p;
        parse(&p, &command, lines[i]);
        assert_true(p.ok);
        uint64_t count;
        if (cli_count(&p.args, "max-events", &count)) {
            fail_msg("'%s' was taken", lines[i]);
        }
        cli_args_fini(&p.args);
    }
    struct parsed p;
    parse(&p, &command, "test -n 18446744073709551615");
    uint64_t count;
    assert_true(cli_count(&p.args, "max-events", &count));
    assert_true(count == UINT64_MAX);
    cli_args_fini(&p.args);
}

static void every_command_says_what_it_needs(void **state)
{
    (void)state;
    size_t i = 0;
    for (; cli_main_commands[i]; i++) {
        const struct cli_command *c = cli_main_commands[i];
        assert_true(c->name && c->synopsis && c->summary && c->description);
        assert_true(c->operands.min == 0 || c->operands.name);
        size_t count = 0;
        for (const struct cli_option *o = c->options; o && o->name; o++, count++) {
            assert_non_null(o->help);
            for (const struct cli_option *other = c->options; other != o; other++) {
                assert_string_not_equal(other->name, o->name);
                assert_true(!o->letter || other->letter != o->letter);
            }
            assert_true(o->letter != 'h');
        }
        assert_true(count < CLI_MAX_OPTIONS);
    }
    assert_true(i > 0);
}

/* The table of options lists exactly the existing ones. */
static void schema_sources_are_those_of_their_table(void **state)
{
    (void)state;
#define SCHEMA_SOURCE(id) "|" #id
    static const char *const expected =
#include "schema/source/schema_sources.def"
        ;
#undef SCHEMA_SOURCE
    assert_string_equal(TRACE_SCHEMA_SOURCES, expected + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_may_be_written_in_every_form),
        cmocka_unit_test(flags_are_there_or_not),
        cmocka_unit_test(repeated_options_keep_their_order),
        cmocka_unit_test(a_double_dash_ends_the_options),
        cmocka_unit_test(a_single_dash_is_an_operand_and_joined_values_may_look_like_options),
        cmocka_unit_test(values_may_begin_with_a_dash),
        cmocka_unit_test(a_value_is_one_of_those_that_the_table_names),
        cmocka_unit_test(the_first_operand_is_a_verb),
        cmocka_unit_test(a_wrong_line_is_a_usage_error),
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(help_is_no_error),
        cmocka_unit_test(counts_are_numbers_from_1_on),
        cmocka_unit_test(every_command_says_what_it_needs),
        cmocka_unit_test(schema_sources_are_those_of_their_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "schema/wpp/tmf.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define GUID "a5bbbdd9-73f9-3bed-93aa-521a4c96d934"

enum { MAX_KEPT = 8 };

struct read {
    struct arena arena;
    const struct tmf_message *kept[MAX_KEPT];
    size_t count;
    char warnings[4096];
};

static bool keep(void *self, const struct tmf_message *message)
{
    struct read *read = self;
    assert_true(read->count < MAX_KEPT);
    read->kept[read->count++] = message;
    return true;
}

static void note(void *self, const char *text)
{
    struct read *read = self;
    size_t used = strlen(read->warnings);
    snprintf(read->warnings + used, sizeof(read->warnings) - used, "%s\n", text);
}

static void read_bytes(struct read *read, struct span bytes)
{
    struct error err = {0};
    memset(read, 0, sizeof(*read));
    arena_init(&read->arena, 1 << 24);
    const struct tmf_sink sink = {.message = keep, .warn = note, .self = read};
    assert_true(tmf_read(bytes, &read->arena, "x.tmf", &sink, &err));
}

static void read_text(struct read *read, const char *text)
{
    read_bytes(read, span_text(text));
}

static void assert_sample(const struct tmf_message *m)
{
    struct guid guid;
    assert_true(guid_parse(span_text(GUID), &guid));
    assert_true(guid_equal(&m->guid, &guid));
    assert_int_equal(m->number, 10);
    assert_span(m->module, "driver");
    assert_span(m->source, "main.c");
    assert_span(m->name, "main_c31");
    assert_int_equal(m->line, 31);
    assert_span(m->format, "%0a=%10!d! %11!s!");
    assert_span(m->level, "LVL");
    assert_span(m->flags, "FLG");
    assert_span(m->function, "run");
    assert_int_equal(m->argument_count, 2);
    assert_span(m->arguments[0].expression, "a");
    assert_span(m->arguments[0].type, "ItemLong");
    assert_int_equal(m->arguments[0].number, 10);
    assert_span(m->arguments[1].expression, "f(b, c)");
    assert_span(m->arguments[1].type, "ItemListByte(Low,APC)");
    assert_span(m->arguments[1].names, "Low,APC");
    assert_int_equal(m->arguments[1].number, 11);
    assert_false(m->is_cut);
}

#define SAMPLE_LINES(start, end)                                                               \
    start GUID                                                                                 \
        " driver // SRC=main.c MJ= MN=" end start                                              \
        "#typev main_c31 10 \"%0a=%10!d! %11!s!\" //   LEVEL=LVL FLAGS=FLG FUNC=run" end start \
        "{" end start "a, ItemLong -- 10" end start                                            \
        "f(b, c), ItemListByte(Low,APC) -- 11" end start "}" end

/* The message in the form of other tools, or with text around it. */
static const char *const forms[] = {
    SAMPLE_LINES("", "\n"),
    SAMPLE_LINES("", "\r\n"),
    SAMPLE_LINES("\t ", " \t\n"),
    SAMPLE_LINES("TMF: ", "\n"),
    SAMPLE_LINES("12:00:01.000 info | ", "\r\n"),
    "// PDB:  driver.pdb\n// PDB:  Last Updated :2026-09-06\n\n" SAMPLE_LINES("", "\n") "// end\n",
    "\xef\xbb\xbf" SAMPLE_LINES("", "\n"),
    "some text, a {, a } and a GUID:\n" GUID
    " is one\n" SAMPLE_LINES("", "\n") "}\n{\nmore, text\n",
    "{A5BBBDD9-73F9-3BED-93AA-521A4C96D934} driver // SRC=main.c MJ= MN=\n"
    "#type  main_c31   10   \"%0a=%10!d! %11!s!\"//  LEVEL=LVL  FLAGS=FLG  FUNC=run \n"
    "{\n\n// comment\na ,ItemLong--10\nf(b, c), ItemListByte (Low,APC)\n}",
};

static void a_message_is_read_in_whatever_text_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms) - 1; i++) {
        struct read read;
        read_text(&read, forms[i]);
        if (read.count != 1 || read.warnings[0]) {
            fail_msg("%zu: %zu messages, %s", i, read.count, read.warnings);
        }
        assert_sample(read.kept[0]);
        arena_fini(&read.arena);
    }
}

static void a_format_ends_with_a_quote_that_no_text_follows(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *format;
    } rows[] = {
        {"\"a \" b\" \t \r\n", "a \" b"},
        {"\"a \"  \"  \" \"  // FUNC=f\n", "a \"  \"  \" "},
        {"\"a \\\" \"  \n", "a \\\" "},
        {"\"\"   \n", ""},
        {"\"\" \" x \"\"\n", "\" \" x \""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[256];
        snprintf(text, sizeof(text), GUID " m // SRC=a.c\n#typev a_c1 10 %s{\n}\n", rows[i].line);
        struct read read;
        read_text(&read, text);
        assert_string_equal(read.warnings, "");
        assert_int_equal(read.count, 1);
        assert_span(read.kept[0]->format, rows[i].format);
        arena_fini(&read.arena);
    }
}

static void blanks_and_numbers_may_be_left_out(void **state)
{
    (void)state;
    struct read read;
    read_text(&read, forms[COUNT_OF(forms) - 1]);
    assert_string_equal(read.warnings, "");
    assert_int_equal(read.count, 1);
    assert_span(read.kept[0]->arguments[0].expression, "a");
    assert_span(read.kept[0]->arguments[1].type, "ItemListByte (Low,APC)");
    assert_non_null(read.kept[0]->arguments[1].item);
    assert_int_equal(read.kept[0]->arguments[1].number, 11);
    arena_fini(&read.arena);
}

static void utf_16_and_code_pages_are_read(void **state)
{
    (void)state;
    static const char text[] = SAMPLE_LINES("", "\r\n");
    uint8_t wide[2 * sizeof(text) + 2];
    for (int form = 0; form < 4; form++) {
        bool big = form & 1;
        bool mark = form & 2;
        size_t size = 0;
        if (mark) {
            wide[size++] = big ? 0xfe : 0xff;
            wide[size++] = big ? 0xff : 0xfe;
        }
        for (size_t i = 0; i + 1 < sizeof(text); i++) {
            wide[size++] = big ? 0 : (uint8_t)text[i];
            wide[size++] = big ? (uint8_t)text[i] : 0;
        }
        struct read read;
        read_bytes(&read, span_make(wide, size));
        assert_int_equal(read.count, 1);
        assert_sample(read.kept[0]);
        arena_fini(&read.arena);
    }
    struct read read;
    read_text(&read, GUID " m // SRC=a.c\n#typev a_c1 10 \"gr\xfc\xdf"
                          "e\"\n");
    assert_span(read.kept[0]->format, "gr\xc3\xbc\xc3\x9f"
                                      "e");
    arena_fini(&read.arena);
}

static void names_may_hold_what_else_separates(void **state)
{
    (void)state;
    struct read read;
    read_text(&read,
        GUID " my module // SRC=my file.c MJ=1 MN=2\n"
             "#typev my file_cpp7 65535 \"a \\\"b\\\" // \"c\" //  FUNC=A::operator new "
             "LEVEL=L KEYWORDS=K\n{\n"
             "g(\"x, ItemLong -- 9\"), ItemEnum(N::E) -- 10\n"
             "h -- i, ItemSetLong(a(1), b) -- 12\n}\n");
    assert_string_equal(read.warnings, "");
    const struct tmf_message *m = read.kept[0];
    assert_span(m->module, "my module");
    assert_span(m->source, "my file.c");
    assert_span(m->name, "my file_cpp7");
    assert_int_equal(m->line, 7);
    assert_int_equal(m->number, 65535);
    assert_span(m->format, "a \\\"b\\\" // \"c");
    assert_span(m->function, "A::operator new");
    assert_span(m->level, "L");
    assert_span(m->flags, "");
    assert_span(m->arguments[0].expression, "g(\"x, ItemLong -- 9\")");
    assert_span(m->arguments[0].type, "ItemEnum(N::E)");
    assert_span(m->arguments[1].expression, "h -- i");
    assert_span(m->arguments[1].names, "a(1), b");
    assert_int_equal(m->arguments[1].number, 12);
    arena_fini(&read.arena);
}

#define FIRST GUID " m // SRC=a.c MJ= MN=\n"
#define NEXT "#typev a_c2 11 \"next\"\n{\n}\n"

/* Invalid lines, the reports about them, and the number of messages that are read all the same. */
static const struct {
    const char *text;
    const char *warnings;
    size_t count;
} bad[] = {
    {"#typev a_c1 10 \"x\" // FUNC=f\n{\n}\n" FIRST NEXT,
        "x.tmf:1: skipped a message: no line with its GUID precedes it\n", 1},
    {FIRST "#typev a_c1 10 x // FUNC=f\n{\nb, ItemLong -- 10\n}\n" NEXT,
        "x.tmf:2: skipped a message without a format in quotes\n", 1},
    {FIRST "#typev a_c1 10 \"x // FUNC=f\n{\n}\n" NEXT,
        "x.tmf:2: skipped a message: its format has no closing quote\n", 1},
    {FIRST "#typev a_c1 ten \"x\"\n" NEXT,
        "x.tmf:2: skipped a message without a name and a number below 65536\n", 1},
    {FIRST "#typev a_c1 65536 \"x\"\n" NEXT,
        "x.tmf:2: skipped a message without a name and a number below 65536\n", 1},
    {FIRST "#typev 10 \"x\"\n" NEXT,
        "x.tmf:2: skipped a message without a name and a number below 65536\n", 1},
    {FIRST "#typev a_c1 10 \"x\"\n{\nb, ItemLong -- 10\n" NEXT,
        "x.tmf:2: the arguments of this message have no }\n", 2},
    {FIRST "#typev a_c1 10 \"x\"\n{\nb, ItemLong -- 10",
        "x.tmf:2: the arguments of this message have no }\n", 1},
    {FIRST "#typev a_c1 10 \"x\"\n{\nb ItemLong -- 10\nc, ItemLong -- 11\n}\n" NEXT,
        "x.tmf:4: not an argument (expression, ItemType -- number); the message is decoded up to "
        "it\n",
        2},
    {FIRST "#typev a_c1 10 \"x\"\n{\nb, ItemList) -- 10\n}\n" NEXT,
        "x.tmf:4: not an argument (expression, ItemType -- number); the message is decoded up to "
        "it\n",
        2},
    {FIRST "#typev a_c1 10 \"x\"\n{\nb, ItemLong -- 9\n}\n" NEXT,
        "x.tmf:4: not an argument (expression, ItemType -- number); the message is decoded up to "
        "it\n",
        2},
    {FIRST "#typev a_c1 10 \"x\"\n{\nb, ItemLong -- 99999\n}\n" NEXT,
        "x.tmf:4: not an argument (expression, ItemType -- number); the message is decoded up to "
        "it\n",
        2},
    {"", "", 0},
    {"#typewriter\n#typevx y\n", "", 0},
};

static void a_bad_line_is_told_with_its_place_and_skipped(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct read read;
        read_text(&read, bad[i].text);
        if (strcmp(read.warnings, bad[i].warnings) != 0 || read.count != bad[i].count) {
            fail_msg("%zu: %zu messages, %s", i, read.count, read.warnings);
        }
        arena_fini(&read.arena);
    }
}

static void a_guid_behind_a_bad_message_counts_for_the_next(void **state)
{
    (void)state;
    static const char other[] = "11111111-2222-3333-4444-555555555555";
    struct guid guid;
    char text[512];
    snprintf(text, sizeof(text), FIRST "#typev a_c1 10 bad\n%s n // SRC=b.c\n" NEXT, other);
    struct read read;
    read_text(&read, text);
    assert_true(guid_parse(span_text(other), &guid));
    assert_int_equal(read.count, 1);
    assert_true(guid_equal(&read.kept[0]->guid, &guid));
    arena_fini(&read.arena);
}

static void what_is_told_of_one_text_has_an_end(void **state)
{
    (void)state;
    struct read read;
    char text[2048] = "";
    for (int i = 0; i < TMF_MAX_WARNINGS + 5; i++) {
        strcat(text, "#typev a_c1 10 \"x\"\n");
    }
    read_text(&read, text);
    assert_non_null(strstr(read.warnings, "x.tmf:20: "));
    assert_null(strstr(read.warnings, "x.tmf:21: "));
    assert_non_null(strstr(read.warnings, "x.tmf: 5 further warnings\n"));
    arena_fini(&read.arena);
}

static void more_arguments_than_the_limit_are_left_out(void **state)
{
    (void)state;
    struct read read;
    char text[16384] = FIRST "#typev a_c1 10 \"x\"\n{\n";
    for (int i = 0; i < TMF_MAX_ARGUMENTS + 2; i++) {
        strcat(text, "b, ItemLong\n");
    }
    strcat(text, "}\n");
    read_text(&read, text);
    assert_int_equal(read.count, 1);
    assert_int_equal(read.kept[0]->argument_count, TMF_MAX_ARGUMENTS);
    assert_true(read.kept[0]->is_cut);
    assert_string_equal(
        read.warnings, "x.tmf:260: too many arguments in a message; the rest is ignored\n");
    arena_fini(&read.arena);
}

static void a_very_long_line_is_skipped(void **state)
{
    (void)state;
    struct read read;
    size_t size = sizeof(FIRST NEXT) + 3 * TMF_MAX_LINE_BYTES;
    char *text = calloc(1, size);
    assert_non_null(text);
    strcpy(text, FIRST "#typev a_c1 10 \"");
    memset(text + strlen(text), 'x', TMF_MAX_LINE_BYTES);
    strcat(text, "\"\n{\nb, ItemLong -- 10\n}\n" NEXT);
    memset(text + strlen(text), 'y', TMF_MAX_LINE_BYTES + 1);
    read_text(&read, text);
    assert_int_equal(read.count, 1);
    assert_int_equal(read.kept[0]->number, 11);
    assert_string_equal(read.warnings, "x.tmf:2: skipped a line longer than 64 KB\n");
    arena_fini(&read.arena);
    free(text);
}

static bool refuse(void *self, const struct tmf_message *message)
{
    (void)message;
    ++*(int *)self;
    return false;
}

static void the_sink_can_end_the_reading(void **state)
{
    (void)state;
    struct error err = {0};
    struct arena arena;
    int calls = 0;
    arena_init(&arena, 1 << 20);
    const struct tmf_sink sink = {.message = refuse, .self = &calls};
    assert_false(tmf_read(span_text(FIRST NEXT NEXT NEXT), &arena, "x.tmf", &sink, &err));
    assert_int_equal(err.code, ERR_MEMORY);
    assert_int_equal(calls, 1);
    arena_fini(&arena);
}

/* Each annotation is a separate text: neither a GUID nor an open brace continues in the next. */
static void an_annotation_stands_for_itself(void **state)
{
    (void)state;
    static const struct {
        const char *lines[6];
        size_t count;
        const char *function;
        size_t messages; /* up to here */
    } annotations[] = {
        {{GUID " driver // SRC=main.c MJ= MN=",
             "#typev  main_c31 10 \"%0%10!d!\" //   LEVEL=L FLAGS=F", "{", "a, ItemLong -- 10"},
            4, "ns::first", 1},
        {{"#typev main_c32 11 \"x\" // FUNC=own"}, 1, "second", 1},
        {{GUID " driver // SRC=main.c MJ= MN=", "#typev main_c33 12 \"x\" // LEVEL=L FUNC=own", "{",
             "}", "PUBLIC_TMF:"},
            5, "third", 2},
        {{GUID " driver // SRC=main.c MJ= MN=", "#typev main_c34 13 \"x\" // LEVEL=L"}, 2, "", 3},
    };
    struct read read = {.count = 0};
    struct tmf_reader *reader = malloc(sizeof(*reader));
    assert_non_null(reader);
    arena_init(&read.arena, 1 << 20);
    const struct tmf_sink sink = {.message = keep, .warn = note, .self = &read};
    tmf_reader_init(reader, &read.arena, "d.pdb(main.obj)", &sink);
    for (size_t i = 0; i < COUNT_OF(annotations); i++) {
        struct span lines[6];
        for (size_t k = 0; k < annotations[i].count; k++) {
            lines[k] = span_text(annotations[i].lines[k]);
        }
        assert_true(tmf_reader_annotation(reader, lines, annotations[i].count, 100 * (i + 1),
            span_text(annotations[i].function)));
        assert_int_equal(read.count, annotations[i].messages);
    }
    assert_true(tmf_reader_end(reader));
    assert_int_equal(read.count, 3);
    assert_int_equal(read.kept[0]->number, 10);
    assert_int_equal(read.kept[0]->text_line, 100);
    assert_int_equal(read.kept[0]->line, 31);
    assert_int_equal(read.kept[0]->argument_count, 1);
    assert_span(read.kept[0]->function, "ns::first");
    assert_span(read.kept[0]->flags, "F");
    assert_span(read.kept[1]->function, "own");
    assert_int_equal(read.kept[1]->text_line, 300);
    assert_span(read.kept[2]->function, "");
    assert_string_equal(read.warnings,
        "d.pdb(main.obj):100: the arguments of this message have no }\n"
        "d.pdb(main.obj):200: skipped a message: no line with its GUID precedes it\n");
    arena_fini(&read.arena);
    free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_read_in_whatever_text_it_stands),
        cmocka_unit_test(a_format_ends_with_a_quote_that_no_text_follows),
        cmocka_unit_test(blanks_and_numbers_may_be_left_out),
        cmocka_unit_test(utf_16_and_code_pages_are_read),
        cmocka_unit_test(names_may_hold_what_else_separates),
        cmocka_unit_test(a_bad_line_is_told_with_its_place_and_skipped),
        cmocka_unit_test(a_guid_behind_a_bad_message_counts_for_the_next),
        cmocka_unit_test(what_is_told_of_one_text_has_an_end),
        cmocka_unit_test(more_arguments_than_the_limit_are_left_out),
        cmocka_unit_test(a_very_long_line_is_skipped),
        cmocka_unit_test(the_sink_can_end_the_reading),
        cmocka_unit_test(an_annotation_stands_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

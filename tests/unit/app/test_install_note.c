/* An installation's note about the machine, and the values that it refuses when it reads the note
 * again. */
#include "app/install/install_note.h"

#include <stdio.h>

#include "support/test.h"

static const char full[] =
    "etwship installation 1\nconfig 1\nservice 1\nruns 1\nstart demand\n"
    "account NT SERVICE\\etwship\n"
    "command \"C:\\p q\\etwship.exe\" run --service -c \"C:\\\xc3\xbc.yaml\"\n";

static struct install_note note;

static void assert_read(const char *text, bool good)
{
    struct error err = {.code = ERR_NONE};
    bool read = install_note_read(span_text(text), &note, &err);
    assert_int_equal(read, good);
    assert_int_equal(err.code, good ? ERR_NONE : ERR_FORMAT);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, INSTALL_NOTE_MAX_BYTES);
    note = (struct install_note){.has_config = true,
        .has_service = true,
        .runs = true,
        .start = SERVICE_START_DEMAND,
        .account = "NT SERVICE\\etwship",
        .command = "\"C:\\p q\\etwship.exe\" run --service -c \"C:\\\xc3\xbc.yaml\""};
    assert_true(install_note_write(&note, &out, NULL));
    assert_span(buf_span(&out), full);
    buf_fini(&out);
    assert_read(full, true);
    assert_true(note.has_config && note.has_service && note.runs);
    assert_int_equal(note.start, SERVICE_START_DEMAND);
    assert_string_equal(note.account, "NT SERVICE\\etwship");
    assert_string_equal(
        note.command, "\"C:\\p q\\etwship.exe\" run --service -c \"C:\\\xc3\xbc.yaml\"");
}

static void a_machine_without_a_service_needs_no_more_lines(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, INSTALL_NOTE_MAX_BYTES);
    note = (struct install_note){.has_config = true};
    assert_true(install_note_write(&note, &out, NULL));
    assert_span(buf_span(&out), "etwship installation 1\nconfig 1\nservice 0\n");
    buf_fini(&out);
    assert_read("etwship installation 1\nconfig 0\nservice 0\n", true);
    assert_false(note.has_config || note.has_service);
}

/* SHA-256 of "abc" (FIPS 180-4's example). */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void the_configuration_that_was_written_is_known_again(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, INSTALL_NOTE_MAX_BYTES);
    note = (struct install_note){.has_config = false};
    assert_true(install_note_digest(span_text("abc"), note.wrote, NULL));
    assert_string_equal(note.wrote, ABC);
    assert_true(install_note_write(&note, &out, NULL));
    assert_span(buf_span(&out), "etwship installation 1\nconfig 0\nservice 0\nwrote " ABC "\n");
    note = (struct install_note){.has_config = true};
    assert_true(install_note_read(buf_span(&out), &note, NULL));
    assert_string_equal(note.wrote, ABC);
    buf_fini(&out);
    assert_read("etwship installation 1\nconfig 0\nservice 0\nwrote " ABC "\nmore\n", false);
    assert_read("etwship installation 1\nconfig 0\nservice 0\nwrote " ABC "0\n", false);
    assert_read("etwship installation 1\nconfig 0\nservice 0\nwrote abc\n", false);
}

static void a_text_of_several_lines_is_not_written(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, INSTALL_NOTE_MAX_BYTES);
    note = (struct install_note){
        .has_service = true, .account = "LocalSystem", .command = "a\ncommand b"};
    struct error err;
    assert_false(install_note_write(&note, &out, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    buf_fini(&out);
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "etwship installation 2\nconfig 0\nservice 0\n",
        "etwship installation 1\nconfig 0\n",
        "etwship installation 1\nconfig 2\nservice 0\n",
        "etwship installation 1\nconfig 0\nservice 0\nmore\n",
        "etwship installation 1\nservice 0\nconfig 0\n",
        "etwship installation 1\nconfig 0\nservice 1\nruns 0\nstart never\naccount a\ncommand b\n",
        "etwship installation 1\nconfig 0\nservice 1\nruns 0\nstart auto\naccount \ncommand b\n",
        "etwship installation 1\nconfig 0\nservice 1\nruns 0\nstart auto\naccount a\n",
        "etwship installation 1\nconfig 0\nservice 1\nruns 0\nstart auto\naccount a\ncommand \tb\n",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_read(wrong[i], false);
    }
    /* Cut anywhere before its last value. */
    size_t last = (size_t)(strstr(full, "command ") - full) + strlen("command ");
    for (size_t size = 0; size <= last; size++) {
        assert_false(install_note_read(span_make(full, size), &note, NULL));
    }
}

static void texts_have_a_limit(void **state)
{
    (void)state;
    static char text[INSTALL_NOTE_TEXT_BYTES + 256];
    int size = snprintf(text, sizeof(text),
        "etwship installation 1\nconfig 0\nservice 1\nruns 0\nstart auto\naccount a\ncommand ");
    memset(text + size, 'x', INSTALL_NOTE_TEXT_BYTES - 1);
    assert_read(text, true);
    text[size + INSTALL_NOTE_TEXT_BYTES - 1] = 'x';
    assert_read(text, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_machine_without_a_service_needs_no_more_lines),
        cmocka_unit_test(the_configuration_that_was_written_is_known_again),
        cmocka_unit_test(a_text_of_several_lines_is_not_written),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(texts_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

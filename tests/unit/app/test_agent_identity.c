#include "app/state/agent_identity.h"

#include <stdio.h>

#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "identity");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static const struct config_map no_labels = {.count = 0};
static const struct config_strings no_tags = {.count = 0};

/* The value of ${key} in the tail for ${data_dir}, copied. */
static void value_of(const char *data_dir, const char *key, char value[64])
{
    struct agent_identity identity;
    struct buf out;
    buf_init(&out, 1 << 16);
    struct error err = {0};
    if (!agent_identity_init(&identity, data_dir, &no_labels, &no_tags, &err)) {
        fail_msg("%s", err.text);
    }
    event_tail_render(&identity.agent, &out);
    agent_identity_fini(&identity);
    buf_add_byte(&out, 0);
    const char *at = strstr((const char *)out.data, key);
    value[0] = '\0';
    if (at) {
        at += strlen(key);
        size_t size = strcspn(at, "\"");
        assert_true(size < 64);
        memcpy(value, at, size);
        value[size] = '\0';
    }
    buf_fini(&out);
}

#define ID_KEY "{\"id\":\""
#define EPHEMERAL_KEY "\"ephemeral_id\":\""

/* RFC 9562: version 4 and the variant of that RFC, in lower case. */
static void assert_uuid_4(const char *text)
{
    assert_int_equal(strlen(text), 36);
    assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
    assert_int_equal(text[14], '4');
    assert_non_null(strchr("89ab", text[19]));
}

static void the_id_stays_with_its_folder(void **state)
{
    (void)state;
    char first[64];
    char again[64];
    char other[64];
    char other_folder[TEMP_FOLDER_BYTES + 16];
    snprintf(other_folder, sizeof(other_folder), "%s/other", folder);
    value_of(folder, ID_KEY, first);
    value_of(folder, ID_KEY, again);
    value_of(other_folder, ID_KEY, other); /* made with its folder */
    assert_uuid_4(first);
    assert_string_equal(first, again);
    assert_uuid_4(other);
    assert_string_not_equal(first, other);
    value_of(NULL, ID_KEY, other);
    assert_string_equal(other, "");
}

static void a_file_that_holds_no_id_gets_one(void **state)
{
    (void)state;
    static const char *const contents[] = {"", "x", "6f1c0000-0000-4000-8000-00000000000"};
    char path[TEMP_FOLDER_BYTES + 16];
    snprintf(path, sizeof(path), "%s/agent.id", folder);
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_true(fputs(contents[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        char first[64];
        char again[64];
        value_of(folder, ID_KEY, first);
        value_of(folder, ID_KEY, again);
        assert_uuid_4(first);
        assert_string_equal(first, again);
    }
}

static void the_ephemeral_id_is_new_at_every_start(void **state)
{
    (void)state;
    char first[64];
    char second[64];
    value_of(folder, EPHEMERAL_KEY, first);
    value_of(folder, EPHEMERAL_KEY, second);
    assert_uuid_4(first);
    assert_uuid_4(second);
    assert_string_not_equal(first, second);
}

static void a_folder_that_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    struct agent_identity identity;
    struct error err = {0};
    char below_a_file[TEMP_FOLDER_BYTES + 32];
    snprintf(below_a_file, sizeof(below_a_file), "%s/agent.id/folder", folder);
    assert_false(agent_identity_init(&identity, below_a_file, &no_labels, &no_tags, &err));
    assert_true(err.text[0] != '\0');
    agent_identity_fini(&identity);
}

static void commands_name_themselves(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    assert_true(agent_identity_tail(&out, NULL));
    static const char start[] = ",\"agent\":{\"name\":\"";
    assert_span(span_first(buf_span(&out), sizeof(start) - 1), start);
    buf_add_byte(&out, 0);
    assert_non_null(strstr((const char *)out.data, ",\"type\":\"etwship\",\"version\":\""));
    assert_null(strstr((const char *)out.data, "\"id\":"));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_stays_with_its_folder),
        cmocka_unit_test(a_file_that_holds_no_id_gets_one),
        cmocka_unit_test(the_ephemeral_id_is_new_at_every_start),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_an_error),
        cmocka_unit_test(commands_name_themselves),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

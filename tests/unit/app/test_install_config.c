/* The first configuration: its content, and that no value breaks out of its place. */
#include "app/install/install_config.h"

#include <stdio.h>

#include "app/config/app_config.h"
#include "app/config/app_modules.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "install");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void assert_quoted(const char *text, const char *wanted)
{
    struct buf out;
    buf_init(&out, 4096);
    assert_true(install_config_quote("it", text, &out, NULL));
    assert_span(buf_span(&out), wanted);
    buf_fini(&out);
}

static void quotes_and_variables_are_no_more_than_letters(void **state)
{
    (void)state;
    assert_quoted("", "''");
    assert_quoted("C:\\a b\\k.txt", "'C:\\a b\\k.txt'");
    assert_quoted("it's", "'it''s'");
    assert_quoted("'", "''''");
    assert_quoted("a: b # c, [d] {e} \"f\"", "'a: b # c, [d] {e} \"f\"'");
    assert_quoted("${SECRET}", "'$${SECRET}'");
    assert_quoted("$${x", "'$$${x'");
    assert_quoted("$$ $", "'$$ $'");
    assert_quoted("\xc3\xbc\xf0\x9f\x98\x80", "'\xc3\xbc\xf0\x9f\x98\x80'");
}

static void what_yaml_cannot_hold_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"a\nb", "a\r", "\t", "\x1b[0m", "\x7f", "\xc2\x85",
        "\xe2\x80\xa8", "\xef\xbb\xbf", "\xff", "\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct buf out;
        struct error err = {.code = ERR_NONE};
        buf_init(&out, 4096);
        assert_false(install_config_quote("it", wrong[i], &out, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        buf_fini(&out);
    }
}

static bool write_text(const char *url, const char *key_file, struct error *err)
{
    const struct install_config config = {.url = url, .key_file = key_file};
    struct buf out;
    buf_init(&out, 65536);
    char path[TEMP_FOLDER_BYTES + 32];
    snprintf(path, sizeof(path), "%s/c.yaml", folder);
    bool good = install_config_write(&config, &out, err);
    if (good) {
        struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, NULL);
        assert_non_null(file);
        assert_true(plat_file_write(file, buf_span(&out), NULL));
        plat_file_close(file);
    }
    buf_fini(&out);
    return good;
}

/* Read by etwship's own reader: the numbers of outputs and sessions, and the first output. */
static void assert_loads(const char *url, const char *key_file, const char *type, bool enabled)
{
    static struct config_report report;
    struct app_config config;
    struct error err;
    char path[TEMP_FOLDER_BYTES + 32];
    snprintf(path, sizeof(path), "%s/c.yaml", folder);
    if (!write_text(url, key_file, &err)) {
        fail_msg("%s", err.text);
    }
    config_report_init(&report);
    assert_true(app_config_load(
        path, app_modules(), &(struct app_config_options){.setting_count = 0}, &config, &report));
    assert_int_equal(config.output_count, 1);
    assert_int_equal(config.session_count, 1);
    assert_string_equal(config.outputs[0].ops->name, type);
    assert_int_equal(config.sessions[0].enabled, enabled);
    app_config_fini(&config);
    config_report_fini(&report);
}

static void without_an_address_nothing_is_read_nor_sent(void **state)
{
    (void)state;
    assert_loads(NULL, NULL, "file", false);
}

static void with_an_address_it_ships_there(void **state)
{
    (void)state;
    char key[TEMP_FOLDER_BYTES + 32];
    snprintf(key, sizeof(key), "%s/it's a {key}, # [x].txt", folder);
    struct plat_file *file = plat_file_open(key, PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text("id:secret"), NULL));
    plat_file_close(file);
    assert_true(temp_file_share(key, false));
    assert_loads("https://elasticsearch.example:9200/it's,here", NULL, "elasticsearch", true);
    assert_loads("http://[::1]:9200", key, "elasticsearch", true);
}

static void what_is_no_address_or_shows_a_secret_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *key_file;
    } rows[] = {
        {"elasticsearch.example:9200", NULL},
        {"ftp://elasticsearch.example", NULL},
        {"https://", NULL},
        {"https:///path", NULL},
        {"https://user:password@elasticsearch.example", NULL},
        {"htps://user:password@elasticsearch.example", NULL},
        {"user:password@elasticsearch.example:9200", NULL},
        {"elastic:password", NULL},
        {"https:///user:password@elasticsearch.example", NULL},
        {"https://elasticsearch.example\noutputs: []", NULL},
        {"https://elasticsearch.example", "key.txt"},
        {"https://elasticsearch.example", "/key\n.txt"},
        {NULL, "/key.txt"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        assert_false(write_text(rows[i].url, rows[i].key_file, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        assert_null(strstr(err.text, ":password"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_and_variables_are_no_more_than_letters),
        cmocka_unit_test(what_yaml_cannot_hold_is_refused),
        cmocka_unit_test(without_an_address_nothing_is_read_nor_sent),
        cmocka_unit_test(with_an_address_it_ships_there),
        cmocka_unit_test(what_is_no_address_or_shows_a_secret_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

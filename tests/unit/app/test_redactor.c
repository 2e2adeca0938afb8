#include "app/support/redactor.h"

#include "support/test.h"

/* Texts that are given away, and secrets that must not be in them. */
static struct redactor redactor;

static int begin(void **state)
{
    (void)state;
    redactor = (struct redactor){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    redactor_fini(&redactor);
    return 0;
}

static void expect(const char *text, const char *shown)
{
    struct buf out;
    buf_init(&out, 1024 * 1024);
    redactor_write(&redactor, span_text(text), &out);
    buf_add_byte(&out, 0);
    assert_false(redactor.failed);
    assert_false(out.failed);
    assert_string_equal((const char *)out.data, shown);
    buf_fini(&out);
}

static void a_secret_goes_wherever_it_stands(void **state)
{
    (void)state;
    redactor_add(&redactor, "s3cr3t", NULL);
    expect("s3cr3t, as3cr3tb; s3cr3ts3cr3t", "***, a***b; ***");
}

static void a_secret_goes_as_json_and_as_part_of_an_address(void **state)
{
    (void)state;
    redactor_add(&redactor, "pa\"ss\\w/rd", NULL);
    expect("{\"x\":\"pa\\\"ss\\\\w/rd\"}", "{\"x\":\"***\"}");
    expect("a=pa%22ss%5Cw%2Frd&b", "a=***&b");
    expect("a=pa%22ss%5cw%2frd&b", "a=***&b");
}

static void a_secret_goes_in_base64_and_with_its_user(void **state)
{
    (void)state;
    /* printf correct-horse | base64; printf ann:correct-horse | base64 */
    redactor_add(&redactor, "correct-horse", "ann");
    expect("<Y29ycmVjdC1ob3JzZQ==>", "<***==>");
    expect("<YW5uOmNvcnJlY3QtaG9yc2U=>", "<***=>");
}

/* In the form of visible.h: U+202E, which reverses the text, and a line break. */
static void a_secret_goes_with_its_unseen_characters_spelt(void **state)
{
    (void)state;
    redactor_add(&redactor, "open\xe2\x80\xaesesame", NULL);
    redactor_add(&redactor, "one\n\"two", NULL);
    expect("<open\xe2\x80\xaesesame>", "<***>");
    expect("<open\\u202esesame>", "<***>");
    expect("<one\\n\"two>", "<***>");
    expect("{\"x\":\"one\\n\\\"two\"}", "{\"x\":\"***\"}");
}

static void the_second_half_of_a_key_and_of_credentials_goes_alone(void **state)
{
    (void)state;
    redactor_add(&redactor, "key-id:key-secret", NULL);
    redactor_add(&redactor, "Splunk 12345678-9abc", NULL);
    expect("key-secret of key-id.", "*** of key-id.");
    expect("[12345678-9abc]", "[***]");
}

static void secrets_that_overlap_or_hold_one_another_go_as_one(void **state)
{
    (void)state;
    redactor_add(&redactor, "abcdef", NULL);
    redactor_add(&redactor, "defghi", NULL);
    redactor_add(&redactor, "cdef", NULL);
    expect("-abcdefghi-", "-***-");
}

static void what_is_cut_within_a_secret_loses_its_beginning(void **state)
{
    (void)state;
    redactor_add(&redactor, "opensesame", NULL);
    expect("said opense\xe2\x80\xa6\nnext", "said ***\xe2\x80\xa6\nnext");
    expect("said opense", "said ***");
}

static void what_is_too_short_to_be_told_apart_stays(void **state)
{
    (void)state;
    redactor_add(&redactor, "abc", NULL);
    redactor_add(&redactor, "", NULL);
    expect("abc", "abc");
}

static void users_and_queries_of_addresses_go_unknown(void **state)
{
    (void)state;
    expect("to https://ann:p@ss/w@host:9200/_bulk?key=1 at once",
        "to https://***@host:9200/_bulk?*** at once");
    expect("(http://host/path)", "(http://host/path)");
}

static void what_is_called_a_secret_goes_unknown(void **state)
{
    (void)state;
    expect("password=hunter2, user=ann", "password=***, user=ann");
    expect("{\"api_key\":\"abc def\",\"n\":1}", "{\"api_key\":\"***\",\"n\":1}");
    expect("{\\\"Client-Secret\\\": \\\"xyz\\\"}", "{\\\"Client-Secret\\\": \\\"***\\\"}");
    expect("Authorization: Custom a b c\nnext", "Authorization: ***\nnext");
    expect("< set-cookie: sid=1; x=2", "< set-cookie: ***");
    expect("Bearer ey12.ab-cd", "Bearer ***");
    expect("token: 'abc'", "token: '***'");
    expect("\"password\":\"ab\\\"cdefgh\",\"n\":1", "\"password\":\"***\",\"n\":1");
    expect("password: 'ab''cdefgh' x", "password: '***' x");
    expect("\"password\":\"{abc\"", "\"password\":\"***\"");
    expect("\"password\":{\"a\":1}", "\"password\":{\"a\":1}");
}

static void words_about_secrets_stay(void **state)
{
    (void)state;
    expect("auth.password: is empty. give it a value", "auth.password: is empty. give it a value");
    expect("password: (set)", "password: (set)");
    expect("api_key: ${ES_API_KEY}", "api_key: ${ES_API_KEY}");
    expect("bearer authentication failed", "bearer authentication failed");
    expect("a token of the bearer", "a token of the bearer");
    expect("keywords: 0x10", "keywords: 0x10");
}

static void values_of_a_broken_configuration_are_known(void **state)
{
    (void)state;
    static const char source[] = "outputs:\n"
                                 "  - {auth: {api_keyy: 'one one', password: two2two2}, bad]\n"
                                 "    bearer: three three  # why\n"
                                 "    key: \"four4four\"\n"
                                 "    secret: \"five\\\"five\"\n"
                                 "    passwd: 'six''six'\n"
                                 "    token: ${NAME}\n"
                                 "    proxy: file:/etc/proxy\n";
    redactor_add_source(&redactor, span_text(source));
    expect("one one two2two2 three three four4four # why ${NAME} file:/etc/proxy",
        "*** *** *** *** # why ${NAME} file:/etc/proxy");
    expect("five\"five six'six five\\\"five", "*** *** ***");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_secret_goes_wherever_it_stands, begin, end),
        cmocka_unit_test_setup_teardown(
            a_secret_goes_as_json_and_as_part_of_an_address, begin, end),
        cmocka_unit_test_setup_teardown(a_secret_goes_in_base64_and_with_its_user, begin, end),
        cmocka_unit_test_setup_teardown(a_secret_goes_with_its_unseen_characters_spelt, begin, end),
        cmocka_unit_test_setup_teardown(
            the_second_half_of_a_key_and_of_credentials_goes_alone, begin, end),
        cmocka_unit_test_setup_teardown(
            secrets_that_overlap_or_hold_one_another_go_as_one, begin, end),
        cmocka_unit_test_setup_teardown(
            what_is_cut_within_a_secret_loses_its_beginning, begin, end),
        cmocka_unit_test_setup_teardown(what_is_too_short_to_be_told_apart_stays, begin, end),
        cmocka_unit_test_setup_teardown(users_and_queries_of_addresses_go_unknown, begin, end),
        cmocka_unit_test_setup_teardown(what_is_called_a_secret_goes_unknown, begin, end),
        cmocka_unit_test_setup_teardown(words_about_secrets_stay, begin, end),
        cmocka_unit_test_setup_teardown(values_of_a_broken_configuration_are_known, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

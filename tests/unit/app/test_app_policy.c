#include "app/plan/app_policy.h"

#include "support/policy_rig.h"

static struct app_policy policy;
static struct error err;

static void assert_refused(const char *text)
{
    assert_false(app_policy_read(&policy, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    if (!strstr(err.text, text)) {
        fail_msg("'%s' is not in '%s'", text, err.text);
    }
}

static void a_machine_without_a_policy_demands_nothing(void **state)
{
    (void)state;
    assert_true(app_policy_read(&policy, &err));
    assert_true(app_policy_is_empty(&policy));
    etw_registry_use(NULL); /* nor does a system that has no registry */
    assert_true(app_policy_read(&policy, &err));
    assert_true(app_policy_is_empty(&policy));
}

static void what_it_demands_is_read(void **state)
{
    (void)state;
    demand("ConfigFile", "C:\\f\xc3\xbcr.yaml");
    demand("serviceaccount", "virtual"); /* names are read as Windows reads them */
    demand("OutputUrl", "");             /* treated like a missing value */
    demand("Another", "is somebody else's");
    assert_true(app_policy_read(&policy, &err));
    assert_string_equal(policy.texts[APP_POLICY_CONFIG_FILE], "C:\\f\xc3\xbcr.yaml");
    assert_string_equal(policy.texts[APP_POLICY_SERVICE_ACCOUNT], "virtual");
    assert_string_equal(policy.texts[APP_POLICY_OUTPUT_URL], "");
    assert_false(app_policy_is_empty(&policy));
}

static void a_value_that_makes_no_sense_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *text;
    } rows[] = {
        {"ConfigFile", "etwship.yaml", "policy ConfigFile: 'etwship.yaml' is not a full path"},
        {"ServiceAccount", "root", "policy ServiceAccount: "},
        {"OutputUrl", "siem:9200", "policy OutputUrl: "},
        {"OutputUrl", "https://me:word@siem", "holds a name or a password"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        demand(rows[i].name, rows[i].value);
        assert_refused(rows[i].text);
        assert_null(strstr(err.text, "word@"));
        demand(rows[i].name, "");
    }
}

static void a_value_of_another_type_or_size_is_named(void **state)
{
    (void)state;
    static char text[APP_POLICY_TEXT_BYTES + 1];
    demand_as(ETW_REGISTRY_DWORD, "OutputCa", span_make("\1\0\0\0", 4));
    assert_refused("policy OutputCa: it is not a string");
    memset(text, 'a', APP_POLICY_TEXT_BYTES);
    demand("OutputCa", text);
    assert_refused("policy OutputCa: it has more than 1023 bytes");
    demand_as(ETW_REGISTRY_TEXT, "OutputCa", span_make("a\0b", 3));
    assert_refused("policy OutputCa: it contains a NUL");
    text[APP_POLICY_TEXT_BYTES - 1] = '\0';
    demand("OutputCa", text);
    assert_true(app_policy_read(&policy, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        policy_test(a_machine_without_a_policy_demands_nothing),
        policy_test(what_it_demands_is_read),
        policy_test(a_value_that_makes_no_sense_is_named),
        policy_test(a_value_of_another_type_or_size_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "app/plan/app_policy.h"

#include <stdio.h>
#include <string.h>

#include "app/install/install_config.h"
#include "config/config_field.h"
#include "config/config_path.h"
#include "config/config_value.h"
#include "etw/etw_registry.h"
#include "service/service_plan.h"

const char *const app_policy_names[APP_POLICY_COUNT] = {
    [APP_POLICY_CONFIG_FILE] = "ConfigFile",
    [APP_POLICY_SERVICE_ACCOUNT] = "ServiceAccount",
    [APP_POLICY_OUTPUT_NAME] = "OutputName",
    [APP_POLICY_OUTPUT_URL] = "OutputUrl",
    [APP_POLICY_OUTPUT_CA] = "OutputCa",
};

/* ---- reading --------------------------------------------------------------------------------- */

static bool check_config_file(const char *text, struct error *err)
{
    return config_path_is_absolute(span_text(text)) ||
           error_set(err, ERR_CONFIG,
               "'%.200s' is not a full path. write one, as in "
               "C:\\ProgramData\\etwship\\config\\etwship.yaml",
               text);
}

static bool check_account(const char *text, struct error *err)
{
    int account;
    return config_value_enum(span_text(text), service_plan_accounts, &account, err);
}

/* The output itself decides what it accepts. */
static bool (*const checks[APP_POLICY_COUNT])(const char *text, struct error *err) = {
    [APP_POLICY_CONFIG_FILE] = check_config_file,
    [APP_POLICY_SERVICE_ACCOUNT] = check_account,
    [APP_POLICY_OUTPUT_URL] = install_config_check_url,
};

static bool take_text(
    const struct etw_registry_value *value, char text[APP_POLICY_TEXT_BYTES], struct error *err)
{
    if (value->type != ETW_REGISTRY_TEXT) {
        return error_set(err, ERR_CONFIG, "it is not a string. make it one (REG_SZ)");
    }
    if (value->data.size >= APP_POLICY_TEXT_BYTES) {
        return error_set(
            err, ERR_CONFIG, "it has more than %d bytes. shorten it", APP_POLICY_TEXT_BYTES - 1);
    }
    if (value->data.size && memchr(value->data.data, 0, value->data.size)) {
        return error_set(err, ERR_CONFIG, "it contains a NUL character. remove it");
    }
    memcpy(text, value->data.data, value->data.size);
    text[value->data.size] = '\0';
    return true;
}

static bool take(const struct etw_registry_tree *tree, enum app_policy_value which,
    struct app_policy *policy, struct error *err)
{
    struct error why;
    char *text = policy->texts[which];
    const struct etw_registry_value *value = etw_registry_find(tree, "", app_policy_names[which]);
    bool good = !value || !value->data.size ||
                (take_text(value, text, &why) && (!checks[which] || checks[which](text, &why)));
    return good || error_set(err, ERR_CONFIG, "policy %s: %s", app_policy_names[which], why.text);
}

bool app_policy_read(struct app_policy *ret_policy, struct error *err)
{
    struct etw_registry_tree tree;
    struct error why;
    *ret_policy = (struct app_policy){.texts = {""}};
    etw_registry_init(&tree);
    bool good = etw_registry_read(APP_POLICY_KEY, &tree, &why);
    if (!good && (why.code == ERR_MISSING || why.code == ERR_UNSUPPORTED)) {
        etw_registry_fini(&tree);
        return true;
    }
    if (!good) {
        error_set(err, why.code, "policy: its settings cannot be read: %s", why.text);
    }
    for (int i = 0; good && i < APP_POLICY_COUNT; i++) {
        good = take(&tree, (enum app_policy_value)i, ret_policy, err);
    }
    etw_registry_fini(&tree);
    return good;
}

bool app_policy_is_empty(const struct app_policy *policy)
{
    for (int i = 0; i < APP_POLICY_COUNT; i++) {
        if (policy->texts[i][0]) {
            return false;
        }
    }
    return true;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* The key of an output's address: `hosts` is a list. NULL: it has none. */
static const char *address_key(const struct app_output *output)
{
    static const char *const keys[] = {"hosts", "url"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (config_field_find(output->variant->fields, span_text(keys[i]))) {
            return keys[i];
        }
    }
    return NULL;
}

/* Can a policy with ${name} as OutputName, or "", be about ${output}?
 * A disabled output has to be named. */
static bool may_mean(const char *name, const struct app_output *output)
{
    bool is_meant = *name ? strcmp(name, output->name) == 0 : output->enabled;
    return is_meant && address_key(output);
}

/* The output that ${policy} is about; NULL: no enabled output has an address. */
static bool find_output(const struct app_policy *policy, const struct app_config *config,
    const struct app_output **ret_output, struct error *err)
{
    const char *name = policy->texts[APP_POLICY_OUTPUT_NAME];
    *ret_output = NULL;
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        if (!may_mean(name, output)) {
            continue;
        }
        if (*ret_output) {
            return error_set(err, ERR_CONFIG,
                "policy: outputs %s and %s have an address. name one of them in OutputName",
                (*ret_output)->name, output->name);
        }
        *ret_output = output;
    }
    return *ret_output || !*name ||
           error_set(err, ERR_CONFIG,
               "policy OutputName: no output with an address is called '%.200s'", name);
}

/* `${` begins a variable in a configuration, and is written so that it does not. */
static void put_plain(const char *text, struct buf *out)
{
    for (const char *c = text; *c; c++) {
        if (c[0] == '$' && c[1] == '{') {
            buf_add_byte(out, '$');
        }
        buf_add_byte(out, (uint8_t)*c);
    }
}

static bool put_address(
    const struct app_output *output, const char *url, struct buf *out, struct error *err)
{
    const char *key = address_key(output);
    if (!key) {
        return true;
    }
    buf_printf(out, "outputs.%s.%s=", output->name, key);
    if (strcmp(key, "hosts") != 0) {
        put_plain(url, out);
        return true;
    }
    buf_add_byte(out, '[');
    bool good = install_config_quote("policy OutputUrl", url, out, err);
    buf_add_byte(out, ']');
    return good;
}

bool app_policy_settings_init(struct app_policy_settings *settings, const struct app_policy *policy,
    const struct app_config *config, struct error *err)
{
    enum { MAX_BYTES = 64 * 1024 };
    const char *url = policy->texts[APP_POLICY_OUTPUT_URL];
    const char *ca = policy->texts[APP_POLICY_OUTPUT_CA];
    const struct app_output *output = NULL;
    size_t starts[APP_POLICY_MAX_SETTINGS];
    *settings = (struct app_policy_settings){.count = 0};
    buf_init(&settings->memory, MAX_BYTES);
    bool good = (!*url && !*ca) || find_output(policy, config, &output, err);
    if (good && output && *url) {
        starts[settings->count++] = settings->memory.size;
        good = put_address(output, url, &settings->memory, err);
        buf_add_byte(&settings->memory, 0);
    }
    if (good && output && *ca) {
        starts[settings->count++] = settings->memory.size;
        buf_printf(&settings->memory, "outputs.%s.tls.ca=", output->name);
        put_plain(ca, &settings->memory);
        buf_add_byte(&settings->memory, 0);
    }
    if (good && settings->memory.failed) {
        good = error_set(err, ERR_MEMORY, "policy: out of memory");
    }
    for (size_t i = 0; good && i < settings->count; i++) {
        settings->texts[i] = (const char *)settings->memory.data + starts[i];
    }
    if (!good) {
        app_policy_settings_fini(settings);
    }
    return good;
}

void app_policy_settings_fini(struct app_policy_settings *settings)
{
    buf_fini(&settings->memory);
    *settings = (struct app_policy_settings){.count = 0};
}

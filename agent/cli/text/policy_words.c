#include "cli/text/policy_words.h"

#include "event/value/value_json.h"

void policy_words_write(const struct app_policy *policy, struct buf *out)
{
    if (app_policy_is_empty(policy)) {
        return;
    }
    buf_add_text(out,
        "Policy of this machine, which overrides command line and file (HKLM\\" APP_POLICY_KEY
        ")\n");
    for (int i = 0; i < APP_POLICY_COUNT; i++) {
        if (*policy->texts[i]) {
            buf_printf(out, "  %-15s %s\n", app_policy_names[i], policy->texts[i]);
        }
    }
}

void policy_words_write_json(const struct app_policy *policy, struct buf *out)
{
    const char *comma = "";
    if (app_policy_is_empty(policy)) {
        return;
    }
    buf_add_text(out, ",\"policy\":{");
    for (int i = 0; i < APP_POLICY_COUNT; i++) {
        if (*policy->texts[i]) {
            buf_printf(out, "%s\"%s\":", comma, app_policy_names[i]);
            value_json_string(span_text(policy->texts[i]), out);
            comma = ",";
        }
    }
    buf_add_byte(out, '}');
}

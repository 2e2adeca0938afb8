#include "app/plan/app_reads.h"

#include "config/config_text.h"
#include "platform/plat_file.h"
#include "platform/plat_rights.h"

struct check {
    struct config *memory;
    const struct app_output *output;
    struct config_report *report;
    struct config_report *refusals;
    bool is_windows;
};

/* `C:\x` or `\\host\x`, which no other system has. */
static bool is_of_windows(const char *path)
{
    bool is_letter = (path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z');
    return (is_letter && path[1] == ':') || strncmp(path, "\\\\", 2) == 0;
}

static void check_file(
    const struct check *check, const struct config_field *field, const char *const *member)
{
    const char *path = *member;
    struct error err;
    if (field->is_no_path && field->is_no_path(span_text(path))) {
        return;
    }
    if (!check->is_windows && is_of_windows(path)) {
        config_error_at(check->memory, member, sizeof(*member), check->refusals,
            "output %s: %s: %s is a Windows path", check->output->name, field->key,
            config_text_quote(span_text(path)).text);
        return;
    }
    if (plat_path_kind(path) == PLAT_PATH_DIR) {
        config_error_at(check->memory, member, sizeof(*member), check->report,
            "output %s: %s: %s is a folder. name a file", check->output->name, field->key,
            config_text_quote(span_text(path)).text);
        return;
    }
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, &err);
    plat_file_close(file);
    if (!file) {
        config_error_at(check->memory, member, sizeof(*member), check->report,
            "output %s: %s: %s. write the path of a file that the agent may read",
            check->output->name, field->key, err.text);
    }
}

static void check_fields(
    const struct check *check, const struct config_field *fields, const uint8_t *settings)
{
    for (const struct config_field *f = fields; f->key; f++) {
        const void *member = settings + f->offset;
        if (f->type == CONFIG_STRUCT) {
            check_fields(check, f->fields, member);
        } else if (f->type == CONFIG_PATH && f->is_read && *(const char *const *)member) {
            check_file(check, f, member);
        }
    }
}

void app_reads_check(
    const struct app_config *config, struct config_report *report, struct config_report *refusals)
{
    struct plat_rights_self self;
    plat_rights_self(&self);
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        const struct check check = {.memory = config->memory,
            .output = output,
            .report = report,
            .refusals = refusals,
            .is_windows = self.has_sids};
        if (output->enabled && output->variant) {
            check_fields(&check, output->variant->fields, output->settings);
        }
    }
}

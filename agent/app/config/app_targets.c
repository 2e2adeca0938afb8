#include "app/config/app_targets.h"

#include "event/select/template_shape.h"

enum { MAX_SHAPE_BYTES = 64 * 1024 };

/* How close are the files of ${a} and ${b}? */
enum nearness { APART, SAME_BUT_FOR_CASE, OVERLAPPING, EQUAL };

static enum nearness compare(const char *a, const char *b)
{
    struct buf first;
    struct buf second;
    enum nearness found = strcmp(a, b) == 0 ? EQUAL : APART;
    if (found == EQUAL) {
        return found;
    }
    buf_init(&first, MAX_SHAPE_BYTES);
    buf_init(&second, MAX_SHAPE_BYTES);
    template_shape_make(span_text(a), &first);
    template_shape_make(span_text(b), &second);
    if (template_shape_meet_rotated(buf_span(&first), buf_span(&second), false)) {
        found = OVERLAPPING;
    } else if (template_shape_meet_rotated(buf_span(&first), buf_span(&second), true)) {
        found = SAME_BUT_FOR_CASE;
    }
    buf_fini(&first);
    buf_fini(&second);
    return found;
}

static const char *target_of(const struct app_output *output)
{
    return output->enabled && output->name ? app_config_target(output) : NULL;
}

/* Two outputs that write one file would cut each other's batches. */
static void check_outputs(struct config *memory, const struct app_output *outputs, size_t index,
    struct config_report *report)
{
    const struct app_output *output = &outputs[index];
    const char *target = target_of(output);
    for (size_t k = 0; k < index; k++) {
        const char *other = target_of(&outputs[k]);
        enum nearness near = other ? compare(target, other) : APART;
        if (near == EQUAL || near == OVERLAPPING) {
            config_error_at(memory, app_config_target_member(output), sizeof(const char *), report,
                near == EQUAL
                    ? "output %s writes to the file of output %s. give each its own path"
                    : "output %s could write to a file of output %s, or to one that it rotated. "
                      "give each its own folder",
                output->name, outputs[k].name);
            return;
        }
    }
}

/* Lines of the log would be mixed with the events, and be rotated with them. */
static void check_log(struct config *memory, const struct app_root *root,
    const struct app_output *output, struct config_report *report)
{
    const char *log = root->agent.log.file;
    enum nearness near = log ? compare(log, target_of(output)) : APART;
    if (near == EQUAL || near == OVERLAPPING) {
        config_error_at(memory, app_config_target_member(output), sizeof(const char *), report,
            near == EQUAL
                ? "output %s writes to agent.log.file. give each its own path"
                : "output %s could write to agent.log.file, or to a log that was rotated. "
                  "give each its own folder",
            output->name);
    }
}

void app_targets_check(
    struct config *memory, const struct app_root *root, size_t index, struct config_report *report)
{
    const struct app_output *outputs = root->outputs.items;
    if (target_of(&outputs[index])) {
        check_outputs(memory, outputs, index, report);
        check_log(memory, root, &outputs[index], report);
    }
}

void app_targets_warn(const struct app_config *config, size_t index, struct config_report *report)
{
    const struct app_output *output = &config->outputs[index];
    const char *target = target_of(output);
    for (size_t k = 0; target && k < index; k++) {
        const char *other = target_of(&config->outputs[k]);
        if (other && compare(target, other) == SAME_BUT_FOR_CASE) {
            config_error_at(config->memory, app_config_target_member(output), sizeof(const char *),
                report,
                "output %s writes to the file of output %s on systems that ignore case, such as "
                "Windows. give each its own folder",
                output->name, config->outputs[k].name);
            return;
        }
    }
}

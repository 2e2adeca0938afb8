#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_OUTPUT_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_OUTPUT_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/delivery_id.h"
#include "outputs/outputs.h"

/* Any output, made from YAML, and its reports of deliveries. test_conformance.c tests what every
 * output promises. */
enum { RIG_RECORDS = 256, RIG_WORDS = 400 };

struct rig_rejection {
    size_t record;
    int status;
    char reason[RIG_WORDS];
};

struct output_rig {
    const struct output_ops *ops;
    void *self;
    struct output_report report;
    enum record_status records[RIG_RECORDS];
    struct rig_rejection rejected[RIG_RECORDS];
    size_t rejected_count;
    bool (*stops)(void); /* NULL: never */
    char findings[8192]; /* of an examination or a set-up */
    char shown[32768];
    bool repeated; /* what is sent, as delivery.repeated */
};

static inline bool rig_stopping(void *rig)
{
    bool (*stops)(void) = ((struct output_rig *)rig)->stops;
    return stops && stops();
}

static inline void rig_reject(void *rig_, size_t record, const struct output_rejection *why)
{
    struct output_rig *rig = rig_;
    struct rig_rejection *r = &rig->rejected[rig->rejected_count++];
    r->record = record;
    r->status = why->status;
    snprintf(r->reason, sizeof(r->reason), "%.*s", SPAN_ARG(why->reason));
}

/* The settings live until config_destroy. NULL with the first fault in ${err}. */
static inline void *rig_settings(
    struct config *config, const struct output_ops *ops, const char *yaml, struct error *err)
{
    struct config_report report;
    config_report_init(&report);
    void *settings = config_parse(
        config, span_text(yaml), "test", ops->fields, ops->settings_size, &report);
    if (!config_report_ok(&report)) {
        fail_msg("%s does not parse", yaml);
    }
    config_report_fini(&report);
    return config_check_first(ops->check, settings, err) ? settings : NULL;
}

static inline void rig_setup(struct output_rig *rig, const struct output_ops *ops, const char *yaml)
{
    struct error err = {0};
    struct config *config = config_create(NULL, NULL);
    *rig = (struct output_rig){.ops = ops};
    void *settings = rig_settings(config, ops, yaml, &err);
    assert_string_equal(err.text, "");
    rig->self = ops->create(settings,
        &(struct output_env){
            .name = "test", .format = "native", .stopping = rig_stopping, .host = rig},
        &err);
    if (!rig->self) {
        fail_msg("%s", err.text);
    }
    config_destroy(config);
}

static inline void rig_teardown(struct output_rig *rig)
{
    rig->ops->destroy(rig->self);
}

/* ${routes}: of each line, an index into ${names}; NULL: none. ${ids}: NULL: none. */
static inline enum output_verdict rig_send_routed(struct output_rig *rig, const char *lines,
    const uint32_t *routes, const struct span *names, size_t name_count,
    const struct delivery_ids *ids)
{
    uint32_t ends[RIG_RECORDS];
    struct delivery delivery = {.bytes = span_text(lines),
        .record_ends = ends,
        .routes = routes,
        .route_names = names,
        .route_count = name_count,
        .ids = ids,
        .repeated = rig->repeated};
    for (uint32_t i = 0; lines[i]; i++) {
        if (lines[i] == '\n') {
            assert_true(delivery.record_count < RIG_RECORDS);
            ends[delivery.record_count++] = i + 1;
        }
    }
    memset(rig->records, 0x5a, sizeof(rig->records));
    rig->rejected_count = 0;
    rig->report = (struct output_report){
        .records = rig->records, .reject = rig_reject, .host = rig};
    enum output_verdict verdict = rig->ops->send(rig->self, &delivery, &rig->report);
    assert_int_equal(verdict == OUTPUT_DELIVERED, rig->report.error.code == ERR_NONE);
    return verdict;
}

static inline enum output_verdict rig_send(struct output_rig *rig, const char *lines)
{
    return rig_send_routed(rig, lines, NULL, NULL, 0, NULL);
}

static inline void rig_say(void *rig_, enum output_finding finding, const char *text)
{
    static const char *const words[] = {"good", "note", "fault"};
    struct output_rig *rig = rig_;
    size_t at = strlen(rig->findings);
    snprintf(rig->findings + at, sizeof(rig->findings) - at, "%s: %s\n", words[finding], text);
}

static inline void rig_show(void *rig_, const char *method, const char *path, struct span body)
{
    struct output_rig *rig = rig_;
    size_t at = strlen(rig->shown);
    snprintf(
        rig->shown + at, sizeof(rig->shown) - at, "%s %s\n%.*s\n", method, path, SPAN_ARG(body));
}

/* Run `test-output`; its words go to rig->said. */
static inline bool rig_examine(
    struct output_rig *rig, const struct output_ops *ops, const char *yaml)
{
    struct error err = {0};
    struct config *config = config_create(NULL, NULL);
    *rig = (struct output_rig){.ops = ops};
    void *settings = rig_settings(config, ops, yaml, &err);
    assert_string_equal(err.text, "");
    bool good = ops->examine(settings,
        &(struct output_talk){
            .name = "test", .format = "native", .say = rig_say, .show = rig_show, .host = rig});
    config_destroy(config);
    return good;
}

/* The first fault that the check of ${yaml} finds contains ${words}. */
static inline void rig_assert_fault(
    const struct output_ops *ops, const char *yaml, const char *words)
{
    struct error err = {0};
    struct config *config = config_create(NULL, NULL);
    assert_null(rig_settings(config, ops, yaml, &err));
    if (!strstr(err.text, words)) {
        fail_msg("%s: \"%s\" is not in \"%s\"", yaml, words, err.text);
    }
    config_destroy(config);
}

#endif

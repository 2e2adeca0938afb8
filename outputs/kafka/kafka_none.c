/* For builds without librdkafka: `check` works as in other builds, and `run` reports what is
 * missing. */
#include "outputs/kafka/kafka_options.h"
#include "outputs/kafka/kafka_settings.h"
#include "outputs/output.h"

static const char missing[] = "this build has no librdkafka. use one that has it, or build with it "
                              "(outputs/kafka/README.md)";

void kafka_options_check(struct config_check *check, const struct config_map *options)
{
    (void)check;
    (void)options;
}

static void cannot_run(const void *settings, struct config_check *check)
{
    const struct kafka_settings *s = settings;
    CONFIG_FAULT(check, &s->brokers, "type: kafka: %s", missing);
}

static bool wants_ids(const void *settings)
{
    (void)settings;
    return true;
}

static void *create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)settings;
    (void)env;
    error_set(err, ERR_UNSUPPORTED, "type: kafka: %s", missing);
    return NULL;
}

static enum output_verdict send_nothing(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    (void)self;
    (void)delivery;
    error_set(&report->error, ERR_UNSUPPORTED, "type: kafka: %s", missing);
    return OUTPUT_FATAL;
}

static void destroy(void *self)
{
    (void)self;
}

const struct output_ops output_kafka = {
    .name = "kafka",
    .fields = kafka_settings_fields,
    .settings_size = sizeof(struct kafka_settings),
    .alone = true,
    .check = kafka_settings_check,
    .warnings = kafka_settings_warnings,
    .can_run = cannot_run,
    .route = kafka_settings_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .ids = wants_ids,
    .memory = kafka_settings_memory,
    .create = create,
    .send = send_nothing,
    .destroy = destroy,
};

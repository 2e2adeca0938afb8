/* For builds without librdkafka: `check` works as in other builds, and `run` reports what is
 * missing. */
#include "outputs/delivery_id.h"
#include "outputs/kafka/kafka_options.h"
#include "outputs/kafka/kafka_settings.h"

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
    KAFKA_SETTINGS_OPS,
    .can_run = cannot_run,
    .create = create,
    .send = send_nothing,
    .destroy = destroy,
};

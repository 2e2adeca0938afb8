#include "app/plan/app_streams.h"

#include <inttypes.h>
#include <stdlib.h>

/* Level 0 is an event's that has none, and then it has no such value. */
enum { MOST_LEVELS = 5 };

/* Recorded traces may be of any machine, and may hold events of any provider. */
static void look(const struct app_session *session, struct output_spread *ret_spread)
{
    const struct app_provider *providers = session->providers.items;
    struct output_spread spread = {.hosts = session->ops->switches_on,
        .providers = session->providers.count,
        .levels = session->providers.count ? 0 : MOST_LEVELS};
    for (size_t i = 0; i < session->providers.count; i++) {
        uint64_t level = providers[i].spec.level;
        level = level >= 1 && level < MOST_LEVELS ? level : MOST_LEVELS;
        spread.levels = level > spread.levels ? level : spread.levels;
        if (providers[i].spec.group) { /* of as many as there are */
            spread.providers = 0;
            break;
        }
    }
    *ret_spread = spread;
}

/* False: ${output} makes no streams, or there is no memory to tell. */
static bool estimate(const struct app_config *config, const struct app_output *output,
    struct output_streams *ret_streams)
{
    size_t count = 0;
    struct output_spread *spreads = output->ops->streams
                                        ? calloc(config->session_count + 1, sizeof(*spreads))
                                        : NULL;
    for (size_t i = 0; spreads && i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        if (session->enabled && input_delivers(session->ops, session->settings) &&
            app_config_takes(output, session)) {
            look(session, &spreads[count++]);
        }
    }
    if (count) {
        output->ops->streams(output->settings, spreads, count, ret_streams);
    }
    free(spreads);
    return count > 0;
}

static void write(const struct output_streams *streams, struct buf *out)
{
    buf_printf(out, "%" PRIu64 " stream%s", streams->count, streams->count == 1 ? "" : "s");
    if (streams->unknown[0]) {
        buf_printf(out, " for each combination of values of %s", streams->unknown);
    }
    if (streams->most_count > 1) {
        buf_printf(
            out, "; most by %s, with %" PRIu64 " values", streams->most, streams->most_count);
    }
}

bool app_streams_write(
    const struct app_config *config, const struct app_output *output, struct buf *out)
{
    struct output_streams streams;
    if (!estimate(config, output, &streams)) {
        return false;
    }
    buf_add_text(out, "at most ");
    write(&streams, out);
    buf_printf(out, "; no more than %" PRIu64 " are made", streams.limit);
    return true;
}

void app_streams_warn(
    const struct app_config *config, const struct app_output *output, struct config_report *report)
{
    enum { WORDS_BYTES = 512 };
    struct output_streams streams;
    struct buf words;
    if (!estimate(config, output, &streams) || streams.count <= streams.limit) {
        return;
    }
    buf_init(&words, WORDS_BYTES);
    write(&streams, &words);
    config_error_at(config->memory, streams.member, streams.member_size, report,
        "output %s may make %.*s. its limit is %" PRIu64
        ", and all events beyond it share one stream. leave %s out, or raise the limit",
        output->name, SPAN_ARG(buf_span(&words)), streams.limit,
        streams.most ? streams.most : "some");
    buf_fini(&words);
}

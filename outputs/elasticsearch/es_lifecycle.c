#include "outputs/elasticsearch/es_lifecycle.h"

#include <inttypes.h>
#include <stdio.h>

#include "config/config.h"
#include "event/value/value_json.h"

#define HOUR_NS UINT64_C(3600000000000)

// clang-format off
const struct config_field es_lifecycle_fields[] = {
    {CONFIG_ROW("policy", STRING, struct es_lifecycle, policy),
        .help = "name of a policy of ILM or ISM that `etwship setup` applies; default: none"},
    {CONFIG_ROW("delete_after", DURATION, struct es_lifecycle, delete_after_ns),
        .default_text = "0s", .max = INT64_MAX,
        .help = "`setup` writes the policy, which deletes older indices; 0s: the policy exists already"},
    {.key = NULL},
};
// clang-format on

void es_lifecycle_check(struct config_check *check, const struct es_lifecycle *lifecycle)
{
    if (!lifecycle->policy && lifecycle->delete_after_ns) {
        CONFIG_FAULT(check, &lifecycle->delete_after_ns,
            "lifecycle: delete_after needs a policy. add policy: NAME");
    }
    if (lifecycle->policy && (lifecycle->policy[0] == '\0' || lifecycle->policy[0] == '_' ||
                                 strpbrk(lifecycle->policy, ", \t/?#"))) {
        CONFIG_FAULT(check, &lifecycle->policy,
            "lifecycle: this is not the name of a policy. write letters, digits, '-' and '.'");
    }
    if (lifecycle->delete_after_ns && lifecycle->delete_after_ns < HOUR_NS) {
        CONFIG_FAULT(check, &lifecycle->delete_after_ns,
            "lifecycle: delete_after is less than an hour. write more");
    }
}

/* Begin a new index when the old one is large, or after a tenth of the retention, so that data is
 * kept at most about that much longer. */
static uint64_t rollover_hours(const struct es_lifecycle *lifecycle)
{
    uint64_t hours = lifecycle->delete_after_ns / HOUR_NS / 10;
    return hours == 0 ? 1 : hours > 30 * 24 ? 30 * 24 : hours;
}

static void write_ilm(const struct es_lifecycle *lifecycle, bool data_stream, struct buf *out)
{
    buf_add_text(out, "{\"policy\":{\"phases\":{\"hot\":{\"actions\":{");
    if (data_stream) {
        buf_printf(out,
            "\"rollover\":{\"max_primary_shard_size\":\"50gb\",\"max_age\":\"%" PRIu64 "h\"}",
            rollover_hours(lifecycle));
    }
    buf_printf(out, "}},\"delete\":{\"min_age\":\"%" PRIu64 "h\",\"actions\":{\"delete\":{}}}}}}",
        lifecycle->delete_after_ns / HOUR_NS);
}

static void write_ism(
    const struct es_lifecycle *lifecycle, const char *pattern, bool data_stream, struct buf *out)
{
    buf_add_text(out, "{\"policy\":{\"description\":\"made by etwship setup\","
                      "\"default_state\":\"open\",\"states\":[{\"name\":\"open\",\"actions\":[");
    if (data_stream) {
        buf_printf(out,
            "{\"rollover\":{\"min_primary_shard_size\":\"50gb\",\"min_index_age\":\"%" PRIu64
            "h\"}}",
            rollover_hours(lifecycle));
    }
    buf_printf(out,
        "],\"transitions\":[{\"state_name\":\"old\",\"conditions\":{\"%s\":\"%" PRIu64 "h\"}}]},",
        data_stream ? "min_rollover_age" : "min_index_age", lifecycle->delete_after_ns / HOUR_NS);
    buf_add_text(out, "{\"name\":\"old\",\"actions\":[{\"delete\":{}}],\"transitions\":[]}],"
                      "\"ism_template\":[{\"index_patterns\":[");
    value_json_string(span_text(pattern), out);
    buf_printf(out, "],\"priority\":%zu}]}}", 300 + strlen(pattern));
}

void es_lifecycle_write(const struct es_lifecycle *lifecycle, bool opensearch, const char *pattern,
    bool data_stream, struct buf *out)
{
    if (opensearch) {
        write_ism(lifecycle, pattern, data_stream, out);
    } else {
        write_ilm(lifecycle, data_stream, out);
    }
}

#include "status/metric.h"

#include <string.h>

#include "status/metric_json.h"
#include "status/metric_otlp.h"
#include "status/metric_text.h"
#include "support/test.h"

enum { MAX_BYTES = 1 << 20 };

/* Two sessions, one of which has a name that every format has to escape. */
static void fill(struct metric_set *set)
{
    static const char *const names[] = {"a\"b\\c\nd", "security"};
    struct histogram histogram = {.sum_ms = 0};
    histogram_add(&histogram, 5, 2);
    histogram_add(&histogram, 6, 3);
    histogram_add(&histogram, 1800001, 1);
    metric_set_init(set);
    metric_set_list(set, METRIC_SESSION_LIST);
    for (size_t i = 0; i < 2; i++) {
        metric_set_label(set, 0, span_text(names[i]));
        metric_set_number(set, METRIC_SESSION_RECEIVED, 10 + i);
        metric_set_label(set, 1, span_text("queue"));
        metric_set_label(set, 2, span_text("full"));
        metric_set_number(set, METRIC_SESSION_DROPPED, i);
        metric_set_label(set, 2, span_text("stopped"));
        metric_set_number(set, METRIC_SESSION_DROPPED, 7);
        metric_set_number(set, METRIC_SESSION_GAPS, 1);
    }
    metric_set_list(set, METRIC_OUTPUT_LIST);
    metric_set_label(set, 0, span_text("siem"));
    metric_set_number(set, METRIC_OUTPUT_DEGRADED, 1);
    metric_set_number(set, METRIC_OUTPUT_BACKLOG_OLDEST, 1234);
    metric_set_histogram(set, METRIC_OUTPUT_LATENCY, &histogram);
    metric_set_list(set, METRIC_FILTER_LIST);
    metric_set_text(set, METRIC_SPOOL_MODE, span_text("durable"));
    metric_set_number(set, METRIC_CONSERVATION_ERROR, 0);
}

static void the_json_has_the_paths_of_the_table(void **state)
{
    (void)state;
    struct metric_set set;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    fill(&set);
    metric_json_write(&set, &out);
    assert_span(buf_span(&out),
        "{\"sessions\":[{\"name\":\"a\\\"b\\\\c\\nd\",\"received\":10,"
        "\"dropped\":{\"queue_full\":0,\"queue_stopped\":7},\"gaps\":1},"
        "{\"name\":\"security\",\"received\":11,"
        "\"dropped\":{\"queue_full\":1,\"queue_stopped\":7},\"gaps\":1}],"
        "\"outputs\":[{\"name\":\"siem\",\"degraded\":true,\"backlog\":{\"oldest_ms\":1234},"
        "\"latency_ms\":{\"buckets\":{\"5\":2,\"10\":5,\"25\":5,\"50\":5,\"100\":5,\"250\":5,"
        "\"500\":5,\"1000\":5,\"2500\":5,\"5000\":5,\"10000\":5,\"30000\":5,\"60000\":5,"
        "\"300000\":5,\"1800000\":5},\"count\":6,\"sum\":1800029}}],"
        "\"filters\":[],\"spool\":{\"mode\":\"durable\"},\"conservation_error\":0}");
    buf_fini(&out);
    metric_set_fini(&set);
}

static void the_text_has_each_family_once(void **state)
{
    (void)state;
    struct metric_set set;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    fill(&set);
    metric_text_write(&set, METRIC_TEXT_PROMETHEUS, &out);
    buf_add_byte(&out, 0);
    const char *text = (const char *)out.data;
    const char *family = strstr(text, "# TYPE etwship_session_events_total counter\n");
    assert_non_null(family);
    assert_null(strstr(family + 1, "# TYPE etwship_session_events_total"));
    assert_ptr_equal(strchr(family, '\n') + 1,
        strstr(text, "etwship_session_events_total{session=\"a\\\"b\\\\c\\nd\"} 10\n"
                     "etwship_session_events_total{session=\"security\"} 11\n"));
    assert_non_null(strstr(text, "etwship_session_dropped_events_total{session=\"security\","
                                 "stage=\"queue\",reason=\"full\"} 1\n"));
    assert_non_null(strstr(text, "etwship_output_backlog_oldest_seconds{output=\"siem\"} 1.234\n"));
    assert_non_null(
        strstr(text, "etwship_output_latency_seconds_bucket{output=\"siem\",le=\"0.010\"} 5\n"));
    assert_non_null(
        strstr(text, "etwship_output_latency_seconds_bucket{output=\"siem\",le=\"+Inf\"} 6\n"));
    assert_non_null(strstr(text, "etwship_output_latency_seconds_sum{output=\"siem\"} 1800.029\n"));
    assert_null(strstr(text, "spool_mode"));
    assert_null(strstr(text, "# EOF"));
    buf_fini(&out);
    metric_set_fini(&set);
}

static void openmetrics_names_families_without_total(void **state)
{
    (void)state;
    struct metric_set set;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    fill(&set);
    metric_text_write(&set, METRIC_TEXT_OPENMETRICS, &out);
    buf_add_byte(&out, 0);
    const char *text = (const char *)out.data;
    assert_non_null(strstr(text, "# TYPE etwship_session_events counter\n"));
    assert_non_null(strstr(text, "\netwship_session_events_total{session=\"security\"} 11\n"));
    assert_non_null(strstr(text, "# UNIT etwship_output_latency_seconds seconds\n"));
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    buf_fini(&out);
    metric_set_fini(&set);
}

/* A row must fit its own description: a name has its unit, and a place its labels. */
/* Values that are known from elsewhere: 2026-11-21T09:30:00Z is 1795253400 s by Python's
 * datetime. */
static void otlp_has_sums_since_their_beginning_gauges_and_histograms(void **state)
{
    (void)state;
    const struct metric_otlp_origin origin = {.version = span_text("1.2"),
        .host = span_text("PC"),
        .now = UINT64_C(1795253400000000001),
        .started = 7};
    struct metric_set set;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    fill(&set);
    metric_set_number(&set, METRIC_CONFIG_LOADED_TIME, 1795253400000);
    metric_set_number(&set, METRIC_CPU, 1050);
    metric_otlp_write(&set, &origin, METRIC_OTLP_JSON, &out);
    buf_add_byte(&out, 0);
    const char *text = (const char *)out.data;
    static const char *const parts[] = {
        "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
        "\"stringValue\":\"etwship\"}},{\"key\":\"service.version\",\"value\":{\"stringValue\":\"1."
        "2\"}}"
        ",{\"key\":\"host.name\",\"value\":{\"stringValue\":\"PC\"}}]},\"scopeMetrics\":[",
        "{\"attributes\":[{\"key\":\"session\",\"value\":{\"stringValue\":\"a\\\"b\\\\c\\nd\"}}],"
        "\"startTimeUnixNano\":\"1795253400000000000\",\"timeUnixNano\":\"1795253400000000001\","
        "\"asInt\":\"10\"}",
        "],\"aggregationTemporality\":2,\"isMonotonic\":true}},{",
        "\"unit\":\"s\",\"gauge\":{\"dataPoints\":[{\"attributes\":[{\"key\":\"output\",\"value\":{"
        "\"stringValue\":\"siem\"}}],\"timeUnixNano\":\"1795253400000000001\",\"asDouble\":1.234}]}"
        "}",
        "\"count\":\"6\",\"sum\":1800.029,\"bucketCounts\":[\"2\",\"3\",\"0\",",
        "\"0\",\"1\"],\"explicitBounds\":[0.005,0.010,",
        "\"startTimeUnixNano\":\"7\",\"timeUnixNano\":\"1795253400000000001\",\"asDouble\":1.050}",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(text, parts[i])) {
            fail_msg("no %s in %s", parts[i], text);
        }
    }
    buf_fini(&out);
    metric_set_fini(&set);
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (int id = 0; id < METRIC_COUNT; id++) {
        const struct metric *metric = metric_of((enum metric_id)id);
        const char *labels = metric->labels;
        struct span label;
        size_t count = 0;
        while (metric_next_label(&labels, &label)) {
            count++;
        }
        assert_true(count <= METRIC_MAX_LABELS);
        assert_true(metric->name[0] || metric->path[0]);
        size_t name = strlen(metric->name);
        size_t unit = strlen(metric->unit);
        assert_true(
            !unit || (name > unit && strcmp(metric->name + name - unit, metric->unit) == 0));
        assert_true(metric->divisor == 1 || (metric->divisor == 1000 && unit));
        assert_null(strstr(metric->name, "_total"));
        assert_null(strchr(metric->help, '\n'));
        assert_null(strchr(metric->help, '\\'));
        for (const char *at = metric->path; (at = strpbrk(at, "[{")); at++) {
            struct span in = span_make(at + 1 + (at[1] == '#'), 0);
            in.size = strcspn((const char *)in.data, "]}");
            assert_true(in.size == 0 || metric_label_index(metric, in) < METRIC_MAX_LABELS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_has_the_paths_of_the_table),
        cmocka_unit_test(the_text_has_each_family_once),
        cmocka_unit_test(openmetrics_names_families_without_total),
        cmocka_unit_test(otlp_has_sums_since_their_beginning_gauges_and_histograms),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

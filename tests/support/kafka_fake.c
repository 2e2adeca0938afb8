#include "support/kafka_fake.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>

#include "base/buf.h"
#include "support/test.h"

enum { MAX_BYTES = 64 * 1024 * 1024, POLL_MS = 1000 };

struct kafka_fake {
    rd_kafka_t *handle;
    rd_kafka_mock_cluster_t *cluster;
};

static rd_kafka_t *make(rd_kafka_type_t type, const char *const *options)
{
    char reason[200] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, NULL);
    for (; options[0]; options += 2) {
        assert_int_equal(
            rd_kafka_conf_set(conf, options[0], options[1], reason, sizeof(reason)), 0);
    }
    rd_kafka_t *rk = rd_kafka_new(type, conf, reason, sizeof(reason));
    assert_non_null(rk);
    return rk;
}

struct kafka_fake *kafka_fake_start(void)
{
    static const char *const options[] = {"bootstrap.servers", "127.0.0.1:1", NULL};
    struct kafka_fake *fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    fake->handle = make(RD_KAFKA_PRODUCER, options);
    fake->cluster = rd_kafka_mock_cluster_new(fake->handle, 1);
    assert_non_null(fake->cluster);
    rd_kafka_mock_start_request_tracking(fake->cluster);
    return fake;
}

void kafka_fake_stop(struct kafka_fake *fake)
{
    if (fake) {
        rd_kafka_mock_cluster_destroy(fake->cluster);
        rd_kafka_destroy(fake->handle);
        free(fake);
    }
}

const char *kafka_fake_broker(const struct kafka_fake *fake)
{
    return rd_kafka_mock_cluster_bootstraps(fake->cluster);
}

void kafka_fake_fail(struct kafka_fake *fake, int api, size_t count, int error)
{
    for (size_t i = 0; i < count; i++) {
        rd_kafka_resp_err_t code = (rd_kafka_resp_err_t)error;
        rd_kafka_mock_push_request_errors_array(fake->cluster, (int16_t)api, 1, &code);
    }
}

void kafka_fake_obey(struct kafka_fake *fake, int api)
{
    rd_kafka_mock_clear_request_errors(fake->cluster, (int16_t)api);
}

void kafka_fake_slow(struct kafka_fake *fake, int ms)
{
    rd_kafka_mock_broker_set_rtt(fake->cluster, 1, ms);
}

void kafka_fake_make_topic(struct kafka_fake *fake, const char *topic, int partitions)
{
    assert_int_equal(rd_kafka_mock_topic_create(fake->cluster, topic, partitions, 1), 0);
}

void kafka_fake_topic_error(struct kafka_fake *fake, const char *topic, int error)
{
    rd_kafka_mock_topic_set_error(fake->cluster, topic, (rd_kafka_resp_err_t)error);
}

size_t kafka_fake_requests(struct kafka_fake *fake, int api)
{
    size_t count, found = 0;
    rd_kafka_mock_request_t **requests = rd_kafka_mock_get_requests(fake->cluster, &count);
    for (size_t i = 0; i < count; i++) {
        found += rd_kafka_mock_request_api_key(requests[i]) == api;
    }
    rd_kafka_mock_request_destroy_array(requests, count);
    return found;
}

/* ---- what arrived ---------------------------------------------------------------------------- */

static void add_headers(struct buf *out, const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    if (rd_kafka_message_headers(message, &headers)) {
        return;
    }
    for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++) {
        buf_printf(out, "%s%s=", i ? "," : "", name);
        buf_add(out, value, size);
    }
}

static void add_message(struct buf *out, const rd_kafka_message_t *message, bool plain)
{
    if (!plain) {
        buf_add(out, message->key, message->key_len);
        buf_add_byte(out, '|');
        add_headers(out, message);
        buf_add_byte(out, '|');
    }
    buf_add(out, message->payload, message->len);
    buf_add_byte(out, '\n');
}

static void read_partition(rd_kafka_topic_t *topic, int32_t partition, struct buf *out, bool plain)
{
    assert_int_equal(rd_kafka_consume_start(topic, partition, RD_KAFKA_OFFSET_BEGINNING), 0);
    for (bool end = false; !end;) {
        rd_kafka_message_t *message = rd_kafka_consume(topic, partition, POLL_MS);
        if (message) {
            end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
            if (!message->err) {
                add_message(out, message, plain);
            }
            rd_kafka_message_destroy(message);
        }
    }
    rd_kafka_consume_stop(topic, partition);
}

char *kafka_fake_messages(struct kafka_fake *fake, const char *name, bool plain)
{
    const char *const options[] = {"bootstrap.servers", kafka_fake_broker(fake),
        "enable.partition.eof", "true", "isolation.level", "read_uncommitted", NULL};
    rd_kafka_t *rk = make(RD_KAFKA_CONSUMER, options);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    const struct rd_kafka_metadata *metadata;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    assert_int_equal(rd_kafka_metadata(rk, 0, topic, &metadata, 10000), 0);
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++) {
        read_partition(topic, i, &out, plain);
    }
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    buf_add_byte(&out, '\0');
    assert_false(out.failed);
    return (char *)out.data;
}

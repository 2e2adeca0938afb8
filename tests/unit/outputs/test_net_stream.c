#include "outputs/net/net_stream.h"

#include "support/test.h"

#include <stdio.h>

#include "support/tcp_fake.h"

enum { WAIT_MS = 200 };

static struct tcp_fake *fake;
static struct net_stream *stream;

static void begin(void)
{
    char address[64];
    struct error err = {0};
    const struct http_options options = {
        .timeout_ns = 10 * (int64_t)1000000000, .connect_timeout_ns = 10 * (int64_t)1000000000};
    bool lasts;
    fake = tcp_fake_start();
    snprintf(address, sizeof(address), "127.0.0.1:%u", tcp_fake_port(fake));
    stream = net_stream_create(
        &(struct net_stream_setup){.address = address, .options = &options}, &err);
    assert_non_null(stream);
    assert_true(net_stream_connect(stream, &lasts, &err));
    assert_int_equal(tcp_fake_connections(fake), 1);
}

static void write_some(void)
{
    size_t sent;
    struct error err = {0};
    assert_true(net_stream_write(stream, span_text("some"), &sent, &err));
}

static enum net_stream_read read_end(void)
{
    char byte;
    size_t size;
    struct error err = {0};
    return net_stream_read(stream, &byte, 1, 10000, &size, &err);
}

static void end(void)
{
    net_stream_destroy(stream);
    tcp_fake_stop(fake);
}

static void a_connection_that_both_sides_end_was_not_reset(void **state)
{
    (void)state;
    begin();
    write_some();
    net_stream_end(stream);
    tcp_fake_close(fake, false);
    assert_int_equal(read_end(), NET_STREAM_CLOSED);
    assert_false(net_stream_was_reset(stream, WAIT_MS));
    end();
}

static void a_reset_after_the_end_of_the_other_side_is_seen(void **state)
{
    (void)state;
    begin();
    write_some();
    tcp_fake_end(fake);
    assert_int_equal(read_end(), NET_STREAM_CLOSED);
    tcp_fake_close(fake, true);
    assert_true(net_stream_was_reset(stream, WAIT_MS));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_that_both_sides_end_was_not_reset),
        cmocka_unit_test(a_reset_after_the_end_of_the_other_side_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

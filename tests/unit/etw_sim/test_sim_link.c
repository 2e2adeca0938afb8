#include "support/etw_sim/sim_link.h"

#include "platform/plat_thread.h"
#include "support/etw_sim/sim_socket.h"
#include "support/test.h"

static struct sim_listener *listener;
static uint16_t port;

static int setup(void **state)
{
    (void)state;
    listener = sim_link_listen(&port, NULL);
    return listener ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sim_link_close_listener(listener);
    return 0;
}

/* Sends the received messages back, until the other side is gone. */
static void echo(void *self)
{
    struct sim_link *link = sim_link_accept(listener);
    struct buf message;
    (void)self;
    if (!link) {
        return;
    }
    buf_init(&message, SIM_LINK_MAX_BYTES);
    while (sim_link_receive(link, &message) && sim_link_send(link, buf_span(&message))) {}
    buf_fini(&message);
    sim_link_close(link);
}

static void messages_arrive_whole_and_in_order(void **state)
{
    static const size_t sizes[] = {1, 0, 3, 100000, 7 * 1024 * 1024, 2};
    struct buf sent;
    struct buf message;
    (void)state;
    struct plat_thread *thread = plat_thread_start("echo", echo, NULL, NULL);
    assert_non_null(thread);
    struct sim_link *link = sim_link_connect(port, NULL);
    assert_non_null(link);
    buf_init(&sent, SIM_LINK_MAX_BYTES);
    buf_init(&message, SIM_LINK_MAX_BYTES);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        buf_reset(&sent);
        for (size_t k = 0; k < sizes[i]; k++) {
            buf_add_byte(&sent, (uint8_t)(k * 31 + i));
        }
        assert_true(sim_link_send(link, buf_span(&sent)));
        assert_true(sim_link_receive(link, &message));
        assert_int_equal(message.size, sizes[i]);
        if (sizes[i]) {
            assert_memory_equal(message.data, sent.data, sizes[i]);
        }
    }
    sim_link_close(link);
    plat_thread_join(thread);
    buf_fini(&sent);
    buf_fini(&message);
}

static void what_is_too_long_or_cut_off_is_no_message(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {{"\xff\xff\xff\xff", 4}, {"\x01\x00\x00\x02", 4}, {"\x05\0\0\0ab", 6}, {"\x01", 1},
        {"", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf message;
        intptr_t socket = sim_socket_connect(port);
        assert_true(socket >= 0);
        struct sim_link *link = sim_link_accept(listener);
        assert_non_null(link);
        assert_true(sim_socket_send(socket, (const uint8_t *)rows[i].bytes, rows[i].size));
        sim_socket_shut(socket);
        buf_init(&message, SIM_LINK_MAX_BYTES);
        assert_false(sim_link_receive(link, &message));
        assert_int_equal(message.size, 0);
        buf_fini(&message);
        sim_link_close(link);
        sim_socket_close(socket);
    }
}

struct receiver {
    struct sim_link *link;
    bool received;
};

static void receive(void *self)
{
    struct receiver *r = self;
    struct buf message;
    buf_init(&message, SIM_LINK_MAX_BYTES);
    r->received = sim_link_receive(r->link, &message);
    buf_fini(&message);
}

static void waiting_threads_are_woken_when_a_link_is_shut(void **state)
{
    (void)state;
    struct receiver here = {.link = sim_link_connect(port, NULL), .received = true};
    struct receiver there = {.link = sim_link_accept(listener), .received = true};
    assert_non_null(here.link);
    assert_non_null(there.link);
    struct plat_thread *thread = plat_thread_start("receive", receive, &here, NULL);
    assert_non_null(thread);
    sim_link_shut(here.link);
    plat_thread_join(thread);
    assert_false(here.received);
    receive(&there);
    assert_false(there.received);
    sim_link_close(here.link);
    sim_link_close(there.link);
}

static void without_a_server_there_is_no_link(void **state)
{
    enum { UNUSED_PORT = 1 }; /* tcpmux: no system uses it any more, and no listener gets it */
    struct error err = {0};
    (void)state;
    assert_null(sim_link_connect(UNUSED_PORT, &err));
    assert_int_equal(err.code, ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_whole_and_in_order),
        cmocka_unit_test(what_is_too_long_or_cut_off_is_no_message),
        cmocka_unit_test(waiting_threads_are_woken_when_a_link_is_shut),
        cmocka_unit_test(without_a_server_there_is_no_link),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

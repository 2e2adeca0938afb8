#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_LINK_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_LINK_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Messages between processes of one computer, over TCP, which Linux and Wine have in common: each
 * is its size in 32 bits, then its bytes. Any process may connect to the port: for tests only.
 */
struct sim_link;

enum { SIM_LINK_MAX_BYTES = 32 * 1024 * 1024 };

/* NULL if no process listens there. */
struct sim_link *sim_link_connect(uint16_t port, struct error *err);
void sim_link_close(struct sim_link *link); /* NULL is fine */

/* Whole messages, or false: the other side is gone. Any thread may send; one receives, into a
 * buffer that is emptied first. */
bool sim_link_send(struct sim_link *link, struct span message);
bool sim_link_receive(struct sim_link *link, struct buf *message);

/* From now on sending and receiving fail. Any thread. */
void sim_link_shut(struct sim_link *link);

struct sim_listener;

struct sim_listener *sim_link_listen(uint16_t *ret_port, struct error *err);
struct sim_link *sim_link_accept(struct sim_listener *listener); /* NULL: it is shut */
void sim_link_shut_listener(struct sim_listener *listener);      /* any thread */
void sim_link_close_listener(struct sim_listener *listener);     /* NULL is fine */

#endif

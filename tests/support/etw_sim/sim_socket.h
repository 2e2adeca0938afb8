#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_SOCKET_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions of an OS that sim_link.c needs, in linux/ and windows/: TCP on 127.0.0.1. -1: it
 * failed. */
intptr_t sim_socket_connect(uint16_t port);
intptr_t sim_socket_listen(uint16_t *ret_port);
intptr_t sim_socket_accept(intptr_t listener);
bool sim_socket_send(intptr_t socket, const uint8_t *bytes, size_t size); /* all of it */
/* All of it. ${shut}: sim_socket_shut is about to be called, or was. */
bool sim_socket_receive(intptr_t socket, uint8_t *bytes, size_t size, const atomic_bool *shut);
void sim_socket_shut(intptr_t socket);
void sim_socket_close(intptr_t socket);

#endif

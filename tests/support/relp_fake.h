#ifndef ETWSHIP_TESTS_SUPPORT_RELP_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_RELP_FAKE_H

#include <stddef.h>

/* A receiver of RELP on loopback, on a thread of its own, one connection after the other. */
struct relp_fake;

struct relp_fake *relp_fake_start(void);
void relp_fake_stop(struct relp_fake *fake); /* NULL is fine */
unsigned relp_fake_port(const struct relp_fake *fake);

/* Take ${count} messages more, then close each connection with the first message. SIZE_MAX: all. */
void relp_fake_takes(struct relp_fake *fake, size_t count);

/* Answer to messages with these data ("500 no"), and do not keep them; and to `open`. NULL: as it
 * should be. Static texts. */
void relp_fake_answers(struct relp_fake *fake, const char *to_message, const char *to_open);

/* Instead of each response, these bytes. NULL: the response. Static. */
void relp_fake_raw(struct relp_fake *fake, const char *raw);

/* Behind each of these bytes, more of them without an end, until the other side closes the
 * connection. */
void relp_fake_drips(struct relp_fake *fake);

/* The part after the header of each message received so far (seven spaces), a line each. */
void relp_fake_bodies(struct relp_fake *fake, char *to, size_t room);

/* How many connections there were, and sessions that were ended by `close`. */
size_t relp_fake_connections(struct relp_fake *fake);
size_t relp_fake_closes(struct relp_fake *fake);

#endif

#ifndef ETWSHIP_BASE_IP_H
#define ETWSHIP_BASE_IP_H

#include "base/span.h"

/* An IP address in network order: 4 or 16 bytes. */
struct ip_address {
    uint8_t bytes[16];
    uint8_t size;
};

/* `192.0.2.7` (four decimal numbers without leading zeros) or RFC 4291 section 2.2 in either case.
 * False if ${text} is neither. */
bool ip_parse(struct span text, struct ip_address *ret_address);

/* An address and the number of its leading bits that count. */
struct ip_network {
    struct ip_address address;
    uint8_t prefix_bits;
};

/* Parse `10.0.0.0/8` or `fe80::/10`; a single address is a network of one. Bits after the prefix
 * are ignored. */
bool ip_network_parse(struct span text, struct ip_network *ret_network);

/* True if the network contains ${address}, which has 4 or 16 bytes. IPv4 addresses mapped into IPv6
 * (::ffff:192.0.2.7) also belong to IPv4 networks. */
bool ip_network_holds(const struct ip_network *network, struct span address);

#endif

#ifndef ETWSHIP_BASE_HEX_H
#define ETWSHIP_BASE_HEX_H

#include <stdint.h>

enum { HEX_NONE = 16 };

/* The value of a hexadecimal digit, of either case; HEX_NONE: it is none. */
static inline unsigned hex_digit(unsigned c)
{
    unsigned letter = (c | 0x20) - 'a';
    return c - '0' < 10 ? c - '0' : letter < 6 ? letter + 10 : HEX_NONE;
}

#endif

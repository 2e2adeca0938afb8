#ifndef ETWSHIP_SCHEMA_NAMES_H
#define ETWSHIP_SCHEMA_NAMES_H

#include "event/schema.h"

/*
 * What the schema sources share: names of types, the winmeta.xml names, numbers as manifests write
 * them, and UTF-16 text into an arena.
 */

/* The type that a manifest names (`win:UInt32`, `xs:string`), without regard to prefix and case.
 * False if there is no such type. (winmeta.xml; InputType and OutputType complex types.) */
bool names_in_type(struct span name, uint16_t *ret_type);
bool names_out_type(struct span name, uint16_t *ret_type);

/* Is ${out_type} what values of ${in_type} are shown as anyway? The message compiler writes an out
 * type for every property, and says nothing with those. (InputType complex type, winmeta.xml.) */
bool names_is_default_out(uint16_t in_type, uint16_t out_type);

/* May ${in_type} have a length of its own: a string or binary without count in the payload? */
bool names_has_length(uint16_t in_type);

/* What stands behind the first colon: "Start" of "win:Start"; all of it if there is none. */
struct span names_local(struct span qualified);

/* ${name} without a leading "win:". Other prefixes belong to the name ("ut:SendPath"). */
struct span names_without_win(struct span name);

/* One trailing space less, which compiled message tables leave behind texts. */
struct span names_without_space(struct span text);

/* Values of the predefined levels, opcodes, tasks, channels and keywords by their local name
 * ("Informational", "Start", "None", "System", "AuditSuccess"); false if there is none. */
bool names_winmeta_level(struct span local, uint64_t *ret_value);
bool names_winmeta_opcode(struct span local, uint64_t *ret_value);
bool names_winmeta_channel(struct span local, uint64_t *ret_value);
bool names_winmeta_keyword(struct span local, uint64_t *ret_mask);

/* The built-in name of level or opcode ${value}, else ${name} without "win:". */
struct span names_of_level(uint8_t value, struct span name);
struct span names_of_opcode(uint8_t value, struct span name);

/* A decimal number (leading zeros are legal, "02050" is 2050) or 0x and hex digits, at most
 * ${max}. False if ${text} is anything else. */
bool names_number(struct span text, uint64_t max, uint64_t *ret_value);

/* UTF-16LE up to its first NUL as UTF-8 in ${arena}. False if there is no room. */
bool names_from_utf16(struct arena *arena, struct span utf16, struct span *ret_text);

/* ${a}, ${separator}, ${b} as one text in ${arena}. False if there is no room. */
bool names_join(struct arena *arena, struct span a, const char *separator, struct span b,
    struct span *ret_text);

#endif

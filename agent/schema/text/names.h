#ifndef ETWSHIP_SCHEMA_NAMES_H
#define ETWSHIP_SCHEMA_NAMES_H

#include "event/model/schema.h"

/*
 * Helpers of the schema sources: type names, winmeta.xml names, numbers as manifests write them,
 * and conversion of UTF-16 text.
 */

/* Type that a manifest names (`win:UInt32`, `xs:string`), ignoring prefix and case. False if there
 * is no such type. Source: winmeta.xml; complex types InputType and OutputType. */
bool names_in_type(struct span name, uint16_t *ret_type);
bool names_out_type(struct span name, uint16_t *ret_type);

/* True if ${out_type} is the default of ${in_type}. The message compiler writes an out type for
 * every property, so a default one carries no information. Source: winmeta.xml, complex type
 * InputType. */
bool names_is_default_out(uint16_t in_type, uint16_t out_type);

/* True if ${in_type} may have a length: a string or binary without a count in the payload. */
bool names_has_length(uint16_t in_type);

/* The part after the first colon: "Start" of "win:Start"; all of it without a colon. */
struct span names_local(struct span qualified);

/* ${name} without a leading "win:". Other prefixes belong to the name ("ut:SendPath"). */
struct span names_without_win(struct span name);

/* Remove one trailing space, which the message compiler appends to texts. */
struct span names_without_space(struct span text);

/* Values of the predefined levels, opcodes, tasks, channels and keywords by their local name
 * ("Informational", "Start", "None", "System", "AuditSuccess"); false if there is none. */
bool names_winmeta_level(struct span local, uint64_t *ret_value);
bool names_winmeta_opcode(struct span local, uint64_t *ret_value);
bool names_winmeta_channel(struct span local, uint64_t *ret_value);
bool names_winmeta_keyword(struct span local, uint64_t *ret_mask);

/* Built-in name of level or opcode ${value}; if there is none, ${name} without "win:". */
struct span names_of_level(uint8_t value, struct span name);
struct span names_of_opcode(uint8_t value, struct span name);

/* Parse a decimal number (leading zeros are legal: "02050" is 2050) or 0x and hex digits, at most
 * ${max}. False otherwise. */
bool names_number(struct span text, uint64_t max, uint64_t *ret_value);

/* Convert UTF-16LE up to its first NUL to UTF-8 in ${arena}. False if the arena is full. */
bool names_from_utf16(struct arena *arena, struct span utf16, struct span *ret_text);

/* Concatenate ${a}, ${separator} and ${b} in ${arena}. False if the arena is full. */
bool names_join(struct arena *arena, struct span a, const char *separator, struct span b,
    struct span *ret_text);

#endif

#ifndef ETWSHIP_EVENT_ECS_CONVERT_TEXT_H
#define ETWSHIP_EVENT_ECS_CONVERT_TEXT_H

#include "base/text/ip.h"

/*
 * Parts of texts, for ecs_convert.h. Texts are UTF-8 of any length and content; results are views
 * into them, empty if the part is missing.
 */

/* The part before the first ${separator}; ${rest} becomes the part after it, or empty. */
struct span ecs_text_until(struct span *rest, char separator);

/* Without spaces, tabs and line ends around it. */
struct span ecs_text_trim(struct span text);

/* Parse decimal, or hex with 0x. False: not a number, or more than 64 bits. */
bool ecs_text_number(struct span text, uint64_t *ret_number);

/* An address with or without `%zone`, brackets and port. */
bool ecs_text_address(struct span text, struct ip_address *ret_address);

/* ::ffff:192.0.2.7 becomes 192.0.2.7. */
void ecs_text_unmap(struct ip_address *address);

/* A host name without leading backslashes. False: it is an address. */
bool ecs_text_host(struct span *text);

/* `S-1-…`, but not S-1-0-0, the null SID ([MS-DTYP] 2.4.2.4). */
bool ecs_text_is_sid(struct span text);

/* The parts of a path around its last backslash or slash. */
struct span ecs_text_basename(struct span path);
struct span ecs_text_directory(struct span path);
/* Behind the last dot of the basename, unless that leads it. */
struct span ecs_text_extension(struct span path);

/* The hex digits after `${name}=` in a list that commas separate. */
bool ecs_text_hash(struct span text, struct span name, struct span *ret_digits);

/* The value of the first part of a distinguished name (RFC 4514) whose type is ${type}, or of its
 * first part where that is empty; escapes are kept. */
bool ecs_text_dn(struct span text, const char *type, struct span *ret_value);

/* The value of the line `${name} = …`. */
bool ecs_text_pair(struct span text, struct span name, struct span *ret_value);

/* Name of a type of DNS records; ${text} is the memory for numbers without one. */
enum { ECS_TEXT_DNS_TYPE_SIZE = 16 };
const char *ecs_text_dns_type(uint16_t type, char text[ECS_TEXT_DNS_TYPE_SIZE]);

/* `type:  5 name`: ${item} becomes the name. */
bool ecs_text_dns_result(struct span *item, uint16_t *ret_type);

/* Split a registry path: `HKLM` and the key below it. False: unknown hive. */
bool ecs_text_registry(struct span text, const char **ret_hive, struct span *ret_key);

/* A value of the registry as Sysmon shows it: a number after the name of its type, or else the
 * text. ${ret_type}: static. */
enum ecs_registry_value { ECS_REGISTRY_NOTHING, ECS_REGISTRY_NUMBER, ECS_REGISTRY_TEXT };
enum ecs_registry_value ecs_text_registry_value(
    struct span text, const char **ret_type, uint64_t *ret_number);

/* Parse a web address (RFC 3986 section 3). False: it lacks a scheme or host. */
struct ecs_url {
    struct span scheme;
    struct span host; /* without the brackets of IPv6 */
    struct span port;
    struct span path;
    struct span query; /* without its question mark */
};
bool ecs_text_url(struct span text, struct ecs_url *ret_url);

#endif

#ifndef ETWSHIP_EVENT_ECS_CONVERT_H
#define ETWSHIP_EVENT_ECS_CONVERT_H

#include "event/value/ecs_sink.h"
#include "event/value/event_value.h"

/*
 * Values of payloads converted for the Elastic Common Schema. A value that its conversion does not
 * accept is left out: nothing is guessed, and nothing that an index would refuse is written. Empty
 * text, `-` (Windows' word for no value) and a GUID of zeros count as absent.
 *
 *     text             as the native event shows it
 *     lower            the same, ASCII letters in lower case
 *     long             a number, or text of one in decimal or with 0x, up to 2^63 - 1
 *     pid              the same; not 2^32 - 1, which says that there is no process
 *     caller           a pid; not 0 either, as events of the Security log have it where there is
 *                      none
 *     port             a number from 1 to 65535; that of a socket address
 *     ip               an address, that of a socket address or of text (with port or zone or
 *                      without); IPv4 in IPv6 (::ffff:192.0.2.7) as IPv4
 *     ip_type          `ipv4` or `ipv6` of the same
 *     host             a name that is no address; without the backslashes that may lead it
 *     sid              a SID, or the text of one; not S-1-0-0, the null SID
 *     time             a time of day, as @timestamp has it; not the year 1601
 *     name, domain     of DOMAIN\name; `name` is the whole text where there is no backslash
 *     account          what stands before the @ of a name, or the whole name
 *     dn_name          of a distinguished name the value of its first part (RFC 4514)
 *     dn_domain        of a distinguished name the value of its first DC
 *     guid             in lower case, in braces
 *     args             the arguments of a command line, as a C program on Windows splits it
 *     args_count       how many they are
 *     basename         the part after the last separator of a path
 *     directory        the part before it
 *     extension        of the basename, without the dot
 *     words:1=a,2=b    the word for a number or text; none for others
 *     outcome, code    of a Win32 error: `success` for 0, else `failure`; the number, but for 0
 *     nt_outcome, nt_code   of an NTSTATUS or HRESULT: failures have the highest bit; in hex
 *     nt_name          the symbolic name of an NTSTATUS, where it is known and no success
 *     audit_outcome    of the keywords of an audit: `success` or `failure`
 *     truth            `true` or `false` of a truth value, of text that says it, or of 1 and 0
 *     is:Valid         `true` of the same text; else absent
 *     hash:MD5         in lower case, of a list `SHA1=…,MD5=…`
 *     pair:Host Name   the value of a line `Host Name = …`; `pair:User>name`: of that value what
 *                      `name` makes
 *     details          objects {type, related_command, name, value} of lines as PowerShell logs
 *                      them, `ParameterBinding(Get-Item): name="Path"; value="C:\"`
 *     dns_name         without the dot at its end
 *     dns_type         name of a type of DNS records (IANA, "Resource Record (RR) TYPEs"),
 *                      `TYPE1234` for others (RFC 3597 section 5)
 *     dns_answers      objects {data, type} of results as Windows' DNS client writes them,
 *                      `type:  5 name;192.0.2.7;`
 *     dns_ips          the addresses among these
 *     dns_hosts        the names among these
 *     registry_path    HKLM\… of \REGISTRY\MACHINE\… or HKLM\…; absent where the hive is unknown
 *     registry_hive, registry_key   its two parts; registry_parent: the key without its last name
 *     registry_type    the type of a value as Sysmon shows it: `DWORD (0x00000001)`, `Binary Data`,
 *                      else text
 *     registry_data    the value: numbers in decimal
 *     url              as it is, with a scheme; url_scheme, url_domain, url_port, url_path,
 *                      url_query
 */
enum ecs_conversion {
#define CONVERSION(name) ECS_CONVERT_##name,
#include "event/value/ecs_convert.def"
#undef CONVERSION
    ECS_CONVERSIONS,
};

/* A value and the context to read it. Several conversions of one value may share an operand, as
 * long as no other text is made in the context. */
struct ecs_operand {
    struct event_value_context *context;
    struct event_value value;
    struct span text; /* UTF-8: the value's text, or a part of it; NULL data: none was made yet */
    uint32_t args;    /* how many arguments `args` found in it; 0: it was not split yet */
};

/* Append ${operand} as JSON. False: there is no value; the caller then restores the old size of the
 * buffer, as it may hold partial output. */
bool ecs_convert(enum ecs_conversion how, struct span parameter, struct ecs_operand *operand,
    struct ecs_sink *sink);

/* The number that the conversion ${how}, `pid` or `caller`, writes. */
bool ecs_convert_pid(enum ecs_conversion how, struct ecs_operand *operand, uint32_t *ret_pid);

/* Append ${utf8}, a constant of the table; elements of lists are separated by commas. */
void ecs_convert_constant(struct span utf8, struct ecs_sink *sink);

#endif

#ifndef ETWSHIP_CONFIG_CONFIG_VALUE_H
#define ETWSHIP_CONFIG_CONFIG_VALUE_H

#include "base/error.h"
#include "base/span.h"

/*
 * Text to values, for the configuration file and for the command line. On failure the error reads
 * "'30' is no duration. write …", code ERR_CONFIG, and the result is unchanged.
 */

/* true or false. */
bool config_value_bool(struct span text, bool *ret_value, struct error *err);

/* Decimal with an optional minus, or 0x…; no leading zeros (YAML 1.1 would read them as octal). */
bool config_value_int(struct span text, int64_t *ret_value, struct error *err);

/* A number with B, KB, MB, GB, TB or KiB…, in any case; powers of 1024; no unit: bytes. */
bool config_value_size(struct span text, uint64_t *ret_bytes, struct error *err);

/* Numbers with ms, s, m, h, d, largest unit first, as in 1h30m. Only 0 may have no unit. */
bool config_value_duration(struct span text, uint64_t *ret_ns, struct error *err);

/* A number up to 100 with at most two decimals, and %. */
bool config_value_percent(struct span text, uint64_t *ret_hundredths, struct error *err);

/* RFC 3339, or the start of such a time (rfc3339_parse_start), which is in UTC without a zone. */
bool config_value_time(struct span text, uint64_t *ret_filetime, struct error *err);

/* Index of ${text} in ${names}, which ends with NULL. The error lists them all. */
bool config_value_enum(
    struct span text, const char *const *names, int *ret_index, struct error *err);

/* The shortest text that config_value_size, or _duration, or _percent, reads as this value. */
struct config_value_text {
    char text[48];
};

struct config_value_text config_value_write_size(uint64_t bytes);
struct config_value_text config_value_write_duration(uint64_t ns);
struct config_value_text config_value_write_percent(uint64_t hundredths);

#endif

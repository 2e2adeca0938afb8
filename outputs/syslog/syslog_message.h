#ifndef ETWSHIP_OUTPUTS_SYSLOG_MESSAGE_H
#define ETWSHIP_OUTPUTS_SYSLOG_MESSAGE_H

#include "base/buf.h"
#include "config/config_check.h"
#include "outputs/delivery_id.h"
#include "outputs/syslog/syslog_event.h"

/*
 * An event as a message of RFC 5424: a header, structured data with values of the event's header
 * (and its time to 100 ns, of which RFC 5424 has six digits), and the event itself.
 */
enum syslog_format {
    SYSLOG_JSON, /* the event unchanged */
    SYSLOG_CEF,  /* ArcSight's Common Event Format, version 0 */
    SYSLOG_LEEF, /* QRadar's Log Event Extended Format 2.0, with TAB between attributes */
    SYSLOG_TEXT, /* the message text, or JSON for an event without one */
};

enum { SYSLOG_SD_ID_MAX = 32, SYSLOG_APP_NAME_MAX = 48 };

/* The settings of an output that sends such messages, as its member `message`. */
struct syslog_options {
    int format;   /* enum syslog_format */
    int facility; /* number of RFC 5424, 6.2.1 */
    const char *app_name;
    const char *sd_id;
    bool bom;
    uint64_t max_bytes; /* a longer one is cut */
};

extern const char *const syslog_format_names[];
extern const char *const syslog_facility_names[];

/* Rows of a settings struct that has a `struct syslog_options message`. */
#define SYSLOG_ROWS(s)                                                                             \
    {CONFIG_ROW("message", ENUM, s, message.format), .names = syslog_format_names,                 \
        .default_text = "json",                                                                    \
        .help = "json: the event; cef, leef: as ArcSight and QRadar read it; text: the text of "   \
                "its message, or the event"},                                                      \
        {CONFIG_ROW("facility", ENUM, s, message.facility), .names = syslog_facility_names,        \
            .default_text = "local0", .help = "facility of the messages"},                         \
        {CONFIG_ROW("app_name", STRING, s, message.app_name), .default_text = "etwship",           \
            .help = "APP-NAME of the messages; may be a template, as in etw-{provider.name}"},     \
        {CONFIG_ROW("sd_id", STRING, s, message.sd_id), .default_text = "etw@32473",               \
            .help = "name of the structured data: one of your own with your enterprise number; "   \
                    "32473 is the number for examples; none: there is no structured data"},        \
        {CONFIG_ROW("bom", BOOL, s, message.bom), .default_text = "false",                         \
            .help = "begin cef, leef and text with the mark of UTF-8, as RFC 5424 requires; some " \
                    "receivers do not support it"},                                                \
    {                                                                                              \
        CONFIG_ROW("max_message", SIZE, s, message.max_bytes),                                     \
            .default_text = "64KB", .min = 480, .max = 16777216,                                   \
            .help =                                                                                \
                "longer messages are cut, marked in their structured data and by a warning; over " \
                "udp at most 65000 bytes"                                                          \
    }

void syslog_options_check(struct config_check *check, const struct syslog_options *options);

/* The template of APP-NAME, if it varies (output_ops.route); else NULL. */
const char *syslog_options_route(const struct syslog_options *options);

struct syslog_writer {
    int format;
    int facility;
    bool bom;
    size_t max_bytes;
    uint64_t cut;      /* messages that were cut so far, … */
    uint64_t told_cut; /* … and when a warning was given last */
    char app_name[SYSLOG_APP_NAME_MAX + 1];
    char sd_id[SYSLOG_SD_ID_MAX + 1]; /* empty: no structured data */
    struct syslog_event event;        /* the current event */
    struct buf head;                  /* of the current message */
    struct buf body;                  /* body of the current message, unless that is the record */
};

/* ${most}: the transport's maximum. */
void syslog_writer_init(
    struct syslog_writer *writer, const struct syslog_options *options, size_t most);
void syslog_writer_fini(struct syslog_writer *writer);

/* Warn if messages were cut since the last call. ${warn} may be NULL. */
void syslog_writer_warn(
    struct syslog_writer *writer, void (*warn)(void *host, const char *text), void *host);

/* A message is these two back to back, ${size} bytes: views until the next one. */
struct syslog_message {
    struct span head;
    struct span body;
    size_t size;
};

/* The message of record ${index}, in no framing. False: out of memory. */
bool syslog_writer_write(struct syslog_writer *writer, const struct delivery *delivery,
    size_t index, struct syslog_message *ret_message);

#endif

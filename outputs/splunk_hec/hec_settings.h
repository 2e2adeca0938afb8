#ifndef ETWSHIP_OUTPUTS_HEC_SETTINGS_H
#define ETWSHIP_OUTPUTS_HEC_SETTINGS_H

#include "config/config_check.h"
#include "event/select/event_template.h"
#include "outputs/http/http_options.h"

/* Settings of an output of type `splunk_hec`. */
enum hec_endpoint { HEC_EVENT, HEC_RAW };

struct hec_ack {
    bool enabled;
    uint64_t interval_ns;
    uint64_t timeout_ns;
};

/* Destination of events: texts or templates; NULL: Splunk decides by the token. */
enum hec_place { HEC_INDEX, HEC_SOURCETYPE, HEC_SOURCE, HEC_HOST, HEC_PLACE_COUNT };

struct hec_settings {
    struct config_strings urls;
    const char *token;
    struct hec_ack ack;
    int endpoint; /* enum hec_endpoint */
    const char *places[HEC_PLACE_COUNT];
    bool ids;
    struct http_options http;
    char route[EVENT_TEMPLATE_MAX_BYTES]; /* for hec_settings_route, made on first use */
};

extern const struct config_field hec_settings_fields[];
extern const char *const hec_place_names[HEC_PLACE_COUNT];

/* output_ops.check, can_run */
void hec_settings_check(const void *settings, struct config_check *check);
void hec_settings_can_run(const void *settings, struct config_check *check);

/* output_ops.route: one template of all values (joined_route.h), if one varies; else NULL. */
const char *hec_settings_route(const void *settings);

/* Split ${rendered}, a route. Characters that Splunk does not allow in an index become `_`, in
 * ${index_room}. False: not from hec_settings_route. */
bool hec_settings_split(struct span rendered, struct span ret_places[HEC_PLACE_COUNT],
    char index_room[EVENT_TEMPLATE_MAX_NAME + 1]);

#endif

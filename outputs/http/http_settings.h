#ifndef ETWSHIP_OUTPUTS_HTTP_SETTINGS_H
#define ETWSHIP_OUTPUTS_HTTP_SETTINGS_H

#include "config/config_check.h"
#include "outputs/http/http_frame.h"
#include "outputs/http/http_options.h"

/* Settings of an output of type `http`. */
enum { HTTP_SETTINGS_MAX_HEADERS = 64 };

struct http_settings {
    const char *url;
    int method;  /* index of http_settings_methods */
    int framing; /* enum http_framing */
    struct http_frame_hec hec;
    struct config_map headers;
    struct config_strings accept;
    struct http_options http;
};

extern const char *const http_settings_methods[]; /* ends with NULL */
extern const struct config_field http_settings_fields[];

/* Report errors in ${settings}, a struct http_settings; no I/O (output_ops.check). */
void http_settings_check(const void *settings, struct config_check *check);

/* Report settings that this system does not support (output_ops.can_run). */
void http_settings_can_run(const void *settings, struct config_check *check);

/* Report settings that are valid but hardly meant (output_ops.warnings). */
void http_settings_warnings(const void *settings, struct config_check *check);

#endif

#ifndef ETWSHIP_OUTPUTS_AZURE_SETTINGS_H
#define ETWSHIP_OUTPUTS_AZURE_SETTINGS_H

#include "config/config_check.h"
#include "event/select/event_template.h"
#include "outputs/http/http_options.h"

/* Settings of an output of type `azure_logs`. */
enum azure_method {
    AZURE_CLIENT_SECRET,
    AZURE_CERTIFICATE,
    AZURE_MANAGED_IDENTITY,
    AZURE_WORKLOAD_IDENTITY,
};

struct azure_auth {
    int method; /* enum azure_method */
    const char *tenant;
    const char *client_id;
    const char *client_secret;
    const char *certificate; /* files */
    const char *key;         /* NULL: it is in the file of the certificate */
    const char *token_file;
    const char *authority;
    const char *identity_endpoint;
    const char *resource;
};

struct azure_settings {
    const char *endpoint;
    const char *dcr;
    const char *stream;
    struct azure_auth auth;
    struct http_options http;
};

extern const struct config_field azure_settings_fields[];

/* output_ops.check, can_run, route */
void azure_settings_check(const void *settings, struct config_check *check);
void azure_settings_can_run(const void *settings, struct config_check *check);
const char *azure_settings_route(const void *settings);

#endif

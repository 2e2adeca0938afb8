#include "outputs/azure_logs/azure_settings.h"

#include "outputs/http/http_platform.h"
#include "outputs/template_check.h"

static const char *const method_names[] = {
    "client_secret", "certificate", "managed_identity", "workload_identity", NULL};
/* The service accepts only gzip. */
static const char *const compressions[] = {"none", "gzip", NULL};

// clang-format off
static const struct config_field auth_fields[] = {
    {CONFIG_ROW("method", ENUM, struct azure_auth, method), .names = method_names,
        .default_text = "client_secret",
        .help = "client_secret, certificate: an application of Entra; managed_identity: of this virtual machine, or of Azure Arc; workload_identity: by a token in a file, as Kubernetes writes one"},
    {CONFIG_ROW("tenant", STRING, struct azure_auth, tenant),
        .help = "id or name of the directory; managed identities need none"},
    {CONFIG_ROW("client_id", STRING, struct azure_auth, client_id),
        .help = "id of the application, or of a managed identity that was assigned by a user"},
    {CONFIG_ROW("client_secret", SECRET, struct azure_auth, client_secret), .help = "its secret"},
    {CONFIG_ROW("certificate", PATH, struct azure_auth, certificate), .is_read = true,
        .help = "certificate: its file, as PEM; read again for each token"},
    {CONFIG_ROW("key", PATH, struct azure_auth, key), .is_read = true,
        .help = "the file with its RSA key, as PEM and without a password; by default that of the certificate"},
    {CONFIG_ROW("token_file", PATH, struct azure_auth, token_file), .is_read = true,
        .help = "workload_identity: the file with the token of this workload; read again for each token"},
    {CONFIG_ROW("authority", STRING, struct azure_auth, authority), .is_address = true,
        .default_text = "https://login.microsoftonline.com",
        .help = "where tokens come from; sovereign clouds have their own, as "
                "https://login.microsoftonline.us"},
    {CONFIG_ROW("identity_endpoint", STRING, struct azure_auth, identity_endpoint), .is_address = true,
        .default_text = "http://169.254.169.254",
        .help = "where managed identities get tokens; of Azure Arc http://localhost:40342"},
    {CONFIG_ROW("resource", STRING, struct azure_auth, resource), .is_address = true,
        .default_text = "https://monitor.azure.com",
        .help = "what the token is for; sovereign clouds have their own, as https://monitor.azure.us"},
    {.key = NULL},
};

const struct config_field azure_settings_fields[] = {
    {CONFIG_ROW("endpoint", STRING, struct azure_settings, endpoint), .required = true,
        .is_address = true,
        .help = "logs ingestion endpoint of the data collection rule or endpoint, as in "
                "https://name.region-1.ingest.monitor.azure.com"},
    {CONFIG_ROW("dcr", STRING, struct azure_settings, dcr), .required = true,
        .help = "immutable id of the data collection rule, as in dcr-0123456789abcdef0123456789abcdef"},
    {CONFIG_ROW("stream", STRING, struct azure_settings, stream), .required = true,
        .help = "stream of the rule, as in Custom-Etw; may be a template, as in Custom-{etw.session}"},
    {CONFIG_STRUCT_ROW("auth", struct azure_settings, auth, auth_fields), .help = "credentials"},
    HTTP_ROWS_WITHOUT_AUTH(struct azure_settings, compressions, "gzip"),
    {.key = NULL},
};
// clang-format on

const char *azure_settings_route(const void *settings)
{
    const struct azure_settings *s = settings;
    return strpbrk(s->stream, "{}%") ? s->stream : NULL;
}

static bool is_word(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return text[0] && strspn(text, letters) == strlen(text);
}

static void check_auth(const struct azure_auth *auth, struct config_check *check)
{
    bool application = auth->method != AZURE_MANAGED_IDENTITY;
    if (application && (!auth->tenant || !auth->client_id)) {
        CONFIG_FAULT(check, auth, "auth: an application needs tenant and client_id. add them");
    }
    if (auth->method == AZURE_CLIENT_SECRET && !auth->client_secret) {
        CONFIG_FAULT(check, auth,
            "auth: client_secret is missing. add it, or write method: managed_identity");
    }
    if (auth->method != AZURE_CLIENT_SECRET && auth->client_secret) {
        CONFIG_FAULT(check, &auth->client_secret,
            "auth: client_secret is for method: client_secret. remove one of the two");
    }
    if ((auth->method == AZURE_WORKLOAD_IDENTITY) != (auth->token_file != NULL)) {
        CONFIG_FAULT(check, auth,
            "auth: token_file and method: workload_identity belong together. add or remove one");
    }
    if ((auth->method == AZURE_CERTIFICATE) != (auth->certificate != NULL)) {
        CONFIG_FAULT(check, auth,
            "auth: certificate and method: certificate belong together. add or remove one");
    }
    if (auth->key && !auth->certificate) {
        CONFIG_FAULT(check, &auth->key, "auth: key is that of a certificate. remove it");
    }
    if (auth->tenant && !is_word(auth->tenant)) {
        CONFIG_FAULT(check, &auth->tenant, "auth: tenant has letters, digits, '.', '_' and '-'");
    }
    http_options_check_url(check, "auth: authority", &auth->authority);
    http_options_check_url(check, "auth: identity_endpoint", &auth->identity_endpoint);
    http_options_check_url(check, "auth: resource", &auth->resource);
}

void azure_settings_check(const void *settings, struct config_check *check)
{
    const struct azure_settings *s = settings;
    http_options_check_url(check, "endpoint", &s->endpoint);
    if (s->dcr && !is_word(s->dcr)) {
        CONFIG_FAULT(check, &s->dcr,
            "dcr: this is not the immutable id of a rule. write it as the portal shows it, dcr- "
            "and 32 digits");
    }
    if (s->stream && azure_settings_route(s)) {
        if (s->stream[0] == '{' || s->stream[0] == '%') {
            CONFIG_FAULT(check, &s->stream,
                "stream: it must begin with literal text, as in Custom-{etw.session}");
        } else {
            template_check(check, "stream", &s->stream, EVENT_TEMPLATE_PATH);
        }
    } else if (s->stream && !is_word(s->stream)) {
        CONFIG_FAULT(check, &s->stream, "stream: it has letters, digits, '.', '_' and '-'");
    }
    check_auth(&s->auth, check);
    http_options_check(check, &s->http);
}

void azure_settings_can_run(const void *settings, struct config_check *check)
{
    http_platform_check(check, &((const struct azure_settings *)settings)->http);
}

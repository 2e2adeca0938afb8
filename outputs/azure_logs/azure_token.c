#include "outputs/azure_logs/azure_token.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/filetime.h"
#include "outputs/azure_logs/azure_assertion.h"
#include "outputs/http/http_form.h"
#include "outputs/http/http_token.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"

enum {
    MAX_TOKEN_BYTES = 64 * 1024,
    MAX_FORM_BYTES = 256 * 1024,
    MAX_KEY_BYTES = 4096, /* maximum size of the file that Azure Arc asks for */
    EARLY_SECONDS = 5 * 60,
    MS_PER_S = 1000,
};

/* ---- secrets --------------------------------------------------------------------------------- */

/* Hide ${secret} in all texts of both clients instead of ${old}; NULL: no earlier one. */
static bool hide(struct azure_token *token, const char *old, const char *secret, struct error *err)
{
    bool good = http_client_replace_secret(token->client, old, secret) &&
                (!token->identity || http_client_replace_secret(token->identity, old, secret));
    return good || error_set(err, ERR_MEMORY, "out of memory");
}

/* Set the secret that the next request for a token sends. */
static bool keep_proof(struct azure_token *token, struct span proof, struct error *err)
{
    char *copy = span_copy(proof);
    if (!copy) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!hide(token, token->proof, copy, err)) {
        free(copy);
        return false;
    }
    free(token->proof);
    token->proof = copy;
    return true;
}

bool azure_token_init(struct azure_token *token, const struct http_options *options,
    const struct http_client_setup *setup, struct error *err)
{
    struct http_options direct = *options;
    struct http_client_setup own = *setup;
    direct.proxy = "";
    own.options = &direct;
    if (token->auth.method == AZURE_MANAGED_IDENTITY) {
        token->identity = http_client_create(&own, err);
        return token->identity != NULL;
    }
    return !token->auth.client_secret || hide(token, NULL, token->auth.client_secret, err);
}

void azure_token_fini(struct azure_token *token)
{
    http_client_destroy(token->identity);
    token->identity = NULL;
    free(token->bearer);
    free(token->proof);
    token->bearer = NULL;
    token->proof = NULL;
}

void azure_token_drop(struct azure_token *token)
{
    token->ends_ms = 0;
}

/* ---- replies --------------------------------------------------------------------------------- */

static enum azure_token_result keep(struct azure_token *token, const struct http_response *response,
    const char *url, struct error *err)
{
    static const char scheme[] = "Bearer ";
    struct span text;
    uint64_t seconds;
    if (!http_token_read(buf_span(&response->body), &text, &seconds)) {
        /* Show nothing that may be part of a token. */
        error_set(err, ERR_FORMAT, "%.200s: the reply holds no token. check auth", url);
        return AZURE_TOKEN_LATER;
    }
    char *bearer = malloc(sizeof(scheme) + text.size);
    if (!bearer) {
        error_set(err, ERR_MEMORY, "out of memory");
        return AZURE_TOKEN_LATER;
    }
    snprintf(bearer, sizeof(scheme) + text.size, "%s%.*s", scheme, SPAN_ARG(text));
    const char *old = token->bearer ? token->bearer + sizeof(scheme) - 1 : NULL;
    if (!hide(token, old, bearer + sizeof(scheme) - 1, err)) {
        free(bearer);
        return AZURE_TOKEN_LATER;
    }
    free(token->bearer);
    token->bearer = bearer;
    uint64_t early = seconds > 2 * EARLY_SECONDS ? EARLY_SECONDS : seconds / 2;
    token->ends_ms = plat_monotonic_ms() + (seconds - early) * MS_PER_S;
    return AZURE_TOKEN;
}

static enum azure_token_result refuse(
    const struct http_response *response, const char *url, const char *advice, struct error *err)
{
    int status = response->reply.status;
    http_response_error(response, url, advice, err);
    return status == 429 || status >= 500 ? AZURE_TOKEN_LATER : AZURE_TOKEN_MEND;
}

/* ---- an application -------------------------------------------------------------------------- */

static bool sign_assertion(struct azure_token *token, struct error *err)
{
    struct buf assertion;
    buf_init(&assertion, MAX_TOKEN_BYTES);
    uint64_t now = (plat_now_filetime() - FILETIME_UNIX_EPOCH) / FILETIME_PER_S;
    bool good = azure_assertion_write(&token->auth, now, &assertion, err) &&
                keep_proof(token, buf_span(&assertion), err);
    buf_fini(&assertion);
    return good;
}

/* Sign an assertion now, or read the workload's own token, whose file Kubernetes renews. */
static bool read_assertion(struct azure_token *token, struct error *err)
{
    if (token->auth.method == AZURE_CERTIFICATE) {
        return sign_assertion(token, err);
    }
    char *text;
    size_t size;
    if (!plat_file_load(token->auth.token_file, MAX_TOKEN_BYTES, &text, &size, err)) {
        return false;
    }
    bool good = keep_proof(token, span_trim(span_make(text, size)), err);
    free(text);
    return good;
}

static bool write_form(struct azure_token *token, struct buf *form, struct error *err)
{
    const struct azure_auth *auth = &token->auth;
    struct buf scope;
    buf_init(&scope, MAX_TOKEN_BYTES);
    buf_printf(&scope, "%s/.default", auth->resource);
    buf_add_byte(&scope, '\0');
    http_form_add(form, "grant_type", "client_credentials");
    http_form_add(form, "client_id", auth->client_id);
    http_form_add(form, "scope", scope.failed ? "" : (const char *)scope.data);
    buf_fini(&scope);
    if (auth->method == AZURE_CLIENT_SECRET) {
        http_form_add(form, "client_secret", auth->client_secret);
    } else if (read_assertion(token, err)) {
        http_form_add(form, "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        http_form_add(form, "client_assertion", token->proof);
    } else {
        return false;
    }
    return !form->failed || error_set(err, ERR_MEMORY, "out of memory");
}

static enum azure_token_result ask_entra(
    struct azure_token *token, struct http_response *response, struct error *err)
{
    char path[300];
    struct buf form;
    buf_init(&form, MAX_FORM_BYTES);
    snprintf(path, sizeof(path), "%.200s/oauth2/v2.0/token", token->auth.tenant);
    if (!write_form(token, &form, err)) {
        buf_fini(&form);
        return AZURE_TOKEN_MEND;
    }
    bool replied = http_token_post(
        response, token->client, token->auth.authority, path, buf_span(&form), err);
    buf_fini(&form);
    if (!replied) {
        return http_failure_lasts(response->reply.failure) ? AZURE_TOKEN_MEND : AZURE_TOKEN_LATER;
    }
    return response->reply.status == 200
               ? keep(token, response, token->auth.authority, err)
               : refuse(response, token->auth.authority,
                     "Entra issued no token. check tenant, client_id and the "
                     "secret, certificate or token_file",
                     err);
}

/* ---- the identity of this machine ------------------------------------------------------------ */

/* Read the file that Azure Arc names: being able to read it proves that a process belongs to this
 * machine. The agent never reads and sends another file. */
static bool read_key(struct azure_token *token, const char *challenge, struct error *err)
{
    static const char realm[] = "realm=";
    static const char *const folders[] = {
        "/var/opt/azcmagent/tokens/", "C:\\ProgramData\\AzureConnectedMachineAgent\\Tokens\\"};
    const char *at = strstr(challenge, realm);
    const char *path = at ? at + sizeof(realm) - 1 : "";
    struct span name = span_trim(span_text(path));
    bool good = span_ends_nocase(name, ".key") && !strstr(path, "..");
    bool ours = false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        size_t size = strlen(folders[i]);
        ours = ours || (name.size > size && strncmp(path, folders[i], size) == 0 &&
                           !strpbrk(path + size, "/\\"));
    }
    if (!good || !ours) {
        return error_set(err, ERR_FORMAT,
            "the identity service names a file that does not belong to Azure Arc. check "
            "identity_endpoint");
    }
    char *text;
    size_t size;
    char *copy = span_copy(name);
    if (!copy) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool read = plat_file_load(copy, MAX_KEY_BYTES, &text, &size, err);
    free(copy);
    if (read) {
        read = keep_proof(token, span_trim(span_make(text, size)), err);
        free(text);
    }
    return read;
}

static bool ask_identity(
    struct azure_token *token, const char *key, struct http_response *response, struct error *err)
{
    struct buf path;
    buf_init(&path, MAX_FORM_BYTES);
    http_form_add(&path, "api-version", "2020-06-01");
    http_form_add(&path, "resource", token->auth.resource);
    if (token->auth.client_id) {
        http_form_add(&path, "client_id", token->auth.client_id);
    }
    buf_add_byte(&path, '\0');
    struct buf whole;
    buf_init(&whole, MAX_FORM_BYTES);
    buf_printf(
        &whole, "metadata/identity/oauth2/token?%s", path.failed ? "" : (const char *)path.data);
    buf_add_byte(&whole, '\0');
    const struct http_header headers[] = {{"Metadata", "true"}, {"Authorization", key}};
    const struct http_request request = {.method = "GET",
        .url = token->auth.identity_endpoint,
        .path = whole.failed ? "" : (const char *)whole.data,
        .headers = headers,
        .header_count = key ? 2 : 1};
    bool replied = http_token_ask(response, token->identity, &request, err);
    buf_fini(&path);
    buf_fini(&whole);
    return replied;
}

static enum azure_token_result ask_machine(
    struct azure_token *token, struct http_response *response, struct error *err)
{
    const char *url = token->auth.identity_endpoint;
    bool replied = ask_identity(token, NULL, response, err);
    if (replied && response->reply.status == 401 && response->challenge[0]) {
        char key[MAX_KEY_BYTES + sizeof("Basic ")];
        if (!read_key(token, response->challenge, err)) {
            return AZURE_TOKEN_MEND;
        }
        snprintf(key, sizeof(key), "Basic %s", token->proof);
        replied = ask_identity(token, key, response, err);
    }
    if (!replied) {
        return AZURE_TOKEN_LATER;
    }
    return response->reply.status == 200
               ? keep(token, response, url, err)
               : refuse(response, url,
                     "the identity service issued no token. check that this "
                     "machine has a managed identity",
                     err);
}

enum azure_token_result azure_token_get(
    struct azure_token *token, struct http_response *response, struct error *err)
{
    if (token->bearer && plat_monotonic_ms() < token->ends_ms) {
        return AZURE_TOKEN;
    }
    return token->auth.method == AZURE_MANAGED_IDENTITY ? ask_machine(token, response, err)
                                                        : ask_entra(token, response, err);
}

#include "app/plan/app_trust.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_fields.h"
#include "app/install/install_folders.h"
#include "app/plan/app_digest.h"
#include "app/state/data_folder.h"
#include "base/visible.h"
#include "config/config_path.h"
#include "event/select/event_template.h"
#include "platform/plat_child.h"
#include "platform/plat_file.h"
#include "platform/plat_rights.h"
#include "trust/trust_words.h"

enum { MAX_PLACES = 8192, MAX_TEXT_BYTES = 4 * TRUST_PATH_BYTES };

struct search {
    struct trust_system system;
    enum app_trust_owner owner;
    struct sid own;
    void (*tell)(void *self, const char *text);
    void *self;
    size_t told_count;
    struct buf told; /* their paths, each with its NUL */
    struct trust_finding finding;
    const char *folder; /* what is in it is gone through */
    size_t places_left;
    struct buf pending; /* folders that are still to come, each with its NUL */
};

static bool look(void *self, const char *path, struct plat_rights *ret_rights, struct error *err)
{
    (void)self;
    return plat_rights_read(path, ret_rights, err);
}

static void search_init(struct search *search, enum app_trust_owner owner)
{
    struct plat_rights_self self;
    plat_rights_self(&self);
    *search = (struct search){.owner = owner};
    buf_init(&search->told, (size_t)APP_TRUST_MAX_TOLD * TRUST_PATH_BYTES);
    search->system = (struct trust_system){
        .is_windows = self.has_sids, .user = self.user, .look = look};
    struct reader r = reader_make(span_make(self.sid, self.sid_bytes));
    bool is_other = owner == APP_TRUST_SYSTEM || owner == APP_TRUST_VIRTUAL;
    if (is_other && self.has_sids && !self.is_service_too) {
        search->system.own.process = owner == APP_TRUST_VIRTUAL ? sid_of_service() : NULL;
    } else if (sid_read(&r, &search->own)) {
        search->system.own.process = &search->own;
    }
    /* `etwship check` may not know the rights of the service. */
    search->system.own.service = owner == APP_TRUST_CHECKER ? sid_of_service() : NULL;
}

static void search_fini(struct search *search)
{
    buf_fini(&search->told);
}

/* ---- one place ------------------------------------------------------------------------------- */

static void say(struct search *search)
{
    struct buf text;
    buf_init(&text, MAX_TEXT_BYTES);
    trust_words_write(&search->system, &search->finding, &text);
    visible_make(&text, 0);
    buf_add_byte(&text, 0);
    if (search->tell) {
        search->tell(search->self, text.failed ? "out of memory" : (const char *)text.data);
    }
    buf_fini(&text);
}

static bool was_told(const struct search *search)
{
    struct reader told = reader_make(buf_span(&search->told));
    while (reader_left(&told)) {
        if (span_is(reader_text(&told), search->finding.path)) {
            return true;
        }
    }
    return false;
}

/* What `finding` says, unless its place was told. */
static void note(struct search *search)
{
    if (search->told_count < APP_TRUST_MAX_TOLD && !was_told(search)) {
        search->told_count++;
        buf_add_text(&search->told, search->finding.path);
        buf_add_byte(&search->told, 0);
        say(search);
    }
}

/* What cannot be judged is not trusted. */
static void note_unjudged(struct search *search, const char *path, const char *why)
{
    struct trust_finding *finding = &search->finding;
    *finding = (struct trust_finding){.use = TRUST_FOLDER, .verdict = {.party = TRUST_UNKNOWN}};
    snprintf(finding->path, sizeof(finding->path), "%s", path);
    snprintf(finding->why, sizeof(finding->why), "%.*s", TRUST_WHY_BYTES - 1, why);
    note(search);
}

static void judge(struct search *search, const char *path, enum trust_use use)
{
    struct error err;
    char *absolute = plat_rights_absolute(path, &err);
    if (!absolute) {
        note_unjudged(search, path, err.text);
    } else if (!trust_path_judge(&search->system, absolute, use, &search->finding)) {
        note(search);
    }
    free(absolute);
}

/* ${path} as text of its own; false if it cannot be judged. */
static bool copy_path(struct search *search, struct span path, char copy[DATA_FOLDER_PATH_BYTES])
{
    int size = snprintf(copy, DATA_FOLDER_PATH_BYTES, "%.*s", SPAN_ARG(path));
    if (size < 0 || size >= DATA_FOLDER_PATH_BYTES) {
        note_unjudged(search, copy, "the path is too long");
        return false;
    }
    return true;
}

/* The folder of the file ${path}; false if it cannot be judged. */
static bool folder_of(struct search *search, struct span path, char folder[DATA_FOLDER_PATH_BYTES])
{
    struct span found = config_path_folder(path);
    return copy_path(search, found.size ? found : span_text("."), folder);
}

/* One more place in the folder; false if it cannot be judged. */
static bool take_place(struct search *search, const char *name, char path[DATA_FOLDER_PATH_BYTES])
{
    if (!search->places_left) {
        note_unjudged(search, search->folder, "it has too many files");
        return false;
    }
    search->places_left--;
    if (!data_folder_path(search->folder, name, path, NULL)) {
        note_unjudged(search, search->folder, "the paths of its files are too long");
        return false;
    }
    return true;
}

static bool judge_file_in(void *self, const char *name)
{
    struct search *search = self;
    char path[DATA_FOLDER_PATH_BYTES];
    if (!take_place(search, name, path)) {
        return false;
    }
    judge(search, path, TRUST_FILE);
    return true;
}

/* A folder whose files are read; or a file. */
static void judge_folder(struct search *search, const char *path)
{
    judge(search, path, TRUST_FOLDER);
    if (plat_path_kind(path) == PLAT_PATH_DIR) {
        search->folder = path;
        search->places_left = MAX_PLACES;
        plat_dir_files(path, judge_file_in, search, NULL);
    }
}

static bool add_folder_in(void *self, const char *name)
{
    struct search *search = self;
    char path[DATA_FOLDER_PATH_BYTES];
    if (!take_place(search, name, path)) {
        return false;
    }
    buf_add(&search->pending, path, strlen(path) + 1);
    return true;
}

/* Judge the folder and all folders below it, as definitions are read from all of them. */
static void judge_tree(struct search *search, const char *path)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    size_t at = 0;
    size_t size = strlen(path);
    if (plat_path_kind(path) != PLAT_PATH_DIR || size >= sizeof(folder)) {
        judge(search, path, TRUST_FOLDER);
        return;
    }
    buf_init(&search->pending, (size_t)MAX_PLACES * DATA_FOLDER_PATH_BYTES);
    buf_add(&search->pending, path, size + 1);
    search->folder = folder;
    search->places_left = MAX_PLACES;
    while (!search->pending.failed && at < search->pending.size) {
        snprintf(folder, sizeof(folder), "%s", (const char *)search->pending.data + at);
        at += strlen(folder) + 1;
        judge(search, folder, TRUST_FOLDER);
        plat_dir_files(folder, judge_file_in, search, NULL);
        plat_dir_folders(folder, add_folder_in, search, NULL);
    }
    if (search->pending.failed) {
        note_unjudged(search, path, "out of memory");
    }
    buf_fini(&search->pending);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The folders that `include` searches: a program that can put a file there can write the
 * configuration. */
static void judge_includes(struct search *search, const struct app_config *config)
{
    for (size_t i = 0; i < config->root->include.count; i++) {
        const char *pattern = config->root->include.items[i];
        size_t fixed = strcspn(pattern, "*?");
        char folder[DATA_FOLDER_PATH_BYTES];
        if (pattern[fixed] && folder_of(search, span_make(pattern, fixed), folder)) {
            judge(search, folder, TRUST_FOLDER);
        }
    }
}

static void judge_schemas(struct search *search, const struct app_config *config)
{
    for (size_t i = 0; i < config->schema_count; i++) {
        if (config->schemas[i].type == APP_SCHEMA_FOLDER) {
            judge_tree(search, config->schemas[i].path);
        }
    }
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_provider *providers = config->sessions[i].providers.items;
        for (size_t k = 0; k < config->sessions[i].providers.count; k++) {
            if (providers[k].wpp) {
                judge_tree(search, providers[k].wpp);
            }
        }
    }
}

/* The account whose data folder is trusted in a process that is not the agent. On Linux the agent
 * has an account of its own, and the installation or the system gives it the folder. */
static uint32_t agent_user(const struct search *search, const char *data_dir)
{
    struct plat_rights rights;
    uint32_t user = search->system.user;
    if (!search->system.is_windows && search->owner == APP_TRUST_CHECKER &&
        plat_rights_read(data_dir, &rights, NULL)) {
        user = rights.kind == PLAT_RIGHTS_FOLDER ? rights.owner : user;
        plat_rights_fini(&rights);
    }
    return user;
}

/* Trust what the agent trusts at ${place}: its account, and what the service wrote with fewer
 * rights. Returns what was trusted before, which the caller puts back. */
static struct trust_system trust_as_agent(struct search *search, const char *place)
{
    const struct trust_system before = search->system;
    search->system.user = agent_user(search, place);
    search->system.own.service = sid_of_service();
    return before;
}

/* One that is not there will be made for this account alone: then only the way to it counts. */
static void judge_data(struct search *search, const char *data_dir)
{
    static const char *const inside[] = {"spool", "dead_letters", "logs", DATA_FOLDER_OUTPUTS};
    if (plat_path_kind(data_dir) == PLAT_PATH_NONE) {
        judge(search, data_dir, TRUST_WAY);
        return;
    }
    judge_folder(search, data_dir);
    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        char path[DATA_FOLDER_PATH_BYTES];
        if (data_folder_path(data_dir, inside[i], path, NULL) &&
            plat_path_kind(path) != PLAT_PATH_NONE) {
            judge(search, path, TRUST_FOLDER);
        }
    }
}

/* Another account could put a file or a link where the agent makes a log again. */
static void judge_log(struct search *search, const char *file)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    if (folder_of(search, span_text(file), folder)) {
        const struct trust_system before = trust_as_agent(search, folder);
        judge(search, folder, plat_path_kind(folder) == PLAT_PATH_NONE ? TRUST_WAY : TRUST_FOLDER);
        judge(search, file, TRUST_FILE);
        search->system = before;
    }
}

/* The deepest folder that all files of ${target}, a path template, have above them. False if it
 * cannot be judged. */
static bool find_folder(
    struct search *search, const char *target, char folder[DATA_FOLDER_PATH_BYTES])
{
    struct buf start;
    struct event_template *template = event_template_create(
        span_text(target), EVENT_TEMPLATE_PATH, NULL);
    buf_init(&start, MAX_TEXT_BYTES);
    if (template) {
        event_template_start(template, &start);
    }
    bool good = template && !start.failed;
    if (!good) {
        note_unjudged(search, target, "out of memory");
    }
    good = good && folder_of(search, buf_span(&start), folder);
    buf_fini(&start);
    event_template_destroy(template);
    return good;
}

/* Files that only the system makes: devices, and what this process has open. */
static bool is_systems(const char *target)
{
    return strncmp(target, "/dev/", 5) == 0 || strncmp(target, "/proc/", 6) == 0;
}

/* Another account could put a file or a link where an output begins a file. */
static void judge_target(struct search *search, const char *target)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    if (is_systems(target) || !find_folder(search, target, folder)) {
        return;
    }
    const struct trust_system before = trust_as_agent(search, folder);
    judge(search, folder, TRUST_FOLDER);
    if (!strpbrk(target, "%{}")) {
        judge(search, target, TRUST_FILE);
    }
    search->system = before;
}

static void judge_targets(struct search *search, const struct app_config *config)
{
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        const char *target = output->enabled ? app_config_target(output) : NULL;
        if (target) {
            judge_target(search, target);
        }
    }
}

static void judge_read(void *self, const char *path)
{
    judge(self, path, TRUST_FILE);
}

/* Secrets, and certificates of trusted authorities. */
static void judge_credentials(struct search *search, const struct app_config *config)
{
    const char *file;
    for (size_t i = 0; (file = config_secret_file(config->memory, i)); i++) {
        judge(search, file, TRUST_FILE);
    }
    for (size_t i = 0; i < config->output_count; i++) {
        if (config->outputs[i].enabled) {
            app_digest_files(&config->outputs[i], judge_read, search);
        }
    }
}

static bool has_log_file(const struct app_config *config)
{
    const char *file = config->agent.log.file;
    return strcmp(file, "auto") != 0 && strcmp(file, "stderr") != 0;
}

/* On Windows with what lies beside it, where programs are looked for what they load. */
static void judge_program(struct search *search, const char *program)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    judge(search, program, TRUST_FILE);
    if (search->system.is_windows && folder_of(search, span_text(program), folder)) {
        judge(search, folder, TRUST_FOLDER);
    }
}

/* A launched program has the rights of the agent. */
static void judge_launched(struct search *search, const struct app_config *config)
{
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        struct input_live live = session->ops->live ? session->ops->live(session->settings)
                                                    : (struct input_live){.launch = NULL};
        struct span program = live.launch && session->enabled ? plat_child_program(live.launch)
                                                              : span_make(NULL, 0);
        char path[DATA_FOLDER_PATH_BYTES];
        if (program.size && copy_path(search, program, path)) {
            judge_program(search, path);
        }
        if (program.size && live.launch_folder) {
            judge(search, live.launch_folder, TRUST_FOLDER);
        }
    }
}

static void find(struct search *search, const struct app_config *config, enum app_trust_scope scope)
{
    const char *data_dir = app_config_data_dir(config);
    const char *file;
    judge_targets(search, config);
    if (scope == APP_TRUST_OUTPUTS) {
        return;
    }
    judge_credentials(search, config);
    for (size_t i = 0; (file = config_file_name(config->memory, i)); i++) {
        judge(search, file, TRUST_FILE);
    }
    judge_includes(search, config);
    judge_schemas(search, config);
    judge_launched(search, config);
    if (data_dir) {
        const struct trust_system before = trust_as_agent(search, data_dir);
        judge_data(search, data_dir);
        search->system = before;
    }
    if (has_log_file(config)) {
        judge_log(search, config->agent.log.file);
    }
    if (scope == APP_TRUST_ALL) {
        char *program = plat_rights_program(NULL);
        if (program) {
            judge_program(search, program);
        } else {
            note_unjudged(search, "etwship", "the path of this program is unknown");
        }
        free(program);
    }
}

bool app_trust_matters(void)
{
    struct plat_rights_self self;
    plat_rights_self(&self);
    return self.is_privileged;
}

size_t app_trust_find(const struct app_config *config, enum app_trust_scope scope,
    enum app_trust_owner owner, void (*tell)(void *self, const char *text), void *self)
{
    struct search search;
    search_init(&search, owner);
    search.tell = tell;
    search.self = self;
    find(&search, config, scope);
    search_fini(&search);
    return search.told_count;
}

size_t app_trust_find_log(const struct app_config *config, const char *file,
    void (*tell)(void *self, const char *text), void *self)
{
    struct search search;
    search_init(&search, APP_TRUST_PROCESS);
    search.tell = tell;
    search.self = self;
    if (!has_log_file(config)) {
        judge_log(&search, file);
    }
    search_fini(&search);
    return search.told_count;
}

size_t app_trust_find_program(
    const char *program, void (*tell)(void *self, const char *text), void *self)
{
    struct search search;
    search_init(&search, APP_TRUST_SYSTEM);
    search.tell = tell;
    search.self = self;
    if (search.system.is_windows && plat_path_kind(program) != PLAT_PATH_NONE) {
        judge_program(&search, program);
    }
    search_fini(&search);
    return search.told_count;
}

/* ---- folders of our own ---------------------------------------------------------------------- */

static void set_error(void *self, const char *text)
{
    error_set(self, ERR_CONFIG, "others could use the rights of the service. %s", text);
}

bool app_trust_make_private(const char *folder, struct error *err)
{
    struct search search;
    if (!plat_dir_create_private(folder, err)) {
        return false;
    }
    search_init(&search, APP_TRUST_PROCESS);
    search.tell = set_error;
    search.self = err;
    search.system.own.service = sid_of_service();
    judge(&search, folder, TRUST_FOLDER);
    search_fini(&search);
    return search.told_count == 0;
}

/* A folder that is there was made by an administrator, or by an installation before; its list may
 * be anything, as it is replaced. */
static bool may_take_over(const char *folder, struct error *err)
{
    struct search search;
    if (plat_path_kind(folder) == PLAT_PATH_NONE) {
        return true;
    }
    search_init(&search, APP_TRUST_SYSTEM);
    char *absolute = plat_rights_absolute(folder, err);
    bool good = absolute != NULL;
    if (good && !trust_path_judge(&search.system, absolute, TRUST_FOLDER, &search.finding)) {
        unsigned harms = search.finding.verdict.harms;
        bool is_way = search.finding.use == TRUST_WAY || search.finding.use == TRUST_ROOT;
        good = !is_way && harms && !(harms & TRUST_HARM_OWNS);
    }
    free(absolute);
    search_fini(&search);
    return good || error_set(err, ERR_CONFIG,
                       "%s: was made by an account without rights, or such an account can replace "
                       "it. check its content, and remove or rename it",
                       folder);
}

static bool make_folder(const char *folder, const char *name, const char *sddl, struct error *err)
{
    char path[DATA_FOLDER_PATH_BYTES];
    if (*name) {
        if (!data_folder_path(folder, name, path, err)) {
            return false;
        }
    } else if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path)) {
        return error_set(err, ERR_CONFIG, "%.100s…: the path is too long", folder);
    }
    /* Twice: another program may have made it in between. */
    return may_take_over(path, err) && plat_rights_protect(path, sddl, err) &&
           may_take_over(path, err);
}

bool app_trust_make_folders(const char *folder, const char *account, struct error *err)
{
    char sddl[INSTALL_FOLDERS_LIST_BYTES];
    const char *name;
    struct error why = {.code = ERR_NONE};
    for (size_t i = 0; install_folders_get(i, account, &name, sddl, &why); i++) {
        if (!make_folder(folder, name, sddl, err)) {
            return false;
        }
    }
    return why.code == ERR_NONE || error_set(err, why.code, "%s", why.text);
}

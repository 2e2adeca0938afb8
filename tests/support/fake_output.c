#include "support/fake_output.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "outputs/delivery_id.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

enum { RECEIVED_MAX_BYTES = 1 << 30, LOOK_AGAIN_MS = 10 };

struct fake_output {
    struct plat_mutex lock;
    struct plat_cond changed;
    struct fake_step *steps;
    size_t step_count;
    size_t step_at;
    const char *shut; /* a route; borrowed */
    bool held;
    size_t passes; /* calls that go on although it is held */
    struct buf received;
    uint64_t quiet_until_ns; /* as the last answer with a wait_ms said */
    struct fake_counts counts;
};

/* What create returns: one output object of one worker. */
struct worker {
    struct fake_output *fake;
    struct output_env env;
    bool connected;
    bool busy;
    bool routed;
    bool ids;
    bool saves;
    bool saves_last;
};

struct fake_output *fake_output_create(const struct fake_step *steps, size_t count)
{
    struct fake_output *fake = calloc(1, sizeof(*fake));
    if (!fake) {
        abort();
    }
    buf_init(&fake->received, RECEIVED_MAX_BYTES);
    plat_mutex_init(&fake->lock);
    plat_cond_init(&fake->changed);
    fake_output_script(fake, steps, count);
    return fake;
}

void fake_output_script(struct fake_output *fake, const struct fake_step *steps, size_t count)
{
    struct fake_step *copy = calloc(count + 1, sizeof(*copy));
    if (!copy) {
        abort();
    }
    if (count) {
        memcpy(copy, steps, count * sizeof(*copy));
    }
    plat_mutex_lock(&fake->lock);
    free(fake->steps);
    fake->steps = copy;
    fake->step_count = count;
    fake->step_at = 0;
    plat_mutex_unlock(&fake->lock);
}

void fake_output_destroy(struct fake_output *fake)
{
    if (fake) {
        plat_cond_fini(&fake->changed);
        plat_mutex_fini(&fake->lock);
        buf_fini(&fake->received);
        free(fake->steps);
        free(fake);
    }
}

/* ---- the test's side ------------------------------------------------------------------------- */

void fake_output_shut(struct fake_output *fake, const char *route)
{
    plat_mutex_lock(&fake->lock);
    fake->shut = route;
    plat_mutex_unlock(&fake->lock);
}

static void set_held(struct fake_output *fake, bool held)
{
    plat_mutex_lock(&fake->lock);
    fake->held = held;
    plat_cond_broadcast(&fake->changed);
    plat_mutex_unlock(&fake->lock);
}

void fake_output_hold(struct fake_output *fake)
{
    set_held(fake, true);
}

void fake_output_let_go_once(struct fake_output *fake)
{
    plat_mutex_lock(&fake->lock);
    fake->passes++;
    plat_cond_broadcast(&fake->changed);
    plat_mutex_unlock(&fake->lock);
}

void fake_output_let_go(struct fake_output *fake)
{
    set_held(fake, false);
}

struct fake_counts fake_output_counts(struct fake_output *fake)
{
    plat_mutex_lock(&fake->lock);
    struct fake_counts counts = fake->counts;
    plat_mutex_unlock(&fake->lock);
    return counts;
}

static void wait_for(struct fake_output *fake, const size_t *counter, size_t count)
{
    plat_mutex_lock(&fake->lock);
    while (*counter < count) {
        plat_cond_wait(&fake->changed, &fake->lock);
    }
    plat_mutex_unlock(&fake->lock);
}

void fake_output_wait_sends(struct fake_output *fake, size_t count)
{
    wait_for(fake, &fake->counts.sends, count);
}

void fake_output_wait_records(struct fake_output *fake, size_t count)
{
    wait_for(fake, &fake->counts.records, count);
}

void fake_output_wait_idles(struct fake_output *fake, size_t count)
{
    wait_for(fake, &fake->counts.idles, count);
}

char *fake_output_text(struct fake_output *fake)
{
    plat_mutex_lock(&fake->lock);
    char *text = malloc(fake->received.size + 1);
    if (!text || fake->received.failed) {
        abort();
    }
    if (fake->received.size) {
        memcpy(text, fake->received.data, fake->received.size);
    }
    text[fake->received.size] = '\0';
    plat_mutex_unlock(&fake->lock);
    return text;
}

/* ---- the host's side ------------------------------------------------------------------------- */

/* Every call of the host begins and ends here. */
static struct fake_output *enter(struct worker *self)
{
    plat_mutex_lock(&self->fake->lock);
    self->fake->counts.misused += self->busy;
    self->busy = true;
    return self->fake;
}

static void leave(struct worker *self)
{
    self->busy = false;
    plat_cond_broadcast(&self->fake->changed);
    plat_mutex_unlock(&self->fake->lock);
}

/* Forget what was delivered after a checkpoint. */
static void take_back(struct fake_output *fake, struct span checkpoint)
{
    char digits[24] = "";
    if (checkpoint.size == 0 || checkpoint.size >= sizeof(digits)) {
        fake->counts.misused += checkpoint.size != 0;
        return;
    }
    memcpy(digits, checkpoint.data, checkpoint.size);
    size_t bytes = (size_t)strtoull(digits, NULL, 10);
    if (bytes > fake->received.size) {
        fake->counts.misused++;
        return;
    }
    for (size_t i = bytes; i < fake->received.size; i++) {
        fake->counts.records -= fake->received.data[i] == '\n';
    }
    fake->received.size = bytes;
    fake->counts.bytes = bytes;
}

static void *fake_create(const void *settings_, const struct output_env *env, struct error *err)
{
    const struct fake_settings *settings = settings_;
    struct worker *self = calloc(1, sizeof(*self));
    if (!self || !settings->fake) {
        free(self);
        error_set(err, ERR_MEMORY, "no destination, or no memory");
        return NULL;
    }
    self->fake = settings->fake;
    self->env = *env;
    self->routed = settings->route != NULL;
    self->ids = settings->ids;
    self->saves = settings->saves;
    self->saves_last = settings->saves_last;
    enter(self)->counts.created++;
    take_back(self->fake, env->checkpoint);
    leave(self);
    return self;
}

/* False if the host wants an end. The lock is held, but not while waiting. */
static bool wait_while_held(struct worker *self)
{
    struct fake_output *fake = self->fake;
    while (fake->held) {
        if (fake->passes) {
            fake->passes--;
            break;
        }
        if (self->env.stopping && self->env.stopping(self->env.host)) {
            return false;
        }
        uint64_t look_again_ns = plat_monotonic_ns() + (uint64_t)LOOK_AGAIN_MS * 1000000;
        plat_cond_wait_until(&fake->changed, &fake->lock, look_again_ns);
    }
    return true;
}

static bool fake_connect(void *self_, struct error *err)
{
    struct worker *self = self_;
    struct fake_output *fake = enter(self);
    fake->counts.connects++;
    fake->counts.misused += self->connected;
    plat_cond_broadcast(&fake->changed);
    bool good = wait_while_held(self);
    if (good && fake->step_at < fake->step_count && fake->steps[fake->step_at].refuses_connect) {
        fake->step_at++;
        good = false;
    }
    self->connected = good;
    leave(self);
    return good || error_set(err, ERR_IO, "the script refuses to connect");
}

/* The record's id before the end of its line. */
static void note_id(struct fake_output *fake, const struct delivery *delivery, size_t at)
{
    char id[DELIVERY_ID_MAX];
    size_t size = delivery_id_write(delivery, at, id);
    fake->received.size--;
    buf_add_byte(&fake->received, '\t');
    buf_add(&fake->received, id, size);
    buf_add_byte(&fake->received, '\n');
}

static void receive(struct worker *self, const struct delivery *delivery, size_t at)
{
    struct fake_output *fake = self->fake;
    uint32_t start = at ? delivery->record_ends[at - 1] : 0;
    uint32_t end = delivery->record_ends[at];
    if (self->routed) {
        if (!delivery->routes || delivery->routes[at] >= delivery->route_count) {
            fake->counts.misused++;
            return;
        }
        buf_add_span(&fake->received, delivery->route_names[delivery->routes[at]]);
        buf_add_byte(&fake->received, '\t');
    }
    buf_add(&fake->received, delivery->bytes.data + start, end - start);
    if (delivery->ids) {
        note_id(fake, delivery, at);
    }
    fake->counts.records++;
    fake->counts.bytes = fake->received.size;
}

static void reject(
    struct worker *self, size_t record, const struct fake_step *step, struct output_report *report)
{
    self->fake->counts.rejected++;
    if (step->reason) {
        struct output_rejection why = {
            .status = 400, .type = span_text("fake"), .reason = span_text(step->reason)};
        report->reject(report->host, record, &why);
    }
}

static void receive_some(struct worker *self, const struct delivery *delivery,
    const struct fake_step *step, struct output_report *report)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        uint64_t bit = i < 64 ? UINT64_C(1) << i : 0;
        if (step->delivers & bit) {
            receive(self, delivery, i);
            report->records[i] = RECORD_DELIVERED;
        } else if (step->rejects & bit) {
            reject(self, i, step, report);
            report->records[i] = RECORD_REJECTED;
        } else {
            report->records[i] = RECORD_RETRY;
        }
    }
}

static bool is_shut(const struct worker *self, const struct delivery *delivery, size_t at)
{
    const char *shut = self->fake->shut;
    return shut && delivery->routes && span_is(delivery->route_names[delivery->routes[at]], shut);
}

static void block(size_t record, struct output_report *report)
{
    const struct output_rejection why = {
        .status = 403, .type = span_text("shut"), .reason = span_text("it is shut")};
    report->reject(report->host, record, &why);
    report->records[record] = RECORD_BLOCKED;
}

/* All goes well but for what is shut. */
static enum output_verdict receive_open(
    struct worker *self, const struct delivery *delivery, struct output_report *report)
{
    bool any_shut = false;
    for (size_t i = 0; i < delivery->record_count; i++) {
        any_shut = any_shut || is_shut(self, delivery, i);
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (is_shut(self, delivery, i)) {
            block(i, report);
            continue;
        }
        receive(self, delivery, i);
        if (any_shut) {
            report->records[i] = RECORD_DELIVERED;
        }
    }
    if (any_shut) {
        error_set(&report->error, ERR_IO, "a route is shut");
    }
    return any_shut ? OUTPUT_MIXED : OUTPUT_DELIVERED;
}

/* What the host promises of a delivery. */
static bool is_sound(const struct worker *self, const struct delivery *delivery)
{
    uint32_t start = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (delivery->record_ends[i] < start) {
            return false;
        }
        start = delivery->record_ends[i];
    }
    return self->connected && start == delivery->bytes.size && (self->ids || !delivery->ids);
}

static enum output_verdict fake_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct worker *self = self_;
    if (self->saves && self->env.save && !self->env.save(self->env.host, &report->error)) {
        return OUTPUT_RETRY;
    }
    struct fake_output *fake = enter(self);
    fake->counts.sends++;
    fake->counts.repeated += delivery->repeated;
    fake->counts.early += plat_monotonic_ns() < fake->quiet_until_ns;
    fake->counts.misused += !is_sound(self, delivery);
    plat_cond_broadcast(&fake->changed);
    struct fake_step step = {.verdict = OUTPUT_DELIVERED};
    if (!wait_while_held(self)) {
        step.verdict = OUTPUT_RETRY;
    } else if (!self->connected) {
        step.verdict = OUTPUT_RECONNECT;
    } else if (fake->step_at < fake->step_count) {
        step = fake->steps[fake->step_at++];
    }
    bool well = step.verdict == OUTPUT_DELIVERED;
    if (well) {
        step.verdict = receive_open(self, delivery, report);
    } else {
        error_set(&report->error, step.closed ? ERR_STOPPED : ERR_IO, "as the script says");
    }
    if (step.verdict == OUTPUT_MIXED && !well) {
        receive_some(self, delivery, &step, report);
    }
    for (size_t i = 0; i < delivery->record_count && step.verdict == OUTPUT_REJECTED; i++) {
        reject(self, i, &step, report);
    }
    report->wait_ms = step.wait_ms;
    if (step.wait_ms) {
        fake->quiet_until_ns = plat_monotonic_ns() + (uint64_t)step.wait_ms * 1000000;
    }
    report->degraded = step.degraded;
    report->unexpected_duplicates = step.duplicates;
    report->maybe_lost = step.maybe_lost;
    leave(self);
    return step.verdict;
}

static void fake_disconnect(void *self_)
{
    struct worker *self = self_;
    if (self->saves_last && self->env.save) {
        struct error err;
        self->env.save(self->env.host, &err);
    }
    enter(self)->counts.disconnects++;
    self->connected = false;
    leave(self);
}

static void fake_destroy(void *self_)
{
    struct worker *self = self_;
    if (self) {
        enter(self)->counts.destroyed++;
        leave(self);
        free(self);
    }
}

static bool fake_checkpoint(void *self_, struct buf *out, struct error *err)
{
    struct worker *self = self_;
    struct fake_output *fake = enter(self);
    fake->counts.checkpoints++;
    buf_printf(out, "%zu", fake->received.size);
    leave(self);
    return !out->failed || error_set(err, ERR_LIMIT, "no room for the checkpoint");
}

static uint64_t fake_idle(void *self_)
{
    struct worker *self = self_;
    struct fake_output *fake = enter(self);
    fake->counts.idles++;
    fake->counts.misused += !self->connected;
    leave(self);
    return UINT64_MAX;
}

static const char *fake_route(const void *settings)
{
    return ((const struct fake_settings *)settings)->route;
}

static bool fake_ids(const void *settings)
{
    return ((const struct fake_settings *)settings)->ids;
}

static const char *fake_target(const void *settings)
{
    return ((const struct fake_settings *)settings)->target;
}

static const char *fake_format(const void *settings)
{
    return ((const struct fake_settings *)settings)->format;
}

static const struct config_field fields[] = {{.key = NULL}};

const struct output_ops fake_output_ops = {
    .name = "fake",
    .fields = fields,
    .settings_size = sizeof(struct fake_settings),
    .format = fake_format,
    .route = fake_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .ids = fake_ids,
    .target = fake_target,
    .create = fake_create,
    .connect = fake_connect,
    .send = fake_send,
    .disconnect = fake_disconnect,
    .destroy = fake_destroy,
    .checkpoint = fake_checkpoint,
    .idle = fake_idle,
};

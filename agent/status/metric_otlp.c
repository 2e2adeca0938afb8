#include "status/metric_otlp.h"

#include "platform/plat_clock.h"
#include "status/metric_otlp_own.h"

bool metric_otlp_resource(const struct metric_otlp_origin *origin, size_t index,
    const char **ret_key, struct span *ret_value)
{
    const struct {
        const char *key;
        struct span value;
    } attributes[] = {
        {"service.name", span_text("etwship")},
        {"service.version", origin->version},
        {"service.instance.id", origin->instance},
        {"host.name", origin->host},
    };
    if (index >= sizeof(attributes) / sizeof(attributes[0])) {
        return false;
    }
    *ret_key = attributes[index].key;
    *ret_value = attributes[index].value;
    return true;
}

bool metric_otlp_has(const struct metric_otlp *self, enum metric_id id)
{
    const struct metric *metric = metric_of(id);
    return metric->name[0] && metric->kind != METRIC_KIND_TEXT &&
           metric->kind != METRIC_KIND_LIST && self->order.first[id] != SIZE_MAX;
}

uint64_t metric_otlp_start(const struct metric_otlp *self, enum metric_id id)
{
    enum metric_kind kind = metric_of(id)->kind;
    if (kind != METRIC_KIND_COUNTER && kind != METRIC_KIND_HISTOGRAM) {
        return 0;
    }
    bool is_of_process = id == METRIC_CPU || id == METRIC_CONFIG_RELOADS ||
                         id == METRIC_CONFIG_FAILED_RELOADS;
    return is_of_process || !self->loaded ? self->origin->started : self->loaded;
}

const char *metric_otlp_unit(const struct metric *metric)
{
    return strcmp(metric->unit, "bytes") == 0     ? "By"
           : strcmp(metric->unit, "seconds") == 0 ? "s"
                                                  : "";
}

void metric_otlp_write(const struct metric_set *set, const struct metric_otlp_origin *origin,
    enum metric_otlp_encoding encoding, struct buf *out)
{
    struct metric_otlp self = {.set = set, .origin = origin};
    if (!metric_order_init(&self.order, set)) {
        out->failed = true;
        return;
    }
    size_t loaded = self.order.first[METRIC_CONFIG_LOADED_TIME];
    self.loaded = loaded == SIZE_MAX ? 0 : set->samples[loaded].number * NS_PER_MS;
    (encoding == METRIC_OTLP_JSON ? metric_otlp_json : metric_otlp_proto)(&self, out);
    metric_order_fini(&self.order);
}

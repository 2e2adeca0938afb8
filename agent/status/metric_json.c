#include "status/metric_json.h"

#include "base/utf.h"

/*
 * Samples are written one after the other. Objects and lists stay open as far as the next sample
 * has the same path, so only that path is kept.
 */
enum { MAX_NODES = 10, MAX_NAME_BYTES = 200 };

/* A step of a path: a member of an object, or an element of a list. */
struct node {
    char name[MAX_NAME_BYTES]; /* of a member */
    struct span element;       /* its key in the list */
    bool is_element;
    bool is_named; /* the element begins with a member "name" */
    bool is_list;  /* a member with a value */
    bool has_any;  /* something was written inside */
};

struct way {
    struct node nodes[MAX_NODES];
    size_t count;
};

void metric_json_string(struct span text, struct buf *out)
{
    buf_add_byte(out, '"');
    buf_add_json(out, text);
    buf_add_byte(out, '"');
}

static struct span label_of(
    const struct metric *metric, const struct metric_sample *sample, struct span name)
{
    size_t index = metric_label_index(metric, name);
    return index < METRIC_MAX_LABELS ? sample->labels[index] : span_make("", 0);
}

/* The member's name up to the end of a segment: {label} becomes the label's value. */
static const char *read_name(const struct metric *metric, const struct metric_sample *sample,
    const char *at, struct node *node)
{
    size_t size = 0;
    while (*at && *at != '.' && *at != '[') {
        struct span part = span_make(at, 1);
        at++;
        if (*part.data == '{') {
            size_t length = strcspn(at, "}");
            part = label_of(metric, sample, span_make(at, length));
            at += length + (at[length] == '}');
        }
        part = span_first(part, MAX_NAME_BYTES - 1 - size);
        memcpy(node->name + size, part.data, part.size);
        size += part.size;
    }
    node->name[size] = '\0';
    return at;
}

static void find_way(
    const struct metric *metric, const struct metric_sample *sample, struct way *ret_way)
{
    const char *at = metric->path;
    ret_way->count = 0;
    while (*at && ret_way->count + 2 <= MAX_NODES) {
        struct node *member = &ret_way->nodes[ret_way->count++];
        *member = (struct node){.is_element = false};
        at = read_name(metric, sample, at, member);
        if (*at == '[') {
            bool is_named = at[1] != '#';
            at += is_named ? 1 : 2;
            size_t length = strcspn(at, "]");
            member->is_list = true;
            if (length) {
                ret_way->nodes[ret_way->count++] = (struct node){.is_element = true,
                    .is_named = is_named,
                    .element = label_of(metric, sample, span_make(at, length))};
            }
            at += length + (at[length] == ']');
        }
        at += *at == '.';
    }
}

static bool same(const struct node *a, const struct node *b)
{
    return a->is_element == b->is_element && a->is_list == b->is_list &&
           (a->is_element ? span_equal(a->element, b->element) : strcmp(a->name, b->name) == 0);
}

static void close_to(struct way *open, size_t count, struct buf *out)
{
    while (open->count > count) {
        buf_add_byte(out, open->nodes[--open->count].is_list ? ']' : '}');
    }
}

static void begin_item(struct way *open, bool *has_any, struct buf *out)
{
    bool *has_member = open->count ? &open->nodes[open->count - 1].has_any : has_any;
    if (*has_member) {
        buf_add_byte(out, ',');
    }
    *has_member = true;
}

static void open_node(struct way *open, const struct node *node, bool *has_any, struct buf *out)
{
    begin_item(open, has_any, out);
    if (!node->is_element) {
        metric_json_string(span_text(node->name), out);
        buf_add_byte(out, ':');
    }
    buf_add_byte(out, node->is_list ? '[' : '{');
    if (node->is_named) {
        buf_add_text(out, "\"name\":");
        metric_json_string(node->element, out);
    }
    open->nodes[open->count] = *node;
    open->nodes[open->count++].has_any = node->is_named;
}

static void add_histogram(struct buf *out, const struct histogram *histogram)
{
    uint64_t count = 0;
    buf_add_text(out, "{\"buckets\":{");
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
        if (i + 1 < HISTOGRAM_BUCKETS) {
            buf_printf(out, "%s\"%llu\":%llu", i ? "," : "",
                (unsigned long long)histogram_bounds_ms[i], (unsigned long long)count);
        }
    }
    buf_printf(out, "},\"count\":%llu,\"sum\":%llu}", (unsigned long long)count,
        (unsigned long long)histogram->sum_ms);
}

static void add_value(
    struct buf *out, const struct metric *metric, const struct metric_sample *sample)
{
    switch (metric->kind) {
    case METRIC_KIND_TEXT:
        metric_json_string(sample->text, out);
        break;
    case METRIC_KIND_FLAG:
        buf_add_text(out, sample->number ? "true" : "false");
        break;
    case METRIC_KIND_HISTOGRAM:
        add_histogram(out, sample->histogram);
        break;
    default:
        buf_printf(out, "%llu", (unsigned long long)sample->number);
    }
}

void metric_json_members(const struct metric_set *set, struct buf *out)
{
    struct way open = {.count = 0};
    struct way way;
    bool has_any = false;
    if (set->failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct metric_sample *sample = &set->samples[i];
        const struct metric *metric = metric_of(sample->id);
        if (!metric->path[0]) {
            continue;
        }
        find_way(metric, sample, &way);
        size_t containers = way.count - (metric->kind != METRIC_KIND_LIST);
        size_t common = 0;
        while (common < open.count && common < containers &&
               same(&open.nodes[common], &way.nodes[common])) {
            common++;
        }
        close_to(&open, common, out);
        for (size_t k = common; k < containers; k++) {
            open_node(&open, &way.nodes[k], &has_any, out);
        }
        if (metric->kind != METRIC_KIND_LIST) {
            begin_item(&open, &has_any, out);
            metric_json_string(span_text(way.nodes[way.count - 1].name), out);
            buf_add_byte(out, ':');
            add_value(out, metric, sample);
        }
    }
    close_to(&open, 0, out);
}

void metric_json_write(const struct metric_set *set, struct buf *out)
{
    buf_add_byte(out, '{');
    metric_json_members(set, out);
    buf_add_byte(out, '}');
}

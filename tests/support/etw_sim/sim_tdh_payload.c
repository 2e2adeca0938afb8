#include <stdlib.h>

#include "base/utf.h"
#include "event/model/schema_forms.h"
#include "support/etw_sim/etw_sim_payload.h"
#include "support/etw_sim/sim_tdh_own.h"

/*
 * Payload filters (TdhCreatePayloadFilter and its kin, tdh.h), in the private form that the
 * simulated sessions evaluate. A field can be asked for if every field before it has a size that
 * its own bytes tell.
 */
enum { MAX_PREDICATES = 8, FILTER_MAX_BYTES = ETW_MAX_FILTER_PAYLOAD_BYTES };

struct payload_filter {
    struct etw_sim_payload_filter head;
    struct etw_sim_payload_predicate predicates[MAX_PREDICATES];
};

/* ---- fields ---------------------------------------------------------------------------------- */

static bool is_signed(uint16_t in_type)
{
    return in_type == IN_INT8 || in_type == IN_INT16 || in_type == IN_INT32 || in_type == IN_INT64;
}

/* How the field is passed over; 0 if that cannot be said. */
static uint8_t take_of(const struct schema_field *field)
{
    if (field->is_array || (field->flags & (FIELD_STRUCT | FIELD_OPTIONAL))) {
        return 0;
    }
    bool has_length = field->length || (field->flags & FIELD_PARAM_LENGTH);
    if (field->in_type == IN_UNICODE_STRING || field->in_type == IN_ANSI_STRING) {
        return has_length                            ? 0
               : field->in_type == IN_UNICODE_STRING ? ETW_SIM_FIELD_TEXT16
                                                     : ETW_SIM_FIELD_TEXT8;
    }
    uint8_t size = field->pointer_sized ? 8 : schema_forms_fixed_size(field->in_type);
    return is_signed(field->in_type) ? (uint8_t)(size | ETW_SIM_FIELD_SIGNED) : size;
}

static bool is_text(uint8_t take)
{
    return take == ETW_SIM_FIELD_TEXT16 || take == ETW_SIM_FIELD_TEXT8;
}

static uint32_t set_field(const struct event_schema *schema, struct span name,
    struct etw_sim_payload_predicate *predicate)
{
    size_t i = 0;
    while (i < schema->top_count && !span_equal(schema->fields[i].name, name)) {
        predicate->before[i < ETW_SIM_PAYLOAD_FIELDS ? i : 0] = take_of(&schema->fields[i]);
        i++;
    }
    if (i == schema->top_count) {
        return ETW_ERROR_NOT_FOUND;
    }
    const struct schema_field *field = &schema->fields[i];
    bool is_number = schema_forms_fixed_size(field->in_type) <= 8 && field->in_type != IN_FLOAT &&
                     field->in_type != IN_DOUBLE;
    predicate->field = is_number ? take_of(field) : 0;
    predicate->before_count = (uint8_t)i;
    bool reachable = i <= ETW_SIM_PAYLOAD_FIELDS && predicate->field;
    for (size_t k = 0; reachable && k < i; k++) {
        reachable = predicate->before[k] != 0;
    }
    return reachable ? ETW_SUCCESS : ETW_ERROR_NOT_SUPPORTED;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A number, decimal with a sign or in hex, up to ${end}. */
static bool parse_number(const char *text, const char *end, uint64_t *ret_number)
{
    char *stop = NULL;
    bool negative = *text == '-';
    const char *digits = text + (negative ? 1 : 0);
    if (*digits < '0' || *digits > '9') {
        return false;
    }
    uint64_t number = strtoull(digits, &stop, digits[1] == 'x' || digits[1] == 'X' ? 16 : 10);
    *ret_number = negative ? 0 - number : number;
    return stop == end;
}

static bool set_numbers(const char *text, struct etw_sim_payload_predicate *predicate)
{
    bool two = predicate->compare_op == ETW_PAYLOAD_BETWEEN ||
               predicate->compare_op == ETW_PAYLOAD_NOT_BETWEEN ||
               predicate->compare_op == ETW_PAYLOAD_MODULO;
    const char *end = text + strlen(text);
    const char *comma = strchr(text, ',');
    if (two != (comma != NULL)) {
        return false;
    }
    return parse_number(text, two ? comma : end, &predicate->value[0]) &&
           (!two || parse_number(comma + 1, end, &predicate->value[1]));
}

static bool set_text(const etw_char *value, struct etw_sim_payload_predicate *predicate)
{
    struct span utf16 = sim_tdh_utf16(value);
    if (utf16.size > sizeof(predicate->text)) {
        return false;
    }
    memcpy(predicate->text, utf16.data, utf16.size);
    predicate->text_chars = (uint16_t)(utf16.size / sizeof(uint16_t));
    return true;
}

static bool set_value(const etw_char *value, struct etw_sim_payload_predicate *predicate)
{
    bool about_text = predicate->compare_op == ETW_PAYLOAD_CONTAINS ||
                      predicate->compare_op == ETW_PAYLOAD_DOES_NOT_CONTAIN;
    bool about_any = predicate->compare_op == ETW_PAYLOAD_IS ||
                     predicate->compare_op == ETW_PAYLOAD_IS_NOT;
    if (is_text(predicate->field)) {
        return (about_text || about_any) && set_text(value, predicate);
    }
    struct buf text;
    bool ok = !about_text && (about_any || predicate->compare_op <= ETW_PAYLOAD_MODULO) &&
              sim_tdh_utf8(value, &text);
    if (ok) {
        ok = set_numbers((const char *)text.data, predicate);
        buf_fini(&text);
    }
    return ok;
}

static uint32_t set_predicate(const struct event_schema *schema, const struct etw_predicate *from,
    struct etw_sim_payload_predicate *predicate)
{
    struct buf name;
    if (!from->field_name || !from->value) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (!sim_tdh_utf8(from->field_name, &name)) {
        return ETW_ERROR_OUTOFMEMORY;
    }
    uint32_t code = set_field(schema, span_make(name.data, name.size - 1), predicate);
    buf_fini(&name);
    predicate->compare_op = from->compare_op;
    if (code == ETW_SUCCESS && !set_value(from->value, predicate)) {
        code = ETW_ERROR_INVALID_PARAMETER;
    }
    return code;
}

/* ---- the functions --------------------------------------------------------------------------- */

static uint32_t set_filter(struct sim_tdh *tdh, const struct guid *provider,
    const struct event_descriptor *descriptor, const struct etw_predicate *predicates,
    struct payload_filter *filter)
{
    const struct event_record record = {.kind = RECORD_EVENT,
        .pointer_size = 8,
        .provider = *provider,
        .descriptor = {.id = descriptor->id, .version = descriptor->version}};
    const struct event_schema *schema;
    struct tei_options options;
    if (!sim_tdh_find(tdh, &record, &schema, &options)) {
        return ETW_ERROR_NOT_FOUND;
    }
    uint32_t code = ETW_SUCCESS;
    for (uint8_t i = 0; code == ETW_SUCCESS && i < filter->head.predicates; i++) {
        code = set_predicate(schema, &predicates[i], &filter->predicates[i]);
    }
    return code;
}

uint32_t etw_sim_TdhCreatePayloadFilter(const struct guid *provider,
    const struct event_descriptor *descriptor, uint8_t match_any, uint32_t count,
    struct etw_predicate *predicates, void **ret_filter)
{
    if (!provider || !descriptor || !predicates || !ret_filter || count == 0 ||
        count > MAX_PREDICATES) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct payload_filter *filter = calloc(1, sizeof(*filter));
    if (!filter) {
        return ETW_ERROR_OUTOFMEMORY;
    }
    filter->head = (struct etw_sim_payload_filter){.event_id = descriptor->id,
        .event_version = descriptor->version,
        .match_any = match_any != 0,
        .predicates = (uint8_t)count};
    struct sim_tdh *tdh = sim_tdh_enter();
    uint32_t code = ETW_ERROR_NOT_FOUND;
    if (tdh) {
        code = set_filter(tdh, provider, descriptor, predicates, filter);
        sim_tdh_leave(tdh);
    }
    if (code != ETW_SUCCESS) {
        free(filter);
        return code;
    }
    *ret_filter = filter;
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhDeletePayloadFilter(void **filter)
{
    if (!filter || !*filter) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    free(*filter);
    *filter = NULL;
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhAggregatePayloadFilters(
    /* NOLINTNEXTLINE(readability-non-const-parameter): the type is that of Windows. */
    uint32_t count, void **filters, uint8_t *match_all, struct etw_filter *ret_filter)
{
    if (count == 0 || count > UINT16_MAX || !filters || !ret_filter) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct buf blob;
    buf_init(&blob, FILTER_MAX_BYTES);
    const struct etw_sim_payload_blob head = {
        .magic = ETW_SIM_PAYLOAD_MAGIC, .filters = (uint16_t)count};
    buf_add(&blob, &head, sizeof(head));
    for (uint32_t i = 0; i < count && !blob.failed; i++) {
        const struct payload_filter *from = filters[i];
        struct etw_sim_payload_filter filter = from->head;
        filter.match_all = !match_all || match_all[i];
        buf_add(&blob, &filter, sizeof(filter));
        buf_add(&blob, from->predicates, from->head.predicates * sizeof(from->predicates[0]));
    }
    if (blob.failed) {
        buf_fini(&blob);
        return ETW_ERROR_INVALID_PARAMETER;
    }
    *ret_filter = (struct etw_filter){
        .data = (uintptr_t)blob.data, .size = (uint32_t)blob.size, .type = ETW_FILTER_PAYLOAD};
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhCleanupPayloadEventFilterDescriptor(struct etw_filter *filter)
{
    if (!filter) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    free((void *)(uintptr_t)filter->data);
    *filter = (struct etw_filter){.data = 0};
    return ETW_SUCCESS;
}

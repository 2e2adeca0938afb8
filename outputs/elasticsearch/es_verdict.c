#include "outputs/elasticsearch/es_verdict.h"

#include "outputs/http/http_status.h"

struct rule {
    int first; /* status */
    int last;
    const char *type;   /* error type; after a '*': its end; NULL: any */
    const char *reason; /* start of the reason, where an event has no influence; NULL: any */
    enum es_verdict verdict;
    const char *words;
    bool of_index; /* other indices may accept events: for items only */
};

/* In both tables the first matching row counts. Reasons distinguish the cases of
 * illegal_argument_exception; they are those of OpenSearch 2.19 and Elasticsearch 8.19
 * (tests/integration/opensearch/real_contract.py). */
static const char illegal[] = "illegal_argument_exception";
static const char no_room[] =
    "the cluster has its maximum of shards, and creates no new index. free some";

/* Events that an index refuses are held for it only (of_index); the first line of a block names the
 * index, or the block applies to the whole cluster. */
static const struct rule item_rules[] = {
    {200, 201, NULL, NULL, ES_TAKEN, "stored", false},
    {409, 409, NULL, NULL, ES_DUPLICATE, "a document with this id exists already", false},
    {408, 408, NULL, NULL, ES_RETRY, "the request took too long", false},
    {400, 599, "index_create_block_exception", NULL, ES_RETRY, "the cluster creates no new index",
        true},
    {400, 599, "*block_exception", "blocked by: [", ES_RETRY, "the cluster is closed to writing",
        false},
    {400, 599, "*block_exception", NULL, ES_RETRY, "the index is closed to writing", true},
    {429, 429, NULL, NULL, ES_RETRY, "the server is overloaded, or its disk too full", false},
    {500, 599, NULL, NULL, ES_RETRY, "the server, or this index of it, has a fault", true},
    {400, 400, "resource_already_exists_exception", NULL, ES_RETRY,
        "another request was creating the index", false},
    {400, 400, "index_closed_exception", NULL, ES_RETRY_SLOWLY, "the index is closed. open it",
        true},
    {400, 400, illegal, "Validation Failed: 1: this action would add [", ES_RETRY_SLOWLY, no_room,
        true},
    {400, 400, "validation_exception", "Validation Failed: 1: this action would add [",
        ES_RETRY_SLOWLY, no_room, true},
    {400, 400, "validation_exception", NULL, ES_RETRY_SLOWLY,
        "the index cannot be made as the cluster's templates say. correct them", true},
    {400, 400, illegal, "Number of documents in ", ES_RETRY_SLOWLY,
        "the shard is full. roll the index over, or give it more shards", true},
    {400, 400, illegal, "pipeline with id [", ES_RETRY_SLOWLY,
        "the ingest pipeline does not exist. create it, or correct its name", true},
    {400, 400, illegal, "no write index is defined for alias [", ES_RETRY_SLOWLY,
        "the alias has no write index. give it one", true},
    {400, 400, illegal, "only write ops with an op_type of create", ES_RETRY_SLOWLY,
        "this is a data stream, which accepts only create. correct action", true},
    {400, 400, illegal, "index request targeting data stream [", ES_RETRY_SLOWLY,
        "the data stream accepts no routing. remove it", true},
    {400, 400, illegal, "Alias [", ES_RETRY_SLOWLY,
        "the alias has a routing of its own. remove routing", true},
    {400, 400, "routing_missing_exception", NULL, ES_RETRY_SLOWLY,
        "the index requires a routing. set it", true},
    {401, 401, NULL, NULL, ES_RETRY_SLOWLY, "the server refuses these credentials. check auth",
        false},
    {403, 403, NULL, NULL, ES_RETRY_SLOWLY,
        "the user has no right to write there. give it the right to create documents and the index",
        true},
    {404, 404, NULL, NULL, ES_RETRY_SLOWLY,
        "the index, alias or data stream does not exist. create it, or correct its name", true},
    {400, 499, NULL, NULL, ES_REFUSED,
        "the document will never be accepted: a mapping, a limit, a pipeline that fails", false},
};

static const struct rule request_rules[] = {
    {200, 200, NULL, NULL, ES_READ, "each event has an answer of its own", false},
    {201, 299, NULL, NULL, ES_RETRY,
        "the reply has no answer for each event. check that this is Elasticsearch or OpenSearch",
        false},
    {400, 400, illegal, "Action/metadata line [", ES_RETRY_SLOWLY,
        "the server does not know a setting of this output. remove it", false},
    {400, 400, NULL, NULL, ES_BISECT, "the server refuses something in it", false},
    {404, 404, NULL, NULL, ES_RETRY,
        "nothing accepts events there, or not yet. check address and path of hosts", false},
    {408, 408, NULL, NULL, ES_RETRY, "the server did not wait for the request", false},
    {413, 413, NULL, NULL, ES_SPLIT, "it is too large", false},
    {429, 429, NULL, NULL, ES_RETRY, "the server is overloaded", false},
    {300, 499, NULL, NULL, ES_RETRY_SLOWLY,
        "no event is at fault: credentials, rights, a wrong address", false},
    {502, 504, NULL, NULL, ES_RETRY, "this node is not available", false},
    {500, 599, NULL, NULL, ES_RETRY, "the server has a fault", false},
};

enum {
    ITEM_RULES = sizeof(item_rules) / sizeof(item_rules[0]),
    REQUEST_RULES = sizeof(request_rules) / sizeof(request_rules[0]),
};

static bool is_of_type(struct span type, const char *pattern)
{
    if (*pattern != '*') {
        return span_is(type, pattern);
    }
    size_t size = strlen(++pattern);
    return type.size >= size && span_is(span_from(type, type.size - size), pattern);
}

static bool fits(const struct rule *rule, const struct es_answer *answer)
{
    struct span start = span_first(answer->reason, rule->reason ? strlen(rule->reason) : 0);
    return answer->status >= rule->first && answer->status <= rule->last &&
           (!rule->type || is_of_type(answer->type, rule->type)) &&
           (!rule->reason || span_is(start, rule->reason));
}

static const struct rule *find(
    const struct rule *rules, size_t count, const struct es_answer *answer)
{
    for (size_t i = 0; i < count; i++) {
        if (fits(&rules[i], answer)) {
            return &rules[i];
        }
    }
    return NULL;
}

enum es_verdict es_verdict_item(const struct es_answer *answer)
{
    const struct rule *rule = find(item_rules, ITEM_RULES, answer);
    return rule ? rule->verdict : ES_RETRY;
}

bool es_verdict_is_of_index(const struct es_answer *answer)
{
    const struct rule *rule = find(item_rules, ITEM_RULES, answer);
    return rule && rule->of_index;
}

enum es_verdict es_verdict_request(const struct es_answer *answer)
{
    const struct rule *rule = find(request_rules, REQUEST_RULES, answer);
    return rule ? rule->verdict : ES_RETRY;
}

const char *es_verdict_words(const struct es_answer *answer)
{
    const struct rule *rule = find(item_rules, ITEM_RULES, answer);
    return rule && rule->verdict == ES_RETRY_SLOWLY ? rule->words : NULL;
}

const char *es_verdict_request_words(const struct es_answer *answer)
{
    const struct rule *rule = find(request_rules, REQUEST_RULES, answer);
    return rule && (rule->reason || rule->verdict == ES_RETRY) ? rule->words
                                                               : http_status_words(answer->status);
}

static const char *const consequences[] = {
    [ES_RETRY] = "sent again, in order, after `Retry-After` or a growing wait; after several "
                 "answers of 429 in a row in halves",
    [ES_RETRY_SLOWLY] = "sent again slowly; the output counts as degraded",
    [ES_TAKEN] = "delivered",
    [ES_DUPLICATE] = "delivered; if it was never sent before and is no file read again, counted as "
                     "an unexpected duplicate",
    [ES_REFUSED] = "kept as a dead letter",
    [ES_READ] = "see the table above",
    [ES_SPLIT] = "sent in halves, and a request as large is only tried once in a while; a single "
                 "event goes to the dead letters",
    [ES_BISECT] = "sent in halves until the refused one is alone, which goes to the dead letters",
};

static const char apart[] = "held apart (see below), or with one index for all ";

static void write_table(const struct rule *rules, size_t count, struct buf *out)
{
    buf_add_text(out, "| Status | It says | The events are |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = &rules[i];
        buf_printf(out, "| %d", rule->first);
        if (rule->last != rule->first) {
            buf_printf(out, " to %d", rule->last);
        }
        if (rule->type) {
            bool end = *rule->type == '*';
            buf_printf(out, " of a type `%s%s`", end ? "…" : "", rule->type + end);
        }
        if (rule->reason) {
            buf_printf(out, ", `%s…`", rule->reason);
        }
        buf_printf(out, " | %s | %s%s |\n", rule->words, rule->of_index ? apart : "",
            consequences[rule->verdict]);
    }
}

void es_verdict_write_reference(struct buf *out)
{
    buf_add_text(out, "\n## What the answers of Elasticsearch and OpenSearch lead to\n\n"
                      "The first row that fits counts. The answer for one event:\n\n");
    write_table(item_rules, ITEM_RULES, out);
    buf_add_text(out,
        "\nWhere `index` or `data_stream` has fields in it, events are held apart for each index "
        "that does not accept them; events for other indices continue. Events for this one wait in "
        "their order, and the oldest is sent again after a growing wait, up to `retry.max`; after "
        "`retry.max_age` the event is given up. The output counts as degraded meanwhile, and the "
        "status says which index, why, and how many events (`parked`). An index that rejects all "
        "of its events in three deliveries in a row, at least 16, as with a wrong mapping, is "
        "treated alike: the output then sends one event at a time, of the oldest delivery and of "
        "later ones in turn, until one is accepted; from then on rejected events go to the dead "
        "letters. An output takes no more batches when it holds events of 4,096 batches, half of "
        "the spool, two million events, or events of 1,024 indices. With `spool.on_full: "
        "drop_oldest` the oldest held live events are then dropped, if that makes room, and "
        "counted in a gap, and the output continues.\n\nThe answer to a request as such. No reply, "
        "or one that is cut off, cannot be read or answers for another number of events: sent "
        "again. With several hosts, the output sends again to the next one at once, and avoids the "
        "failed host for 1 s, then 2 s and so on up to 60 s, or for the time in its `Retry-After`; "
        "then one request probes it. When every host fails, the output waits. It counts as "
        "degraded when each of them has a lasting fault or failed three times in a row.\n\n");
    write_table(request_rules, REQUEST_RULES, out);
}

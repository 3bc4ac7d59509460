/* What becomes of each resource, as a Release's status lists it. */
#include "controller/reconcile/status/report.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"

/* Of a field's path: the schema's limit. */
#define PATH_BYTES 4096

/* ---- The fields ---- */

static void add_text(struct value_builder *b, const char *key, const char *text)
{
    if (!text)
        return;
    value_key(b, key);
    value_add_string(b, text);
}

static const struct value *list_fields(const struct diff *diff)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < diff->n_fields; i++) {
        const struct diff_field *field = &diff->fields[i];
        _cleanup_free_ char *path = utf8_show(field->path);

        if (strlen(path) > PATH_BYTES) /* cut, it could be that of another field */
            continue;
        value_begin_object(b);
        add_text(b, "path", path);
        add_text(b, "from", field->from);
        add_text(b, "to", field->to);
        value_end_object(b);
    }
    value_end_array(b);
    return value_finish(b);
}

/* ---- Each resource ---- */

/* One entry: of an operation, or (result NULL) of a plan. */
struct entry {
    const struct plan_change *change;
    const struct operation_result *result;
    enum plan_action action;
    const struct value *fields; /* owned; NULL: none, or not listed */
    size_t n_fields;            /* that there are, in `fields` or not */
    const char *note;           /* beside the errors; NULL: none */
};

static const char *const outcomes[] = {
    [RESULT_PENDING] = "pending",     [RESULT_SUCCEEDED] = "succeeded",
    [RESULT_FAILED] = "failed",       [RESULT_SKIPPED] = "skipped",
    [RESULT_CANCELLED] = "cancelled", [RESULT_TIMED_OUT] = "timedOut",
    [RESULT_DEFERRED] = "deferred",
};

static void take_earlier(struct entry *entry, const struct value *earlier)
{
    const char *action = value_get_string(earlier, "action");
    bool has_fields = entry->action == PLAN_UPDATE || entry->action == PLAN_ADOPT ||
                      entry->action == PLAN_REPLACE;

    if (str_equal(action, plan_action_name(entry->action)))
        entry->fields = value_ref(value_get(earlier, "fields"));
    if (entry->fields)
        entry->n_fields =
            value_count(entry->fields) + (size_t)value_int(value_get(earlier, "omittedFields"), 0);
    else if (has_fields)
        entry->note = "done before the operator was restarted; its fields were not recorded";
}

static const char *find_note(const struct entry *entry)
{
    const struct plan_change *change = entry->change;
    bool is_done = entry->result && entry->result->status == RESULT_SUCCEEDED;

    if (entry->action == PLAN_FORGET && change->is_only_read)
        return "it is not read any more";
    if (entry->action == PLAN_FORGET && !change->stays)
        return "it is gone already";
    return is_done && entry->action == PLAN_CREATE ? NULL : change->reason; /* it was tried now */
}

/* The fields are counted; make_entry() lists them. */
static void entry_init(const struct report_source *source, size_t i, const struct strmap *earlier,
                       struct entry *ret)
{
    const struct operation_result *result = source->results ? &source->results->items[i] : NULL;
    const struct plan_change *change = result ? result->change : &source->plan->changes[i];
    const struct diff *diff = change->diff;

    *ret = (struct entry){.change = change,
                          .result = result,
                          .action = result ? result->action : change->action,
                          .n_fields = !diff                          ? 0
                                      : diff->total > diff->n_fields ? diff->total
                                                                     : diff->n_fields};
    ret->note = find_note(ret);
    /* Done before a restart: the plan that was made since then has no fields of it. */
    if (!ret->n_fields && ret->result && ret->change->action == PLAN_UNCHANGED &&
        ret->action != PLAN_UNCHANGED) {
        _cleanup_free_ char *id = utf8_show(change->id);

        take_earlier(ret, strmap_get(earlier, id));
    }
}

static bool is_begun(const struct operation_result *result)
{
    return result && result->started && result->status != RESULT_SKIPPED &&
           result->status != RESULT_DEFERRED;
}

/* Of one that is not begun. */
static const struct value *show_wait(const struct operation_result *result)
{
    static const char *const by[] = {[WAIT_DEPENDS_ON] = "dependsOn",
                                     [WAIT_REFERENCE] = "reference",
                                     [WAIT_KIND] = "kind",
                                     [WAIT_DELETION] = "deletion"};
    _cleanup_free_ char *id = result && result->waits_for ? utf8_show(result->waits_for) : NULL;

    return id ? value_pack("{s:s, s:s}", "id", id, "by", by[result->waits_by]) : NULL;
}

/* epoch: as of report_source. */
static const struct value *entry_value(const struct entry *entry, int64_t epoch, bool with_fields)
{
    const struct operation_result *result = entry->result;
    const struct error *error = result ? result->error : entry->change->error;
    const struct value *warnings = result ? result->warnings : entry->change->warnings;
    const struct value *fields = with_fields ? entry->fields : NULL;
    size_t omitted = entry->n_fields - value_count(fields);
    _cleanup_value_ const struct value *count = omitted ? value_pack("I", (int64_t)omitted) : NULL;
    _cleanup_value_ const struct value *wait = show_wait(result);
    _cleanup_free_ char *duration = NULL;
    char start[TIMESTAMP_SIZE] = "";
    _cleanup_free_ char *id = utf8_show(entry->change->id);
    _cleanup_free_ char *note = !error && entry->note ? utf8_show(entry->note) : NULL;

    if (epoch && is_begun(result))
        timestamp_format(epoch + result->started, start);
    if (is_begun(result) && result->ended) /* a resource that was not begun took no time */
        duration = str_printf("%lldms", (long long)(result->ended - result->started));
    return value_pack("{s:s, s:s, s:s?, s:v?, s:v?, s:s?, s:s?, s:v?, s:v?, s:s?, s:s?}", "id", id,
                      "action", plan_action_name(entry->action), "outcome",
                      result ? outcomes[result->status] : NULL, "fields", fields, "omittedFields",
                      count, "message", error ? error->message : note, "reason",
                      error ? error->reason : NULL, "warnings", warnings, "waitsFor", wait,
                      "startedAt", *start ? start : NULL, "duration", duration);
}

/* ---- All of them ---- */

static size_t count_entries(const struct report_source *source)
{
    return source->results ? source->results->count : source->plan->n_changes;
}

static bool changes_nothing(const struct plan_change *change)
{
    return !change->error && (change->action == PLAN_UNCHANGED || change->action == PLAN_NONE);
}

/* The API server stores Go's JSON, which has these characters in six bytes: \u003c, for example. */
static size_t count_more_in_go(const struct buf *text)
{
    size_t more = 0;

    for (size_t i = 0; i < text->length; i++) {
        const char *at = text->data + i;

        if (*at == '<' || *at == '>' || *at == '&')
            more += 5;
        else if (str_has_prefix(at, "\u2028") || str_has_prefix(at, "\u2029"))
            more += 3;
    }
    return more;
}

/* In bytes, as the API server stores it. */
static size_t length_of(const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write(&text, value, JSON_COMPACT);
    return text.length + count_more_in_go(&text);
}

/* What a list of results is made of, and its bounds. */
struct listing {
    const struct report_source *source;
    struct strmap earlier;
    size_t most, most_bytes;
    bool changes_only; /* not what stays unchanged */
};

static bool is_listed(const struct listing *listing, size_t i)
{
    return !listing->changes_only || !changes_nothing(&listing->source->plan->changes[i]);
}

/* Of the entries without their fields, as far as they fit. */
static size_t measure_bare(const struct listing *listing)
{
    size_t bytes = 0;

    for (size_t i = 0; i < listing->most && bytes < listing->most_bytes; i++) {
        struct entry entry;
        _cleanup_value_ const struct value *bare = NULL;

        if (!is_listed(listing, i))
            continue;
        entry_init(listing->source, i, &listing->earlier, &entry);
        bare = entry_value(&entry, listing->source->epoch, false);
        bytes += length_of(bare);
        value_unref(entry.fields);
    }
    return bytes;
}

/* Ids come before fields: fields get what the entries without them leave of the bytes. */
static size_t room_for_fields(struct listing *listing)
{
    size_t bytes;

    if (listing->most_bytes == SIZE_MAX)
        return SIZE_MAX;
    bytes = measure_bare(listing);
    if (bytes >= listing->most_bytes && listing->source->to_approve) {
        listing->changes_only = true;
        bytes = measure_bare(listing);
    }
    return bytes < listing->most_bytes ? listing->most_bytes - bytes : 0;
}

static const struct value *make_entry(const struct listing *listing, size_t i, size_t *room)
{
    struct entry entry;
    const struct value *value;
    size_t bytes;

    entry_init(listing->source, i, &listing->earlier, &entry);
    if (entry.change->diff && entry.change->diff->n_fields)
        entry.fields = list_fields(entry.change->diff);
    bytes = entry.fields ? length_of(entry.fields) : 0;
    value = entry_value(&entry, listing->source->epoch, bytes <= *room);
    if (bytes <= *room)
        *room -= bytes;
    value_unref(entry.fields);
    return value;
}

static void index_earlier(const struct value *earlier, struct strmap *ret)
{
    for (size_t i = 0; i < value_count(earlier); i++) {
        const struct value *entry = value_at(earlier, i);
        const char *id = value_get_string(entry, "id");

        if (id)
            strmap_put(ret, id, (void *)(uintptr_t)entry);
    }
}

static const struct value *list_results(struct listing *listing)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t bytes = 0, room;

    index_earlier(listing->source->earlier, &listing->earlier);
    room = room_for_fields(listing);
    value_begin_array(b);
    for (size_t i = 0; i < listing->most; i++) {
        _cleanup_value_ const struct value *entry = NULL;

        if (!is_listed(listing, i))
            continue;
        entry = make_entry(listing, i, &room);
        bytes += length_of(entry);
        if (bytes > listing->most_bytes)
            break;
        value_add(b, entry);
    }
    strmap_done(&listing->earlier);
    value_end_array(b);
    return value_finish(b);
}

static struct listing listing_of(const struct report_source *source)
{
    size_t n = count_entries(source);
    size_t most = source->to_approve ? REPORT_RESULTS_TO_APPROVE : REPORT_RESULTS;

    return (struct listing){
        .source = source,
        .most = n < most ? n : most,
        .most_bytes = source->to_approve ? REPORT_BYTES_TO_APPROVE : REPORT_BYTES,
    };
}

const struct value *report_results(const struct report_source *source, size_t *ret_omitted)
{
    struct listing listing = listing_of(source);
    const struct value *list = list_results(&listing);

    *ret_omitted = count_entries(source) - value_count(list);
    return list;
}

const struct value *report_all_results(const struct report_source *source)
{
    struct listing listing = {
        .source = source, .most = count_entries(source), .most_bytes = SIZE_MAX};

    return list_results(&listing);
}

/* Who approves the plan expects a Secret's values to be hidden, but not these. */
static size_t count_redacted(const struct diff *diff)
{
    size_t n = 0;

    for (size_t i = 0; diff && i < diff->n_fields; i++)
        n += diff->fields[i].is_redacted;
    return n;
}

/* Values that are hidden because they are a Secret's: who approves the plan expects that. */
static size_t count_sensitive(const struct diff *diff)
{
    size_t n = 0;

    for (size_t i = 0; diff && i < diff->n_fields; i++)
        n += str_equal(diff->fields[i].to, DIFF_SENSITIVE) && !diff->fields[i].is_redacted;
    return n;
}

/* Fields of the change that its entry does not show, or not all of each. */
static size_t count_unseen(const struct plan_change *change, const struct value *entry)
{
    size_t omitted = (size_t)value_int(value_get(entry, "omittedFields"), 0);

    return omitted + (value_get(entry, "fields") ? count_redacted(change->diff) : 0);
}

struct report_unseen report_unseen(const struct plan *plan)
{
    const struct report_source source = {.plan = plan, .to_approve = true};
    struct listing listing = listing_of(&source);
    _cleanup_value_ const struct value *list = list_results(&listing);
    struct report_unseen unseen = {0};
    size_t at = 0; /* in the list */

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];
        const struct value *entry =
            is_listed(&listing, i) && at < value_count(list) ? value_at(list, at++) : NULL;
        size_t fields = count_unseen(change, entry);

        if (changes_nothing(change))
            continue;
        unseen.fields += fields;
        unseen.sensitive += count_sensitive(change->diff);
        unseen.changes += !entry || fields;
    }
    return unseen;
}

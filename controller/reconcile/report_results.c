/* What becomes of each resource, as a Release's status lists it. */
#include "controller/reconcile/report.h"
#include "engine/base/buf.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/base/utf8.h"

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
    const struct value *fields = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < diff->n_fields; i++) {
        const struct diff_field *field = &diff->fields[i];
        _cleanup_free_ char *shown = utf8_show(field->path);
        char path[PATH_BYTES + 1];

        str_copy(path, sizeof(path), shown);
        value_begin_object(b);
        add_text(b, "path", path);
        add_text(b, "from", field->from);
        add_text(b, "to", field->to);
        value_end_object(b);
    }
    value_end_array(b);
    value_builder_finish(b, &fields, NULL);
    return fields;
}

/* ---- Each resource ---- */

/* One entry: of an operation, or (result NULL) of a plan. */
struct entry {
    const struct plan_change *change;
    const struct operation_result *result;
    enum plan_action action;
    const struct value *fields; /* owned; NULL: none */
    size_t n_fields;            /* that there are, in `fields` or not */
    const char *note;           /* beside the errors; NULL: none */
};

static const char *const outcomes[] = {
    [RESULT_PENDING] = "pending",     [RESULT_SUCCEEDED] = "succeeded",
    [RESULT_FAILED] = "failed",       [RESULT_SKIPPED] = "skipped",
    [RESULT_CANCELLED] = "cancelled", [RESULT_TIMED_OUT] = "timedOut",
    [RESULT_DEFERRED] = "deferred",
};

/* Done before a restart: the plan that was made since then has no fields of it. */
static bool is_done_earlier(const struct entry *entry)
{
    return entry->result && entry->change->action == PLAN_UNCHANGED &&
           entry->action != PLAN_UNCHANGED;
}

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

static void entry_init(const struct report_source *source, size_t i, const struct strmap *earlier,
                       struct entry *ret)
{
    const struct operation_result *result = source->results ? &source->results->items[i] : NULL;
    const struct plan_change *change = result ? result->change : &source->plan->changes[i];
    const struct diff *diff = change->diff;

    *ret = (struct entry){
        .change = change, .result = result, .action = result ? result->action : change->action};
    ret->note = find_note(ret);
    if (diff && diff->n_fields) {
        ret->fields = list_fields(diff);
        ret->n_fields = diff->total > diff->n_fields ? diff->total : diff->n_fields;
    } else if (is_done_earlier(ret)) {
        _cleanup_free_ char *id = utf8_show(change->id);

        take_earlier(ret, strmap_get(earlier, id));
    }
}

static void entry_done(struct entry *entry)
{
    value_unref(entry->fields);
}

/* A resource that was not begun took no time. */
static char *show_duration(const struct operation_result *result)
{
    bool is_begun = result && result->ended && result->status != RESULT_SKIPPED &&
                    result->status != RESULT_DEFERRED;

    return is_begun ? str_printf("%lldms", (long long)(result->ended - result->started)) : NULL;
}

static const struct value *entry_value(const struct entry *entry, bool with_fields)
{
    const struct operation_result *result = entry->result;
    const struct error *error = result ? result->error : entry->change->error;
    const struct value *fields = with_fields ? entry->fields : NULL;
    size_t omitted = entry->n_fields - value_count(fields);
    _cleanup_value_ const struct value *count = omitted ? value_pack("I", (int64_t)omitted) : NULL;
    _cleanup_free_ char *duration = show_duration(result);
    _cleanup_free_ char *id = utf8_show(entry->change->id);
    _cleanup_free_ char *note = !error && entry->note ? utf8_show(entry->note) : NULL;

    return value_pack("{s:s, s:s, s:s?, s:v?, s:v?, s:s?, s:s?, s:s?}", "id", id, "action",
                      plan_action_name(entry->action), "outcome",
                      result ? outcomes[result->status] : NULL, "fields", fields, "omittedFields",
                      count, "message", error ? error->message : note, "reason",
                      error ? error->reason : NULL, "duration", duration);
}

/* ---- All of them ---- */

static size_t count_entries(const struct report_source *source)
{
    return source->results ? source->results->count : source->plan->n_changes;
}

static size_t length_of(const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write(&text, value, JSON_COMPACT);
    return text.length;
}

/* Ids come before fields: fields get what `most` entries without them leave of the bytes. */
static size_t room_for_fields(const struct report_source *source, const struct strmap *earlier,
                              size_t most, size_t most_bytes)
{
    size_t bytes = 0;

    for (size_t i = 0; i < most && bytes < most_bytes; i++) {
        struct entry entry;
        _cleanup_value_ const struct value *bare = NULL;

        entry_init(source, i, earlier, &entry);
        bare = entry_value(&entry, false);
        bytes += length_of(bare);
        entry_done(&entry);
    }
    return bytes < most_bytes ? most_bytes - bytes : 0;
}

static const struct value *make_entry(const struct report_source *source, size_t i,
                                      const struct strmap *earlier, size_t *room)
{
    struct entry entry;
    const struct value *value;
    size_t bytes;

    entry_init(source, i, earlier, &entry);
    bytes = entry.fields ? length_of(entry.fields) : 0;
    value = entry_value(&entry, bytes <= *room);
    if (bytes <= *room)
        *room -= bytes;
    entry_done(&entry);
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

static const struct value *list_results(const struct report_source *source, size_t most,
                                        size_t most_bytes)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    struct strmap earlier = STRMAP_INIT;
    const struct value *list = NULL;
    size_t bytes = 0, room = SIZE_MAX;

    index_earlier(source->earlier, &earlier);
    if (most_bytes != SIZE_MAX)
        room = room_for_fields(source, &earlier, most, most_bytes);
    value_begin_array(b);
    for (size_t i = 0; i < most; i++) {
        _cleanup_value_ const struct value *entry = make_entry(source, i, &earlier, &room);

        bytes += length_of(entry);
        if (bytes > most_bytes)
            break;
        value_add(b, entry);
    }
    strmap_done(&earlier);
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return list;
}

const struct value *report_results(const struct report_source *source, size_t *ret_omitted)
{
    size_t n = count_entries(source);
    const struct value *list =
        list_results(source, n < REPORT_RESULTS ? n : REPORT_RESULTS, REPORT_BYTES);

    *ret_omitted = n - value_count(list);
    return list;
}

const struct value *report_all_results(const struct report_source *source)
{
    return list_results(source, count_entries(source), SIZE_MAX);
}

#include <time.h>

#include "engine/base/str.h"
#include "engine/spec/import_id.h"
#include "engine/value/path.h"
#include "runtimes/http/resource/compare.h"
#include "runtimes/http/session.h"
#include "runtimes/io/clock.h"

/* Reads after a create, until one finds it: how many, and ms before the second (doubled for each
 * next one). */
#define LOOKS      5
#define FIRST_LOOK 100

/* A change that is carried out. */
struct change {
    const struct http_step *step;
    const struct runtime_call *call;
    struct subject subject;
    const struct value *request; /* as described */
    const struct value *body;    /* a reference, or NULL */
    char *path;
    struct answer answer;
};

static void change_done(struct change *change)
{
    value_unref(change->body);
    free(change->path);
    answer_done(&change->answer);
}

/* ---- Sending ---- */

static int fill_request(struct change *change, bool sends_attributes, struct error *error)
{
    const struct value *body = value_get(change->request, "body");
    int r = fill_path(value_get_string(change->request, "path"), &change->subject.fill,
                      &change->path, error);

    if (r < 0)
        return r;
    if (body)
        r = fill_body(body, &change->subject.fill, &change->body, error);
    else if (sends_attributes)
        change->body = value_ref(change->step->attributes);
    if (r >= 0 && (!change->path || value_has_unknown(change->body)))
        r = err_set(error, ERR_INTERNAL, NULL, "a value of it is not known yet");
    return r;
}

static struct exchange exchange_of(const struct change *change)
{
    const struct http_step *step = change->step;
    bool is_same_path = step->path && str_equal(step->path, change->path);

    return (struct exchange){.server = step->server,
                             .request = change->request,
                             .path = change->path,
                             .body = change->body,
                             .if_match = is_same_path ? step->etag : NULL,
                             .is_change = true};
}

/* 1: the status is `list`'s. The outcome's certainty is set. */
static int send_change(struct change *change, const char *list, struct runtime_outcome *ret,
                       struct error *error)
{
    const struct exchange exchange = exchange_of(change);
    int status, r = exchange_do(&exchange, change->call, &change->answer, error);

    if (r < 0) {
        ret->certainty = change->answer.sent ? OUTCOME_IN_DOUBT : OUTCOME_NOT_SENT;
        ret->until = change->answer.sent ? system_clock.now(&system_clock) + EFFECT_TIME : 0;
        return r;
    }
    status = change->answer.status;
    if (list && description_has_status(change->request, list, status))
        return 1;
    if (exchange_is_success(status))
        return 0;
    if (!exchange_is_refusal(status)) {
        /* It may have been done all the same; but it has been answered, and nothing comes later. */
        ret->certainty = OUTCOME_IN_DOUBT;
        ret->until = system_clock.now(&system_clock);
    }
    return exchange_refuse(&exchange, &change->answer, error);
}

/* ---- Reading it back ---- */

static void pause_before(unsigned look)
{
    int64_t ms = FIRST_LOOK << (look - 1);

    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A server may need a moment to show what it has taken. */
static int read_back(struct change *change, const char *path, unsigned looks,
                     struct rest_thing *ret, struct error *error)
{
    struct runtime_call call = *change->call;
    struct error problem = {0};
    int r = 0;

    call.deadline = CLOCK_FOREVER;
    for (unsigned look = 0; look < looks && !ret->object; look++) {
        if (look)
            pause_before(look);
        err_clear(&problem);
        r = rest_thing_read(change->step->server, &change->subject.description,
                            change->step->attributes, path, &call, ret, &problem);
        if (r < 0 && !err_is_transient(r))
            break;
    }
    return r < 0 ? err_copy(error, &problem) : 0;
}

static void fill_present(struct change *change, const struct value *object, const char *path,
                         const char *id, bool is_unseen, struct runtime_outcome *ret)
{
    _cleanup_free_ char *place =
        path ? rest_thing_place(&change->subject.description, change->step->attributes, path)
             : NULL;

    ret->certainty = OUTCOME_KNOWN;
    ret->now.presence = PRESENCE_PRESENT;
    ret->now.result = rest_thing_mark(change->step->extensions, object);
    ret->memory = rest_thing_memory(place ? place : "", id, is_unseen);
}

/* ---- Create ---- */

static void warn_unseen(struct runtime_outcome *ret, const struct error *problem)
{
    _cleanup_free_ char *text =
        str_printf("the server said that it was created, and it could not be read since: %s",
                   problem->code ? problem->message : "extensions.read does not find it");

    ret->warnings = value_pack("[s]", text);
}

/* The server has made it. Whatever comes now, State gets its id. */
static int note_created(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    struct http_description *description = &change->subject.description;
    const struct value *said = change->answer.document;
    _cleanup_free_ char *id = rest_thing_id(description, said);
    _cleanup_(rest_thing_done) struct rest_thing thing = {0};
    _cleanup_free_ char *path = NULL, *read_id = NULL;
    struct error problem = {0};

    if (!id && description_needs_id(description)) {
        ret->certainty = OUTCOME_IN_DOUBT;
        ret->until = system_clock.now(&system_clock);
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the answer to its creation has no id where extensions.id points to");
    }
    change->subject.fill.id = id;
    if (rest_thing_path(description, &change->subject.fill, &path, &problem) >= 0 && path)
        read_back(change, path, LOOKS, &thing, &problem);
    change->subject.fill.id = NULL;
    if (!thing.object) {
        fill_present(change, value_is(said, VALUE_OBJECT) ? said : change->step->attributes, path,
                     id, true, ret);
        warn_unseen(ret, &problem);
        return 0;
    }
    read_id = id ? NULL : rest_thing_id(description, thing.object);
    fill_present(change, thing.object, path, id ? id : read_id, false, ret);
    return 0;
}

static int refuse_existing(const struct change *change, struct error *error)
{
    return err_set(error, ERR_EXISTS, "ConflictDetected",
                   "%s %s: status %d: there is one already, and it belongs to somebody else. To "
                   "take it over, set its extensions[" IMPORT_ID "] to its id or its name",
                   description_method(change->request), change->path, change->answer.status);
}

/* There was none when this was planned. What was sent may have arrived twice, by a proxy's doing:
 * then the first one made it, and it is as it was to be. */
static int judge_existing(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    const struct http_description *description = &change->subject.description;
    const struct comparison comparison = {
        .wanted = change->step->attributes,
        .unordered = value_get(change->step->extensions, "unordered"),
        .write_only = value_get(change->step->extensions, "writeOnly"),
        .recorded = change->step->attributes};
    _cleanup_(rest_thing_done) struct rest_thing thing = {0};
    _cleanup_value_ const struct value *is = NULL;
    _cleanup_free_ char *path = NULL, *id = NULL;

    if (description_needs_id(description) ||
        rest_thing_path(description, &change->subject.fill, &path, NULL) < 0 || !path ||
        read_back(change, path, 1, &thing, NULL) < 0 || !thing.object)
        return refuse_existing(change, error);
    is = compare_project(&comparison, thing.object);
    if (!value_equal(is, change->step->attributes))
        return refuse_existing(change, error);
    id = rest_thing_id(description, thing.object);
    fill_present(change, thing.object, path, id, false, ret);
    return 0;
}

static int create(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    int r;

    change->request = change->subject.description.create;
    change->subject.fill.id = NULL;
    r = fill_request(change, true, error);
    if (r >= 0)
        r = send_change(change, "exists", ret, error);
    if (r == 0)
        return note_created(change, ret, error);
    return r < 0 ? r : judge_existing(change, ret, error);
}

/* ---- Update, adoption ---- */

static int note_changed(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    const struct http_step *step = change->step;
    _cleanup_(rest_thing_done) struct rest_thing thing = {0};
    _cleanup_free_ char *read_id = NULL;
    int r = read_back(change, step->path, 1, &thing, error);

    if (r >= 0 && !thing.object)
        r = err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
                    "the server said that it was changed, and it is not there any more");
    if (r < 0) {
        ret->certainty = OUTCOME_IN_DOUBT;
        return r;
    }
    read_id = step->id ? NULL : rest_thing_id(&change->subject.description, thing.object);
    fill_present(change, thing.object, step->path, step->id ? step->id : read_id, false, ret);
    return 0;
}

static int update(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    int r;

    change->request = change->subject.description.update;
    r = fill_request(change, true, error);
    if (r >= 0)
        r = send_change(change, NULL, ret, error);
    return r < 0 ? r : note_changed(change, ret, error);
}

static int adopt(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    const struct http_step *step = change->step;
    _cleanup_free_ char *read_id = NULL;

    if (!step->is_as_wanted)
        return update(change, ret, error);
    read_id = step->id ? NULL : rest_thing_id(&change->subject.description, step->object);
    fill_present(change, step->object, step->path, step->id ? step->id : read_id, false, ret);
    return 0;
}

/* ---- Delete ---- */

/* A server may delete later what it has agreed to delete. */
static int remove_thing(struct change *change, struct runtime_outcome *ret, struct error *error)
{
    _cleanup_(rest_thing_done) struct rest_thing thing = {0};
    struct error problem = {0};
    int r;

    change->request = change->subject.description.delete;
    r = fill_request(change, false, error);
    if (r >= 0)
        r = send_change(change, "absent", ret, error);
    if (r < 0)
        return r;
    ret->certainty = OUTCOME_KNOWN;
    ret->now.presence = PRESENCE_ABSENT;
    if (r == 1)
        return 0;
    if (read_back(change, change->step->path, 1, &thing, &problem) < 0 || thing.object) {
        ret->now.presence = PRESENCE_PRESENT;
        ret->now.terminating = true;
        ret->now.result = value_ref(thing.object ? thing.object : change->step->object);
    }
    return 0;
}

/* ---- Any ---- */

int http_apply(struct runtime_step *base, const struct runtime_call *call,
               struct runtime_outcome *ret, struct error *error)
{
    const struct http_step *step = (const struct http_step *)base;
    _cleanup_(change_done) struct change change = {.step = step, .call = call};
    int r = description_read(step->extensions, &change.subject.description, error);

    ret->certainty = OUTCOME_NOT_SENT;
    if (r < 0)
        return r;
    change.subject.fill = (struct fill){.attributes = step->attributes,
                                        .parameters = change.subject.description.parameters,
                                        .object = step->object,
                                        .id = step->id};
    switch (base->action) {
    case PLAN_CREATE:
        return create(&change, ret, error);
    case PLAN_ADOPT:
        return adopt(&change, ret, error);
    case PLAN_UPDATE:
        return update(&change, ret, error);
    case PLAN_DELETE:
        return remove_thing(&change, ret, error);
    default:
        return err_set(error, ERR_INTERNAL, "UnexpectedAction", "\"%s\" cannot be carried out",
                       plan_action_name(base->action));
    }
}

/* Reading: for references and health, of what is in doubt, and of many things at once. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "runtimes/http/resource/select.h"
#include "runtimes/http/session.h"

/* ---- One ---- */

static int cannot_be_found(const char *why, struct error *error)
{
    return err_set(error, ERR_UNSUPPORTED, "CannotBeFound", "%s", why);
}

/* *ret: the path; free(). */
static int find_path(const struct subject *subject, char **ret, struct error *error)
{
    int r;

    if (description_needs_id(&subject->description) && !subject->id)
        return cannot_be_found("its id is not known, which only the answer to its creation told",
                               error);
    r = rest_thing_path(&subject->description, &subject->fill, ret, error);
    if (r >= 0 && (!*ret || !select_is_known(subject->description.read, subject->fill.attributes)))
        return cannot_be_found("what names it is not known, or is a value of a secret store",
                               error);
    return r;
}

static void fill_outcome(const struct subject *subject, const struct rest_thing *thing,
                         const char *path, struct runtime_outcome *ret)
{
    _cleanup_free_ char *place = NULL, *id = NULL;

    ret->certainty = OUTCOME_KNOWN;
    ret->now.presence = thing->object ? PRESENCE_PRESENT : PRESENCE_ABSENT;
    if (!thing->object)
        return;
    place = rest_thing_place(&subject->description, subject->fill.attributes, path);
    id = subject->id ? str_new(subject->id) : rest_thing_id(&subject->description, thing->object);
    ret->now.result = rest_thing_mark(subject->description.extensions, thing->object);
    ret->memory = rest_thing_memory(place, id, false);
}

int http_read(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_outcome *ret, struct error *error)
{
    _cleanup_(rest_server_unref_p) struct rest_server *server = NULL;
    _cleanup_(rest_thing_done) struct rest_thing thing = {0};
    _cleanup_free_ char *path = NULL, *place = NULL;
    struct subject subject;
    int r;

    if (!target->extensions || (!target->attributes && !target->prior))
        return cannot_be_found("State does not say how it is read", error);
    r = subject_of(target, &subject, error);
    if (r >= 0)
        r = find_path(&subject, &path, error);
    if (r >= 0)
        r = session_server(session, &subject.description, call, &server, error);
    if (r < 0)
        return r;
    place = rest_thing_place(&subject.description, subject.fill.attributes, path);
    thing.object = seen_take(&session->seen, place);
    if (!thing.object)
        r = rest_thing_read(server, &subject.description, subject.fill.attributes, path, call,
                            &thing, error);
    if (r == ERR_FORBIDDEN)
        session_forget(session, server);
    if (r < 0)
        return r;
    fill_outcome(&subject, &thing, path, ret);
    return 0;
}

/* ---- Health ---- */

static bool is_one_of(const struct value *list, const struct value *value)
{
    for (size_t i = 0; value && i < value_count(list); i++)
        if (value_equal(value_at(list, i), value))
            return true;
    return false;
}

/* What the thing says where `wait.pointer` points to, as far as it can be shown. */
static void say_status(const struct value *status, const char *pointer, struct health *ret)
{
    const char *text = value_string(status);

    if (!text)
        text = value_number(status);
    if (!text)
        text = value_is(status, VALUE_BOOL) ? (value_bool(status, false) ? "true" : "false")
                                            : "nothing that is shown";
    str_copy(ret->message, sizeof(ret->message), *pointer ? pointer + 1 : "the answer");
    str_copy(ret->message + strlen(ret->message), sizeof(ret->message) - strlen(ret->message),
             " is ");
    str_copy(ret->message + strlen(ret->message), sizeof(ret->message) - strlen(ret->message),
             value_is_sensitive(status) ? "(sensitive)" : text);
}

static void judge(const struct value *wait, const struct value *object, struct health *ret)
{
    const char *pointer = value_get_string(wait, "pointer");
    const struct value *status = pointer_find(object, pointer);

    ret->dependents_must_wait = true;
    ret->status = is_one_of(value_get(wait, "ready"), status)    ? HEALTH_CURRENT
                  : is_one_of(value_get(wait, "failed"), status) ? HEALTH_FAILED
                                                                 : HEALTH_PROGRESSING;
    say_status(status, pointer, ret);
}

/* The status has a path of its own. */
static int ask_status(struct runtime_session *session, const struct subject *subject,
                      const struct runtime_call *call, struct health *ret, struct error *error)
{
    const struct http_description *description = &subject->description;
    _cleanup_(rest_server_unref_p) struct rest_server *server = NULL;
    _cleanup_free_ char *path = NULL;
    struct exchange exchange = {.request = description->wait};
    _cleanup_(answer_done) struct answer answer = {0};
    int r = fill_path(value_get_string(description->wait, "path"), &subject->fill, &path, error);

    if (r >= 0 && !path)
        r = cannot_be_found("what names it is not known", error);
    if (r >= 0)
        r = session_server(session, description, call, &server, error);
    if (r < 0)
        return r;
    exchange.server = server;
    exchange.path = path;
    r = exchange_do(&exchange, call, &answer, error);
    if (r >= 0 && (!exchange_is_success(answer.status) || !answer.document))
        r = exchange_refuse(&exchange, &answer, error);
    if (r >= 0)
        judge(description->wait, answer.document, ret);
    return r;
}

int http_health(struct runtime_session *session, const struct runtime_target *target,
                const struct observation *seen, const struct runtime_call *call, struct health *ret,
                struct error *error)
{
    _cleanup_free_ char *id = NULL;
    struct subject subject;
    int r = subject_of(target, &subject, error);

    if (r < 0)
        return r;
    ret->status = HEALTH_CURRENT;
    if (!subject.description.wait)
        return 0;
    if (!value_get(subject.description.wait, "path")) {
        judge(subject.description.wait, seen->result, ret);
        return 0;
    }
    if (!subject.id)
        subject.fill.id = id = rest_thing_id(&subject.description, seen->result);
    return ask_status(session, &subject, call, ret, error);
}

/* ---- Many ---- */

/* Things that one path reads, of one server. */
struct shared {
    struct rest_server *server;
    char *path;
    const struct value *read; /* as the first of them describes it; borrowed */
    bool is_asked;
    struct answer answer;
};

static void hint_free(void *detail)
{
    struct http_hint *hint = detail;

    rest_thing_done(&hint->thing);
    free(hint->path);
    free(hint);
}

static void shared_free(struct shared *shared)
{
    if (!shared)
        return;
    rest_server_unref(shared->server);
    answer_done(&shared->answer);
    free(shared->path);
    free(shared);
}

/* A place in a list: only such things share a path. NULL: it is none, or not known yet. */
static struct shared *find_place(struct runtime_session *session,
                                 const struct runtime_target *target, const struct subject *subject,
                                 const struct runtime_call *call)
{
    struct shared *shared = NEW(struct shared);

    shared->read = subject->description.read;
    if (target->extensions && value_count(value_get(subject->description.read, "where")) &&
        find_path(subject, &shared->path, NULL) >= 0 &&
        session_server(session, &subject->description, call, &shared->server, NULL) >= 0)
        return shared;
    shared_free(shared);
    return NULL;
}

static void take_hint(const struct subject *subject, const struct shared *shared,
                      struct observation *ret)
{
    struct http_hint *hint;
    struct rest_thing thing = {0};

    if (!exchange_is_success(shared->answer.status) || !shared->answer.document ||
        rest_thing_find(&subject->description, subject->fill.attributes, &shared->answer, &thing,
                        NULL) < 0)
        return;
    hint = NEW(struct http_hint);
    hint->thing = thing;
    hint->path = str_new(shared->path);
    ret->presence = thing.object ? PRESENCE_PRESENT : PRESENCE_ABSENT;
    ret->detail = hint;
    ret->detail_free = hint_free;
}

static char *key_of(const struct shared *shared)
{
    const struct value *headers = value_get(shared->read, "headers");
    _cleanup_free_ char *text = headers ? json_to_str(headers) : str_new("");

    return str_printf("%p %s %s", (void *)shared->server, shared->path, text);
}

static void ask_once(struct shared *shared, const struct runtime_call *call)
{
    const struct exchange exchange = {
        .server = shared->server, .request = shared->read, .path = shared->path};

    if (!shared->is_asked)
        exchange_do(&exchange, call, &shared->answer, NULL);
    shared->is_asked = true;
}

/* Sets firsts[i] to the first thing with the path of places[i], and its n_of to how many there are.
 */
static void group(struct shared *const *places, size_t n, size_t *firsts, size_t *n_of)
{
    struct strmap by_place = STRMAP_INIT;
    _cleanup_free_ char **keys = NEW_ARRAY(char *, n + 1);

    for (size_t i = 0; i < n; i++) {
        const size_t *first;

        firsts[i] = i;
        if (!places[i])
            continue;
        keys[i] = key_of(places[i]);
        first = strmap_get(&by_place, keys[i]);
        if (first)
            firsts[i] = *first;
        else
            strmap_put(&by_place, keys[i], &firsts[i]);
        n_of[firsts[i]]++;
    }
    strmap_done(&by_place);
    for (size_t i = 0; i < n; i++)
        free(keys[i]);
}

/* The first thing of a path asks, if there is a second one. */
int http_prefetch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                  const struct runtime_call *call, struct observation *ret, struct error *error)
{
    _cleanup_free_ size_t *firsts = NEW_ARRAY(size_t, n + 1), *n_of = NEW_ARRAY(size_t, n + 1);
    _cleanup_free_ struct shared **places = NEW_ARRAY(struct shared *, n + 1);
    struct subject subject;

    (void)error;
    for (size_t i = 0; i < n; i++)
        if (!value_has_unknown(targets[i].extensions) &&
            subject_of(&targets[i], &subject, NULL) >= 0)
            places[i] = find_place(session, &targets[i], &subject, call);
    group(places, n, firsts, n_of);
    for (size_t i = 0; i < n; i++) {
        struct shared *shared = places[firsts[i]];

        if (n_of[firsts[i]] < 2 || subject_of(&targets[i], &subject, NULL) < 0)
            continue;
        ask_once(shared, call);
        take_hint(&subject, shared, &ret[i]);
    }
    for (size_t i = 0; i < n; i++)
        shared_free(places[i]);
    return 0;
}

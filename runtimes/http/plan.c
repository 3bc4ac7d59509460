#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/import_id.h"
#include "engine/spec/not_created.h"
#include "engine/value/path.h"
#include "engine/value/value_mark.h"
#include "runtimes/http/resource/compare.h"
#include "runtimes/http/resource/select.h"
#include "runtimes/http/session.h"

/* ms that a change takes at most, beyond its own timeout and those of reads. */
#define GRACE 10000

/* What one plan works with. */
struct planning {
    struct runtime_session *session;
    const struct runtime_target *target;
    struct subject subject;
    struct http_step *step;
    char *place;                /* NULL: not known yet */
    struct rest_thing thing;    /* as it is now */
    const struct value *before; /* as far as the attributes go; a reference, or NULL */
};

static void planning_done(struct planning *planning)
{
    free(planning->place);
    rest_thing_done(&planning->thing);
    value_unref(planning->before);
    if (planning->step)
        http_step_free(&planning->step->base);
}

/* ---- The step ---- */

static void set_reason(struct planning *planning, const char *reason)
{
    planning->step->base.reason = str_new(reason);
}

#define MOST_STEPS 16 /* of a pointer to a value that the server sets */

/* The keys of a pointer; free() text. 0: there are too many. */
static size_t split_pointer(const char *pointer, char *text, const char *keys[MOST_STEPS])
{
    size_t n = 0;

    for (char *to = text; *pointer; pointer++)
        if (*pointer == '/') {
            if (n == MOST_STEPS)
                return 0;
            *to++ = '\0';
            keys[n++] = to;
        } else {
            bool is_escaped = *pointer == '~' && (pointer[1] == '0' || pointer[1] == '1');

            pointer += is_escaped;
            *to++ = (char)(!is_escaped ? *pointer : *pointer == '0' ? '~' : '/');
        }
    return n;
}

/* *object: the caller's reference, which is replaced. */
static void put_unknown(const struct value **object, const char *pointer)
{
    _cleanup_free_ char *text = str_new(pointer);
    _cleanup_value_ const struct value *unknown = value_pack("u"), *next = NULL;
    const char *keys[MOST_STEPS];
    size_t n;

    if (pointer_find(*object, pointer))
        return;
    memset(text, 0, strlen(pointer));
    n = split_pointer(pointer, text, keys);
    next = n ? value_with_path(*object, keys, n, unknown) : NULL;
    if (next)
        value_assign(object, next);
}

/* The thing as far as it is known before the server has made it. */
static const struct value *created(const struct planning *planning)
{
    const struct value *extensions = planning->target->extensions;
    const struct value *computed = value_get(extensions, "computed");
    const struct http_description *description = &planning->subject.description;
    _cleanup_value_ const struct value *all = value_ref(planning->step->base.attributes);

    if (description->id && *description->id)
        put_unknown(&all, description->id);
    for (size_t i = 0; i < value_count(computed); i++)
        put_unknown(&all, value_string(value_at(computed, i)));
    return rest_thing_mark(extensions, all);
}

static void fill_create(struct planning *planning)
{
    struct runtime_step *step = &planning->step->base;

    step->action = PLAN_CREATE;
    step->after = created(planning);
    step->result = value_ref(step->after);
}

/* What is there besides the attributes stays, as far as anybody knows. */
static const struct value *changed(const struct planning *planning)
{
    const struct value *attributes = planning->step->base.attributes;
    const struct value *all = value_ref(planning->thing.object);
    size_t length;

    for (size_t i = 0; i < value_count(attributes); i++) {
        const char *key = value_member_key(attributes, i, &length);
        const struct value *next = value_with(all, key, value_member(attributes, i));

        value_unref(all);
        all = next;
    }
    return all;
}

static void fill_update(struct planning *planning, enum plan_action action)
{
    struct runtime_step *step = &planning->step->base;

    step->action = action;
    step->before = value_ref(planning->before);
    step->after = value_ref(step->attributes);
    step->result = changed(planning);
}

static const struct value *memory_of(const struct planning *planning)
{
    _cleanup_free_ char *id = planning->subject.id ? str_new(planning->subject.id)
                                                   : rest_thing_id(&planning->subject.description,
                                                                   planning->thing.object);

    return rest_thing_memory(planning->place, id, false);
}

static void fill_unchanged(struct planning *planning)
{
    const struct record *prior = planning->target->prior;
    struct runtime_step *step = &planning->step->base;
    _cleanup_value_ const struct value *memory = memory_of(planning);

    step->action = PLAN_UNCHANGED;
    step->before = value_ref(planning->before);
    step->after = value_ref(planning->before);
    step->result = rest_thing_mark(planning->target->extensions, planning->thing.object);
    /* What the server adds to a thing may change all the time, and nobody needs it from State. */
    step->is_unrecorded = prior->status != RECORD_APPLIED || !prior->result ||
                          !value_equal(prior->attributes, step->attributes) ||
                          !value_equal(prior->memory, memory);
    if (step->is_unrecorded)
        step->memory = TAKE(memory);
}

static int destroy_prevented(const char *reason, struct error *error)
{
    return err_set(error, ERR_FORBIDDEN, "PreventDestroy",
                   "extensions.lifecycle.preventDestroy forbids to delete it%s%s",
                   reason ? ", and it would have to be replaced: " : "", reason ? reason : "");
}

/* is_elsewhere: the new thing has a place of its own. */
static int fill_replace(struct planning *planning, const char *reason, bool is_elsewhere,
                        struct error *error)
{
    struct runtime_step *step = &planning->step->base;

    if (description_prevents_destroy(planning->target->extensions))
        return destroy_prevented(reason, error);
    fill_create(planning);
    step->action = PLAN_REPLACE;
    step->before = value_ref(planning->before);
    step->create_first = description_creates_first(&planning->subject.description);
    step->cannot_create_first =
        !is_elsewhere && !description_needs_id(&planning->subject.description);
    set_reason(planning, reason);
    return 0;
}

/* ---- A thing that is not there ---- */

static bool has_moved_server(const struct planning *planning)
{
    const char *before =
        value_get_string(value_get(planning->target->prior->extensions, "connection"), "url");

    return before && !str_equal(before, planning->subject.description.url);
}

static int hold_unseen(const struct record *prior, struct error *error)
{
    return err_set(error, ERR_CONFLICT, "OutcomeUnknown",
                   "the server said that it was created (revision %lld), and no read has found it "
                   "since: it is held, so that nothing is made twice. Look at extensions.read. If "
                   "it is really not there, set its extensions[" NOT_CREATED "] to %lld, and it is "
                   "created",
                   (long long)prior->revision, (long long)prior->revision);
}

static int plan_absent(struct planning *planning, struct error *error)
{
    const struct runtime_target *target = planning->target;
    const struct record *prior = target->prior;

    if (!prior && value_get(target->extensions, IMPORT_ID) && target->part != TARGET_NEW)
        return err_set(error, ERR_INVALID, "ImportFailed",
                       "extensions[" IMPORT_ID "]: nothing is found by it (without the extension, "
                       "a new one is created)");
    if (prior && record_is_unseen(prior) &&
        value_int(value_get(target->extensions, NOT_CREATED), 0) != prior->revision)
        return hold_unseen(prior, error);
    if (prior && has_moved_server(planning))
        return fill_replace(planning, "connection.url has changed, and it is not there", true,
                            error);
    fill_create(planning);
    return 0;
}

/* ---- A thing that is there ---- */

static int project(struct planning *planning, struct error *error)
{
    const struct runtime_target *target = planning->target;
    const struct comparison comparison = {.wanted = planning->step->base.attributes,
                                          .recorded =
                                              target->prior ? target->prior->attributes : NULL,
                                          .unordered = value_get(target->extensions, "unordered"),
                                          .write_only = value_get(target->extensions, "writeOnly")};
    _cleanup_value_ const struct value *projected =
        compare_project(&comparison, planning->thing.object);
    _cleanup_value_ const struct value *marked = rest_thing_mark(target->extensions, projected);

    planning->before = value_mark_like(marked, planning->step->base.attributes);
    return planning->before ? 0 : err_set(error, ERR_TOO_LARGE, NULL, "what was read is too large");
}

/* What is null, and not there, is as it is wanted. */
static bool is_as_wanted(const struct planning *planning)
{
    return value_equal(planning->before, planning->step->base.attributes);
}

static int refuse_foreign(const struct planning *planning, struct error *error)
{
    return err_set(error, ERR_CONFLICT, "ConflictDetected",
                   "%s is there already, and State does not have it: it belongs to somebody else. "
                   "To take it over, set its extensions[" IMPORT_ID "] to its id or its name",
                   planning->place);
}

/* Whether the server gives what was read another id than the known one: then that is another thing,
 * which `where` has found. */
static bool has_other_id(const struct planning *planning, char **ret)
{
    *ret = planning->subject.id
               ? rest_thing_id(&planning->subject.description, planning->thing.object)
               : NULL;
    return *ret && !str_equal(*ret, planning->subject.id);
}

/* known: how State knows its own. */
static int refuse_other(const struct planning *planning, const char *what, const char *known,
                        struct error *error)
{
    return err_set(error, ERR_CONFLICT, "ConflictDetected",
                   "%s is not the thing that State has (%s %s): it belongs to somebody else. To "
                   "take it over, apply the Spec without this resource, and then with it and its "
                   "extensions[" IMPORT_ID "]",
                   planning->place, what, known);
}

static int plan_adoption(struct planning *planning, struct error *error)
{
    struct runtime_step *step = &planning->step->base;
    _cleanup_free_ char *id = NULL;

    if (!value_get(planning->target->extensions, IMPORT_ID))
        return refuse_foreign(planning, error);
    if (has_other_id(planning, &id))
        return err_set(error, ERR_INVALID, "ImportFailed",
                       "extensions[" IMPORT_ID "]: what is there (%s) has the id \"%s\", which is "
                       "to be given here",
                       planning->place, id);
    planning->step->is_as_wanted = is_as_wanted(planning);
    if (!planning->step->is_as_wanted && !planning->subject.description.update)
        return err_set(error, ERR_INVALID, "ImportFailed",
                       "extensions[" IMPORT_ID "]: it differs from the attributes, and is not "
                       "replaced when it is taken over; extensions.update would say how it is "
                       "changed");
    fill_update(planning, PLAN_ADOPT);
    step->memory = memory_of(planning);
    set_reason(planning, "takes over what is there");
    return 0;
}

static int plan_present(struct planning *planning, struct error *error)
{
    const struct runtime_target *target = planning->target;
    const struct value *immutable = value_get(target->extensions, "immutable");
    _cleanup_free_ char *reason = NULL;
    const char *fixed;
    int r = project(planning, error);

    if (r < 0)
        return r;
    if (!target->prior)
        return plan_adoption(planning, error);
    if (target->prior->status == RECORD_TAINTED)
        return fill_replace(planning, "its creation did not complete", false, error);
    if (is_as_wanted(planning)) {
        fill_unchanged(planning);
        seen_note(&planning->session->seen, planning->place, planning->thing.object);
        return 0;
    }
    fixed = compare_first(immutable, planning->before, planning->step->base.attributes);
    if (fixed || !planning->subject.description.update) {
        reason = fixed ? str_printf("%s cannot be changed", fixed)
                       : str_new("there is no request `update`");
        return fill_replace(planning, reason, false, error);
    }
    fill_update(planning, PLAN_UPDATE);
    return 0;
}

/* ---- Reading ---- */

static int look(struct planning *planning, const struct observation *hint,
                const struct runtime_call *call, struct error *error)
{
    const struct http_hint *known =
        hint && hint->presence != PRESENCE_UNKNOWN ? hint->detail : NULL;
    struct http_step *step = planning->step;
    int r = 0;

    if (known && str_equal(known->path, step->path)) {
        planning->thing.object = value_ref(known->thing.object);
        planning->thing.etag = str_new(known->thing.etag);
    } else {
        r = rest_thing_read(step->server, &planning->subject.description,
                            planning->subject.fill.attributes, step->path, call, &planning->thing,
                            error);
    }
    if (r == ERR_FORBIDDEN)
        session_forget(planning->session, step->server);
    if (r < 0)
        return r;
    step->object = value_ref(planning->thing.object);
    step->etag = str_new(planning->thing.etag);
    return 0;
}

/* The thing that State has, by its attributes of before, is another one than that of now: unless it
 * has the same id, and is only looked for in another way. */
static int plan_moved(struct planning *planning, struct error *error)
{
    _cleanup_free_ char *reason = str_printf("it is at another place: %s", planning->place);
    _cleanup_free_ char *id = NULL;

    if (!planning->thing.object)
        return fill_replace(planning, reason, true, error);
    id = rest_thing_id(&planning->subject.description, planning->thing.object);
    if (!id || !str_equal(id, planning->subject.id))
        return refuse_other(planning, "at", record_place(planning->target->prior), error);
    return plan_present(planning, error);
}

static int plan_read(struct planning *planning, const struct observation *hint,
                     const struct runtime_call *call, struct error *error)
{
    const struct record *prior = planning->target->prior;
    _cleanup_free_ char *id = NULL;
    bool is_moved;
    int r;

    planning->place = rest_thing_place(&planning->subject.description,
                                       planning->subject.fill.attributes, planning->step->path);
    is_moved = prior && record_place(prior) && !str_equal(record_place(prior), planning->place) &&
               !description_needs_id(&planning->subject.description);
    r = look(planning, hint, call, error);
    if (r < 0)
        return r;
    if (is_moved)
        return plan_moved(planning, error);
    if (prior && has_other_id(planning, &id))
        return refuse_other(planning, "with the id", planning->subject.id, error);
    return planning->thing.object ? plan_present(planning, error) : plan_absent(planning, error);
}

static bool is_place_known(const struct planning *planning)
{
    return planning->step->path &&
           select_is_known(planning->subject.description.read, planning->subject.fill.attributes);
}

static int plan_object(struct planning *planning, const struct observation *hint,
                       const struct runtime_call *call, struct error *error)
{
    const struct runtime_target *target = planning->target;
    bool is_new = target->part == TARGET_NEW;

    if (is_new || (!planning->subject.id && description_needs_id(&planning->subject.description))) {
        fill_create(planning);
        return 0;
    }
    if (is_place_known(planning))
        return plan_read(planning, hint, call, error);
    if (!target->prior) {
        fill_create(planning);
        set_reason(planning, "it cannot be looked for before all that names it is known");
        return 0;
    }
    planning->step->base.action = PLAN_DEFERRED;
    set_reason(planning, "what names it is not known yet");
    return 0;
}

static int plan_removal(struct planning *planning, const struct observation *hint,
                        const struct runtime_call *call, struct error *error)
{
    struct runtime_step *step = &planning->step->base;
    const struct record *prior = planning->target->prior;
    _cleanup_free_ char *id = NULL;
    bool is_there;
    int r;

    if (description_needs_id(&planning->subject.description) && !planning->subject.id)
        return err_set(error, ERR_UNSUPPORTED, "CannotBeFound", "State does not have its id");
    if (!is_place_known(planning))
        return err_set(error, ERR_UNSUPPORTED, "CannotBeFound",
                       "what names it is a value of a secret store, which State does not keep");
    r = look(planning, hint, call, error);
    if (r < 0)
        return r;
    is_there = planning->thing.object && !has_other_id(planning, &id);
    step->action = is_there || record_is_unseen(prior) ? PLAN_DELETE : PLAN_FORGET;
    if (step->action == PLAN_DELETE && planning->target->part == TARGET_WHOLE &&
        description_prevents_destroy(planning->target->extensions))
        return destroy_prevented(NULL, error);
    return 0;
}

/* ---- One ---- */

static struct http_step *step_new(const struct runtime_target *target)
{
    struct http_step *step = NEW(struct http_step);
    const struct value *extensions = target->extensions;
    const struct value *attributes = target->attributes
                                         ? target->attributes
                                         : (target->prior ? target->prior->attributes : NULL);

    step->base.ops = &http_runtime_ops;
    step->base.extensions = value_get(extensions, IMPORT_ID) ? value_without(extensions, IMPORT_ID)
                                                             : value_ref(extensions);
    step->extensions = value_ref(step->base.extensions);
    step->attributes = rest_thing_mark(extensions, attributes);
    if (target->attributes)
        step->base.attributes = value_ref(step->attributes);
    return step;
}

static int64_t limit_of(const struct http_description *description)
{
    int64_t longest = description_timeout(description->create);
    int64_t update = description_timeout(description->update);
    int64_t removal = description_timeout(description->delete);

    longest = update > longest ? update : longest;
    longest = removal > longest ? removal : longest;
    return longest + description_timeout(description->read) + GRACE;
}

static int begin(struct planning *planning, const struct runtime_call *call, struct error *error)
{
    struct http_step *step = planning->step;
    int r = subject_of(planning->target, &planning->subject, error);

    if (r < 0)
        return r;
    r = session_server(planning->session, &planning->subject.description, call, &step->server,
                       error);
    if (r < 0)
        return r;
    step->base.limit = limit_of(&planning->subject.description);
    step->id = str_new(planning->subject.id);
    if (description_needs_id(&planning->subject.description) && !planning->subject.id)
        return 0;
    return rest_thing_path(&planning->subject.description, &planning->subject.fill, &step->path,
                           error);
}

int http_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct observation *hint, const struct runtime_call *call,
              struct runtime_step **ret, struct error *error)
{
    _cleanup_(planning_done) struct planning planning = {
        .session = session, .target = target, .step = step_new(target)};
    int r = 0;

    if (value_has_unknown(value_get(target->extensions, "connection"))) {
        planning.step->base.action = PLAN_DEFERRED;
        set_reason(&planning, "its connection is not known yet");
    } else {
        r = begin(&planning, call, error);
        if (r >= 0)
            r = target->attributes ? plan_object(&planning, hint, call, error)
                                   : plan_removal(&planning, hint, call, error);
    }
    if (r < 0)
        return r;
    *ret = &TAKE(planning.step)->base;
    return 0;
}

void http_step_free(struct runtime_step *base)
{
    struct http_step *step = (struct http_step *)base;

    if (!step)
        return;
    runtime_step_done(base);
    free((void *)(uintptr_t)base->reason);
    rest_server_unref(step->server);
    value_unref(step->extensions);
    value_unref(step->attributes);
    value_unref(step->object);
    free(step->id);
    free(step->path);
    free(step->etag);
    free(step);
}

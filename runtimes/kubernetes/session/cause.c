/*
 * Why an object is not healthy.
 *
 * "Available: 0/2" says what a Deployment lacks, and not why: that is said by its Pods, or by
 * Events. They are read as the Spec's account, so the message says nothing that the account could
 * not read. The objects are small in number and in bytes (cause_look.h). They are not read at each
 * look: what is not healthy for a moment only, as everything is at first, costs nothing; then the
 * cause is looked for now and then, and kept in between. An object that has failed is not looked at
 * again, so its cause is looked for at once.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/objects/health.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/cause_look.h"
#include "runtimes/kubernetes/session/health_checks.h"
#include "runtimes/kubernetes/session/session.h"

/* ms, of one object: before its cause is first looked for, which is before the status first says
 * what is waited for; between two such looks, the first time and at most; and after a refusal. */
#define FIRST_AFTER   3000
#define FIRST_AGAIN   5000
#define LAST_AGAIN    30000
#define REFUSED_AGAIN 60000
/* ms between two such looks in one session, whatever objects they are for. */
#define PAUSE 500
/* ms that all requests of one look may take. */
#define PATIENCE 2000

/* What is known of one object. The engine looks at an object from one thread at a time. */
struct memory {
    int64_t due, again; /* ms, monotonic: when to look next; ms after that */
    struct cause cause;
    char *hint; /* or NULL */
};

static void PRINTF_LIKE(2, 3) set_text(struct cause *cause, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    str_copy(cause->text, sizeof(cause->text), text);
}

/* ---- By kind ---- */

static const struct kind {
    const char *group, *kind;
    bool has_pods;
    enum cause_events events; /* of the object itself */
} kinds[] = {
    {"apps", "Deployment", true, CAUSE_NO_EVENTS}, /* its ReplicaFailure says it */
    {"apps", "ReplicaSet", true, CAUSE_WARNINGS},
    {"apps", "StatefulSet", true, CAUSE_WARNINGS},
    {"apps", "DaemonSet", true, CAUSE_WARNINGS},
    {"batch", "Job", true, CAUSE_WARNINGS},
    {"", "Pod", false, CAUSE_WARNINGS},
    {"", "PersistentVolumeClaim", false, CAUSE_ALL_EVENTS},
    {"", "Service", false, CAUSE_WARNINGS},
};

static const struct kind *find_kind(const struct object_ref *ref)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (object_ref_is(ref, kinds[i].group, kinds[i].kind))
            return &kinds[i];
    return NULL;
}

/* ---- What the object itself says ---- */

/* Its controller cannot create Pods, because of a quota, an admission policy, an account that does
 * not exist. */
static bool by_replica_failure(const struct value *object, struct cause *ret)
{
    const char *message;

    if (!str_equal(health_condition(object, "ReplicaFailure", &message), "True"))
        return false;
    set_text(ret, "FailedCreate: %s", message);
    return true;
}

static bool by_own_status(const struct value *pod, struct cause *ret)
{
    struct pod_cause cause;

    if (!pod_cause(pod, &cause))
        return false;
    set_text(ret, "%s", cause.text);
    return cause.weight != POD_CAUSE_STATE;
}

/* True: there is nothing more to know. */
static bool is_told_by_itself(const struct value *object, const struct object_ref *ref,
                              struct cause *ret)
{
    return object_ref_is(ref, "", "Pod") ? by_own_status(object, ret)
                                         : by_replica_failure(object, ret);
}

/* ---- What others say ---- */

/* Events are gone after an hour, and not everybody may list them: without one the cause stays as
 * it is. */
static int add_event(struct runtime_session *session, const struct value *object,
                     const struct kind *kind, const struct kube_wait *wait, struct cause *ret,
                     struct error *error)
{
    const struct object_ref ref = object_ref_of(object);
    bool is_of_pod = *ret->text && kind->has_pods;
    const char *uid =
        is_of_pod ? ret->uid : value_string(value_path(object, "metadata", "uid", NULL));
    enum cause_events which = is_of_pod ? CAUSE_WARNINGS : kind->events;
    char text[CAUSE_SIZE];
    int r;

    if (!uid || which == CAUSE_NO_EVENTS || (is_of_pod && !ret->may_have_event))
        return 0;
    r = cause_look_at_events(session, ref.namespace_name, uid, which, wait, text, error);
    if (r >= 0 && *text)
        set_text(ret, "%s%s%s", is_of_pod ? ret->pod : "", is_of_pod ? ": " : "", text);
    return r;
}

/* What the account would have to be allowed. */
static void set_refused(struct runtime_session *session, const char *in, const char *resources,
                        struct memory *memory)
{
    const char *account = session->service_account ? session->service_account : "of the operator";
    _cleanup_free_ char *command = session_list_command(session, in, resources);

    if (!*memory->cause.text)
        set_text(&memory->cause, "to see why, grant ServiceAccount %s: list %s", account,
                 resources);
    if (command)
        memory->hint = str_printf("to see why: %s", command);
    memory->again = REFUSED_AGAIN;
}

static struct kube_wait patience(const struct runtime_session *session,
                                 const struct runtime_call *call, int64_t now)
{
    struct kube_wait wait = session_wait(session, call);

    if (now + PATIENCE < wait.deadline)
        wait.deadline = now + PATIENCE;
    return wait;
}

static void ask(struct runtime_session *session, const struct value *object,
                const struct kind *kind, const struct kube_wait *wait, struct memory *memory)
{
    const char *in = object_ref_of(object).namespace_name;
    struct cause cause = {0};
    int r = 0;

    free(TAKE(memory->hint));
    if (kind->has_pods)
        r = cause_look_at_pods(session, object, wait, &cause, NULL);
    if (r == ERR_FORBIDDEN) {
        memory->cause = cause; /* what was known before may be true no more */
        set_refused(session, in, "pods,events", memory);
    }
    if (r < 0)
        return;
    r = add_event(session, object, kind, wait, &cause, NULL);
    memory->cause = cause;
    if (r == ERR_FORBIDDEN)
        set_refused(session, in, "events", memory);
}

/* ---- When ---- */

static struct memory *memory_of(struct runtime_session *session, const struct object_ref *ref,
                                int64_t now)
{
    _cleanup_free_ char *key = str_printf(
        "%s/%s/%s", ref->kind, ref->namespace_name ? ref->namespace_name : "", ref->name);
    LOCKED(&session->lock);
    struct memory *memory = strmap_get(&session->causes, key);

    if (!memory) {
        memory = NEW(struct memory);
        *memory = (struct memory){.due = now + FIRST_AFTER, .again = FIRST_AGAIN};
        strmap_put(&session->causes, TAKE(key), memory);
    }
    return memory;
}

void kube_forget_causes(struct runtime_session *session)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&session->causes, e));) {
        struct memory *memory = e->value;

        free(memory->hint);
        free(memory);
        free((char *)(uintptr_t)e->key);
    }
    strmap_done(&session->causes);
}

/* Many objects that are not healthy take turns. */
static bool may_ask(struct runtime_session *session, int64_t now)
{
    LOCKED(&session->lock);

    if (session->cause_asked && now - session->cause_asked < PAUSE)
        return false;
    session->cause_asked = now;
    return true;
}

static void ask_if_due(struct runtime_session *session, const struct value *object,
                       const struct kind *kind, const struct runtime_call *call, bool is_last,
                       struct memory *memory)
{
    const struct clock_source *clock = session->runtime->config.clock;
    int64_t now = clock->monotonic(clock);
    struct kube_wait wait;

    if (!is_last && now < memory->due)
        return;
    if (is_last || may_ask(session, now)) {
        wait = patience(session, call, now);
        ask(session, object, kind, &wait, memory);
    }
    memory->due = clock->monotonic(clock) + memory->again;
    memory->again = memory->again * 2 < LAST_AGAIN ? memory->again * 2 : LAST_AGAIN;
}

/* ---- The message ---- */

/* That of a Pod says less than its cause. */
static void add_text(struct health *health, const char *text, bool replaces)
{
    _cleanup_free_ char *before = str_new(health->message);

    if (*text)
        health_set(health, health->status, "%s%s%s", replaces ? "" : before, replaces ? "" : ": ",
                   text);
}

static void add_cause(struct runtime_session *session, const struct value *object,
                      const struct runtime_call *call, struct health *health)
{
    const struct clock_source *clock = session->runtime->config.clock;
    const struct object_ref ref = object_ref_of(object);
    const struct kind *kind = find_kind(&ref);
    bool is_pod = object_ref_is(&ref, "", "Pod");
    struct cause own = {0};
    struct memory *memory;
    int64_t now;

    if (!kind || !ref.name)
        return;
    if (is_told_by_itself(object, &ref, &own)) {
        add_text(health, own.text, is_pod);
        return;
    }
    memory = memory_of(session, &ref, clock->monotonic(clock));
    ask_if_due(session, object, kind, call, health->status == HEALTH_FAILED, memory);
    add_text(health, *memory->cause.text ? memory->cause.text : own.text, is_pod);
    str_copy(health->hint, sizeof(health->hint), memory->hint ? memory->hint : "");
    now = clock->monotonic(clock);
    health->look_again = memory->due > now ? memory->due - now : 1;
}

int kube_judge_health(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *seen, const struct runtime_call *call,
                      struct health *ret, struct error *error)
{
    int r;

    kube_health(seen->result, ret);
    r = health_checks_judge(session->runtime->checks, session->spec_namespace, target->extensions,
                            seen->result, call, ret, error);
    if (r < 0)
        return r;
    if (ret->status == HEALTH_PROGRESSING || ret->status == HEALTH_FAILED)
        add_cause(session, seen->result, call, ret);
    return 0;
}

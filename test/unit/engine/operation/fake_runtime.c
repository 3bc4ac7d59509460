#include "test/unit/engine/operation/fake_runtime.h"

#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "engine/spec/ref.h"
#include "engine/spec/resource.h"
#include "engine/state/state.h"

#define LOOKS_OF_SLOW 3

struct runtime_session {
    struct fake_runtime *runtime;
    struct cancel *cancel;
};

/* ---- Objects. All with the world's lock held, or from the test's own thread. ---- */

static unsigned faults_of(const struct fake_runtime *runtime, const char *name)
{
    for (size_t i = 0; i < runtime->n_faults; i++)
        if (str_equal(runtime->faults[i].name, name))
            return runtime->faults[i].faults;
    return 0;
}

static struct fake_object *find_key(const struct fake_runtime *runtime, const char *key)
{
    for (size_t i = 0; i < runtime->n_objects; i++)
        if (str_equal(runtime->objects[i].key, key))
            return &runtime->objects[i];
    return NULL;
}

static char *key_of(const struct value *attributes)
{
    struct object_ref ref = object_ref_of(attributes);

    return str_printf("%s/%s", ref.kind, ref.name);
}

static struct fake_object *find_target(const struct fake_runtime *runtime,
                                       const struct runtime_target *target)
{
    _cleanup_free_ char *key = key_of(target->attributes);

    return find_key(runtime, key);
}

static struct fake_object *add(struct fake_runtime *runtime, const struct value *attributes,
                               enum owner_kind owner)
{
    struct fake_object *object;

    runtime->objects = mem_grow(runtime->objects, runtime->n_objects, &runtime->capacity,
                                sizeof(*runtime->objects));
    object = &runtime->objects[runtime->n_objects++];
    *object = (struct fake_object){.key = key_of(attributes),
                                   .uid = str_printf("u%u", ++runtime->next_uid),
                                   .attributes = value_ref(attributes),
                                   .owner = owner};
    object->name = strchr(object->key, '/') + 1;
    return object;
}

static void discard(struct fake_runtime *runtime, struct fake_object *object)
{
    free(object->key);
    free(object->uid);
    value_unref(object->attributes);
    *object = runtime->objects[--runtime->n_objects];
}

static const char *phase_of(const struct fake_runtime *runtime, const struct fake_object *object)
{
    unsigned faults = faults_of(runtime, object->name);

    if (faults & FAKE_SICK)
        return "failed";
    if (faults & FAKE_CLAIM && runtime->n_objects < 2)
        return "unbound";
    if (faults & FAKE_UNHEALTHY || (faults & FAKE_SLOW && object->looks < LOOKS_OF_SLOW))
        return "pending";
    return "ready";
}

static const struct value *whole(const struct fake_runtime *runtime,
                                 const struct fake_object *object)
{
    static const char *const uid_path[] = {"metadata", "uid"};
    const char *phase = phase_of(runtime, object);
    bool is_claimed = faults_of(runtime, object->name) & FAKE_CLAIM && str_equal(phase, "ready");
    _cleanup_free_ char *address = str_printf("addr-%s", object->name);
    _cleanup_value_ const struct value *uid = value_pack("s", object->uid);
    _cleanup_value_ const struct value *status = value_pack(
        "{s:s, s:s, s:s?}", "phase", phase, "address", address, "volume", is_claimed ? "v" : NULL);
    _cleanup_value_ const struct value *named =
        value_with_path(object->attributes, uid_path, 2, uid);

    return value_with(named, "status", status);
}

static void look(const struct fake_runtime *runtime, const struct fake_object *object, bool wholly,
                 struct observation *ret)
{
    *ret = (struct observation){.presence = PRESENCE_ABSENT};
    if (!object)
        return;
    ret->presence = PRESENCE_PRESENT;
    ret->owner = object->owner;
    ret->terminating = object->terminating;
    ret->uid = str_new(object->uid);
    ret->version = wholly ? str_printf("%u", object->version) : NULL;
    if (object->owner == OWNER_SELF)
        ret->footprint = attributes_digest(object->attributes);
    if (wholly)
        ret->object = whole(runtime, object);
}

/* ---- The runtime's functions ---- */

static int open_session(struct runtime *base, const struct runtime_scope *scope,
                        struct runtime_session **ret, struct error *error)
{
    struct fake_runtime *runtime = (struct fake_runtime *)base;
    struct runtime_session *session;

    if (runtime->account_must_exist && !scope->service_account_leaves &&
        !fake_find(runtime, scope->service_account))
        return err_set(error, ERR_INVALID, "ServiceAccountNotFound", "the fake says so");
    session = NEW(struct runtime_session);
    *session = (struct runtime_session){runtime, scope->cancel};
    *ret = session;
    return 0;
}

static void close_session(struct runtime_session *session)
{
    free(session);
}

static int enter(struct runtime_session *session, struct error *error)
{
    int r = fake_world_enter(session->runtime->world, error);

    if (r == 0 && cancel_fired(session->cancel)) {
        fake_world_leave(session->runtime->world);
        r = err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(session->cancel));
    }
    return r;
}

static int refuse(struct runtime_session *session, int code, const char *reason,
                  struct error *error)
{
    fake_world_leave(session->runtime->world);
    return err_set(error, code, reason, "the fake says so");
}

static bool is_of_kind(const struct fake_object *object, const char *kind)
{
    return str_equal(value_get_string(object->attributes, "kind"), kind);
}

static bool has_rights(const struct fake_runtime *runtime)
{
    for (size_t i = 0; i < runtime->n_objects; i++)
        if (is_of_kind(&runtime->objects[i], "RoleBinding"))
            return true;
    return !runtime->rights_are_bound;
}

static int observe(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                   struct observation *ret, struct error *error)
{
    struct fake_runtime *runtime = session->runtime;
    int r = enter(session, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        const struct fake_object *object = find_target(runtime, &targets[i]);

        look(runtime, object, false, &ret[i]);
        if (has_rights(runtime) && !(faults_of(runtime, short_name(targets[i].id)) & FAKE_UNSEEN))
            continue;
        observation_done(&ret[i]);
        err_set(&ret[i].error, ERR_FORBIDDEN, "Forbidden", "may not be looked at");
    }
    fake_world_leave(runtime->world);
    return 0;
}

/* A look that may be the last: what was slow to go is gone. */
static struct fake_object *look_at(struct fake_runtime *runtime,
                                   const struct runtime_target *target)
{
    unsigned faults = faults_of(runtime, short_name(target->id));
    struct fake_object *object = find_target(runtime, target);

    if (!object)
        return NULL;
    object->looks++;
    if (!(faults & FAKE_VANISHES) &&
        !(object->terminating && faults & FAKE_SLOW && object->looks >= LOOKS_OF_SLOW))
        return object;
    discard(runtime, object);
    return NULL;
}

static int read_one(struct runtime_session *session, const struct runtime_target *target,
                    struct observation *ret, struct error *error)
{
    struct fake_runtime *runtime = session->runtime;
    int r = enter(session, error);

    if (r < 0)
        return r;
    runtime->reads++;
    if (faults_of(runtime, short_name(target->id)) & FAKE_UNSEEN || !has_rights(runtime))
        return refuse(session, ERR_FORBIDDEN, "Forbidden", error);
    look(runtime, look_at(runtime, target), true, ret);
    fake_world_leave(runtime->world);
    return 0;
}

/* What is sent must be what was meant: nothing that stands for another value. */
static void check_sent(struct fake_runtime *runtime, const struct runtime_target *target,
                       const char *what)
{
    _cleanup_free_ char *text = json_to_str(target->attributes);

    if (strstr(text, REF_PREFIX) || value_has_unknown(target->attributes))
        fake_world_lie(runtime->world, "%s of %s with a value that is none", what,
                       short_name(target->id));
}

/* What arrives is text: it does not say what of it is sensitive. */
static const struct value *as_received(const struct value *attributes)
{
    _cleanup_free_ char *text = json_to_str(attributes);
    const struct value *received = NULL;

    json_read_str(text, &received, NULL);
    return received;
}

static int preview(struct runtime_session *session, const struct runtime_target *target,
                   enum apply_mode mode, const struct value **ret, struct error *error)
{
    struct fake_runtime *runtime = session->runtime;
    int r = enter(session, error);

    (void)mode;
    if (r < 0)
        return r;
    runtime->previews++;
    check_sent(runtime, target, "a dry-run");
    if (faults_of(runtime, short_name(target->id)) & FAKE_REFUSED_DRY)
        return refuse(session, ERR_FORBIDDEN, "Forbidden", error);
    *ret = as_received(target->attributes);
    fake_world_leave(runtime->world);
    return 0;
}

static void let_appear(struct fake_runtime *runtime, const struct runtime_target *target)
{
    static const struct {
        unsigned fault;
        enum owner_kind owner;
    } rows[] = {{FAKE_OURS_APPEARS, OWNER_SELF},
                {FAKE_NOBODYS_APPEARS, OWNER_NONE},
                {FAKE_OTHERS_APPEARS, OWNER_OTHER}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (faults_of(runtime, short_name(target->id)) & rows[i].fault &&
            !find_target(runtime, target))
            add(runtime, target->attributes, rows[i].owner);
}

static void let_change(struct fake_runtime *runtime, const struct runtime_target *target)
{
    unsigned faults = faults_of(runtime, short_name(target->id));
    struct fake_object *object = find_target(runtime, target);

    if (!object)
        return;
    if (faults & FAKE_TAKEN) {
        object->owner = OWNER_SPEC;
        object->version++;
    }
    if (faults & FAKE_CHANGES && object->version == 0)
        object->version++;
}

static bool is_as_seen(const struct runtime_target *target, const struct fake_object *object)
{
    return !target->version || !object || strtoul(target->version, NULL, 10) == object->version;
}

/* Unlocks. */
static int make_so(struct fake_runtime *runtime, const struct runtime_target *target,
                   struct observation *ret, struct error *error)
{
    struct fake_object *object = find_target(runtime, target);
    const char *verb = object ? "patch" : "create";
    bool changes = !object || object->owner != OWNER_SELF ||
                   !value_equal(object->attributes, target->attributes);

    if (!object) {
        object = add(runtime, target->attributes, OWNER_SELF);
        runtime->creates++;
    }
    value_unref(object->attributes);
    object->attributes = as_received(target->attributes);
    object->owner = OWNER_SELF;
    object->version += changes;
    object->made = true;
    object->looks = changes ? 1 : object->looks + 1;
    look(runtime, object, true, ret);
    if (changes)
        return fake_world_step(runtime->world, error, "%s %s", verb, short_name(target->id));
    fake_world_leave(runtime->world);
    return 0;
}

static int apply(struct runtime_session *session, const struct runtime_target *target,
                 enum apply_mode mode, struct observation *ret, struct error *error)
{
    struct fake_runtime *runtime = session->runtime;
    unsigned faults = faults_of(runtime, short_name(target->id));
    const struct fake_object *object;
    int r = enter(session, error);

    if (r < 0)
        return r;
    check_sent(runtime, target, "an apply");
    if (faults & FAKE_REFUSED)
        return refuse(session, ERR_FORBIDDEN, "Forbidden", error);
    let_appear(runtime, target);
    let_change(runtime, target);
    object = find_target(runtime, target);
    if ((mode == APPLY_CREATE && object) || !is_as_seen(target, object))
        return refuse(session, ERR_CONFLICT, "ConflictDetected", error);
    r = make_so(runtime, target, ret, error);
    if (r == 0 && faults & FAKE_LOST)
        r = err_set(error, ERR_TIMEOUT, "Timeout", "no answer in time");
    if (r < 0)
        observation_done(ret);
    return r;
}

static void replace(struct fake_runtime *runtime, struct fake_object *object)
{
    _cleanup_value_ const struct value *attributes = value_ref(object->attributes);

    discard(runtime, object);
    add(runtime, attributes, OWNER_NONE);
}

static int may_delete(struct runtime_session *session, const struct runtime_target *target,
                      struct error *error)
{
    struct fake_runtime *runtime = session->runtime;
    int r = enter(session, error);

    if (r < 0)
        return r;
    runtime->guards++;
    if (faults_of(runtime, short_name(target->id)) & FAKE_GUARDED)
        return refuse(session, ERR_CONFLICT, "DeletionGuardTripped", error);
    fake_world_leave(runtime->world);
    return 0;
}

/* Discards it, and all that is in it. */
static void let_go(struct fake_runtime *runtime, struct fake_object *object)
{
    _cleanup_free_ char *name = str_new(is_of_kind(object, "Namespace") ? object->name : "");

    discard(runtime, object);
    for (size_t i = runtime->n_objects; i-- > 0;) {
        const struct value *attributes = runtime->objects[i].attributes;

        if (str_equal(object_ref_of(attributes).namespace_name, name))
            discard(runtime, &runtime->objects[i]);
    }
}

static int remove_one(struct runtime_session *session, const struct runtime_target *target,
                      struct error *error)
{
    struct fake_runtime *runtime = session->runtime;
    unsigned faults = faults_of(runtime, short_name(target->id));
    struct fake_object *object;
    bool gone;
    int r = enter(session, error);

    if (r < 0)
        return r;
    object = find_target(runtime, target);
    if (!target->uid)
        fake_world_lie(runtime->world, "a delete of %s without its uid", short_name(target->id));
    if (faults & FAKE_KEPT || !has_rights(runtime))
        return refuse(session, ERR_FORBIDDEN, "Forbidden", error);
    if (object && faults & FAKE_REPLACED && str_equal(object->uid, target->uid)) {
        replace(runtime, object);
        object = find_target(runtime, target);
    }
    if (object && !str_equal(object->uid, target->uid))
        return refuse(session, ERR_CONFLICT, "Conflict", error);
    if (!object) {
        fake_world_leave(runtime->world);
        return 0;
    }
    object->terminating = true;
    object->looks = 0;
    gone = is_of_kind(object, "ServiceAccount") || is_of_kind(object, "Role") ||
           is_of_kind(object, "RoleBinding");
    if (!(faults & (FAKE_STUCK | FAKE_SLOW)))
        let_go(runtime, object);
    r = fake_world_step(runtime->world, error, "delete %s", short_name(target->id));
    return r < 0 ? r : gone && !(faults & (FAKE_STUCK | FAKE_SLOW));
}

struct runtime_watch {
    int unused;
};

static int watch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                 runtime_on_change *on_change, void *arg, struct runtime_watch **ret,
                 struct error *error)
{
    (void)targets;
    if (!session->runtime->hints)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported", "no watches");
    *ret = NEW(struct runtime_watch);
    for (size_t i = 0; i < n; i++)
        on_change(arg, i);
    return 0;
}

static void unwatch(struct runtime_session *session, struct runtime_watch *watch)
{
    (void)session;
    free(watch);
}

static void health(const struct value *object, struct health *ret)
{
    const char *phase = value_string(value_path(object, "status", "phase", NULL));

    ret->status = str_equal(phase, "ready")    ? HEALTH_CURRENT
                  : str_equal(phase, "failed") ? HEALTH_FAILED
                                               : HEALTH_PROGRESSING;
    ret->may_wait_for_consumer = str_equal(phase, "unbound");
    snprintf(ret->message, sizeof(ret->message), "phase %s", phase ? phase : "unknown");
}

static bool is_in_namespace(struct runtime_session *session, const struct value *attributes,
                            const char *namespace_name)
{
    (void)session;
    return str_equal(object_ref_of(attributes).namespace_name, namespace_name);
}

static const struct value *mark(const struct value *attributes)
{
    _cleanup_value_ const struct value *pointers = value_pack("[s]", "/data");

    if (!str_equal(value_get_string(attributes, "kind"), "Secret"))
        return value_ref(attributes);
    return value_mark_paths(attributes, pointers);
}

static const struct runtime_ops ops = {
    .type = RESOURCE_KUBERNETES,
    .open = open_session,
    .close = close_session,
    .observe = observe,
    .read = read_one,
    .preview = preview,
    .apply = apply,
    .may_delete = may_delete,
    .is_in_namespace = is_in_namespace,
    .remove = remove_one,
    .watch = watch,
    .unwatch = unwatch,
    .health = health,
    .mark = mark,
};

/* ---- For tests ---- */

void fake_runtime_init(struct fake_runtime *runtime, struct fake_world *world)
{
    *runtime = (struct fake_runtime){.base = {&ops}, .world = world};
}

void fake_runtime_done(struct fake_runtime *runtime)
{
    while (runtime->n_objects)
        discard(runtime, &runtime->objects[0]);
    free(runtime->objects);
}

void fake_fault(struct fake_runtime *runtime, const char *name, unsigned faults)
{
    size_t i = 0;

    while (i < runtime->n_faults && !str_equal(runtime->faults[i].name, name))
        i++;
    if (i == ARRAY_SIZE(runtime->faults))
        abort();
    runtime->faults[i] = (struct fake_fault){name, faults};
    if (i == runtime->n_faults)
        runtime->n_faults++;
}

struct fake_object *fake_find(const struct fake_runtime *runtime, const char *name)
{
    for (size_t i = 0; i < runtime->n_objects; i++)
        if (str_equal(runtime->objects[i].name, name))
            return &runtime->objects[i];
    return NULL;
}

void fake_drop(struct fake_runtime *runtime, const char *name)
{
    struct fake_object *object = fake_find(runtime, name);

    if (object)
        discard(runtime, object);
}

struct fake_object *fake_put(struct fake_runtime *runtime, const char *name, const char *x,
                             enum owner_kind owner)
{
    _cleanup_value_ const struct value *attributes =
        value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                   "metadata", "name", name, "namespace", "team", "data", "x", x);

    fake_drop(runtime, name);
    return add(runtime, attributes, owner);
}

void fake_drift(struct fake_runtime *runtime, const char *name, const char *x)
{
    static const char *const path[] = {"data", "x"};
    struct fake_object *object = fake_find(runtime, name);
    _cleanup_value_ const struct value *value = value_pack("s", x), *before = object->attributes;

    object->attributes = value_with_path(before, path, 2, value);
}

static int by_name(const void *a, const void *b)
{
    const struct fake_object *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

char *fake_runtime_text(const struct fake_runtime *runtime)
{
    static const char *const marks[] = {
        [OWNER_NONE] = "~", [OWNER_SELF] = "", [OWNER_SPEC] = "^", [OWNER_OTHER] = "!"};
    _cleanup_free_ const struct fake_object **sorted =
        NEW_ARRAY(const struct fake_object *, runtime->n_objects + 1);
    struct buf text;

    for (size_t i = 0; i < runtime->n_objects; i++)
        sorted[i] = &runtime->objects[i];
    qsort(sorted, runtime->n_objects, sizeof(const struct fake_object *), by_name);
    buf_init(&text, 0);
    for (size_t i = 0; i < runtime->n_objects; i++) {
        const struct value *data = value_get(sorted[i]->attributes, "data");
        const char *x = value_get_string(data, "x"), *ref = value_get_string(data, "ref");

        buf_printf(&text, "%s%s%s%s%s%s%s%s", i ? " " : "", sorted[i]->name, x ? "=" : "",
                   x ? x : "", ref ? "@" : "", ref ? ref : "", marks[sorted[i]->owner],
                   sorted[i]->terminating ? "-" : "");
    }
    return buf_take(&text);
}

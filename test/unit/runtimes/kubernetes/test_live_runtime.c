/* The runtime against a real API server (live.h). */
#include <stdatomic.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/live.h"
#include "test/unit/runtimes/kubernetes/stage.h"
#include "test/unit/suite.h"

#define MAPS  "/api/v1/namespaces/@/configmaps"
#define GROUP "@.kusion-live.example.com"

struct world {
    struct live live;
    struct stage stage;
    struct runtime_session *session; /* the controller's own */
    struct error error;
};

static bool begin(struct world *world)
{
    *world = (struct world){0};
    if (!live_start(&world->live))
        return false;
    stage_start(&world->stage, world->live.harness.client, NULL, 0);
    world->session = stage_open(&world->stage, world->live.space, "web", NULL);
    return true;
}

static void end(struct world *world)
{
    world->stage.runtime->ops->close(world->session);
    stage_stop(&world->stage);
    live_stop(&world->live);
}

/* One resource of a test, as it is asked for. */
struct thing {
    struct world *world;
    const struct value *attributes;
    struct runtime_target target;
    struct observation seen;
};

static void thing_init(struct thing *thing, struct world *world, const char *attributes)
{
    _cleanup_free_ char *text = live_text(&world->live, attributes);

    *thing = (struct thing){.world = world, .attributes = stage_value(text)};
    thing->target = (struct runtime_target){.id = "id", .attributes = thing->attributes};
}

static void thing_done(struct thing *thing)
{
    observation_done(&thing->seen);
    value_unref(thing->attributes);
}

static int apply_as(struct thing *thing, struct runtime_session *session, enum apply_mode mode)
{
    observation_done(&thing->seen);
    err_clear(&thing->world->error);
    return kube_apply(session, &thing->target, mode, &thing->seen, &thing->world->error);
}

static int apply(struct thing *thing, enum apply_mode mode)
{
    return apply_as(thing, thing->world->session, mode);
}

static int look(struct thing *thing)
{
    observation_done(&thing->seen);
    err_clear(&thing->world->error);
    return kube_read(thing->world->session, &thing->target, &thing->seen, &thing->world->error);
}

static int take_away(struct thing *thing)
{
    err_clear(&thing->world->error);
    thing->target.uid = thing->seen.uid;
    return kube_remove(thing->world->session, &thing->target, &thing->world->error);
}

static bool is_absent(void *arg)
{
    return look(arg) == 0 && ((struct thing *)arg)->seen.presence == PRESENCE_ABSENT;
}

/* Until the API server is done with the definition, it refuses in other words. */
static bool has_no_kind(void *arg)
{
    struct thing *thing = arg;

    return apply(thing, APPLY_TAKE) == ERR_INVALID &&
           str_equal(thing->world->error.reason, "KindNotFound");
}

static const char *data_of(const struct thing *thing, const char *key)
{
    return value_string(value_path(thing->seen.object, "data", key, NULL));
}

#define MAP(name, data)                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\"}," \
    "\"data\":{" data "}}"

/* ---- From nothing to nothing ---- */

static void an_object_comes_changes_and_goes(void)
{
    _cleanup_value_ const struct value *preview = NULL;
    _cleanup_free_ char *first = NULL, *uid = NULL;
    struct thing thing, changed;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\",\"l\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\""));

    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT_INT(thing.seen.presence, PRESENCE_ABSENT, "before");
    EXPECT_INT(kube_preview(world.session, &thing.target, APPLY_CREATE, &preview, &world.error), 0,
               world.error.message);
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT_INT(thing.seen.presence, PRESENCE_ABSENT, "a preview makes nothing");

    EXPECT_INT(apply(&thing, APPLY_CREATE), 0, world.error.message);
    EXPECT_INT(thing.seen.owner, OWNER_SELF, "ours");
    EXPECT_STR(data_of(&thing, "k"), "1", "as asked for");
    first = str_new(thing.seen.footprint);
    uid = str_new(thing.seen.uid);
    EXPECT(first && uid, "both are known");
    EXPECT_INT(apply(&thing, APPLY_CREATE), ERR_CONFLICT, "there is one now, if our own");
    EXPECT_INT(apply(&thing, APPLY_TAKE), 0, "again, as after a crash");
    EXPECT_STR(thing.seen.uid, uid, "the same one");
    EXPECT_STR(thing.seen.footprint, first, "unchanged");

    EXPECT_INT(apply(&changed, APPLY_TAKE), 0, world.error.message);
    EXPECT_STR(data_of(&changed, "k"), "2", "changed");
    EXPECT_STR(data_of(&changed, "l"), NULL, "what is not asked for any more goes");
    EXPECT(!str_equal(changed.seen.footprint, first), "another footprint");

    EXPECT_INT(take_away(&changed), 0, world.error.message);
    EXPECT(live_eventually(is_absent, &changed), "gone");
    changed.target.uid = uid;
    EXPECT_INT(kube_remove(world.session, &changed.target, &world.error), 0, "gone already");
    thing_done(&thing);
    changed.target.uid = NULL;
    thing_done(&changed);
    end(&world);
}

/* Someone else changes a field of ours: the footprint shows it, and an apply takes it back. */
static void sees_that_others_changed_it(void)
{
    _cleanup_free_ char *before = NULL;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    EXPECT_INT(apply(&thing, APPLY_CREATE), 0, world.error.message);
    before = str_new(thing.seen.footprint);
    EXPECT_INT(live_do(&world.live, "PATCH", MAPS "/a", "{\"data\":{\"other\":\"x\"}}", NULL,
                       &world.error),
               0, world.error.message);
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT_STR(thing.seen.footprint, before, "a field of theirs is none of ours");
    EXPECT_INT(live_do(&world.live, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"theirs\"}}", NULL,
                       &world.error),
               0, world.error.message);
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT(!str_equal(thing.seen.footprint, before), "a field of ours is");
    EXPECT_INT(apply(&thing, APPLY_CREATE), ERR_CONFLICT, "not without force");
    EXPECT(strstr(world.error.message, ".data.k") != NULL, world.error.message);
    EXPECT_INT(apply(&thing, APPLY_TAKE), 0, world.error.message);
    EXPECT_STR(data_of(&thing, "k"), "1", "ours again");
    EXPECT_STR(data_of(&thing, "other"), "x", "theirs stays");
    EXPECT_STR(thing.seen.footprint, before, "as it was");
    thing_done(&thing);
    end(&world);
}

static void deletes_only_the_object_that_was_recorded(void)
{
    _cleanup_free_ char *old = NULL;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    EXPECT_INT(apply(&thing, APPLY_CREATE), 0, world.error.message);
    old = str_new(thing.seen.uid);
    EXPECT_INT(live_do(&world.live, "DELETE", MAPS "/a", NULL, NULL, &world.error), 0, "by hand");
    EXPECT_INT(apply(&thing, APPLY_CREATE), 0, world.error.message);
    thing.target.uid = old;
    EXPECT_INT(kube_remove(world.session, &thing.target, &world.error), ERR_CONFLICT, "another");
    EXPECT(strstr(world.error.message, old) != NULL, world.error.message);
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT_INT(thing.seen.presence, PRESENCE_PRESENT, "it stays");
    thing.target.uid = NULL;
    thing_done(&thing);
    end(&world);
}

static bool has_no_b(void *arg)
{
    struct world *world = arg;

    return live_do(&world->live, "GET", MAPS "/b", NULL, NULL, &world->error) == ERR_NOT_FOUND;
}

/* A finalizer holds it; and what depends on it goes first. */
static void a_deletion_takes_as_long_as_it_takes(void)
{
    _cleanup_free_ char *path = NULL;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
               "\"finalizers\":[\"example.com/hold\"]}}");
    EXPECT_INT(apply(&thing, APPLY_CREATE), 0, world.error.message);
    path = str_printf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\","
                      "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":"
                      "\"a\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
                      thing.seen.uid);
    EXPECT_INT(live_do(&world.live, "POST", MAPS, path, NULL, &world.error), 0,
               world.error.message);
    EXPECT_INT(take_away(&thing), 0, "begun");
    thing.target.uid = NULL;
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT(thing.seen.terminating, "being deleted");
    EXPECT_INT(take_away(&thing), 0, "begun again");
    thing.target.uid = NULL;
    EXPECT(live_eventually(has_no_b, &world), "what depends on it is gone");
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT(thing.seen.terminating, "it is held");
    EXPECT_INT(live_do(&world.live, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}",
                       NULL, &world.error),
               0, world.error.message);
    EXPECT(live_eventually(is_absent, &thing), "gone");
    thing_done(&thing);
    end(&world);
}

/* ---- Of others ---- */

static void refuses_what_belongs_to_another_spec(void)
{
    struct runtime_session *other;
    struct thing mine, theirs;
    struct world world;

    if (!begin(&world))
        return;
    other = stage_open(&world.stage, world.live.space, "other", NULL);
    thing_init(&mine, &world, MAP("a", "\"k\":\"mine\""));
    thing_init(&theirs, &world, MAP("a", "\"l\":\"theirs\""));
    EXPECT_INT(apply(&mine, APPLY_CREATE), 0, world.error.message);
    EXPECT_INT(apply_as(&theirs, other, APPLY_CREATE), ERR_CONFLICT,
               "no field is the same, and it is there");
    EXPECT_INT(kube_read(other, &theirs.target, &theirs.seen, &world.error), 0,
               world.error.message);
    EXPECT_INT(theirs.seen.owner, OWNER_SPEC, "whose it is can be seen");
    EXPECT_STR(theirs.seen.footprint, NULL, "nothing is the other's");
    EXPECT_STR(data_of(&theirs, "l"), NULL, "nothing was written");
    thing_done(&mine);
    thing_done(&theirs);
    world.stage.runtime->ops->close(other);
    end(&world);
}

/* Two that saw it as nobody's: the second is told that it is not any more. */
static void takes_only_what_is_as_it_was_seen(void)
{
    _cleanup_free_ char *version = NULL;
    struct runtime_session *other;
    struct thing mine, theirs;
    struct world world;

    if (!begin(&world))
        return;
    other = stage_open(&world.stage, world.live.space, "other", NULL);
    thing_init(&mine, &world, MAP("a", "\"k\":\"mine\""));
    thing_init(&theirs, &world, MAP("a", "\"k\":\"theirs\""));
    EXPECT_INT(live_do(&world.live, "POST", MAPS, MAP("a", ""), NULL, &world.error), 0,
               world.error.message);
    EXPECT_INT(look(&mine), 0, world.error.message);
    EXPECT_INT(mine.seen.owner, OWNER_NONE, "nobody's");
    version = str_new(mine.seen.version);
    mine.target.version = theirs.target.version = version;
    EXPECT_INT(apply(&mine, APPLY_TAKE), 0, world.error.message);
    EXPECT_INT(apply_as(&theirs, other, APPLY_TAKE), ERR_CONFLICT, "it has changed");
    EXPECT_INT(look(&mine), 0, world.error.message);
    EXPECT_INT(mine.seen.owner, OWNER_SELF, "of the first");
    EXPECT_STR(data_of(&mine, "k"), "mine", "as the first wanted it");
    thing_done(&mine);
    thing_done(&theirs);
    world.stage.runtime->ops->close(other);
    end(&world);
}

#define BINDINGS "/apis/rbac.authorization.k8s.io/v1/namespaces/@/rolebindings"

/* What the hint would make. */
static const char binding[] =
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":{"
    "\"name\":\"kusion:@:poor:edit\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
    "\"kind\":"
    "\"ClusterRole\",\"name\":\"edit\"},\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":"
    "\"poor\",\"namespace\":\"@\"}]}";

/* Rights and quotas take a moment until they are known. */
struct attempt {
    struct thing *thing;
    struct runtime_session *session;
};

static bool is_permitted(void *arg)
{
    const struct attempt *attempt = arg;

    return apply_as(attempt->thing, attempt->session, APPLY_TAKE) == 0;
}

static bool is_spent(void *arg)
{
    struct world *world = ((const struct attempt *)arg)->thing->world;

    if (is_permitted(arg))
        live_do(&world->live, "DELETE", MAPS "/a", NULL, NULL, NULL);
    return strstr(world->error.message, "exceeded quota") != NULL;
}

static void acts_with_the_rights_of_the_account_alone(void)
{
    _cleanup_value_ const struct value *preview = NULL;
    _cleanup_free_ char *hint = NULL;
    struct runtime_session *poor;
    struct observation seen = {0};
    struct attempt attempt;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    poor = stage_open(&world.stage, world.live.space, "web", "poor");
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    hint = live_text(&world.live, "; to allow it: kubectl create rolebinding kusion:@:poor:edit "
                                  "--clusterrole=edit --serviceaccount=@:poor --namespace=@");

    EXPECT_INT(apply_as(&thing, poor, APPLY_CREATE), ERR_FORBIDDEN, "may not");
    EXPECT_STR(world.error.reason, "AccessDenied", world.error.message);
    EXPECT(str_has_suffix(world.error.message, hint), world.error.message);
    EXPECT_INT(kube_preview(poor, &thing.target, APPLY_TAKE, &preview, &world.error), ERR_FORBIDDEN,
               "nor try");
    EXPECT_INT(kube_read(poor, &thing.target, &seen, &world.error), ERR_FORBIDDEN, "nor look");
    EXPECT_INT(seen.presence, PRESENCE_UNKNOWN, "which is not absent");
    observation_done(&seen);
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT_INT(thing.seen.presence, PRESENCE_ABSENT, "nothing was made with other rights");

    EXPECT_INT(apply(&thing, APPLY_CREATE), 0, world.error.message);
    thing.target.uid = thing.seen.uid;
    EXPECT_INT(kube_remove(poor, &thing.target, &world.error), ERR_FORBIDDEN, "nor take away");
    thing.target.uid = NULL;
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT_INT(thing.seen.presence, PRESENCE_PRESENT, "it stays");

    /* What the hint says helps. */
    EXPECT_INT(live_do(&world.live, "POST", BINDINGS, binding, NULL, &world.error), 0,
               world.error.message);
    attempt = (struct attempt){&thing, poor};
    EXPECT(live_eventually(is_permitted, &attempt), world.error.message);
    thing_done(&thing);
    world.stage.runtime->ops->close(poor);
    end(&world);
}

/* A quota is no lack of rights. */
static void gives_no_hint_where_a_quota_is_spent(void)
{
    static const char quota[] = "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{"
                                "\"name\":\"q\"},\"spec\":{\"hard\":{\"count/configmaps\":\"0\"}}}";
    struct runtime_session *poor;
    struct thing thing, rule;
    struct attempt attempt;
    struct world world;

    if (!begin(&world))
        return;
    poor = stage_open(&world.stage, world.live.space, "web", "poor");
    thing_init(&rule, &world, quota);
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    EXPECT_INT(live_do(&world.live, "POST", BINDINGS, binding, NULL, &world.error), 0,
               world.error.message);
    EXPECT_INT(apply(&rule, APPLY_CREATE), 0, world.error.message);
    attempt = (struct attempt){&thing, poor};
    EXPECT(live_eventually(is_spent, &attempt), world.error.message);
    EXPECT_INT(world.error.code, ERR_FORBIDDEN, world.error.message);
    EXPECT(strstr(world.error.message, "kubectl") == NULL, world.error.message);
    thing_done(&thing);
    thing_done(&rule);
    world.stage.runtime->ops->close(poor);
    end(&world);
}

/* ---- Definitions that come and go ---- */

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"widgets." GROUP "\"},\"spec\":{\"group\":\"" GROUP "\","
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":"
    "\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static void a_kind_comes_and_goes(void)
{
    struct thing crd, widget;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&crd, &world, definition);
    thing_init(&widget, &world,
               "{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Widget\",\"metadata\":"
               "{\"name\":\"a\"},\"spec\":{\"size\":1}}");
    EXPECT_INT(apply(&widget, APPLY_CREATE), ERR_INVALID, "not yet");
    EXPECT_STR(world.error.reason, "KindNotFound", world.error.message);
    EXPECT_INT(look(&widget), 0, world.error.message);
    EXPECT_INT(widget.seen.presence, PRESENCE_ABSENT, "no kind, no object");

    EXPECT_INT(apply(&crd, APPLY_CREATE), 0, world.error.message);
    EXPECT_INT(apply(&widget, APPLY_CREATE), 0, world.error.message); /* as soon as it can be */
    EXPECT_INT(widget.seen.owner, OWNER_SELF, "made");

    /* The definition goes by another's hand, and what is known of it here is old. (To a session
     * that has not just seen it: that one would be patient.) */
    world.stage.runtime->ops->close(world.session);
    world.session = stage_open(&world.stage, world.live.space, "web", NULL);
    EXPECT_INT(live_do(&world.live, "DELETE", CRDS "/widgets." GROUP, NULL, NULL, &world.error), 0,
               world.error.message);
    widget.target.uid = NULL;
    EXPECT(live_eventually(is_absent, &widget), world.error.message);
    EXPECT(live_eventually(has_no_kind, &widget), world.error.message);
    thing_done(&widget);
    thing_done(&crd);
    end(&world);
}

/* ---- Watching ---- */

#define N_WATCHED 3

static void count_change(void *arg, size_t target)
{
    atomic_fetch_add((atomic_int *)arg + target, 1);
}

struct expectation {
    atomic_int *changes;
    size_t target;
    int before;
};

static bool is_told(void *arg)
{
    const struct expectation *expected = arg;

    return atomic_load(&expected->changes[expected->target]) > expected->before;
}

static void expect_told(atomic_int *changes, size_t target, int before, const char *note)
{
    struct expectation expected = {changes, target, before};

    EXPECT(live_eventually(is_told, &expected), note);
}

/* One by its own watch, or several by that of their collection. */
static void watch_some(struct world *world, const char *const *all, size_t n)
{
    struct runtime_target targets[N_WATCHED] = {0};
    struct thing things[N_WATCHED], stranger;
    atomic_int changes[N_WATCHED] = {0};
    struct runtime_watch *watch = NULL;
    size_t last = n - 1;
    int before;

    for (size_t i = 0; i < n; i++) {
        thing_init(&things[i], world, all[i]);
        targets[i] = things[i].target;
    }
    thing_init(&stranger, world, MAP("stranger", "\"k\":\"1\""));
    EXPECT_INT(kube_watch_targets(world->session, targets, n, count_change, changes, &watch,
                                  &world->error),
               0, world->error.message);
    for (size_t i = 0; watch && i < n; i++)
        kube_await(watch, i);
    EXPECT_INT(apply(&stranger, APPLY_TAKE), 0, world->error.message);
    EXPECT_INT(apply(&things[last], APPLY_CREATE), 0, world->error.message);
    expect_told(changes, last, 0, "made");
    before = atomic_load(&changes[last]);
    EXPECT_INT(take_away(&things[last]), 0, world->error.message);
    expect_told(changes, last, before, "deleted");
    for (size_t i = 0; i < last; i++)
        EXPECT_INT(atomic_load(&changes[i]), 0, "nothing happened to it");
    kube_unwatch(world->session, watch);
    for (size_t i = 0; i < n; i++) {
        things[i].target.uid = NULL;
        thing_done(&things[i]);
    }
    thing_done(&stranger);
}

static void says_when_something_happens(void)
{
    static const char *const one[] = {MAP("one", "")};
    static const char *const some[] = {MAP("w0", ""), MAP("w1", ""), MAP("w2", "")};
    struct world world;

    if (!begin(&world))
        return;
    watch_some(&world, one, ARRAY_SIZE(one));
    watch_some(&world, some, ARRAY_SIZE(some));
    end(&world);
}

/* Objects of two kinds, and one that is not awaited. */
static void one_watch_is_over_any_objects(void)
{
    static const char *const all[] = {
        MAP("a", ""),
        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"b\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"c\"}}",
    };
    struct runtime_target targets[ARRAY_SIZE(all)];
    struct thing things[ARRAY_SIZE(all)];
    atomic_int changes[ARRAY_SIZE(all)] = {0};
    struct runtime_watch *watch = NULL;
    struct world world;

    if (!begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        thing_init(&things[i], &world, all[i]);
        targets[i] = things[i].target;
    }
    EXPECT_INT(kube_watch_targets(world.session, targets, ARRAY_SIZE(all), count_change, changes,
                                  &watch, &world.error),
               0, world.error.message);
    kube_await(watch, 0);
    kube_await(watch, 1);
    kube_await(watch, 1);
    for (size_t i = ARRAY_SIZE(all); i-- > 0;)
        EXPECT_INT(apply(&things[i], APPLY_CREATE), 0, world.error.message);
    expect_told(changes, 0, 0, "of the first kind");
    expect_told(changes, 1, 0, "of the second");
    EXPECT_INT(atomic_load(&changes[2]), 0, "of the third none is awaited");
    kube_unwatch(world.session, watch);
    kube_unwatch(world.session, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        EXPECT_INT(take_away(&things[i]), 0, world.error.message);
        thing_done(&things[i]);
    }
    end(&world);
}

SUITE(live_runtime, TEST(an_object_comes_changes_and_goes), TEST(sees_that_others_changed_it),
      TEST(deletes_only_the_object_that_was_recorded), TEST(a_deletion_takes_as_long_as_it_takes),
      TEST(refuses_what_belongs_to_another_spec), TEST(takes_only_what_is_as_it_was_seen),
      TEST(acts_with_the_rights_of_the_account_alone), TEST(gives_no_hint_where_a_quota_is_spent),
      TEST(a_kind_comes_and_goes), TEST(says_when_something_happens),
      TEST(one_watch_is_over_any_objects))

/* The runtime against a real API server (live.h). */
#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/step.h"
#include "runtimes/kubernetes/watches.h"
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

/* One resource of a test, as it is asked for, and what State would have of it. */
struct thing {
    struct world *world;
    struct runtime_session *session;
    const struct value *attributes;
    struct runtime_target target;
    const struct record *record;
    struct runtime_outcome outcome; /* of the last call */
    struct runtime_step *step;      /* of the last plan */
};

static void thing_init(struct thing *thing, struct world *world, const char *attributes)
{
    _cleanup_free_ char *text = live_text(&world->live, attributes);

    *thing =
        (struct thing){.world = world, .session = world->session, .attributes = stage_value(text)};
    thing->target = (struct runtime_target){.id = "id", .attributes = thing->attributes};
}

static void thing_done(struct thing *thing)
{
    kube_step_free(thing->step);
    outcome_done(&thing->outcome);
    record_unref(thing->record);
    value_unref(thing->attributes);
}

static struct error *clear(struct thing *thing)
{
    outcome_done(&thing->outcome);
    err_clear(&thing->world->error);
    return &thing->world->error;
}

/* ---- Calls ---- */

static int plan(struct thing *thing)
{
    struct error *error = clear(thing);

    kube_step_free(TAKE(thing->step));
    return kube_plan(thing->session, &thing->target, NULL, &stage_call, &thing->step, error);
}

static enum plan_action action_of(const struct thing *thing)
{
    return thing->step ? thing->step->action : PLAN_NONE;
}

static void record(struct thing *thing)
{
    const struct record like = {.status = RECORD_APPLIED,
                                .id = "id",
                                .type = KUBE_RUNTIME_TYPE,
                                .attributes = thing->attributes,
                                .uid = thing->outcome.now.uid,
                                .footprint = thing->outcome.now.footprint};

    record_unref(thing->record);
    thing->record = record_new(&like);
    thing->target.prior = thing->record;
}

/* Carries out what was planned. */
static int apply(struct thing *thing)
{
    struct error *error = clear(thing);
    int r = kube_apply(thing->step, &stage_call, &thing->outcome, error);

    if (r >= 0 && thing->step->attributes)
        record(thing);
    return r;
}

static int make(struct thing *thing)
{
    int r = plan(thing);

    return r < 0 ? r : apply(thing);
}

static int look(struct thing *thing)
{
    struct error *error = clear(thing);

    return kube_read(thing->session, &thing->target, &stage_call, &thing->outcome, error);
}

static enum presence presence(struct thing *thing)
{
    return look(thing) < 0 ? PRESENCE_UNKNOWN : thing->outcome.now.presence;
}

static int plan_removal(struct thing *thing)
{
    int r;

    thing->target.attributes = NULL;
    r = plan(thing);
    thing->target.attributes = thing->attributes;
    return r;
}

static int take_away(struct thing *thing)
{
    int r = plan_removal(thing);

    return r < 0 ? r : apply(thing);
}

static bool is_absent(void *arg)
{
    return presence(arg) == PRESENCE_ABSENT;
}

static const char *data_of(struct thing *thing, const char *key)
{
    EXPECT_INT(look(thing), 0, thing->world->error.message);
    return value_string(value_path(thing->outcome.now.result, "data", key, NULL));
}

/* As another would. */
static void do_by_hand(struct world *world, const char *method, const char *path, const char *body)
{
    EXPECT_INT(live_do(&world->live, method, path, body, NULL, &world->error), 0,
               world->error.message);
}

#define MAP(name, data)                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\"}," \
    "\"data\":{" data "}}"

/* ---- From nothing to nothing ---- */

static void an_object_comes_changes_and_goes(void)
{
    _cleanup_free_ char *uid = NULL;
    struct thing thing, changed;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\",\"l\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\""));

    world.session->thorough = true;
    EXPECT_INT(presence(&thing), PRESENCE_ABSENT, "before");
    EXPECT_INT(plan(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_CREATE, "to be made");
    EXPECT(value_is(value_path(thing.step->result, "metadata", "uid", NULL), VALUE_UNKNOWN),
           "a dry-run was made");
    EXPECT_INT(presence(&thing), PRESENCE_ABSENT, "a plan makes nothing");

    EXPECT_INT(apply(&thing), 0, world.error.message);
    EXPECT_INT(thing.outcome.certainty, OUTCOME_KNOWN, "known");
    EXPECT_INT(kube_detail_of(&thing.outcome.now)->owner, OWNER_SELF, "ours");
    uid = str_new(thing.outcome.now.uid);
    EXPECT(uid && thing.outcome.now.footprint, "both are known");
    EXPECT_INT(apply(&thing), ERR_CONFLICT, "there is one now, if our own");
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_INT(plan(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_UNCHANGED, "as recorded");
    EXPECT(!thing.step->is_unrecorded, "as recorded");
    thing.target.prior = NULL;
    EXPECT_INT(make(&thing), 0, "again, as where State was lost");
    EXPECT_INT(action_of(&thing), PLAN_ADOPT, "it is not in State");
    EXPECT_STR(thing.outcome.now.uid, uid, "the same one");

    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    EXPECT_INT(make(&changed), 0, world.error.message);
    EXPECT_INT(action_of(&changed), PLAN_UPDATE, "changed");
    EXPECT_STR(data_of(&changed, "k"), "2", "changed");
    EXPECT_STR(data_of(&changed, "l"), NULL, "what is not asked for any more goes");

    EXPECT_INT(take_away(&changed), 0, world.error.message);
    EXPECT_INT(action_of(&changed), PLAN_DELETE, "ours");
    EXPECT(live_eventually(is_absent, &changed), "gone");
    EXPECT_INT(apply(&changed), 0, "gone already");
    EXPECT_INT(changed.outcome.now.presence, PRESENCE_ABSENT, "gone already");
    EXPECT_INT(plan_removal(&changed), 0, world.error.message);
    EXPECT_INT(action_of(&changed), PLAN_FORGET, "nothing is left to do");
    thing_done(&thing);
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
    EXPECT_INT(make(&thing), 0, world.error.message);
    before = str_new(thing.outcome.now.footprint);
    do_by_hand(&world, "PATCH", MAPS "/a", "{\"data\":{\"other\":\"x\"}}");
    EXPECT_INT(plan(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_UNCHANGED, "a field of theirs is none of ours");
    do_by_hand(&world, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"theirs\"}}");
    EXPECT_INT(make(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_UPDATE, "a field of ours is");
    EXPECT_STR(value_string(value_path(thing.step->before, "data", "k", NULL)), "theirs", "shown");
    EXPECT_STR(thing.outcome.now.footprint, before, "as it was");
    EXPECT_STR(data_of(&thing, "k"), "1", "ours again");
    EXPECT_STR(data_of(&thing, "other"), "x", "theirs stays");

    /* Another took the field over with the same value: only State has to be told. */
    do_by_hand(&world, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"theirs\"}}");
    do_by_hand(&world, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"1\"}}");
    EXPECT_INT(plan(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_UNCHANGED, "as wanted");
    EXPECT(thing.step->is_unrecorded, "but not as recorded");
    thing_done(&thing);
    end(&world);
}

/* ---- What is there is not what was planned for ---- */

/* Its version changed, by what is none of our business. */
static void an_update_bears_changes_that_are_not_ours(void)
{
    struct thing thing, changed;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\""));
    EXPECT_INT(make(&thing), 0, world.error.message);
    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    EXPECT_INT(plan(&changed), 0, world.error.message);
    do_by_hand(&world, "PATCH", MAPS "/a", "{\"data\":{\"other\":\"x\"}}");
    EXPECT_INT(apply(&changed), 0, world.error.message);
    EXPECT_STR(data_of(&changed, "k"), "2", "ours");
    EXPECT_STR(data_of(&changed, "other"), "x", "theirs");
    thing_done(&thing);
    thing_done(&changed);
    end(&world);
}

/* An update makes nothing: neither where its object is gone, nor where another has its name. */
static void an_update_meets_the_object_that_was_seen(void)
{
    struct thing thing, changed;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\""));
    EXPECT_INT(make(&thing), 0, world.error.message);
    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    EXPECT_INT(plan(&changed), 0, world.error.message);
    EXPECT_INT(action_of(&changed), PLAN_UPDATE, "planned");
    do_by_hand(&world, "DELETE", MAPS "/a", NULL);
    EXPECT_INT(apply(&changed), ERR_CONFLICT, "it is gone");
    EXPECT_INT(changed.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_INT(presence(&changed), PRESENCE_ABSENT, "and was not made");
    do_by_hand(&world, "POST", MAPS, MAP("a", "\"k\":\"theirs\""));
    EXPECT_INT(apply(&changed), ERR_CONFLICT, "another has its name");
    EXPECT_STR(data_of(&changed, "k"), "theirs", "as it was");
    thing_done(&thing);
    thing_done(&changed);
    end(&world);
}

static void deletes_only_the_object_that_was_seen(void)
{
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    EXPECT_INT(make(&thing), 0, world.error.message);
    EXPECT_INT(plan_removal(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_DELETE, "ours");
    do_by_hand(&world, "DELETE", MAPS "/a", NULL);
    do_by_hand(&world, "POST", MAPS, MAP("a", "\"k\":\"theirs\""));
    EXPECT_INT(apply(&thing), ERR_CONFLICT, "another");
    EXPECT(strstr(world.error.message, thing.record->uid) != NULL, world.error.message);
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_INT(presence(&thing), PRESENCE_PRESENT, "it stays");
    EXPECT_INT(plan_removal(&thing), 0, world.error.message);
    EXPECT_INT(action_of(&thing), PLAN_FORGET, "it is not ours");
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
    _cleanup_free_ char *dependent = NULL;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
               "\"finalizers\":[\"example.com/hold\"]}}");
    EXPECT_INT(make(&thing), 0, world.error.message);
    dependent =
        str_printf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\","
                   "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":"
                   "\"a\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
                   thing.outcome.now.uid);
    do_by_hand(&world, "POST", MAPS, dependent);
    EXPECT_INT(take_away(&thing), 0, "begun");
    EXPECT_INT(thing.outcome.now.presence, PRESENCE_PRESENT, "not gone");
    EXPECT(thing.outcome.now.terminating, "being deleted");
    EXPECT_INT(plan(&thing), ERR_UNAVAILABLE, "not to be made before it is gone");
    EXPECT_STR(world.error.reason, "Terminating", world.error.message);
    EXPECT_INT(take_away(&thing), 0, "looked at again");
    EXPECT(thing.outcome.now.terminating, "being deleted");
    EXPECT(live_eventually(has_no_b, &world), "what depends on it is gone");
    EXPECT_INT(look(&thing), 0, world.error.message);
    EXPECT(thing.outcome.now.terminating, "it is held");
    do_by_hand(&world, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}");
    EXPECT(live_eventually(is_absent, &thing), "gone");
    thing_done(&thing);
    end(&world);
}

/* Nobody may have the right to look afterwards: so the answer tells. */
static void what_carries_rights_is_gone_at_once(void)
{
    static const char *const all[] = {
        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"a\"}}",
        "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\",\"metadata\":{\"name\":"
        "\"a\"}}",
        "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":{"
        "\"name\":\"a\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
        "\"name\":\"a\"}}"};
    struct world world;

    if (!begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        struct thing thing;

        thing_init(&thing, &world, all[i]);
        EXPECT_INT(make(&thing), 0, world.error.message);
        EXPECT_INT(take_away(&thing), 0, world.error.message);
        EXPECT_INT(thing.outcome.now.presence, PRESENCE_ABSENT, "gone");
        EXPECT_INT(presence(&thing), PRESENCE_ABSENT, "gone indeed");
        thing_done(&thing);
    }
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
    theirs.session = other;
    EXPECT_INT(plan(&theirs), 0, world.error.message);
    EXPECT_INT(make(&mine), 0, world.error.message);
    EXPECT_INT(apply(&theirs), ERR_CONFLICT, "no field is the same, and it is there");
    EXPECT_INT(plan(&theirs), ERR_CONFLICT, "and another's");
    EXPECT_STR(world.error.reason, "ConflictDetected", world.error.message);
    EXPECT_INT(look(&theirs), 0, world.error.message);
    EXPECT_INT(kube_detail_of(&theirs.outcome.now)->owner, OWNER_SPEC, "whose it is can be seen");
    EXPECT_STR(theirs.outcome.now.footprint, NULL, "nothing is the other's");
    EXPECT_STR(data_of(&theirs, "l"), NULL, "nothing was written");
    theirs.record = record_ref(mine.record);
    theirs.target.prior = theirs.record;
    EXPECT_INT(plan_removal(&theirs), 0, world.error.message);
    EXPECT_INT(action_of(&theirs), PLAN_FORGET, "nor is it deleted for the other");
    thing_done(&mine);
    thing_done(&theirs);
    world.stage.runtime->ops->close(other);
    end(&world);
}

/* Two that saw it as nobody's: the second is told that it is not any more. */
static void takes_only_what_is_as_it_was_seen(void)
{
    struct runtime_session *other;
    struct thing mine, theirs;
    struct world world;

    if (!begin(&world))
        return;
    other = stage_open(&world.stage, world.live.space, "other", NULL);
    thing_init(&mine, &world, MAP("a", "\"k\":\"mine\""));
    thing_init(&theirs, &world, MAP("a", "\"k\":\"theirs\""));
    theirs.session = other;
    do_by_hand(&world, "POST", MAPS, MAP("a", ""));
    EXPECT_INT(plan(&mine), 0, world.error.message);
    EXPECT_INT(plan(&theirs), 0, world.error.message);
    EXPECT_INT(action_of(&mine), PLAN_ADOPT, "nobody's");
    EXPECT_INT(action_of(&theirs), PLAN_ADOPT, "nobody's");
    EXPECT_INT(apply(&mine), 0, world.error.message);
    EXPECT_INT(apply(&theirs), ERR_CONFLICT, "it has changed");
    EXPECT_INT(look(&mine), 0, world.error.message);
    EXPECT_INT(kube_detail_of(&mine.outcome.now)->owner, OWNER_SELF, "of the first");
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
static bool is_permitted(void *arg)
{
    ((struct thing *)arg)->target.prior = NULL; /* so that there is something to do */
    return make(arg) == 0;
}

static bool is_spent(void *arg)
{
    struct thing *thing = arg;

    if (is_permitted(arg))
        live_do(&thing->world->live, "DELETE", MAPS "/a", NULL, NULL, NULL);
    return strstr(thing->world->error.message, "exceeded quota") != NULL;
}

static void acts_with_the_rights_of_the_account_alone(void)
{
    _cleanup_free_ char *hint = NULL;
    struct runtime_session *poor;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    poor = stage_open(&world.stage, world.live.space, "web", "poor");
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    hint = live_text(&world.live, "; to allow it: kubectl create rolebinding kusion:@:poor:edit "
                                  "--clusterrole=edit --serviceaccount=@:poor --namespace=@");

    EXPECT_INT(plan(&thing), 0, world.error.message);
    kube_step_free(TAKE(thing.step));
    thing.step = &kube_step_new(poor, PLAN_CREATE, &thing.target)->base;
    EXPECT_INT(apply(&thing), ERR_FORBIDDEN, "may not");
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_STR(world.error.reason, "AccessDenied", world.error.message);
    EXPECT(str_has_suffix(world.error.message, hint), world.error.message);
    thing.session = poor;
    EXPECT_INT(plan(&thing), ERR_FORBIDDEN, "nor look");
    EXPECT_INT(look(&thing), ERR_FORBIDDEN, "nor look");
    EXPECT_INT(thing.outcome.now.presence, PRESENCE_UNKNOWN, "which is not absent");
    thing.session = world.session;
    EXPECT_INT(presence(&thing), PRESENCE_ABSENT, "nothing was made with other rights");

    EXPECT_INT(make(&thing), 0, world.error.message);
    EXPECT_INT(plan_removal(&thing), 0, world.error.message);
    ((struct kube_step *)thing.step)->session = poor;
    EXPECT_INT(apply(&thing), ERR_FORBIDDEN, "nor take away");
    ((struct kube_step *)thing.step)->session = world.session;
    EXPECT_INT(presence(&thing), PRESENCE_PRESENT, "it stays");

    /* What the hint says helps. */
    do_by_hand(&world, "POST", BINDINGS, binding);
    thing.session = poor;
    EXPECT(live_eventually(is_permitted, &thing), world.error.message);
    thing_done(&thing);
    world.stage.runtime->ops->close(poor);
    end(&world);
}

/* Looked up by the first plan, and named in what it says. */
static void needs_an_account_that_is_there(void)
{
    struct runtime_session *absent;
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    absent = stage_open(&world.stage, world.live.space, "web", "absent");
    absent->is_account_known = false;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing.session = absent;
    EXPECT_INT(plan(&thing), ERR_INVALID, "not there");
    EXPECT_STR(world.error.reason, "ServiceAccountNotFound", world.error.message);
    thing_done(&thing);
    world.stage.runtime->ops->close(absent);
    end(&world);
}

/* A quota is no lack of rights. */
static void gives_no_hint_where_a_quota_is_spent(void)
{
    static const char quota[] = "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{"
                                "\"name\":\"q\"},\"spec\":{\"hard\":{\"count/configmaps\":\"0\"}}}";
    struct runtime_session *poor;
    struct thing thing, rule;
    struct world world;

    if (!begin(&world))
        return;
    poor = stage_open(&world.stage, world.live.space, "web", "poor");
    thing_init(&rule, &world, quota);
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing.session = poor;
    do_by_hand(&world, "POST", BINDINGS, binding);
    EXPECT_INT(make(&rule), 0, world.error.message);
    EXPECT(live_eventually(is_spent, &thing), world.error.message);
    EXPECT_INT(world.error.code, ERR_FORBIDDEN, world.error.message);
    EXPECT(strstr(world.error.message, "kubectl") == NULL, world.error.message);
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    thing_done(&thing);
    thing_done(&rule);
    world.stage.runtime->ops->close(poor);
    end(&world);
}

/* ---- Plans ---- */

#define N_MANY 20

/* One list tells that nothing is to be done. */
static void hints_spare_requests(void)
{
    struct runtime_target targets[N_MANY];
    struct observation hints[N_MANY] = {0};
    struct thing things[N_MANY];
    struct kube_client_stats before, after;
    struct world world;

    if (!begin(&world))
        return;
    for (size_t i = 0; i < N_MANY; i++) {
        _cleanup_free_ char *text = str_printf(MAP("m%zu", "\"k\":\"1\""), i);

        thing_init(&things[i], &world, text);
        EXPECT_INT(make(&things[i]), 0, world.error.message);
        targets[i] = things[i].target;
    }
    kube_client_stats(world.live.harness.client, &before);
    EXPECT_INT(kube_prefetch(world.session, targets, N_MANY, &stage_call, hints, &world.error), 0,
               world.error.message);
    for (size_t i = 0; i < N_MANY; i++) {
        struct runtime_step *step = NULL;

        EXPECT_INT(
            kube_plan(world.session, &targets[i], &hints[i], &stage_call, &step, &world.error), 0,
            world.error.message);
        EXPECT_INT(step ? step->action : PLAN_NONE, PLAN_UNCHANGED, "unchanged");
        kube_step_free(step);
        observation_done(&hints[i]);
    }
    kube_client_stats(world.live.harness.client, &after);
    EXPECT_INT(after.reads - before.reads, 1, "one list");
    EXPECT_INT(after.dry_runs - before.dry_runs, 0, "no dry-run");
    for (size_t i = 0; i < N_MANY; i++)
        thing_done(&things[i]);
    end(&world);
}

/* What a dry-run makes up is not known; what cannot be tried yet is planned all the same. */
static void a_thorough_plan_shows_what_can_be_known(void)
{
    struct thing service, secret, inside;
    struct world world;

    if (!begin(&world))
        return;
    world.session->thorough = true;
    thing_init(&service, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":"
               "{\"ports\":[{\"port\":80}]}}");
    thing_init(&secret, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},"
               "\"stringData\":{\"k\":\"v\"}}");
    thing_init(&inside, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
               "\"namespace\":\"@-later\"}}");
    EXPECT_INT(plan(&service), 0, world.error.message);
    EXPECT(value_is(value_path(service.step->after, "spec", "clusterIP", NULL), VALUE_UNKNOWN),
           "an address");
    EXPECT_STR(value_string(value_path(service.step->after, "spec", "type", NULL)), "ClusterIP",
               "a default");
    EXPECT_INT(plan(&secret), 0, world.error.message);
    EXPECT(value_is_sensitive(value_get(secret.step->after, "data")), "marked");
    EXPECT_INT(plan(&inside), 0, "its namespace is not there yet");
    EXPECT_INT(action_of(&inside), PLAN_CREATE, "to be made");
    EXPECT_INT(apply(&inside), ERR_INVALID, "and is missed when it is due");
    EXPECT_STR(world.error.reason, "NamespaceNotFound", world.error.message);
    thing_done(&service);
    thing_done(&secret);
    thing_done(&inside);
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

static const char widget_text[] =
    "{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Widget\",\"metadata\":"
    "{\"name\":\"a\"},\"spec\":{\"size\":1}}";

/* A session that has not just seen the definition: that one would be patient. */
static void open_anew(struct world *world, struct thing *thing)
{
    world->stage.runtime->ops->close(world->session);
    world->session = stage_open(&world->stage, world->live.space, "web", NULL);
    thing->session = world->session;
}

/* Until the API server is done with the definition, it refuses in other words. */
static bool has_no_kind(void *arg)
{
    struct thing *thing = arg;

    thing->target.prior = NULL;
    return make(thing) == ERR_INVALID && str_equal(thing->world->error.reason, "KindNotFound");
}

static void a_kind_comes_and_goes(void)
{
    struct thing crd, widget;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&crd, &world, definition);
    thing_init(&widget, &world, widget_text);
    EXPECT_INT(make(&widget), ERR_INVALID, "not yet");
    EXPECT_STR(world.error.reason, "KindNotFound", world.error.message);
    EXPECT_INT(action_of(&widget), PLAN_CREATE, "though it could be planned");
    EXPECT_INT(presence(&widget), PRESENCE_ABSENT, "nothing defines it");

    EXPECT_INT(make(&crd), 0, world.error.message);
    EXPECT_INT(make(&widget), 0, world.error.message); /* as soon as it can be */
    EXPECT_INT(kube_detail_of(&widget.outcome.now)->owner, OWNER_SELF, "made");

    /* The definition goes by another's hand, and what is known of it here is old. */
    open_anew(&world, &widget);
    do_by_hand(&world, "DELETE", CRDS "/widgets." GROUP, NULL);
    EXPECT(live_eventually(is_absent, &widget), world.error.message);
    EXPECT_INT(plan_removal(&widget), 0, world.error.message);
    EXPECT_INT(action_of(&widget), PLAN_FORGET, "it went with its definition");
    EXPECT(live_eventually(has_no_kind, &widget), world.error.message);
    thing_done(&widget);
    thing_done(&crd);
    end(&world);
}

static bool is_not_served(void *arg)
{
    struct thing *thing = arg;

    return look(thing) == ERR_UNAVAILABLE && str_equal(thing->world->error.reason, "NotServed") &&
           strstr(thing->world->error.message, "something defines it");
}

static bool is_there(void *arg)
{
    return presence(arg) == PRESENCE_PRESENT;
}

/* A kind that is not served has its objects still. */
static void what_is_not_served_is_not_gone(void)
{
    static const char patch[] =
        "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":%s,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]"
        "}}";
    _cleanup_free_ char *off = str_printf(patch, "false"), *on = str_printf(patch, "true");
    struct thing crd, widget;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&crd, &world, definition);
    thing_init(&widget, &world, widget_text);
    EXPECT_INT(make(&crd), 0, world.error.message);
    EXPECT_INT(make(&widget), 0, world.error.message);
    open_anew(&world, &widget);
    do_by_hand(&world, "PATCH", CRDS "/widgets." GROUP, off);
    EXPECT(live_eventually(is_not_served, &widget), world.error.message);
    EXPECT_INT(widget.outcome.now.presence, PRESENCE_UNKNOWN, "not absent");
    EXPECT_INT(plan_removal(&widget), ERR_UNAVAILABLE, "neither deleted nor forgotten");
    EXPECT_INT(plan(&widget), ERR_UNAVAILABLE, "nor made again");
    do_by_hand(&world, "PATCH", CRDS "/widgets." GROUP, on);
    EXPECT(live_eventually(is_there, &widget), world.error.message);
    EXPECT_INT(take_away(&widget), 0, world.error.message);
    EXPECT(live_eventually(is_absent, &widget), "gone");
    do_by_hand(&world, "DELETE", CRDS "/widgets." GROUP, NULL);
    thing_done(&widget);
    thing_done(&crd);
    end(&world);
}

/* ---- Watching ---- */

struct expectation {
    atomic_int *told;
    int more_than;
};

static void on_told(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static bool is_told(void *arg)
{
    const struct expectation *expected = arg;

    return atomic_load(expected->told) > expected->more_than;
}

static void expect_told(atomic_int *told, int more_than, const char *note)
{
    struct expectation expected = {told, more_than};

    EXPECT(live_eventually(is_told, &expected), note);
}

static void says_when_something_happens(void)
{
    static const char *const all[] = {
        MAP("a", ""), MAP("b", ""),
        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"c\"}}"};
    struct runtime_subscription *subscriptions[ARRAY_SIZE(all)] = {0};
    atomic_int told[ARRAY_SIZE(all)] = {0};
    struct thing things[ARRAY_SIZE(all)];
    struct world world;
    int before;

    if (!begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        thing_init(&things[i], &world, all[i]);
        EXPECT_INT(plan(&things[i]), 0, world.error.message);
        EXPECT_INT(kube_subscribe(world.session, &things[i].target, on_told, &told[i],
                                  &subscriptions[i], &world.error),
                   0, world.error.message);
    }
    EXPECT_INT(watches_count(world.session->runtime->watches), 2, "two kinds");
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        expect_told(&told[i], 0, "in force");
    EXPECT_INT(apply(&things[0]), 0, world.error.message);
    expect_told(&told[0], 1, "made");
    EXPECT_INT(atomic_load(&told[1]), 1, "nothing happened to it");
    EXPECT_INT(apply(&things[2]), 0, world.error.message);
    expect_told(&told[2], 1, "of the other kind");
    before = atomic_load(&told[0]);
    EXPECT_INT(take_away(&things[0]), 0, world.error.message);
    expect_told(&told[0], before, "deleted");
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        kube_unsubscribe(subscriptions[i]);
        thing_done(&things[i]);
    }
    EXPECT_INT(watches_count(world.session->runtime->watches), 0, "none is left");
    end(&world);
}

static void *come_and_go(void *arg)
{
    struct thing *thing = arg;

    for (int i = 0; i < 50; i++) {
        struct runtime_subscription *subscription = NULL;
        atomic_int told = 0;

        EXPECT_INT(
            kube_subscribe(thing->session, &thing->target, on_told, &told, &subscription, NULL), 0,
            "subscribed");
        if (i % 10 == 0)
            expect_told(&told, 0, "in force");
        kube_unsubscribe(subscription);
    }
    return NULL;
}

static void many_subscribe_at_once(void)
{
    pthread_t threads[4];
    struct thing thing;
    struct world world;

    if (!begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", ""));
    EXPECT_INT(make(&thing), 0, world.error.message);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, come_and_go, &thing);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(watches_count(world.session->runtime->watches), 0, "none is left");
    thing_done(&thing);
    end(&world);
}

SUITE(live_runtime, TEST(an_object_comes_changes_and_goes), TEST(sees_that_others_changed_it),
      TEST(an_update_bears_changes_that_are_not_ours),
      TEST(an_update_meets_the_object_that_was_seen), TEST(deletes_only_the_object_that_was_seen),
      TEST(a_deletion_takes_as_long_as_it_takes), TEST(what_carries_rights_is_gone_at_once),
      TEST(refuses_what_belongs_to_another_spec), TEST(takes_only_what_is_as_it_was_seen),
      TEST(acts_with_the_rights_of_the_account_alone), TEST(needs_an_account_that_is_there),
      TEST(gives_no_hint_where_a_quota_is_spent), TEST(hints_spare_requests),
      TEST(a_thorough_plan_shows_what_can_be_known), TEST(a_kind_comes_and_goes),
      TEST(what_is_not_served_is_not_gone), TEST(says_when_something_happens),
      TEST(many_subscribe_at_once))

/* Objects come, change and go, on a real API server (live.h). */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/live_thing.h"
#include "test/unit/suite.h"

/* ---- From nothing to nothing ---- */

static void an_object_comes_changes_and_goes(void)
{
    _cleanup_free_ char *uid = NULL;
    struct thing thing, changed;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\",\"l\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\""));

    world.session->thorough = true;
    EXPECT_INT(thing_presence(&thing), PRESENCE_ABSENT, "before");
    EXPECT_INT(thing_plan(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_CREATE, "to be made");
    EXPECT(value_is(value_path(thing.step->result, "metadata", "uid", NULL), VALUE_UNKNOWN),
           "a dry-run was made");
    EXPECT_INT(thing_presence(&thing), PRESENCE_ABSENT, "a plan makes nothing");

    EXPECT_INT(thing_apply(&thing), 0, world.error.message);
    EXPECT_INT(thing.outcome.certainty, OUTCOME_KNOWN, "known");
    EXPECT_INT(kube_detail_of(&thing.outcome.now)->owner, OWNER_SELF, "ours");
    uid = str_new(thing.outcome.now.uid);
    EXPECT(uid && thing.outcome.now.fields_digest, "both are known");
    EXPECT_INT(thing_apply(&thing), ERR_CONFLICT, "there is one now, if our own");
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_INT(thing_plan(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_UNCHANGED, "as recorded");
    EXPECT(!thing.step->is_unrecorded, "as recorded");
    thing.target.prior = NULL;
    EXPECT_INT(thing_make(&thing), 0, "again, as where State was lost");
    EXPECT_INT(thing_action(&thing), PLAN_ADOPT, "it is not in State");
    EXPECT_STR(thing.outcome.now.uid, uid, "the same one");

    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    EXPECT_INT(thing_make(&changed), 0, world.error.message);
    EXPECT_INT(thing_action(&changed), PLAN_UPDATE, "changed");
    EXPECT_STR(thing_data(&changed, "k"), "2", "changed");
    EXPECT_STR(thing_data(&changed, "l"), NULL, "what is not asked for any more goes");

    EXPECT_INT(thing_take_away(&changed), 0, world.error.message);
    EXPECT_INT(thing_action(&changed), PLAN_DELETE, "ours");
    EXPECT(live_eventually(thing_is_absent, &changed), "gone");
    EXPECT_INT(thing_apply(&changed), 0, "gone already");
    EXPECT_INT(changed.outcome.now.presence, PRESENCE_ABSENT, "gone already");
    EXPECT_INT(thing_plan_removal(&changed), 0, world.error.message);
    EXPECT_INT(thing_action(&changed), PLAN_FORGET, "nothing is left to do");
    thing_done(&thing);
    thing_done(&changed);
    world_end(&world);
}

/* Someone else changes a field of ours: the digest shows it, and an apply takes it back. */
static void sees_that_others_changed_it(void)
{
    _cleanup_free_ char *before = NULL;
    struct thing thing;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    before = str_new(thing.outcome.now.fields_digest);
    world_do(&world, "PATCH", MAPS "/a", "{\"data\":{\"other\":\"x\"}}");
    EXPECT_INT(thing_plan(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_UNCHANGED, "a field of theirs is none of ours");
    world_do(&world, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"theirs\"}}");
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_UPDATE, "a field of ours is");
    EXPECT_STR(value_string(value_path(thing.step->before, "data", "k", NULL)), "theirs", "shown");
    EXPECT_STR(thing.outcome.now.fields_digest, before, "as it was");
    EXPECT_STR(thing_data(&thing, "k"), "1", "ours again");
    EXPECT_STR(thing_data(&thing, "other"), "x", "theirs stays");

    /* Another has the field, with the value that is wanted: it becomes ours again. Else a later
     * change of it would not be seen. */
    world_do(&world, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"theirs\"}}");
    world_do(&world, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"1\"}}");
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_UPDATE, "as wanted, and not ours");
    EXPECT_STR(thing.outcome.now.fields_digest, before, "ours again");
    thing_done(&thing);
    world_end(&world);
}

/* ---- What is there is not what was planned for ---- */

#define INGRESSES "/apis/networking.k8s.io/v1/namespaces/@/ingresses"
#define INGRESS(service)                                                                    \
    "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"Ingress\",\"metadata\":{\"name\":" \
    "\"a\"},\"spec\":{\"defaultBackend\":{\"service\":{\"name\":\"" service                 \
    "\",\"port\":{\"number\":80}}}}}"

static void an_update_bears_a_changed_status(void)
{
    struct thing thing, changed;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, INGRESS("one"));
    thing_init(&changed, &world, INGRESS("two"));
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    EXPECT_INT(thing_plan(&changed), 0, world.error.message);
    world_do(&world, "PATCH", INGRESSES "/a/status",
             "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"10.0.0.1\"}]}}}");
    EXPECT_INT(thing_apply(&changed), 0, world.error.message);
    thing_done(&thing);
    thing_done(&changed);
    world_end(&world);
}

/* By others, in fields of theirs: it is planned again, because the step might take these over. */
static void an_update_meets_the_content_that_was_seen(void)
{
    struct thing thing, changed;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\",\"taken\":\"2\""));
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    world_do(&world, "PATCH", MAPS "/a", "{\"data\":{\"other\":\"x\",\"taken\":\"0\"}}");
    EXPECT_INT(thing_plan(&changed), 0, world.error.message);
    world_do(&world, "PATCH", MAPS "/a", "{\"data\":{\"taken\":\"1\"}}");
    EXPECT_INT(thing_apply(&changed), ERR_CONFLICT, world.error.message);
    EXPECT_INT(changed.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_STR(thing_data(&changed, "taken"), "1", "as it was");
    EXPECT_INT(thing_make(&changed), 0, world.error.message);
    EXPECT_STR(thing_data(&changed, "k"), "2", "ours");
    EXPECT_STR(thing_data(&changed, "other"), "x", "theirs");
    thing_done(&thing);
    thing_done(&changed);
    world_end(&world);
}

/* An update makes nothing: neither where its object is gone, nor where another has its name. */
static void an_update_meets_the_object_that_was_seen(void)
{
    struct thing thing, changed;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing_init(&changed, &world, MAP("a", "\"k\":\"2\""));
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    changed.record = record_ref(thing.record);
    changed.target.prior = changed.record;
    EXPECT_INT(thing_plan(&changed), 0, world.error.message);
    EXPECT_INT(thing_action(&changed), PLAN_UPDATE, "planned");
    world_do(&world, "DELETE", MAPS "/a", NULL);
    EXPECT_INT(thing_apply(&changed), ERR_CONFLICT, "it is gone");
    EXPECT_INT(changed.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_INT(thing_presence(&changed), PRESENCE_ABSENT, "and was not made");
    world_do(&world, "POST", MAPS, MAP("a", "\"k\":\"theirs\""));
    EXPECT_INT(thing_apply(&changed), ERR_CONFLICT, "another has its name");
    EXPECT_STR(thing_data(&changed, "k"), "theirs", "as it was");
    thing_done(&thing);
    thing_done(&changed);
    world_end(&world);
}

static void deletes_only_the_object_that_was_seen(void)
{
    struct thing thing;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    EXPECT_INT(thing_plan_removal(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_DELETE, "ours");
    world_do(&world, "DELETE", MAPS "/a", NULL);
    world_do(&world, "POST", MAPS, MAP("a", "\"k\":\"theirs\""));
    EXPECT_INT(thing_apply(&thing), ERR_CONFLICT, "another");
    EXPECT(strstr(world.error.message, thing.record->uid) != NULL, world.error.message);
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_INT(thing_presence(&thing), PRESENCE_PRESENT, "it stays");
    EXPECT_INT(thing_plan_removal(&thing), 0, world.error.message);
    EXPECT_INT(thing_action(&thing), PLAN_FORGET, "it is not ours");
    thing_done(&thing);
    world_end(&world);
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

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
               "\"finalizers\":[\"example.com/hold\"]}}");
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    dependent =
        str_printf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\","
                   "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":"
                   "\"a\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
                   thing.outcome.now.uid);
    world_do(&world, "POST", MAPS, dependent);
    EXPECT_INT(thing_take_away(&thing), 0, "begun");
    EXPECT_INT(thing.outcome.now.presence, PRESENCE_PRESENT, "not gone");
    EXPECT(thing.outcome.now.terminating, "being deleted");
    EXPECT_INT(thing_plan(&thing), ERR_UNAVAILABLE, "not to be made before it is gone");
    EXPECT_STR(world.error.reason, "Terminating", world.error.message);
    EXPECT_INT(thing_take_away(&thing), 0, "looked at again");
    EXPECT(thing.outcome.now.terminating, "being deleted");
    EXPECT(live_eventually(has_no_b, &world), "what depends on it is gone");
    EXPECT_INT(thing_look(&thing), 0, world.error.message);
    EXPECT(thing.outcome.now.terminating, "it is held");
    world_do(&world, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}");
    EXPECT(live_eventually(thing_is_absent, &thing), "gone");
    thing_done(&thing);
    world_end(&world);
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

    if (!world_begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        struct thing thing;

        thing_init(&thing, &world, all[i]);
        EXPECT_INT(thing_make(&thing), 0, world.error.message);
        EXPECT_INT(thing_take_away(&thing), 0, world.error.message);
        EXPECT_INT(thing.outcome.now.presence, PRESENCE_ABSENT, "gone");
        EXPECT_INT(thing_presence(&thing), PRESENCE_ABSENT, "gone indeed");
        thing_done(&thing);
    }
    world_end(&world);
}

SUITE(live_runtime, TEST(an_object_comes_changes_and_goes), TEST(sees_that_others_changed_it),
      TEST(an_update_bears_a_changed_status), TEST(an_update_meets_the_content_that_was_seen),
      TEST(an_update_meets_the_object_that_was_seen), TEST(deletes_only_the_object_that_was_seen),
      TEST(a_deletion_takes_as_long_as_it_takes), TEST(what_carries_rights_is_gone_at_once))

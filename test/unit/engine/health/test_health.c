#include "engine/health/health.h"

#include "engine/base/yaml.h"
#include "test/unit/suite.h"

#define DEPLOYMENT \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {generation: 2}\nspec: {replicas: 3}\n"

static void judges_by_kind(void)
{
    static const struct {
        const char *object;
        enum health_status status;
        const char *message;
    } rows[] = {
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", HEALTH_CURRENT, ""},
        {"kind: ConfigMap\nmetadata: {deletionTimestamp: x}", HEALTH_TERMINATING, ""},
        {DEPLOYMENT, HEALTH_PROGRESSING, "not yet observed"},
        {DEPLOYMENT "status: {observedGeneration: 1}", HEALTH_PROGRESSING, "generation 2"},
        {DEPLOYMENT "status: {observedGeneration: 2, replicas: 3, updatedReplicas: 1}",
         HEALTH_PROGRESSING, "Updated: 1/3"},
        {DEPLOYMENT "status: {observedGeneration: 2, replicas: 4, updatedReplicas: 3}",
         HEALTH_PROGRESSING, "old replicas"},
        {DEPLOYMENT "status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, "
                    "availableReplicas: 2}",
         HEALTH_PROGRESSING, "Available: 2/3"},
        {DEPLOYMENT "status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, "
                    "availableReplicas: 3, readyReplicas: 3}",
         HEALTH_CURRENT, ""},
        {DEPLOYMENT "status: {observedGeneration: 2, conditions: [{type: Progressing, status: "
                    "'False', reason: ProgressDeadlineExceeded}]}",
         HEALTH_FAILED, "deadline"},
        {"apiVersion: v1\nkind: Pod\nstatus: {phase: Running, conditions: [{type: Ready, status: "
         "'True'}]}",
         HEALTH_CURRENT, ""},
        {"apiVersion: v1\nkind: Pod\nstatus: {phase: Failed}", HEALTH_FAILED, ""},
        {"apiVersion: v1\nkind: Pod\nstatus: {phase: Running, containerStatuses: [{state: "
         "{waiting: {reason: CrashLoopBackOff}}}]}",
         HEALTH_FAILED, "CrashLoopBackOff"},
        {"apiVersion: batch/v1\nkind: Job\nstatus: {conditions: [{type: Failed, status: 'True', "
         "message: bad luck}]}",
         HEALTH_FAILED, "bad luck"},
        {"apiVersion: batch/v1\nkind: Job\nstatus: {conditions: [{type: Complete, status: "
         "'True'}]}",
         HEALTH_CURRENT, ""},
        {"apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}", HEALTH_PROGRESSING,
         "address"},
        {"apiVersion: v1\nkind: Service\nspec: {type: ClusterIP}", HEALTH_CURRENT, ""},
        {"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Pending}",
         HEALTH_PROGRESSING, "Bound"},
        {"apiVersion: v1\nkind: Namespace\nstatus: {phase: Terminating}", HEALTH_TERMINATING, ""},
        {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nstatus: "
         "{conditions: [{type: NamesAccepted, status: 'False', message: taken}]}",
         HEALTH_FAILED, "taken"},
        {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nstatus: "
         "{conditions: [{type: Established, status: 'True'}]}",
         HEALTH_CURRENT, ""},
        {"apiVersion: x/v1\nkind: Deployment\nstatus: {conditions: [{type: Ready, status: 'False', "
         "message: soon}]}",
         HEALTH_PROGRESSING, "soon"},
        {"apiVersion: x/v1\nkind: Y\nstatus: {conditions: [{type: Stalled, status: 'True'}]}",
         HEALTH_FAILED, "Stalled"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct value *object = NULL;
        struct health health;

        CU_ASSERT_EQUAL_FATAL(yaml_read(rows[i].object, strlen(rows[i].object), &object, NULL), 0);
        health_of_object(object, &health);
        EXPECT_INT(health.status, rows[i].status, rows[i].object);
        EXPECT(strstr(health.message, rows[i].message) != NULL, health.message);
        EXPECT_INT(health.may_wait_for_consumer, strstr(health.message, "Bound") != NULL,
                   rows[i].object);
        value_unref(object);
    }
}

SUITE(health, TEST(judges_by_kind))

#include "runtimes/kubernetes/objects/health.h"

#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

#define SET(more)                                                                                \
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {generation: 1}\nspec: {replicas: 3" more \
    "}\n"
#define PARTITION ", updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}"
#define WHOLE     ", updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}"
#define DAEMONS   "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {generation: 1}\n"
#define REPLICAS \
    "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {generation: 1}\nspec: {replicas: 2}\n"
#define LABELLED "replicas: 2, fullyLabeledReplicas: 2, "
#define BUDGET   "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {generation: 1}\n"
#define API      "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n"
#define CRD      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
#define SEEN     "observedGeneration: 1, "
#define DONE \
    "status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3, "
#define DEADLINE                                                         \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {generation: 2}\n" \
    "spec: {replicas: 3, progressDeadlineSeconds: 600"
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
        {DEPLOYMENT DONE "readyReplicas: 3}", HEALTH_PROGRESSING, "not Available"},
        {DEPLOYMENT DONE "readyReplicas: 3, conditions: [{type: Available, status: 'True'}]}",
         HEALTH_CURRENT, ""},
        {DEPLOYMENT DONE "readyReplicas: 2}", HEALTH_PROGRESSING, "Ready: 2/3"},
        {DEADLINE "}\n" DONE "readyReplicas: 3, conditions: [{type: Available, status: 'True'}]}",
         HEALTH_PROGRESSING, "new ReplicaSet"},
        {DEADLINE "}\n" DONE "readyReplicas: 3, conditions: [{type: Available, status: 'True'}, "
                  "{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}",
         HEALTH_CURRENT, ""},
        {DEADLINE ", paused: true}\n" DONE "readyReplicas: 3, conditions: [{type: Progressing, "
                  "status: Unknown, reason: DeploymentPaused}]}",
         HEALTH_CURRENT, ""},
        {DEPLOYMENT "status: {observedGeneration: 2, conditions: [{type: Stalled, status: 'True', "
                    "message: it is stuck}]}",
         HEALTH_FAILED, "it is stuck"},
        {"apiVersion: v1\nkind: ConfigMap\nstatus: {observedGeneration: 1}", HEALTH_CURRENT, ""},
        {DEPLOYMENT "status: {observedGeneration: 2, conditions: [{type: Progressing, status: "
                    "'False', reason: ProgressDeadlineExceeded}]}",
         HEALTH_FAILED, "deadline"},
        {DEPLOYMENT "status: {observedGeneration: 2, replicas: 9223372036854775807, "
                    "updatedReplicas: 3}",
         HEALTH_PROGRESSING, "old replicas"},
        {SET(", updateStrategy: {rollingUpdate: {partition: -9223372036854775808}}") "status: "
                                                                                     "{observedGene"
                                                                                     "ration: 1, "
                                                                                     "replicas: 3, "
                                                                                     "readyReplicas"
                                                                                     ": 3, "
                                                                                     "updatedReplic"
                                                                                     "as: 3}",
         HEALTH_PROGRESSING, "Updated: 3/2147483651"},
        {"apiVersion: batch/v1\nkind: Job\nstatus: {conditions: [{type: Failed, status: 'True'}]}",
         HEALTH_FAILED, "has failed"},
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
        {SET(""), HEALTH_PROGRESSING, "not yet observed"},
        {SET("") "status: {" SEEN "replicas: 2}", HEALTH_PROGRESSING, "Replicas: 2/3"},
        {SET("") "status: {" SEEN "replicas: 3, readyReplicas: 1}", HEALTH_PROGRESSING,
         "Ready: 1/3"},
        {SET("") "status: {" SEEN "replicas: 4, readyReplicas: 3}", HEALTH_PROGRESSING,
         "1 old replicas"},
        {SET("") "status: {" SEEN "replicas: 3, readyReplicas: 3, currentReplicas: 2}",
         HEALTH_PROGRESSING, "Current: 2/3"},
        {SET("") "status: {" SEEN "replicas: 3, readyReplicas: 3, currentReplicas: 3, "
                 "currentRevision: a, updateRevision: b}",
         HEALTH_PROGRESSING, "update revision"},
        {SET("") "status: {" SEEN "replicas: 3, readyReplicas: 3, currentReplicas: 3, "
                 "currentRevision: b, updateRevision: b}",
         HEALTH_CURRENT, ""},
        {SET(WHOLE) "status: {" SEEN "replicas: 3, readyReplicas: 3, updatedReplicas: 2}",
         HEALTH_PROGRESSING, "Updated: 2/3"},
        {SET(WHOLE) "status: {" SEEN "replicas: 3, readyReplicas: 3, updatedReplicas: 3, "
                    "currentRevision: a, updateRevision: b}",
         HEALTH_PROGRESSING, "update revision"},
        /* the last two of three stay as they were */
        {SET(PARTITION) "status: {" SEEN "replicas: 3, readyReplicas: 3, updatedReplicas: 0}",
         HEALTH_PROGRESSING, "Updated: 0/1"},
        {SET(PARTITION) "status: {" SEEN "replicas: 3, readyReplicas: 3, updatedReplicas: 1, "
                        "currentRevision: a, updateRevision: b}",
         HEALTH_CURRENT, ""},
        {SET(", updateStrategy: {type: OnDelete}") "status: {" SEEN "replicas: 3}", HEALTH_CURRENT,
         ""},
        {DAEMONS, HEALTH_PROGRESSING, "not yet observed"},
        {DAEMONS "status: {" SEEN "desiredNumberScheduled: 2, currentNumberScheduled: 1}",
         HEALTH_PROGRESSING, "Scheduled: 1/2"},
        {DAEMONS "status: {" SEEN "desiredNumberScheduled: 2, currentNumberScheduled: 2, "
                 "updatedNumberScheduled: 1}",
         HEALTH_PROGRESSING, "Updated: 1/2"},
        {DAEMONS "status: {" SEEN "desiredNumberScheduled: 2, currentNumberScheduled: 2, "
                 "updatedNumberScheduled: 2, numberAvailable: 1}",
         HEALTH_PROGRESSING, "Available: 1/2"},
        {DAEMONS "status: {" SEEN "desiredNumberScheduled: 2, currentNumberScheduled: 2, "
                 "updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 1}",
         HEALTH_PROGRESSING, "Ready: 1/2"},
        {DAEMONS "status: {" SEEN "desiredNumberScheduled: 2, currentNumberScheduled: 2, "
                 "updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2}",
         HEALTH_CURRENT, ""},
        {DAEMONS "status: {observedGeneration: 1}", HEALTH_PROGRESSING, "not known yet"},
        {DAEMONS "status: {" SEEN "desiredNumberScheduled: 0}", HEALTH_CURRENT, ""},
        {REPLICAS, HEALTH_PROGRESSING, "not yet observed"},
        {REPLICAS "status: {" SEEN "replicas: 1}", HEALTH_PROGRESSING, "Replicas: 1/2"},
        {REPLICAS "status: {" SEEN "replicas: 2, fullyLabeledReplicas: 1}", HEALTH_PROGRESSING,
         "Labelled: 1/2"},
        {REPLICAS "status: {" SEEN LABELLED "availableReplicas: 1}", HEALTH_PROGRESSING,
         "Available: 1/2"},
        {REPLICAS "status: {" SEEN LABELLED "availableReplicas: 2, readyReplicas: 1}",
         HEALTH_PROGRESSING, "Ready: 1/2"},
        {REPLICAS "status: {" SEEN "replicas: 3, fullyLabeledReplicas: 3, availableReplicas: 3, "
                  "readyReplicas: 3}",
         HEALTH_PROGRESSING, "1 old replicas"},
        {REPLICAS "status: {" SEEN LABELLED "availableReplicas: 2, readyReplicas: 2, conditions: "
                  "[{type: ReplicaFailure, status: 'True'}]}",
         HEALTH_PROGRESSING, "cannot be created"},
        {REPLICAS "status: {" SEEN LABELLED "availableReplicas: 2, readyReplicas: 2}",
         HEALTH_CURRENT, ""},
        {CRD "status: {conditions: [{type: Established, status: 'False', reason: Installing}]}",
         HEALTH_PROGRESSING, "not Established yet"},
        {CRD "status: {conditions: [{type: Established, status: 'False', reason: Broken, message: "
             "it is broken}]}",
         HEALTH_FAILED, "it is broken"},
        {BUDGET, HEALTH_PROGRESSING, "not yet observed"},
        {BUDGET "status: {observedGeneration: 1}", HEALTH_CURRENT, ""},
        {API, HEALTH_PROGRESSING, "not Available"},
        {API "status: {conditions: [{type: Available, status: 'False', message: no endpoints}]}",
         HEALTH_PROGRESSING, "no endpoints"},
        {API "status: {conditions: [{type: Available, status: 'True'}]}", HEALTH_CURRENT, ""},
        {CRD, HEALTH_PROGRESSING, "not Established"},
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
        kube_health(object, &health);
        EXPECT_INT(health.status, rows[i].status, rows[i].object);
        EXPECT(strstr(health.message, rows[i].message) != NULL, health.message);
        EXPECT_INT(health.may_wait_for_consumer, strstr(health.message, "Bound") != NULL,
                   rows[i].object);
        value_unref(object);
    }
}

/* Whatever it waits for, and not only until it is established. */
static void makes_custom_resources_wait_for_their_definition(void)
{
    static const struct {
        const char *object;
        bool must_wait;
    } rows[] = {
        {CRD, true},
        {CRD "status: {conditions: [{type: NamesAccepted, status: 'False', message: no}]}", true},
        {CRD "metadata: {deletionTimestamp: x}", true},
        {CRD "status: {conditions: [{type: Established, status: 'True'}]}", false},
        {DEPLOYMENT, false},
        {"apiVersion: x/v1\nkind: CustomResourceDefinition\nmetadata: {deletionTimestamp: x}",
         false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct value *object = NULL;
        struct health health;

        CU_ASSERT_EQUAL_FATAL(yaml_read(rows[i].object, strlen(rows[i].object), &object, NULL), 0);
        kube_health(object, &health);
        EXPECT_INT(health.dependents_must_wait, rows[i].must_wait, rows[i].object);
        value_unref(object);
    }
}

#define JOB "apiVersion: batch/v1\nkind: Job\n"
#define TTL "spec: {ttlSecondsAfterFinished: 0}\n"

/* One that failed is to run again, one that is suspended has not run. */
static void knows_jobs_that_remove_themselves(void)
{
    static const struct {
        const char *object;
        bool removes_itself;
    } rows[] = {
        {JOB, false},
        {JOB TTL, true},
        {JOB TTL "status: {startTime: x}", true},
        {JOB TTL "status: {conditions: [{type: Complete, status: 'True'}]}", true},
        {JOB "status: {conditions: [{type: Complete, status: 'True'}]}", false},
        {JOB TTL "status: {conditions: [{type: Failed, status: 'True'}]}", false},
        {JOB TTL "status: {conditions: [{type: FailureTarget, status: 'True'}]}", false},
        {JOB TTL "status: {conditions: [{type: Suspended, status: 'True'}]}", false},
        {JOB TTL "status: {conditions: [{type: Suspended, status: 'False'}]}", true},
        {"apiVersion: x/v1\nkind: Job\n" TTL, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct value *object = NULL;
        struct health health;

        CU_ASSERT_EQUAL_FATAL(yaml_read(rows[i].object, strlen(rows[i].object), &object, NULL), 0);
        kube_health(object, &health);
        EXPECT_INT(health.removes_itself, rows[i].removes_itself, rows[i].object);
        value_unref(object);
    }
}

SUITE(health, TEST(judges_by_kind), TEST(makes_custom_resources_wait_for_their_definition),
      TEST(knows_jobs_that_remove_themselves))

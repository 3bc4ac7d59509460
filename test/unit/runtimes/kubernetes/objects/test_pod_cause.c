#include "runtimes/kubernetes/objects/pod_cause.h"

#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

#define POD(status) "kind: Pod\nmetadata: {name: web-1}\nstatus: {" status "}"
#define SCHEDULED   "{type: PodScheduled, status: 'True'}"
#define NOT_READY   "conditions: [" SCHEDULED ", {type: Ready, status: 'False'}], "
#define CONTAINER(state) \
    "containerStatuses: [{name: app, image: 'nginx:nope', ready: false, " state "}]"
#define WAITING(reason, message)                                                   \
    POD("phase: Pending, " NOT_READY CONTAINER("state: {waiting: {reason: " reason \
                                               ", message: \"" message "\"}}"))
#define NONE (-1)

static const struct value *read_pod(const char *text)
{
    const struct value *pod = NULL;
    struct error error = {0};

    EXPECT_INT(yaml_read(text, strlen(text), &pod, &error), 0, error.message);
    return pod;
}

static void says_why_a_pod_is_not_ready(void)
{
    static const struct {
        const char *pod;
        int weight;
        const char *text;
    } rows[] = {
        /* Nothing is wrong, or not any more. */
        {POD("phase: Running, conditions: [{type: Ready, status: 'True'}]"), NONE, ""},
        {POD("phase: Succeeded"), NONE, ""},
        {"kind: Pod\nmetadata: {deletionTimestamp: x}\nstatus: {phase: Pending}", NONE, ""},
        /* The scheduler */
        {POD("phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
             "Unschedulable, message: '0/1 nodes are available: 1 node(s) didn''t match Pod''s "
             "node affinity/selector.'}]"),
         POD_CAUSE_CLEAR,
         "Unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node "
         "affinity/selector."},
        {POD("phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
             "SchedulingGated}]"),
         POD_CAUSE_CLEAR, "SchedulingGated"},
        /* The image: the two reasons of the kubelet alternate. */
        {WAITING("ErrImagePull", "manifest unknown"), POD_CAUSE_CLEAR,
         "ImagePullBackOff: image nginx:nope: manifest unknown"},
        {WAITING("ImagePullBackOff",
                 "Back-off pulling image \\\"nginx:nope\\\": ErrImagePull: manifest unknown"),
         POD_CAUSE_CLEAR, "ImagePullBackOff: image nginx:nope: manifest unknown"},
        {WAITING("ImagePullBackOff", "Back-off pulling image"), POD_CAUSE_CLEAR,
         "ImagePullBackOff: image nginx:nope: Back-off pulling image"},
        {WAITING("InvalidImageName", "invalid reference format"), POD_CAUSE_CLEAR,
         "InvalidImageName: image nginx:nope: invalid reference format"},
        /* The configuration */
        {WAITING("CreateContainerConfigError", "secret \\\"db\\\" not found"), POD_CAUSE_CLEAR,
         "CreateContainerConfigError: container app: secret \"db\" not found"},
        /* Ends: what the application wrote is its own data. */
        {POD("phase: Running, " NOT_READY CONTAINER(
             "state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}, lastState: "
             "{terminated: {exitCode: 3, reason: Error, message: password is hunter2}}")),
         POD_CAUSE_CLEAR, "CrashLoopBackOff: container app: exit code 3"},
        {POD("phase: Running, " NOT_READY CONTAINER(
             "state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: "
             "137, reason: OOMKilled}}")),
         POD_CAUSE_CLEAR, "CrashLoopBackOff: container app: exit code 137, OOMKilled"},
        {POD("phase: Running, " NOT_READY CONTAINER(
             "state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 0, "
             "reason: Completed}}")),
         POD_CAUSE_CLEAR, "CrashLoopBackOff: container app: exit code 0"},
        {POD("phase: Running, " NOT_READY CONTAINER(
             "state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: "
             "128, reason: StartError, message: 'exec: \"ap\": not found'}}")),
         POD_CAUSE_CLEAR,
         "CrashLoopBackOff: container app: exit code 128, StartError: exec: \"ap\": not found"},
        {POD("phase: Running, " NOT_READY CONTAINER(
             "state: {terminated: {exitCode: 3, reason: Error}}")),
         POD_CAUSE_CLEAR, "container app: exit code 3"},
        {POD("phase: Running, " NOT_READY CONTAINER(
             "state: {running: {startedAt: x}}, lastState: {terminated: {exitCode: 3, reason: "
             "Error}}")),
         POD_CAUSE_CLEAR, "container app: exit code 3; it was started again"},
        {POD("phase: Pending, " NOT_READY
             "initContainerStatuses: [{name: done, ready: true, state: {terminated: {exitCode: "
             "0}}}, {name: init, ready: false, state: {waiting: {reason: CrashLoopBackOff}}, "
             "lastState: {terminated: {exitCode: 1}}}], " CONTAINER(
                 "state: {waiting: {reason: PodInitializing}}")),
         POD_CAUSE_CLEAR, "CrashLoopBackOff: container init: exit code 1"},
        /* It is on its way, and an Event may say what holds it up. */
        {POD("phase: Pending, " NOT_READY
             "initContainerStatuses: [{name: wait, ready: false, state: {running: "
             "{}}}], " CONTAINER("state: {waiting: {reason: PodInitializing}}")),
         POD_CAUSE_STATE, "init container wait is running"},
        {POD("phase: Pending, " NOT_READY CONTAINER(
             "state: {waiting: {reason: ContainerCreating}}")),
         POD_CAUSE_STATE, "ContainerCreating"},
        {POD("phase: Running, " NOT_READY CONTAINER("state: {running: {}}")), POD_CAUSE_STATE,
         "container app is not ready"},
        {POD("phase: Pending"), POD_CAUSE_STATE, "phase Pending, not Ready"},
        {POD(""), POD_CAUSE_STATE, "phase unknown, not Ready"},
        {POD("phase: Running, conditions: [" SCHEDULED
             ", {type: Ready, status: 'False', reason: ReadinessGatesNotReady, message: 'gate "
             "\"x/lb\" is not true'}], containerStatuses: [{name: app, ready: true, state: "
             "{running: {}}}]"),
         POD_CAUSE_CLEAR, "ReadinessGatesNotReady: gate \"x/lb\" is not true"},
        /* It failed as a whole. */
        {POD("phase: Failed, reason: Evicted, message: The node was low on memory."),
         POD_CAUSE_LEFT_OVER, "Evicted: The node was low on memory."},
        {POD("phase: Failed, " CONTAINER("state: {terminated: {exitCode: 4, reason: Error}}")),
         POD_CAUSE_LEFT_OVER, "container app: exit code 4"},
        {POD("phase: Failed"), POD_CAUSE_LEFT_OVER, "has failed"},
        /* What is no Pod is none of our business, and does no harm. */
        {"status: {phase: Running, containerStatuses: [1, {state: 2}], conditions: x}",
         POD_CAUSE_STATE, "container  is not ready"},
        {"[]", POD_CAUSE_STATE, "phase unknown, not Ready"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *pod = read_pod(rows[i].pod);
        struct pod_cause cause = {.weight = POD_CAUSE_CLEAR};
        bool is_told = pod_cause(pod, &cause);

        EXPECT_INT(is_told ? (int)cause.weight : NONE, rows[i].weight, rows[i].pod);
        EXPECT_STR(cause.text, rows[i].text, rows[i].pod);
    }
}

static void bounds_what_others_say(void)
{
    char text[4000], words[3000];
    struct pod_cause cause;

    memset(words, 'x', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    snprintf(text, sizeof(text),
             "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
             "Unschedulable, message: %s}]}",
             words);
    _cleanup_value_ const struct value *pod = read_pod(text);
    EXPECT(pod_cause(pod, &cause), "a long message");
    EXPECT(strlen(cause.text) < CAUSE_SIZE, cause.text);
    EXPECT(strstr(cause.text, "xxx…"), cause.text);
}

SUITE(pod_cause, TEST(says_why_a_pod_is_not_ready), TEST(bounds_what_others_say))

#include "runtimes/kubernetes/objects/pod_cause.h"

#include <stdarg.h>
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/health_set.h"

static bool PRINTF_LIKE(3, 4)
    set(struct pod_cause *ret, enum pod_cause_weight weight, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    ret->weight = weight;
    str_copy(ret->text, sizeof(ret->text), text);
    return true;
}

static const char *text_of(const struct value *object, const char *key)
{
    const char *text = value_get_string(object, key);

    return text ? text : "";
}

static bool is_one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(text, list[i]))
            return true;
    return false;
}

/* ---- Containers ---- */

/* The kubelet alternates between the two: they are one cause. */
#define PULL_FAILED  "ErrImagePull"
#define PULL_BACKOFF "ImagePullBackOff"

static bool is_about_image(const char *reason)
{
    static const char *const reasons[] = {
        PULL_FAILED,
        PULL_BACKOFF,
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    };

    return is_one_of(reason, reasons, ARRAY_SIZE(reasons));
}

/* "Back-off pulling image "x": ErrImagePull: WORDS": the words of the registry, if there are any.
 */
static const char *skip_back_off(const char *message)
{
    const char *words = strstr(message, PULL_FAILED ": ");

    return words ? words + strlen(PULL_FAILED ": ") : message;
}

static bool by_image(const struct value *container, const char *reason, const char *message,
                     struct pod_cause *ret)
{
    return set(ret, POD_CAUSE_CLEAR, "%s: image %s: %s",
               str_equal(reason, PULL_FAILED) ? PULL_BACKOFF : reason, text_of(container, "image"),
               skip_back_off(message));
}

/* "exit code 137, OOMKilled". Of a program that could not be started, the container runtime says
 * why. */
static char *show_end(const struct value *terminated)
{
    static const char *const plain[] = {"Error", "Completed"};
    static const char *const not_started[] = {"StartError", "ContainerCannotRun"};
    const char *reason = text_of(terminated, "reason");
    bool is_plain = !*reason || is_one_of(reason, plain, ARRAY_SIZE(plain));
    bool is_not_started = is_one_of(reason, not_started, ARRAY_SIZE(not_started));

    return str_printf("exit code %lld%s%s%s%s",
                      (long long)value_int(value_get(terminated, "exitCode"), 0),
                      is_plain ? "" : ", ", is_plain ? "" : reason, is_not_started ? ": " : "",
                      is_not_started ? text_of(terminated, "message") : "");
}

static bool by_waiting(const struct value *container, const struct value *waiting,
                       struct pod_cause *ret)
{
    static const char *const starting[] = {"", "ContainerCreating", "PodInitializing"};
    const struct value *last = value_path(container, "lastState", "terminated", NULL);
    const char *reason = text_of(waiting, "reason"), *message = text_of(waiting, "message");
    const char *name = text_of(container, "name");
    _cleanup_free_ char *end = NULL;

    if (is_one_of(reason, starting, ARRAY_SIZE(starting)))
        return false;
    if (is_about_image(reason))
        return by_image(container, reason, message, ret);
    if (!str_equal(reason, "CrashLoopBackOff") || !last)
        return set(ret, POD_CAUSE_CLEAR, "%s: container %s%s%s", reason, name, *message ? ": " : "",
                   message);
    end = show_end(last);
    return set(ret, POD_CAUSE_CLEAR, "%s: container %s: %s", reason, name, end);
}

/* It has ended, or was started again after that. */
static bool by_end(const struct value *container, struct pod_cause *ret)
{
    const struct value *now = value_path(container, "state", "terminated", NULL);
    const struct value *end = now ? now : value_path(container, "lastState", "terminated", NULL);
    _cleanup_free_ char *shown = NULL;

    if (value_int(value_get(end, "exitCode"), 0) == 0 ||
        value_bool(value_get(container, "ready"), false))
        return false;
    shown = show_end(end);
    return set(ret, POD_CAUSE_CLEAR, "container %s: %s%s", text_of(container, "name"), shown,
               now ? "" : "; it was started again");
}

static bool by_containers(const struct value *containers, struct pod_cause *ret)
{
    for (size_t i = 0; i < value_count(containers); i++) {
        const struct value *container = value_at(containers, i);
        const struct value *waiting = value_path(container, "state", "waiting", NULL);

        if (waiting ? by_waiting(container, waiting, ret) : by_end(container, ret))
            return true;
    }
    return false;
}

/* ---- The Pod ---- */

/* The condition is False; it says why. */
static bool by_condition(const struct value *pod, const char *type, struct pod_cause *ret)
{
    const struct value *condition = health_find_condition(pod, type);
    const char *message = text_of(condition, "message");

    return str_equal(value_get_string(condition, "status"), "False") &&
           set(ret, POD_CAUSE_CLEAR, "%s%s%s", text_of(condition, "reason"), *message ? ": " : "",
               message);
}

static bool by_failure(const struct value *status, struct pod_cause *ret)
{
    const char *reason = text_of(status, "reason"), *message = text_of(status, "message");

    if (*reason)
        set(ret, POD_CAUSE_LEFT_OVER, "%s%s%s", reason, *message ? ": " : "", message);
    else if (!by_containers(value_get(status, "initContainerStatuses"), ret) &&
             !by_containers(value_get(status, "containerStatuses"), ret))
        set(ret, POD_CAUSE_LEFT_OVER, "has failed");
    ret->weight = POD_CAUSE_LEFT_OVER;
    return true;
}

static bool is_for_gates(const struct value *pod)
{
    return str_equal(value_get_string(health_find_condition(pod, "Ready"), "reason"),
                     "ReadinessGatesNotReady");
}

/* What the other containers wait for. */
static const struct value *find_running_init(const struct value *status)
{
    const struct value *containers = value_get(status, "initContainerStatuses");

    for (size_t i = 0; i < value_count(containers); i++) {
        const struct value *container = value_at(containers, i);

        if (value_path(container, "state", "running", NULL) &&
            !value_bool(value_get(container, "started"), false))
            return container;
    }
    return NULL;
}

/* What the first container does that is not ready. */
static bool by_state(const struct value *status, struct pod_cause *ret)
{
    const struct value *containers = value_get(status, "containerStatuses");
    const struct value *init = find_running_init(status);

    if (init)
        return set(ret, POD_CAUSE_STATE, "init container %s is running", text_of(init, "name"));
    for (size_t i = 0; i < value_count(containers); i++) {
        const struct value *container = value_at(containers, i);
        const char *waits = value_string(value_path(container, "state", "waiting", "reason", NULL));

        if (value_bool(value_get(container, "ready"), false))
            continue;
        if (waits)
            return set(ret, POD_CAUSE_STATE, "%s", waits);
        return set(ret, POD_CAUSE_STATE, "container %s is not ready", text_of(container, "name"));
    }
    return set(ret, POD_CAUSE_STATE, "phase %s, not Ready",
               *text_of(status, "phase") ? text_of(status, "phase") : "unknown");
}

bool pod_cause(const struct value *pod, struct pod_cause *ret)
{
    const struct value *status = value_get(pod, "status");
    const char *phase = text_of(status, "phase");

    if (value_path(pod, "metadata", "deletionTimestamp", NULL) || str_equal(phase, "Succeeded") ||
        str_equal(health_condition(pod, "Ready", NULL), "True"))
        return false;
    if (str_equal(phase, "Failed"))
        return by_failure(status, ret);
    return by_condition(pod, "PodScheduled", ret) ||
           by_containers(value_get(status, "initContainerStatuses"), ret) ||
           by_containers(value_get(status, "containerStatuses"), ret) ||
           (is_for_gates(pod) && by_condition(pod, "Ready", ret)) || by_state(status, ret);
}

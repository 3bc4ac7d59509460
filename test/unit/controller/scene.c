#include "test/unit/controller/scene.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"

#define PATIENCE 60000 /* ms */
#define STEP     20
#define QUIET    300

#define MAX_FLAGS 16

#define WATCHED "/apis/api.kusion.io/v1/specs"

/* ---- The program ---- */

/* Beside the test's own. */
static char *program(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    const char *slash;

    if (length < 0)
        abort();
    path[length] = '\0';
    slash = strrchr(path, '/');
    return str_printf("%.*s/kusion-operator", (int)(slash - path), path);
}

/* A SIGTERM that comes before the program has seen to it waits for that. */
static void hold_back_the_end(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool shows_log(void)
{
    return getenv("KUSION_TEST_LOG");
}

static void run_program(const char *path, char *const *flags, const char *log)
{
    hold_back_the_end();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!shows_log()) {
        int file = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);

        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
    }
    execv(path, flags);
    _exit(127);
}

void scene_start(struct scene *scene)
{
    _cleanup_free_ char *path = program(), *more = str_new(scene->flags ? scene->flags : ""),
                        *kubeconfig = str_printf("--kubeconfig=%s", scene->kubeconfig);
    char *flags[MAX_FLAGS] = {path,
                              kubeconfig,
                              (char[]){"--health-bind-address="},
                              (char[]){"--metrics-bind-address="},
                              (char[]){"--log-level=debug"},
                              (char[]){"--leader-elect=false"},
                              (char[]){"--api-request-timeout=2s"}};
    size_t count = 7;
    unsigned before;
    char *rest;

    for (char *flag = strtok_r(more, " ", &rest); flag && count + 1 < MAX_FLAGS;
         flag = strtok_r(NULL, " ", &rest))
        flags[count++] = flag;
    before = api_server_count(scene->server, "watch", WATCHED);
    scene->pid = fork();
    if (scene->pid < 0)
        abort();
    if (scene->pid == 0)
        run_program(path, flags, scene->log);
    /* From here on it takes signals, and sees what changes. */
    for (int ms = 0; ms < PATIENCE && api_server_count(scene->server, "watch", WATCHED) == before;
         ms += STEP)
        usleep(STEP * 1000);
    EXPECT(api_server_count(scene->server, "watch", WATCHED) > before, "it starts");
}

void scene_kill(struct scene *scene)
{
    if (scene->pid > 0) {
        kill(scene->pid, SIGKILL);
        waitpid(scene->pid, NULL, 0);
    }
    scene->pid = 0;
}

/* False: not within so many ms. */
static bool wait_for_end(struct scene *scene, int patience, int *ret_status)
{
    pid_t ended = waitpid(scene->pid, ret_status, WNOHANG);

    for (int ms = 0; ms < patience && ended == 0; ms += STEP) {
        usleep(STEP * 1000);
        ended = waitpid(scene->pid, ret_status, WNOHANG);
    }
    if (ended != scene->pid)
        return false;
    scene->pid = 0;
    return true;
}

void scene_expect_ended(struct scene *scene)
{
    int status;

    EXPECT(scene->pid > 0 && wait_for_end(scene, PATIENCE, &status), "it ends");
    scene_kill(scene);
}

void scene_stop(struct scene *scene)
{
    int status = -1;

    if (scene->pid <= 0)
        return;
    kill(scene->pid, SIGTERM);
    EXPECT(wait_for_end(scene, PATIENCE / 2, &status), "it ends soon");
    EXPECT(WIFEXITED(status), "by itself");
    EXPECT_INT(WEXITSTATUS(status), 0, "well, and without a word of a sanitizer");
    scene_kill(scene);
}

/* ---- Both ---- */

/* *ret: its path. */
static FILE *make_file(char **ret)
{
    int fd = mkstemp(*ret = str_new("/tmp/kusion-scene-XXXXXX"));
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        abort();
    return file;
}

static char *write_kubeconfig(const struct api_server *server)
{
    char *path;
    FILE *file = make_file(&path);

    fprintf(file,
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: \"%s\"}}]\nusers: [{name: u, user: {}}]\n",
            api_server_url(server));
    fclose(file);
    return path;
}

void scene_begin(struct scene *scene)
{
    static const char *const objects[] = {
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kusion-system\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\"}}",
        /* Ours are served already; these say how it is to go with their objects. */
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"specs.api.kusion.io\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"namespace\":\"team\","
        "\"name\":\"default\"}}",
    };

    scene->server = api_server_new();
    for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
        api_server_create(scene->server, objects[i]);
    scene->kubeconfig = write_kubeconfig(scene->server);
    fclose(make_file(&scene->log));
    scene_start(scene);
    /* What is made once, at the first start, is not counted. */
    scene_expect_there(scene, "/api/v1/namespaces/kusion-system/secrets/kusion-operator-plan-key");
    api_server_mark(scene->server);
}

/* What a sanitizer said of the program is what a suite that fails has to show (hack/lib/ctest.py).
 */
static void tell_of_sanitizers(const char *log)
{
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(log, "re");

    if (!file)
        abort();
    while (getline(&line, &size, file) >= 0)
        if (strstr(line, "Sanitizer:") || strstr(line, ": runtime error: "))
            fputs(line, stdout);
    fclose(file);
}

void scene_end(struct scene *scene)
{
    scene_stop(scene);
    tell_of_sanitizers(scene->log);
    api_server_free(scene->server);
    unlink(scene->kubeconfig);
    free(scene->kubeconfig);
    unlink(scene->log);
    free(scene->log);
    *scene = (struct scene){0};
}

/* ---- Specs ---- */

void scene_spec(struct scene *scene, const char *name, const char *fields, const char *resources)
{
    _cleanup_free_ char *path = str_printf("%s/%s", SPECS, name);
    _cleanup_free_ char *spec = str_printf("{%s\"resources\":[%s]}", fields, resources);
    _cleanup_value_ const struct value *there = api_server_get(scene->server, path);
    _cleanup_free_ char *text =
        there ? str_printf("{\"spec\":%s}", spec)
              : str_printf("{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{"
                           "\"namespace\":\"team\",\"name\":\"%s\"},\"spec\":%s}",
                           name, spec);

    if (there)
        api_server_edit(scene->server, path, text);
    else
        api_server_create(scene->server, text);
}

void scene_remove_states(struct scene *scene, const char *collection)
{
    _cleanup_value_ const struct value *list = NULL;
    const struct value *items;

    api_server_do(scene->server, "GET", collection, NULL, &list);
    items = value_get(list, "items");
    for (size_t i = 0; i < value_count(items); i++) {
        _cleanup_free_ char *path = str_printf(
            STATES "/%s", value_string(value_path(value_at(items, i), "metadata", "name", NULL)));

        api_server_delete(scene->server, path);
    }
}

void scene_roll_out(struct scene *scene, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", DEPLOYMENTS, name);
    _cleanup_free_ char *status = str_printf("%s/status", path), *text = NULL;
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);

    text = str_printf(
        "{\"status\":{\"observedGeneration\":%lld,\"replicas\":1,\"updatedReplicas\":1,"
        "\"readyReplicas\":1,\"availableReplicas\":1,\"conditions\":[{\"type\":\"Available\","
        "\"status\":\"True\"}]}}",
        (long long)value_int(value_path(object, "metadata", "generation", NULL), 0));
    api_server_edit(scene->server, status, text);
}

void scene_ask(struct scene *scene, const char *name)
{
    static unsigned n;
    _cleanup_free_ char *path = str_printf("%s/%s", SPECS, name);
    _cleanup_free_ char *text = str_printf(
        "{\"metadata\":{\"annotations\":{\"api.kusion.io/reconcile-requested-at\":\"%u\"}}}", ++n);

    api_server_edit(scene->server, path, text);
}

void scene_accept_store(struct scene *scene, const char *name)
{
    _cleanup_free_ char *message = scene_message(scene, name), *flags = NULL;
    const char *before = scene->flags, *flag = strstr(message, "--accept-store=");

    EXPECT(flag, message);
    flags = str_printf("%s %.*s", before ? before : "", flag ? (int)strcspn(flag, " \n") : 0,
                       flag ? flag : "");
    scene_kill(scene);
    scene->flags = flags;
    scene_start(scene);
    scene->flags = before;
}

/* ---- Waiting ---- */

static const struct value *condition_of(const struct value *object, const char *type)
{
    const struct value *all = value_path(object, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(all); i++)
        if (str_equal(value_get_string(value_at(all, i), "type"), type))
            return value_at(all, i);
    return NULL;
}

/* "True ReconciliationSucceeded", of the present generation; else "". */
static char *ready_of(const struct value *object, bool with_reason)
{
    const struct value *ready = condition_of(object, "Ready");
    const char *reason = value_get_string(ready, "reason");

    if (!ready || value_int(value_path(object, "metadata", "generation", NULL), 0) !=
                      value_int(value_path(object, "status", "observedGeneration", NULL), -1))
        return str_new("");
    return str_printf("%s%s%s", value_get_string(ready, "status"), with_reason ? " " : "",
                      with_reason ? reason : "");
}

void scene_expect_ready(struct scene *scene, const char *name, const char *status,
                        const char *reason)
{
    _cleanup_free_ char *path = str_printf("%s/%s", SPECS, name);
    _cleanup_free_ char *expected =
        str_printf("%s%s%s", status, reason ? " " : "", reason ? reason : "");
    _cleanup_free_ char *says = NULL;
    _cleanup_value_ const struct value *object = NULL;

    for (int ms = 0; ms < PATIENCE; ms += STEP) {
        value_unref(object);
        free(says);
        object = api_server_get(scene->server, path);
        says = ready_of(object, reason != NULL);
        if (str_equal(says, expected))
            return;
        usleep(STEP * 1000);
    }
    EXPECT_STR(says, expected, value_get_string(condition_of(object, "Ready"), "message"));
}

static bool is_handled(struct scene *scene, const char *path)
{
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);

    return str_equal(value_string(value_path(object, "status", "lastHandledReconcileAt", NULL)),
                     value_string(value_path(object, "metadata", "annotations",
                                             "api.kusion.io/reconcile-requested-at", NULL)));
}

void scene_expect_handled(struct scene *scene, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", SPECS, name);

    for (int ms = 0; ms < PATIENCE && !is_handled(scene, path); ms += STEP)
        usleep(STEP * 1000);
    EXPECT(is_handled(scene, path), "the request is handled");
}

static bool is_there(struct scene *scene, const char *path)
{
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);

    return object != NULL;
}

static void expect_presence(struct scene *scene, const char *path, bool expected)
{
    for (int ms = 0; ms < PATIENCE && is_there(scene, path) != expected; ms += STEP)
        usleep(STEP * 1000);
    EXPECT_INT(is_there(scene, path), expected, path);
}

void scene_expect_gone(struct scene *scene, const char *path)
{
    expect_presence(scene, path, false);
}

void scene_expect_there(struct scene *scene, const char *path)
{
    expect_presence(scene, path, true);
}

static bool has_logged(const struct scene *scene, const char *words)
{
    FILE *file = fopen(scene->log, "re");
    char *line = NULL;
    size_t size = 0;
    bool has = false;

    while (file && !has && getline(&line, &size, file) >= 0)
        has = strstr(line, words);
    free(line);
    fclose(file);
    return has;
}

void scene_expect_logged(struct scene *scene, const char *words)
{
    bool has = shows_log();

    for (int ms = 0; ms < PATIENCE && !has; ms += STEP) {
        has = has_logged(scene, words);
        usleep(STEP * 1000);
    }
    EXPECT(has, words);
}

void scene_expect_quiet(struct scene *scene)
{
    unsigned count = api_server_count(scene->server, NULL, NULL), before;
    int quiet = 0;

    for (int ms = 0; ms < PATIENCE && quiet < QUIET; ms += STEP) {
        usleep(STEP * 1000);
        before = count;
        count = api_server_count(scene->server, NULL, NULL);
        quiet = count == before ? quiet + STEP : 0;
    }
    EXPECT(quiet >= QUIET, "it comes to rest");
}

void scene_expect_cut(struct scene *scene)
{
    for (int ms = 0; ms < PATIENCE && !api_server_is_cut(scene->server); ms += STEP)
        usleep(STEP * 1000);
    EXPECT(api_server_is_cut(scene->server), "as many writes as that");
}

/* ---- Looking ---- */

char *scene_message(struct scene *scene, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", SPECS, name);
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const char *message = value_get_string(condition_of(object, "Ready"), "message");

    return str_new(message ? message : "");
}

char *scene_phase(struct scene *scene, const char *spec, unsigned revision)
{
    _cleanup_free_ char *path = str_printf("%s/%s-%u", RELEASES, spec, revision);
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const char *phase = value_string(value_path(object, "status", "phase", NULL));

    return object ? str_new(phase ? phase : "") : NULL;
}

char *scene_data(struct scene *scene, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", CONFIGMAPS, name);
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const char *x = value_string(value_path(object, "data", "x", NULL));

    return object ? str_new(x ? x : "") : NULL;
}

void scene_expect_data(struct scene *scene, const char *name, const char *x)
{
    _cleanup_free_ char *data = scene_data(scene, name);

    for (int ms = 0; ms < PATIENCE && !str_equal(data, x); ms += STEP) {
        usleep(STEP * 1000);
        free(data);
        data = scene_data(scene, name);
    }
    EXPECT_STR(data, x, name);
}

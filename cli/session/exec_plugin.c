#include "cli/session/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"

#define TIME      300000 /* ms */
#define MAX_BYTES (1u << 20)

extern char **environ;

#define failed(error, ...) err_set(error, ERR_UNAUTHENTICATED, "ExecPlugin", __VA_ARGS__)

void credential_done(struct credential *credential)
{
    value_unref(credential->user);
    credential->user = NULL;
}

/* ---- What it is told ---- */

static const struct value *cluster_info(const struct kubeconfig_choice *choice)
{
    const struct value *cluster = choice->cluster;

    return value_pack("{s:v?, s:v?, s:v?, s:v?}", "server", value_get(cluster, "server"),
                      "tls-server-name", value_get(cluster, "tls-server-name"),
                      "certificate-authority-data",
                      value_get(cluster, "certificate-authority-data"), "proxy-url",
                      value_get(cluster, "proxy-url"));
}

char *exec_plugin_info(const struct value *exec, const struct kubeconfig_choice *choice,
                       bool is_interactive)
{
    _cleanup_value_ const struct value *cluster = NULL, *info = NULL;

    if (value_bool(value_get(exec, "provideClusterInfo"), false))
        cluster = cluster_info(choice);
    info =
        value_pack("{s:v, s:s, s:{s:b, s:v?}}", "apiVersion", value_get(exec, "apiVersion"), "kind",
                   "ExecCredential", "spec", "interactive", is_interactive, "cluster", cluster);
    return json_to_str(info);
}

/* ---- What it answers ---- */

static void add_pem(struct value_builder *b, const char *key, const char *pem)
{
    _cleanup_buf_ struct buf encoded = BUF_INIT;

    if (!pem)
        return;
    base64_encode(&encoded, pem, strlen(pem));
    value_key(b, key);
    value_add_string(b, encoded.data);
}

static const struct value *user_of(const struct value *status)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    if (value_get_string(status, "token")) {
        value_key(b, "token");
        value_add(b, value_get(status, "token"));
    }
    add_pem(b, "client-certificate-data", value_get_string(status, "clientCertificateData"));
    add_pem(b, "client-key-data", value_get_string(status, "clientKeyData"));
    value_end_object(b);
    return value_finish(b);
}

int exec_plugin_read(const struct value *exec, const char *text, size_t length,
                     struct credential *ret, struct error *error)
{
    const char *command = value_get_string(exec, "command");
    const char *expected = value_get_string(exec, "apiVersion");
    _cleanup_value_ const struct value *answer = NULL;
    const struct value *status;

    if (json_read(text, length, &answer, NULL) < 0 ||
        !str_equal(value_get_string(answer, "kind"), "ExecCredential"))
        return failed(error, "%s did not print an ExecCredential", command);
    if (!str_equal(value_get_string(answer, "apiVersion"), expected))
        return failed(error, "%s printed an ExecCredential of another version than %s", command,
                      expected);
    status = value_get(answer, "status");
    if (!value_get_string(status, "token") && !value_get_string(status, "clientCertificateData"))
        return failed(error, "the ExecCredential of %s has neither a token nor a certificate",
                      command);
    ret->user = user_of(status);
    ret->expires = 0;
    if (value_get_string(status, "expirationTimestamp"))
        ret->expires = timestamp_parse(value_get_string(status, "expirationTimestamp"));
    return 0;
}

/* ---- The process ---- */

static void free_words(char **words)
{
    for (size_t i = 0; words[i]; i++)
        free(words[i]);
    free(words);
}

static char **arguments_of(const struct value *exec)
{
    const struct value *args = value_get(exec, "args");
    char **words = NEW_ARRAY(char *, value_count(args) + 2);

    words[0] = str_new(value_get_string(exec, "command"));
    for (size_t i = 0; i < value_count(args); i++) {
        const char *word = value_string(value_at(args, i));

        words[i + 1] = str_new(word ? word : "");
    }
    return words;
}

static bool names_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool is_replaced(const struct value *env, const char *entry)
{
    for (size_t i = 0; i < value_count(env); i++) {
        const char *name = value_get_string(value_at(env, i), "name");

        if (name && names_variable(entry, name))
            return true;
    }
    return names_variable(entry, "KUBERNETES_EXEC_INFO");
}

static char **environment_of(const struct value *exec, const char *info)
{
    const struct value *env = value_get(exec, "env");
    size_t n = 0, own = 0;
    char **words;

    while (environ[own])
        own++;
    words = NEW_ARRAY(char *, own + value_count(env) + 2);
    for (size_t i = 0; i < own; i++)
        if (!is_replaced(env, environ[i]))
            words[n++] = str_new(environ[i]);
    for (size_t i = 0; i < value_count(env); i++) {
        const char *name = value_get_string(value_at(env, i), "name");
        const char *value = value_get_string(value_at(env, i), "value");

        if (name)
            words[n++] = str_printf("%s=%s", name, value ? value : "");
    }
    words[n++] = str_printf("KUBERNETES_EXEC_INFO=%s", info);
    return words;
}

static int start(char **arguments, char **environment, bool is_interactive, int output, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!is_interactive)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    r = posix_spawnp(ret, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return r;
}

/* Until the end of the output. False: it took too long, or printed too much. */
static bool read_all(int fd, struct buf *ret)
{
    int64_t end = system_clock.monotonic(&system_clock) + TIME;

    for (;;) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int64_t left = end - system_clock.monotonic(&system_clock);
        char bytes[4096];
        ssize_t n;

        if (left <= 0 || buf_overflowed(ret))
            return false;
        if (poll(&poll_fd, 1, (int)left) <= 0)
            continue;
        n = read(fd, bytes, sizeof(bytes));
        if (n == 0)
            return true;
        if (n > 0)
            buf_add(ret, bytes, (size_t)n);
        else if (errno != EINTR)
            return false;
    }
}

static int run(const struct value *exec, const char *info, bool is_interactive,
               struct credential *ret, struct error *error)
{
    const char *command = value_get_string(exec, "command");
    const char *install = value_get_string(exec, "installHint");
    char **arguments = arguments_of(exec), **environment = environment_of(exec, info);
    struct buf text = BUF_INIT;
    int pipe_fds[2], status = 0, r;
    pid_t child = 0;

    buf_init(&text, MAX_BYTES);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        r = failed(error, "no pipe: %s", strerror(errno));
        goto out;
    }
    r = start(arguments, environment, is_interactive, pipe_fds[1], &child);
    close(pipe_fds[1]);
    if (r != 0) {
        r = failed(error, "%s, which the kubeconfig names for credentials, cannot be run: %s",
                   command, strerror(r));
        if (install && *install)
            err_wrap(error, "%s", install);
        goto out_pipe;
    }
    if (!read_all(pipe_fds[0], &text))
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    r = WIFEXITED(status) && WEXITSTATUS(status) == 0
            ? exec_plugin_read(exec, text.data, text.length, ret, error)
            : failed(error, "%s, which the kubeconfig names for credentials, failed", command);
out_pipe:
    close(pipe_fds[0]);
out:
    explicit_bzero(text.data, text.length);
    buf_done(&text);
    free_words(arguments);
    free_words(environment);
    return r;
}

int exec_plugin_run(const struct kubeconfig_choice *choice, struct credential *ret,
                    struct error *error)
{
    const struct value *exec = value_get(choice->user, "exec");
    const char *mode = value_get_string(exec, "interactiveMode");
    const char *version = value_get_string(exec, "apiVersion");
    bool is_interactive = isatty(STDIN_FILENO) && !str_equal(mode, "Never");
    _cleanup_free_ char *info = NULL;

    if (!value_get_string(exec, "command"))
        return failed(error, "the kubeconfig's exec has no command");
    if (!str_equal(version, "client.authentication.k8s.io/v1") &&
        !str_equal(version, "client.authentication.k8s.io/v1beta1"))
        return failed(error,
                      "the kubeconfig's exec has the apiVersion \"%s\"; v1 and v1beta1 of "
                      "client.authentication.k8s.io are known",
                      version ? version : "");
    if (str_equal(mode, "Always") && !isatty(STDIN_FILENO))
        return failed(error, "%s asks a person, and standard input is no terminal",
                      value_get_string(exec, "command"));
    info = exec_plugin_info(exec, choice, is_interactive);
    return run(exec, info, is_interactive, ret, error);
}

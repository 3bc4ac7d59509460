#include "cli/session/kubeconfig.h"

#include <string.h>

#include "cli/session/exec_plugin.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static const struct value *json(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    if (json_read_str(text, &value, &error) < 0)
        fprintf(stderr, "%s: %s\n", text, error.message);
    return value;
}

static const char *text_at(const struct value *list, size_t index, const char *kind,
                           const char *key)
{
    return value_get_string(value_get(value_at(list, index), kind), key);
}

/* Earlier files win, by name; the first current-context counts; paths are of the file's folder. */
static void files_are_merged_as_kubectl_merges_them(void)
{
    _cleanup_value_ const struct value *first =
        json("{\"clusters\":[{\"name\":\"a\",\"cluster\":{\"server\":\"https://one\","
             "\"certificate-authority\":\"ca.crt\"}}],"
             "\"users\":[{\"name\":\"u\",\"user\":{\"tokenFile\":\"/abs/token\","
             "\"exec\":{\"command\":\"./login\",\"apiVersion\":\"x\"}}}]}");
    _cleanup_value_ const struct value *second =
        json("{\"current-context\":\"c\",\"clusters\":[{\"name\":\"a\",\"cluster\":{\"server\":"
             "\"https://two\"}},{\"name\":\"b\",\"cluster\":{\"server\":\"https://three\"}}],"
             "\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"a\",\"user\":\"u\"}}]}");
    struct kubeconfig_file files[] = {{"/home/one", first}, {"/home/two", second}};
    _cleanup_value_ const struct value *merged = kubeconfig_merge(files, 2);
    const struct value *clusters = value_get(merged, "clusters");
    const struct value *users = value_get(merged, "users");

    EXPECT_INT(value_count(clusters), 2, "");
    EXPECT_STR(text_at(clusters, 0, "cluster", "server"), "https://one", "the earlier file's");
    EXPECT_STR(text_at(clusters, 0, "cluster", "certificate-authority"), "/home/one/ca.crt", "");
    EXPECT_STR(text_at(clusters, 1, "cluster", "server"), "https://three", "");
    EXPECT_STR(text_at(users, 0, "user", "tokenFile"), "/abs/token", "absolute already");
    EXPECT_STR(value_get_string(value_path(value_at(users, 0), "user", "exec", NULL), "command"),
               "/home/one/./login", "");
    EXPECT_STR(value_get_string(merged, "current-context"), "c", "");
}

static void a_context_is_chosen(void)
{
    _cleanup_value_ const struct value *merged =
        json("{\"current-context\":\"c\",\"clusters\":[{\"name\":\"a\",\"cluster\":{}}],\"users\":["
             "{\"name\":\"u\",\"user\":{\"token\":\"t\"}}],\"contexts\":["
             "{\"name\":\"c\",\"context\":{\"cluster\":\"a\",\"user\":\"u\"}},"
             "{\"name\":\"d\",\"context\":{\"cluster\":\"a\"}}]}");
    struct kubeconfig_choice choice;
    struct error error = {0};

    EXPECT_INT(kubeconfig_choose(merged, NULL, &choice, &error), 0, error.message);
    EXPECT_STR(choice.context, "c", "");
    EXPECT_STR(value_get_string(choice.user, "token"), "t", "");
    EXPECT_INT(kubeconfig_choose(merged, "d", &choice, &error), 0, error.message);
    EXPECT(!choice.user, "");
    EXPECT_INT(kubeconfig_choose(merged, "x", &choice, &error), ERR_INVALID, "");
    EXPECT_STR(error.message,
               "the kubeconfig has no context \"x\" (contexts: c, d)\nkubectl config get-contexts",
               "");
}

/* ---- Plugins ---- */

#define EXEC                                                                     \
    "{\"command\":\"login\",\"apiVersion\":\"client.authentication.k8s.io/v1\"," \
    "\"provideClusterInfo\":true}"

static void a_plugin_is_told_of_the_cluster(void)
{
    _cleanup_value_ const struct value *exec = json(EXEC);
    _cleanup_value_ const struct value *cluster = json("{\"server\":\"https://one\"}");
    struct kubeconfig_choice choice = {.cluster = cluster};
    _cleanup_free_ char *info = exec_plugin_info(exec, &choice, false);

    EXPECT_STR(info,
               "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
               "\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://one\"}}}",
               "");
}

static void what_a_plugin_prints_is_read(void)
{
    static const struct {
        const char *text, *user, *message;
    } rows[] = {
        {"{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
         "\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"2026-01-01T00:00:00Z\"}}",
         "{\"token\":\"t\"}", NULL},
        {"{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
         "\"status\":{\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"}}",
         "{\"client-certificate-data\":\"Qw==\",\"client-key-data\":\"Sw==\"}", NULL},
        {"", NULL, "login did not print an ExecCredential"},
        {"{\"kind\":\"Secret\"}", NULL, "login did not print an ExecCredential"},
        {"{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\"}",
         NULL,
         "login printed an ExecCredential of another version than "
         "client.authentication.k8s.io/v1"},
        {"{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
         "\"status\":{}}",
         NULL, "the ExecCredential of login has neither a token nor a certificate"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *exec = json(EXEC);
        struct credential credential = {0};
        struct error error = {0};
        int r = exec_plugin_read(exec, rows[i].text, strlen(rows[i].text), &credential, &error);

        EXPECT_INT(r, rows[i].user ? 0 : ERR_UNAUTHENTICATED, rows[i].text);
        if (rows[i].user) {
            _cleanup_free_ char *user = json_to_str(credential.user);

            EXPECT_STR(user, rows[i].user, rows[i].text);
        } else {
            EXPECT_STR(error.message, rows[i].message, rows[i].text);
        }
        credential_done(&credential);
    }
}

static void a_plugin_runs(void)
{
    _cleanup_value_ const struct value *user = json(
        "{\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"command\":\"sh\","
        "\"interactiveMode\":\"Never\",\"env\":[{\"name\":\"WORD\",\"value\":\"secret\"}],"
        "\"args\":[\"-c\",\"printf '{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\","
        "\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"token\\\":\\\"%s\\\"}}' "
        "$WORD\"]}}");
    struct kubeconfig_choice choice = {.user = user};
    struct credential credential = {0};
    struct error error = {0};

    EXPECT_INT(exec_plugin_run(&choice, &credential, &error), 0, error.message);
    EXPECT_STR(value_get_string(credential.user, "token"), "secret", "");
    credential_done(&credential);
}

static void a_plugin_that_fails_is_told(void)
{
    static const struct {
        const char *exec, *message;
    } rows[] = {
        {"{\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"command\":\"false\"}}",
         "false, which the kubeconfig names for credentials, failed"},
        {"{\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/"
         "v1\",\"command\":\"no-such-login\","
         "\"installHint\":\"install it from X\"}}",
         "install it from X: no-such-login, which the kubeconfig names for credentials, cannot be "
         "run: "
         "No such file or directory"},
        {"{\"exec\":{\"apiVersion\":\"v9\",\"command\":\"true\"}}",
         "the kubeconfig's exec has the apiVersion \"v9\"; v1 and v1beta1 of "
         "client.authentication.k8s.io are known"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *user = json(rows[i].exec);
        struct kubeconfig_choice choice = {.user = user};
        struct credential credential = {0};
        struct error error = {0};

        EXPECT_INT(exec_plugin_run(&choice, &credential, &error), ERR_UNAUTHENTICATED, "");
        EXPECT_STR(error.message, rows[i].message, "");
    }
}

SUITE(cli_kubeconfig, TEST(files_are_merged_as_kubectl_merges_them), TEST(a_context_is_chosen),
      TEST(a_plugin_is_told_of_the_cluster), TEST(what_a_plugin_prints_is_read),
      TEST(a_plugin_runs), TEST(a_plugin_that_fails_is_told))

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/config.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

/* base64 of "CA\n", "CERT\n", "KEY\n" */
static const char whole[] =
    "apiVersion: v1\nkind: Config\ncurrent-context: one\n"
    "contexts:\n"
    "- name: one\n  context: {cluster: c1, user: u1, namespace: team-a}\n"
    "- name: two\n  context: {cluster: c2, user: u2}\n"
    "- name: bare\n  context: {cluster: c1}\n"
    "- name: lost\n  context: {cluster: nowhere, user: u1}\n"
    "clusters:\n"
    "- name: c1\n  cluster:\n    server: https://10.0.0.1:6443/\n"
    "    certificate-authority-data: Q0EK\n    tls-server-name: kube.local\n"
    "    proxy-url: http://proxy:3128\n"
    "- name: c2\n  cluster: {server: 'https://[::1]:443/k8s/clusters/x/',"
    " certificate-authority: pki/../ca.crt}\n"
    "users:\n"
    "- name: u1\n  user:\n    client-certificate-data: |\n      Q0VS\n      VAo=\n"
    "    client-key-data: S0VZCg==\n"
    "- name: u2\n  user: {tokenFile: token, token: old}\n";

static char *path_in(const char *folder, const char *name)
{
    return str_printf("%s/%s", folder, name);
}

static void reads_contexts(void)
{
    char *folder = harness_folder();
    _cleanup_free_ char *path = path_in(folder, "config");
    _cleanup_free_ char *pki = path_in(folder, "pki"), *token = path_in(folder, "token");
    struct kube_config *config = NULL;
    struct error error = {0};

    harness_write(folder, "config", whole);
    harness_write(folder, "ca.crt", "FILE CA\n");

    EXPECT_INT(kube_config_load(path, NULL, &config, &error), 0, error.message);
    EXPECT_STR(config->server, "https://10.0.0.1:6443", "no slash at its end");
    EXPECT_STR(config->ca_pem, "CA\n", "from data");
    EXPECT_STR(config->cert_pem, "CERT\n", "from data");
    EXPECT_STR(config->key_pem, "KEY\n", "from data");
    EXPECT_STR(config->tls_server_name, "kube.local", "");
    EXPECT_STR(config->proxy_url, "http://proxy:3128", "");
    EXPECT_STR(config->namespace_name, "team-a", "");
    EXPECT_STR(config->token, NULL, "");
    kube_config_free(config);

    config = NULL;
    EXPECT_INT(kube_config_load(path, "two", &config, &error), ERR_NOT_FOUND, "no folder pki");
    EXPECT(strstr(error.message, "certificate-authority") != NULL, error.message);
    CU_ASSERT_EQUAL(mkdir(pki, 0700), 0);
    EXPECT_INT(kube_config_load(path, "two", &config, &error), 0, error.message);
    EXPECT_STR(config->server, "https://[::1]:443/k8s/clusters/x", "with a prefix");
    EXPECT_STR(config->ca_pem, "FILE CA\n", "from the kubeconfig's folder");
    EXPECT_STR(config->token_file, token, "counted from the kubeconfig's folder");
    EXPECT_STR(config->token, NULL, "the file wins");
    EXPECT_STR(config->namespace_name, "default", "");
    kube_config_free(config);

    config = NULL;
    EXPECT_INT(kube_config_load(path, "bare", &config, &error), 0, "nobody is a user too");
    kube_config_free(config);
    rmdir(pki);
    harness_remove(folder);
}

#define CLUSTER(text)                                                             \
    "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n" \
    "clusters: [{name: a, cluster: {" text "}}]\nusers: [{name: a, user: {}}]\n"
#define USER(text)                                                                          \
    "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"           \
    "clusters: [{name: a, cluster: {server: 'https://x'}}]\nusers: [{name: a, user: {" text \
    "}}]\n"

static void refuses_what_it_cannot_honour(void)
{
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        {"{", ERR_INVALID, "line"},
        {"[]", ERR_INVALID, "no current-context"},
        {"contexts: [{name: a}, {name: b}]", ERR_INVALID, "contexts: a, b"},
        {"current-context: z\ncontexts: [{name: x}]", ERR_INVALID, "\"z\" (there are: x)"},
        {"current-context: z\ncontexts: [{name: z, context: {}}]", ERR_INVALID, "names no cluster"},
        {CLUSTER(""), ERR_INVALID, "no server"},
        {CLUSTER("server: 'localhost:8080'"), ERR_INVALID, "https://"},
        {CLUSTER("server: 'http://10.0.0.1:8080'"), ERR_INVALID, "not encrypted"},
        {CLUSTER("server: 'http://127.0.0.1.evil.example'"), ERR_INVALID, "not encrypted"},
        {CLUSTER("server: 'http://127.0.0.1:8001'"), 0, NULL},
        {CLUSTER("server: 'https://x', insecure-skip-tls-verify: true"), ERR_UNSUPPORTED,
         "certificate-authority-data"},
        {CLUSTER("server: 'https://x', insecure-skip-tls-verify: false"), 0, NULL},
        {CLUSTER("server: 'https://x', certificate-authority-data: '%%%'"), ERR_INVALID, "base64"},
        {USER("exec: {command: aws}"), ERR_UNSUPPORTED, "tokenFile"},
        {USER("auth-provider: {name: gcp}"), ERR_UNSUPPORTED, "tokenFile"},
        {USER("username: admin, password: hunter2"), ERR_UNSUPPORTED, "passwords"},
        {USER("as: someone"), ERR_UNSUPPORTED, "impersonation"},
        {USER("as-groups: ['system:masters']"), ERR_UNSUPPORTED, "credentials"},
        {USER("client-certificate-data: Q0VSVAo="), ERR_INVALID, "client-key is missing"},
        {USER("client-key-data: S0VZCg=="), ERR_INVALID, "client-certificate is missing"},
        {USER("token: abc"), 0, NULL},
    };
    char *folder = harness_folder();
    _cleanup_free_ char *path = path_in(folder, "config");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_config *config = NULL;
        struct error error = {0};

        harness_write(folder, "config", rows[i].text);
        EXPECT_INT(kube_config_load(path, NULL, &config, &error), rows[i].code, rows[i].text);
        if (rows[i].says)
            EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        EXPECT(strstr(error.message, "hunter2") == NULL, "no secret in a message");
        kube_config_free(config);
    }
    harness_remove(folder);
}

/* A kubeconfig that is no file may be a tenant's. Everything that is accepted is in this table. */
static void a_tenants_kubeconfig_reaches_nothing_of_ours(void)
{
    static const struct {
        const char *text, *context;
        int code;
        const char *says;
    } rows[] = {
        {CLUSTER("server: 'https://x'"), NULL, 0, NULL},
        {CLUSTER("server: 'https://x', certificate-authority-data: Q0EK"), NULL, 0, NULL},
        {CLUSTER("server: 'https://x', tls-server-name: y"), NULL, 0, NULL},
        {CLUSTER("server: 'https://x', insecure-skip-tls-verify: false"), NULL, 0, NULL},
        {CLUSTER("server: 'https://x', proxy-url: ''"), NULL, 0, NULL},
        {CLUSTER("server: 'https://x', certificate-authority-data: Q0EK, certificate-authority: "
                 "/etc/passwd"),
         NULL, 0, NULL}, /* the data is taken, the file is not read */
        {USER("token: abc"), NULL, 0, NULL},
        {USER("client-certificate-data: Q0VSVAo=, client-key-data: S0VZCg=="), NULL, 0, NULL},
        {whole, "bare", ERR_UNSUPPORTED, "proxy-url is not supported"},
        {whole, "two", ERR_UNSUPPORTED, "certificate-authority names a file, \"pki/../ca.crt\""},
        {whole, "lost", ERR_INVALID, "nowhere"},
        {CLUSTER("server: 'http://127.0.0.1:8001'"), NULL, ERR_INVALID, "use https://"},
        {CLUSTER("server: 'http://localhost:8001'"), NULL, ERR_INVALID, "use https://"},
        {CLUSTER("server: 'http://10.0.0.1'"), NULL, ERR_INVALID, "use https://"},
        {CLUSTER("server: 'file:///etc/passwd'"), NULL, ERR_INVALID, "https://"},
        {CLUSTER("server: 'https://x', proxy-url: 'http://169.254.169.254'"), NULL, ERR_UNSUPPORTED,
         "proxy-url"},
        {CLUSTER("server: 'https://x', proxy-url: 'socks5://x:1'"), NULL, ERR_UNSUPPORTED,
         "proxy-url"},
        {CLUSTER("server: 'https://x', insecure-skip-tls-verify: true"), NULL, ERR_UNSUPPORTED,
         "insecure-skip-tls-verify"},
        {CLUSTER("server: 'https://x', certificate-authority: /etc/passwd"), NULL, ERR_UNSUPPORTED,
         "certificate-authority names a file"},
        {USER("exec: {command: sh}"), NULL, ERR_UNSUPPORTED, "starts a program"},
        {USER("auth-provider: {name: gcp}"), NULL, ERR_UNSUPPORTED, "auth-provider"},
        {USER("username: admin, password: hunter2"), NULL, ERR_UNSUPPORTED, "passwords"},
        {USER("as: someone"), NULL, ERR_UNSUPPORTED, "impersonation"},
        {USER("as-uid: '1'"), NULL, ERR_UNSUPPORTED, "credentials"},
        {USER("tokenFile: token"), NULL, ERR_UNSUPPORTED, "tokenFile names a file"},
        {USER("token: abc, tokenFile: /var/run/secrets/token"), NULL, ERR_UNSUPPORTED,
         "/var/run/secrets/token"},
        {USER("client-certificate: a.pem, client-key: b.pem"), NULL, ERR_UNSUPPORTED, "a.pem"},
        {USER("client-certificate-data: Q0VSVAo=, client-key: /k"), NULL, ERR_UNSUPPORTED, "/k"},
        {"{", NULL, ERR_INVALID, "line"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_config *config = NULL;
        struct error error = {0};

        EXPECT_INT(kube_config_read(rows[i].text, strlen(rows[i].text), NULL, rows[i].context,
                                    &config, &error),
                   rows[i].code, rows[i].text);
        if (rows[i].says)
            EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        EXPECT(strstr(error.message, "hunter2") == NULL, "no secret in a message");
        EXPECT_INT(config != NULL, rows[i].code == 0, rows[i].text);
        if (config) {
            EXPECT(!config->proxy_url && !config->token_file && !config->ca_file, rows[i].text);
            EXPECT(!config->cert_file && !config->key_file, rows[i].text);
        }
        kube_config_free(config);
    }
}

/* The operator keeps copies for each cluster that a tenant names. */
static void a_tenants_certificates_are_bounded(void)
{
    _cleanup_free_ char *pem = str_printf("%0*d", 32 << 10, 0);
    _cleanup_free_ char *more = str_printf("%s0", pem);
    static const struct {
        const char *note, *folder;
        bool is_more;
        int code;
    } rows[] = {{"as much as there may be", NULL, false, 0},
                {"more", NULL, true, ERR_INVALID},
                {"the operator's own", "/folder", true, 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf data = BUF_INIT;
        _cleanup_free_ char *text = NULL;
        struct kube_config *config = NULL;
        struct error error = {0};

        base64_encode(&data, rows[i].is_more ? more : pem, strlen(rows[i].is_more ? more : pem));
        text =
            str_printf(CLUSTER("server: 'https://x', certificate-authority-data: %s"), data.data);
        EXPECT_INT(kube_config_read(text, strlen(text), rows[i].folder, NULL, &config, &error),
                   rows[i].code, rows[i].note);
        if (rows[i].code)
            EXPECT(strstr(error.message, "has 32769 bytes, of at most 32768"), error.message);
        kube_config_free(config);
    }
}

static void counts_files_of_a_text_from_a_folder(void)
{
    static const char text[] = USER("tokenFile: token") "and more that is not read";
    struct kube_config *config = NULL;
    struct error error = {0};

    EXPECT_INT(
        kube_config_read(text, strlen(USER("tokenFile: token")), "/folder", NULL, &config, &error),
        0, error.message);
    EXPECT_STR(config->token_file, "/folder/token", "from the folder");
    kube_config_free(config);
}

static void names_the_missing_cluster(void)
{
    char *folder = harness_folder();
    _cleanup_free_ char *path = path_in(folder, "config");
    struct kube_config *config = NULL;
    struct error error = {0};

    harness_write(folder, "config", whole);
    EXPECT_INT(kube_config_load(path, "lost", &config, &error), ERR_INVALID, "lost");
    EXPECT(strstr(error.message, "\"nowhere\" (there are: c1, c2)") != NULL, error.message);
    harness_remove(folder);
    EXPECT_INT(kube_config_load(path, NULL, &config, &error), ERR_NOT_FOUND, "no file");
    EXPECT(strstr(error.message, path) != NULL, error.message);
}

static void takes_the_first_file_of_the_environment(void)
{
    char *folder = harness_folder();
    _cleanup_free_ char *list = str_printf("%s/none::%s/config:%s/other", folder, folder, folder);
    _cleanup_free_ char *before = str_new(getenv("KUBECONFIG"));
    struct kube_config *config = NULL;
    struct error error = {0};

    harness_write(folder, "config", USER("token: abc"));
    harness_write(folder, "other", USER("token: other"));
    setenv("KUBECONFIG", list, 1);
    EXPECT_INT(kube_config_load(NULL, NULL, &config, &error), 0, error.message);
    EXPECT_STR(config ? config->token : NULL, "abc", "the first that exists");
    kube_config_free(config);
    if (before)
        setenv("KUBECONFIG", before, 1);
    else
        unsetenv("KUBECONFIG");
    harness_remove(folder);
}

static void reads_a_pods_files(void)
{
    char *folder = harness_folder();
    _cleanup_free_ char *token = path_in(folder, "token");
    struct kube_config *config = NULL;
    struct error error = {0};

    unsetenv("KUBERNETES_SERVICE_HOST");
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    EXPECT_INT(kube_config_in_cluster(folder, &config, &error), ERR_NOT_FOUND, "outside");
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    EXPECT_INT(kube_config_in_cluster(folder, &config, &error), ERR_NOT_FOUND, "no token");
    harness_write(folder, "token", "secret\n");
    EXPECT_INT(kube_config_in_cluster(folder, &config, &error), ERR_NOT_FOUND, "no CA");
    harness_write(folder, "ca.crt", "CA\n");
    EXPECT_INT(kube_config_in_cluster(folder, &config, &error), 0, error.message);
    EXPECT_STR(config->server, "https://[fd00::1]:443", "IPv6");
    EXPECT_STR(config->namespace_name, "default", "no namespace file");
    EXPECT_STR(config->token_file, token, "");
    EXPECT_STR(config->token, NULL, "only by its file");
    EXPECT_STR(config->ca_pem, "CA\n", "");
    kube_config_free(config);

    config = NULL;
    setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
    harness_write(folder, "namespace", "kusion-system\n");
    EXPECT_INT(kube_config_in_cluster(folder, &config, &error), 0, error.message);
    EXPECT_STR(config->server, "https://10.96.0.1:443", "");
    EXPECT_STR(config->namespace_name, "kusion-system", "");
    kube_config_free(config);

    setenv("KUBERNETES_SERVICE_PORT", "tcp://10.0.0.1:443", 1);
    EXPECT_INT(kube_config_in_cluster(folder, &config, &error), ERR_INVALID, "a port");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    harness_remove(folder);
}

SUITE(kube_config, TEST(reads_contexts), TEST(refuses_what_it_cannot_honour),
      TEST(a_tenants_kubeconfig_reaches_nothing_of_ours), TEST(a_tenants_certificates_are_bounded),
      TEST(counts_files_of_a_text_from_a_folder), TEST(names_the_missing_cluster),
      TEST(takes_the_first_file_of_the_environment), TEST(reads_a_pods_files))

#include "cli/session/session.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/yaml/yaml.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/file.h"

#define MAX_FILES   64
#define CONNECTIONS 4

/* ---- The kubeconfig ---- */

struct files {
    struct kubeconfig_file items[MAX_FILES];
    char *folders[MAX_FILES];
    size_t count;
};

static void files_done(struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        value_unref(files->items[i].value);
        free(files->folders[i]);
    }
}

static char *folder_of(const char *path)
{
    char absolute[PATH_MAX];
    char *slash;

    if (!realpath(path, absolute))
        return str_new(".");
    slash = strrchr(absolute, '/');
    return str_new_n(absolute, slash == absolute ? 1 : (size_t)(slash - absolute));
}

static int add_file(struct files *files, const char *path, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    const struct value *value = NULL;
    int r;

    if (files->count == MAX_FILES)
        return err_set(error, ERR_INVALID, "InvalidConfig", "KUBECONFIG names more than %d files",
                       MAX_FILES);
    r = file_read_text(path, &text, error);
    if (r == 0)
        r = yaml_read(text, strlen(text), &value, error);
    if (r < 0) {
        err_wrap(error, "kubeconfig %s", path);
        return r;
    }
    files->folders[files->count] = folder_of(path);
    files->items[files->count] = (struct kubeconfig_file){files->folders[files->count], value};
    files->count++;
    return 0;
}

/* $KUBECONFIG: files that are missing are left out. */
static int add_listed(struct files *files, const char *list, struct error *error)
{
    int r = 0;

    while (r == 0 && *list) {
        size_t length = strcspn(list, ":");
        _cleanup_free_ char *path = str_new_n(list, length);

        if (length && access(path, F_OK) == 0)
            r = add_file(files, path, error);
        list += length + (list[length] == ':');
    }
    return r;
}

static int find_files(struct files *files, const char *path, struct error *error)
{
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
    _cleanup_free_ char *usual = NULL;

    if (path)
        return add_file(files, path, error);
    if (list && *list)
        return add_listed(files, list, error);
    usual = str_printf("%s/.kube/config", home && *home ? home : "/root");
    return access(usual, F_OK) == 0 ? add_file(files, usual, error) : 0;
}

/* ---- Credentials ---- */

static int as_given(struct session *session, const char **ret_as, struct option_words *ret_groups,
                    struct error *error)
{
    const struct options *options = &session->cli->options;
    const struct value *user = session->choice.user, *groups = value_get(user, "as-groups");

    if (value_count(value_get(user, "as-user-extra")) || value_get_string(user, "as-uid"))
        return err_set(error, ERR_UNSUPPORTED, "UnsupportedConfig",
                       "the kubeconfig's as-uid and as-user-extra are not supported");
    *ret_groups = options->as_groups;
    *ret_as = options->as;
    if (options->as || !value_get_string(user, "as"))
        return 0;
    *ret_as = value_get_string(user, "as");
    for (size_t i = 0; i < value_count(groups) && i < OPTION_WORDS_MAX; i++)
        if (value_string(value_at(groups, i)))
            ret_groups->items[ret_groups->count++] = value_string(value_at(groups, i));
    return 0;
}

/* The user of the kubeconfig as kube_config_read() takes it: without what is done here. */
static int resolve_user(struct session *session, const struct value **ret, struct error *error)
{
    static const char *const ours[] = {"as", "as-groups", "exec"};
    const struct value *user = session->choice.user;
    int r;

    if (!user)
        return 0;
    if (value_count(value_get(user, "exec"))) {
        r = session->credential.user
                ? 0
                : exec_plugin_run(&session->choice, &session->credential, error);
        if (r == 0)
            *ret = value_ref(session->credential.user);
        return r;
    }
    *ret = value_ref(user);
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
        const struct value *next = value_without(*ret, ours[i]);

        value_unref(*ret);
        *ret = next;
    }
    return 0;
}

/* The public CAs of the system, where the kubeconfig names none. OpenSSL would look only where the
 * distribution has them on which this program was linked. */
static void use_public_cas(struct kube_config *config)
{
    const char *const bundles[] = {
        getenv("SSL_CERT_FILE"),
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
        "/etc/ssl/ca-bundle.pem",             /* openSUSE */
        "/etc/ssl/cert.pem",                  /* Alpine */
    };

    for (size_t i = 0; !config->ca_pem && i < ARRAY_SIZE(bundles); i++)
        if (bundles[i] && *bundles[i])
            file_read_text(bundles[i], &config->ca_pem, NULL);
}

static int read_config(struct session *session, struct error *error)
{
    _cleanup_value_ const struct value *user = NULL, *only = NULL;
    _cleanup_(str_free_secret_p) char *text = NULL;
    int r = resolve_user(session, &user, error);

    if (r < 0)
        return r;
    only = kubeconfig_only(session->kubeconfig, &session->choice, user);
    text = json_to_str(only);
    r = kube_config_read(text, strlen(text), "/", NULL, &session->config, error);
    if (r == 0)
        use_public_cas(session->config);
    else
        err_wrap(error, "kubeconfig, context %s", session->choice.context);
    return r;
}

static int load_config(struct session *session, struct error *error)
{
    const struct options *options = &session->cli->options;
    _cleanup_(files_done) struct files files = {0};
    int r = find_files(&files, options->kubeconfig, error);

    if (r < 0)
        return r;
    if (!files.count) {
        r = kube_config_in_cluster(NULL, &session->config, error);
        if (r != ERR_NOT_FOUND)
            return r;
        err_set(error, ERR_NOT_FOUND, "NoConfig",
                "there is no kubeconfig: neither --kubeconfig, nor a "
                "file in $KUBECONFIG, nor ~/.kube/config");
        err_hint(error, "export KUBECONFIG=FILE");
        return ERR_NOT_FOUND;
    }
    session->kubeconfig = kubeconfig_merge(files.items, files.count);
    r = kubeconfig_choose(session->kubeconfig, options->context, &session->choice, error);
    return r < 0 ? r : read_config(session, error);
}

/* ---- The client ---- */

static int open_client(struct session *session, struct error *error)
{
    struct kube_client_config config = {
        .config = session->config,
        .requests = session->requests,
        .watches = session->watches,
        .user_agent = "kubectl-kusion/" KUSION_VERSION,
        .is_interactive = true,
    };
    struct option_words groups;
    int r = as_given(session, &config.as, &groups, error);

    if (r < 0)
        return r;
    config.as_groups = groups.items;
    config.n_as_groups = groups.count;
    r = kube_client_new(&config, &session->client, error);
    if (r == 0)
        session->discovery = kube_discovery_new(session->client, &system_clock);
    return r;
}

static void close_client(struct session *session)
{
    kube_discovery_free(session->discovery);
    kube_client_free(session->client);
    session->discovery = NULL;
    session->client = NULL;
}

int session_open(struct cli *cli, struct session *ret, struct error *error)
{
    struct http_loop_config requests = {"http", .max_connections = CONNECTIONS};
    struct http_loop_config watches = {"watch", .max_connections = CONNECTIONS};
    int r;

    *ret = (struct session){.cli = cli};
    r = load_config(ret, error);
    if (r == 0)
        r = http_loop_new(&requests, &ret->requests, error);
    if (r == 0)
        r = http_loop_new(&watches, &ret->watches, error);
    if (r == 0)
        r = open_client(ret, error);
    if (r < 0)
        return r;
    ret->namespace_name = str_new(cli->options.namespace_name ? cli->options.namespace_name
                                                              : ret->config->namespace_name);
    return 0;
}

void session_done(struct session *session)
{
    close_client(session);
    http_loop_free(session->watches);
    http_loop_free(session->requests);
    kube_config_free(session->config);
    credential_done(&session->credential);
    value_unref(session->kubeconfig);
    free(session->namespace_name);
}

int session_renew(struct session *session, struct error *error)
{
    int r;

    if (!session->credential.user)
        return err_set(error, ERR_UNAUTHENTICATED, "Unauthorized",
                       "the API server does not accept the credentials");
    close_client(session);
    credential_done(&session->credential);
    kube_config_free(TAKE(session->config));
    r = read_config(session, error);
    return r < 0 ? r : open_client(session, error);
}

int session_do(struct session *session, const struct kube_request *request,
               const struct value **ret, struct error *error)
{
    struct kube_request timed = *request;
    struct error why = {0};
    int r;

    if (!timed.timeout)
        timed.timeout = session->cli->options.request_timeout;
    r = kube_do(session->client, &timed, ret, &why);
    if (r == ERR_UNAUTHENTICATED && session->credential.user && session_renew(session, NULL) == 0)
        return kube_do(session->client, &timed, ret, error);
    return r < 0 ? err_copy(error, &why) : 0;
}

#include "runtimes/kubernetes/client/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value.h"
#include "engine/base/yaml.h"
#include "runtimes/kubernetes/client/file.h"

void kube_config_free(struct kube_config *config)
{
    if (!config)
        return;
    free(config->server);
    free(config->ca_pem);
    free(config->ca_file);
    free(config->cert_pem);
    str_free_secret(config->key_pem);
    free(config->cert_file);
    free(config->key_file);
    str_free_secret(config->token);
    free(config->token_file);
    free(config->tls_server_name);
    free(config->proxy_url);
    free(config->namespace_name);
    free(config);
}

/* Bytes of a certificate, or of a list of them, or of a key, in somebody else's kubeconfig: several
 * copies of them are kept for each of the clusters that he names. */
#define MOST_PEM (32u << 10)

#define invalid(error, ...) err_set(error, ERR_INVALID, "InvalidConfig", __VA_ARGS__)

static int unsupported(struct error *error, const char *field, const char *instead)
{
    return err_set(error, ERR_UNSUPPORTED, "UnsupportedConfig", "%s is not supported: %s", field,
                   instead);
}

/* A field's text; NULL where it is absent or empty, which kubectl takes as the same. */
static const char *text_of(const struct value *object, const char *key)
{
    const char *text = value_get_string(object, key);

    return text && *text ? text : NULL;
}

/* ---- The named lists ---- */

static void add_names(struct buf *to, const struct value *list)
{
    for (size_t i = 0; i < value_count(list) && i < 10; i++) {
        const char *name = value_get_string(value_at(list, i), "name");

        buf_printf(to, "%s%s", i ? ", " : "", name ? name : "?");
    }
    if (value_count(list) > 10)
        buf_printf(to, " and %zu more", value_count(list) - 10);
    if (value_count(list) == 0)
        buf_add_str(to, "none");
}

/* {list: [{name: …, kind: {…}}]}: the entry's kind member. */
static int named(const struct value *root, const char *list, const char *kind, const char *name,
                 const struct value **ret, struct error *error)
{
    const struct value *entries = value_get(root, list);
    _cleanup_buf_ struct buf names = BUF_INIT;

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);

        if (str_equal(value_get_string(entry, "name"), name)) {
            *ret = value_get(entry, kind);
            return 0;
        }
    }
    add_names(&names, entries);
    return invalid(error, "no %s is named \"%s\" (there are: %s)", kind, name, names.data);
}

/* ---- Values that stand inside, or in a file beside ---- */

/* The path of a file that a field names. folder NULL: no files may be named. */
static int beside(const char *folder, const char *field, const char *file, char **ret,
                  struct error *error)
{
    if (!folder)
        return err_set(error, ERR_UNSUPPORTED, "UnsupportedConfig",
                       "%s names a file, \"%s\", which only a kubeconfig that is a file itself may "
                       "do: write the file's content into the kubeconfig",
                       field, file);
    *ret = file[0] == '/' ? str_new(file) : str_printf("%s/%s", folder, file);
    return 0;
}

/* Base64 over one or several lines, as kubectl takes it. */
static bool decode_lines(const char *data, struct buf *to)
{
    char *joined = mem_new(strlen(data) + 1), *end = joined;
    bool is_base64;

    for (; *data; data++)
        if (*data != '\n' && *data != '\r')
            *end++ = *data;
    is_base64 = base64_decode(to, joined, (size_t)(end - joined));
    str_free_secret(joined);
    return is_base64 && strlen(to->data) == to->length;
}

/* *ret_file: where it was read from, if it was a file. */
static int pem_of(const struct value *object, const char *field, const char *folder, char **ret,
                  char **ret_file, struct error *error)
{
    _cleanup_free_ char *data_field = str_printf("%s-data", field), *path = NULL;
    _cleanup_buf_ struct buf decoded = BUF_INIT;
    const char *data = text_of(object, data_field), *file = text_of(object, field);
    int r;

    if (data) {
        if (!decode_lines(data, &decoded))
            return invalid(error, "%s is not base64 of PEM text", data_field);
        if (!folder && decoded.length > MOST_PEM)
            return invalid(error, "%s has %zu bytes, of at most %u", data_field, decoded.length,
                           MOST_PEM);
        *ret = buf_take(&decoded);
        return 0;
    }
    if (!file)
        return 0;
    r = beside(folder, field, file, &path, error);
    if (r < 0)
        return r;
    r = file_read_text(path, ret, error);
    if (r < 0)
        err_wrap(error, "%s", field);
    else
        *ret_file = TAKE(path);
    return r;
}

/* ---- Cluster ---- */

static bool is_loopback(const char *server)
{
    static const char *const loopback[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};

    for (size_t i = 0; i < ARRAY_SIZE(loopback); i++) {
        size_t length = strlen(loopback[i]);

        if (str_has_prefix(server, loopback[i]) && strchr(":/", server[length]))
            return true; /* the terminating NUL is found too */
    }
    return false;
}

/* folder NULL: of somebody else's kubeconfig, for whom the operator's own loopback is out of reach.
 */
static int read_server(const struct value *cluster, const char *folder, struct kube_config *config,
                       struct error *error)
{
    const char *server = text_of(cluster, "server");
    size_t length;

    if (!server)
        return invalid(error, "the cluster has no server");
    if (str_has_prefix(server, "http://") && (!folder || !is_loopback(server)))
        return invalid(error, "server \"%s\" is not encrypted: use https://", server);
    if (!str_has_prefix(server, "https://") && !str_has_prefix(server, "http://"))
        return invalid(error, "server \"%s\" does not begin with https://", server);
    length = strlen(server);
    while (length && server[length - 1] == '/')
        length--;
    config->server = str_new_n(server, length);
    return 0;
}

static int read_cluster(const struct value *cluster, const char *folder, struct kube_config *config,
                        struct error *error)
{
    int r;

    if (value_bool(value_get(cluster, "insecure-skip-tls-verify"), false))
        return unsupported(error, "insecure-skip-tls-verify",
                           "give the server's CA as certificate-authority-data");
    if (!folder && text_of(cluster, "proxy-url"))
        return unsupported(error, "proxy-url",
                           "only a kubeconfig that is a file of the operator's own may name a "
                           "proxy, as it is connected to before any certificate is verified");
    r = read_server(cluster, folder, config, error);
    if (r < 0)
        return r;
    config->tls_server_name = str_new(text_of(cluster, "tls-server-name"));
    config->proxy_url = str_new(text_of(cluster, "proxy-url"));
    return pem_of(cluster, "certificate-authority", folder, &config->ca_pem, &config->ca_file,
                  error);
}

/* ---- User ---- */

static int refuse_programs(const struct value *user, struct error *error)
{
    static const struct {
        const char *field, *instead;
    } refused[] = {
        {"exec", "it starts a program; use a client certificate, a token, or a tokenFile that "
                 "something else keeps fresh (kubectl create token)"},
        {"auth-provider", "use a client certificate, a token, or a tokenFile that something else "
                          "keeps fresh (kubectl create token)"},
        {"username", "the API server has no passwords; use a client certificate or a token"},
        {"password", "the API server has no passwords; use a client certificate or a token"},
        {"as", "an identity that every request takes on would be in the way of the "
               "operator's own impersonation; use that identity's own credentials"},
        {"as-uid", "use that identity's own credentials"},
        {"as-groups", "use that identity's own credentials"},
        {"as-user-extra", "use that identity's own credentials"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        const struct value *field = value_get(user, refused[i].field);
        const char *text = value_string(field);

        if ((text && *text) || value_count(field) > 0)
            return unsupported(error, refused[i].field, refused[i].instead);
    }
    return 0;
}

static int read_user(const struct value *user, const char *folder, struct kube_config *config,
                     struct error *error)
{
    const char *token = text_of(user, "token"), *token_file = text_of(user, "tokenFile");
    int r = refuse_programs(user, error);

    if (r < 0)
        return r;
    r = pem_of(user, "client-certificate", folder, &config->cert_pem, &config->cert_file, error);
    if (r < 0)
        return r;
    r = pem_of(user, "client-key", folder, &config->key_pem, &config->key_file, error);
    if (r < 0)
        return r;
    if (!config->cert_pem != !config->key_pem)
        return invalid(error, "client-certificate and client-key go together: %s is missing",
                       config->cert_pem ? "client-key" : "client-certificate");
    /* As in kubectl, the file wins: what stands inside was there before it rotated. */
    if (token_file)
        return beside(folder, "tokenFile", token_file, &config->token_file, error);
    config->token = str_new(token);
    return 0;
}

/* ---- The whole ---- */

static int read_config(const struct value *root, const char *context_name, const char *folder,
                       struct kube_config *config, struct error *error)
{
    const struct value *context, *cluster, *user = NULL;
    const char *cluster_name, *user_name, *namespace_name;
    _cleanup_buf_ struct buf names = BUF_INIT;
    int r;

    if (!context_name)
        context_name = text_of(root, "current-context");
    if (!context_name) {
        add_names(&names, value_get(root, "contexts"));
        return invalid(error, "no current-context (contexts: %s)", names.data);
    }
    r = named(root, "contexts", "context", context_name, &context, error);
    if (r < 0)
        return r;
    cluster_name = text_of(context, "cluster");
    if (!cluster_name)
        return invalid(error, "context \"%s\" names no cluster", context_name);
    r = named(root, "clusters", "cluster", cluster_name, &cluster, error);
    if (r < 0)
        return r;
    user_name = text_of(context, "user");
    if (user_name && (r = named(root, "users", "user", user_name, &user, error)) < 0)
        return r;

    r = read_cluster(cluster, folder, config, error);
    if (r < 0) {
        err_wrap(error, "cluster \"%s\"", cluster_name);
        return r;
    }
    r = read_user(user, folder, config, error);
    if (r < 0) {
        err_wrap(error, "user \"%s\"", user_name ? user_name : "");
        return r;
    }
    namespace_name = text_of(context, "namespace");
    config->namespace_name = str_new(namespace_name ? namespace_name : "default");
    return 0;
}

/* $KUBECONFIG's first file that exists, else ~/.kube/config. */
static char *default_path(void)
{
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");

    if (!list || !*list)
        return str_printf("%s/.kube/config", home && *home ? home : "/root");
    for (const char *start = list; *start;) {
        size_t length = strcspn(start, ":");
        _cleanup_free_ char *path = str_new_n(start, length);

        if (length && access(path, F_OK) == 0)
            return TAKE(path);
        start += length;
        start += *start == ':';
    }
    return str_new_n(list, strcspn(list, ":"));
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return str_new(".");
    return str_new_n(path, slash == path ? 1 : (size_t)(slash - path));
}

int kube_config_read(const char *text, size_t length, const char *folder, const char *context,
                     struct kube_config **ret, struct error *error)
{
    _cleanup_(kube_config_free_p) struct kube_config *config = NEW(struct kube_config);
    _cleanup_value_ const struct value *root = NULL;
    int r = yaml_read(text, length, &root, error);

    if (r == 0)
        r = read_config(root, context, folder, config, error);
    if (r < 0)
        return r;
    *ret = TAKE(config);
    return 0;
}

int kube_config_load(const char *path, const char *context, struct kube_config **ret,
                     struct error *error)
{
    _cleanup_free_ char *chosen = path ? str_new(path) : default_path();
    _cleanup_free_ char *folder = folder_of(chosen), *text = NULL;
    int r = file_read_text(chosen, &text, error);

    if (r < 0) {
        err_wrap(error, "kubeconfig");
        return r;
    }
    r = kube_config_read(text, strlen(text), folder, context, ret, error);
    if (r < 0)
        err_wrap(error, "kubeconfig %s", chosen);
    return r;
}

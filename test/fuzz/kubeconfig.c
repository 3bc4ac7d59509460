/*
 * Kubeconfigs, from a file and from memory. The first line names a context, or is empty; the rest
 * is the file. What was read keeps to what kubectl and config.h promise: an encrypted server (or
 * the same machine), certificate and key together, no file that a text from memory names; and no
 * message tells a token or a key.
 */
#include "engine/base/str.h"
#include "engine/value/value.h"
#include "engine/yaml/yaml.h"
#include "runtimes/kubernetes/client/config.h"
#include "test/fuzz/fuzz.h"

#define FOLDER       "/proc/self/fdinfo/no-such-folder"
#define SECRET_BYTES 8 /* shorter ones may be words of any message */

static void check_server(const char *server)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    bool is_here = false;

    must(server && !str_has_suffix(server, "/"));
    if (str_has_prefix(server, "https:/"))
        return;
    must(str_has_prefix(server, "http://"));
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        const char *end = server + strlen("http://") + strlen(hosts[i]);

        if (str_has_prefix(server + strlen("http://"), hosts[i]))
            is_here |= *end == '\0' || *end == ':' || *end == '/';
    }
    must(is_here);
}

static void check_config(const struct kube_config *config, bool from_memory)
{
    check_server(config->server);
    must(!config->cert_pem == !config->key_pem);
    must(config->namespace_name && *config->namespace_name);
    must(!config->token || (!config->token_file && *config->token));
    must(!config->ca_file || config->ca_pem);
    must(!config->cert_file || config->cert_pem);
    must(!config->key_file || config->key_pem);
    must(!from_memory ||
         (!config->ca_file && !config->cert_file && !config->key_file && !config->token_file));
    must(!config->token_file || config->token_file[0] == '/');
}

/* No user's token, key or password is in a message, unless the text has it elsewhere, too. */
static void check_message(const struct value *root, const char *text, const char *message)
{
    static const char *const secrets[] = {"token", "password", "client-key-data"};
    const struct value *users = value_get(root, "users");

    for (size_t i = 0; i < value_count(users); i++)
        for (size_t n = 0; n < ARRAY_SIZE(secrets); n++) {
            const char *secret =
                value_get_string(value_get(value_at(users, i), "user"), secrets[n]);
            const char *first =
                secret && strlen(secret) >= SECRET_BYTES ? strstr(text, secret) : NULL;

            if (first && !strstr(first + 1, secret))
                must(!strstr(message, secret));
        }
}

static struct kube_config *read_as(const char *text, const char *folder, const char *context,
                                   const struct value *root)
{
    struct kube_config *config = NULL;
    struct error error = {0};
    int r = kube_config_read(text, strlen(text), folder, context, &config, &error);

    must_agree(r, &error);
    must((r == 0) == (config != NULL));
    if (config)
        check_config(config, !folder);
    else
        check_message(root, text, error.message);
    return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size),
                        *text = str_new_n((const char *)data, size);
    const char *context = *line ? line : NULL;
    _cleanup_value_ const struct value *root = NULL;
    struct kube_config *from_file, *from_memory;

    yaml_read(text, strlen(text), &root, NULL);
    from_file = read_as(text, FOLDER, context, root);
    from_memory = read_as(text, NULL, context, root);
    if (from_memory) { /* a text without files is the same everywhere */
        must(from_file && str_equal(from_file->server, from_memory->server));
        must(str_equal(from_file->token, from_memory->token));
        must(str_equal(from_file->ca_pem, from_memory->ca_pem));
        must(str_equal(from_file->cert_pem, from_memory->cert_pem));
    }
    kube_config_free(from_file);
    kube_config_free(from_memory);
    return 0;
}

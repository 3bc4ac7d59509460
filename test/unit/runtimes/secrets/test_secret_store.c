/* What all providers have in common, by the one of tests; and which hosts are asked. Each provider
 * is tried against a server in test/e2e/test_secret_store*.py. */
#include "runtimes/secrets/secret_store.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/http_hosts.h"
#include "runtimes/secrets/cache.h"
#include "test/unit/suite.h"

static unsigned tokens;

static int no_token(void *arg, const char *audience, int64_t deadline, struct cancel *cancel,
                    char **ret, struct error *error)
{
    (void)arg, (void)audience, (void)deadline, (void)cancel, (void)ret;
    tokens++;
    return err_set(error, ERR_FORBIDDEN, "SecretDenied", "no token");
}

struct made {
    struct secret_stores stores;
    struct http_hosts *hosts;
};

static void make(struct made *made, const char *const *hosts, size_t n)
{
    made->hosts = http_hosts_new();
    for (size_t i = 0; i < n; i++)
        EXPECT_INT(http_hosts_add(made->hosts, hosts[i], NULL), 0, hosts[i]);
    made->stores = (struct secret_stores){.hosts = made->hosts, .cache = secret_cache_new()};
    EXPECT_INT(
        http_loop_new(&(struct http_loop_config){.name = "secrets"}, &made->stores.loop, NULL), 0,
        "loop");
}

static void unmake(struct made *made)
{
    http_loop_free(made->stores.loop);
    secret_cache_free(made->stores.cache);
    http_hosts_free(made->hosts);
}

static int open_store(const struct made *made, const char *settings, struct secret_store **ret,
                      struct error *error)
{
    _cleanup_value_ const struct value *value = NULL;

    CU_ASSERT_EQUAL_FATAL(json_read_str(settings, &value, NULL), 0);
    return secret_store_open(&made->stores, "team", "reader", value, no_token, NULL, ret, error);
}

#ifdef KUSION_TEST_RUNTIME
#define FAKE                                                                                      \
    "{\"provider\":{\"fake\":{\"data\":[{\"key\":\"db\",\"value\":\"{\\\"p\\\":\\\"one\\\"}\","   \
    "\"version\":\"1\"},{\"key\":\"db\",\"valueMap\":{\"p\":\"two\",\"n\":5,\"b\":false,\"e\":"   \
    "\"\",\"null\":null,\"tls\":{\"ca\":\"x\",\"l\":[\"y\"]},\"a.b\":\"dotted\"},\"version\":\"2" \
    "\"},{\"key\":\"plain\",\"value\":\"text\",\"version\":\"a b\\n\"}]}}}"

static void takes_properties(void)
{
    static const struct {
        const char *reference, *value, *version; /* value NULL: SecretNotFound */
    } rows[] = {
        {"ref://db/p", "two", "2"},
        {"ref://db/p?version=1", "one", "1"},
        {"ref://db/n", "5", "2"},
        {"ref://db/b", "false", "2"},
        {"ref://db/tls", "{\"ca\":\"x\",\"l\":[\"y\"]}", "2"},
        {"ref://db/tls.ca", "x", "2"},
        {"ref://db/tls.l[0]", "y", "2"},
        {"ref://db/a.b", "dotted", "2"},
        {"ref://plain", "text", "a_b_"},
        {"ref://db?version=1", "{\"p\":\"one\"}", "1"},
        {"ref://plain/p", NULL, NULL},
        {"ref://db/e", NULL, NULL},
        {"ref://db/null", NULL, NULL},
        {"ref://db/other", NULL, NULL},
        {"ref://db/tls[", NULL, NULL},
        {"ref://db/p?version=3", NULL, NULL},
        {"ref://other/p", NULL, NULL},
    };
    struct secret_store *store = NULL;
    struct made made;

    make(&made, NULL, 0);
    EXPECT_INT(open_store(&made, FAKE, &store, NULL), 0, "open");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t deadline = system_clock.monotonic(&system_clock) + 5000;
        struct secret_ref ref = {0};
        struct secret secret = {0};
        struct error error = {0};
        int r;

        EXPECT_INT(secret_ref_parse(rows[i].reference, &ref, NULL), 0, rows[i].reference);
        r = secret_store_get(store, &ref, deadline, NULL, &secret, &error);
        EXPECT_INT(r, rows[i].value ? 0 : ERR_INVALID, rows[i].reference);
        EXPECT_STR(value_string(secret.value), rows[i].value, rows[i].reference);
        EXPECT_STR(secret.version, rows[i].version, rows[i].reference);
        if (rows[i].value)
            EXPECT(value_is_sensitive(secret.value), rows[i].reference);
        else
            EXPECT_STR(error.reason, "SecretNotFound", error.message);
        value_unref(secret.value);
        free(secret.version);
        secret_ref_done(&ref);
    }
    secret_store_free(store);
    unmake(&made);
}
#endif

#define VAULT(server) \
    "{\"provider\":{\"vault\":{\"server\":\"" server "\"}},\"auth\":{\"role\":\"a\"}}"

#define PATHS(path, mount)                                                                 \
    "{\"provider\":{\"vault\":{\"server\":\"https://vault.example:8200\",\"path\":\"" path \
    "\"}},\"auth\":{\"role\":\"a\",\"mount\":\"" mount "\"}}"

static void asks_no_other_host(void)
{
    static const char *const hosts[] = {"vault.example:8200", "other/vault.elsewhere",
                                        "*.vault.azure.net", "login.microsoftonline.com"};
    static const struct {
        const char *settings;
        int code;
    } rows[] = {
        {VAULT("https://vault.example:8200"), 0},
        {VAULT("https://vault.example:8200/"), 0},
        {VAULT("https://VAULT.example:8200"), 0},
        {VAULT("https://vault.example"), ERR_FORBIDDEN},
        {VAULT("http://vault.example:8200"), ERR_FORBIDDEN},
        {VAULT("https://vault.elsewhere"), ERR_FORBIDDEN},
        {VAULT("https://vault.example.:8200"), ERR_FORBIDDEN},
        {VAULT("https://127.0.0.1:8200"), ERR_FORBIDDEN},
        {VAULT("https://2130706433:8200"), ERR_FORBIDDEN},
        {VAULT("https://[::1]:8200"), ERR_FORBIDDEN},
        {VAULT("https://169.254.169.254"), ERR_FORBIDDEN},
        {VAULT("https://vault.example:8200@evil"), ERR_INVALID},
        {VAULT("https://vault.example:8200?x"), ERR_INVALID},
        {VAULT("https://vault.example:8200#x"), ERR_INVALID},
        {VAULT("ftp://vault.example:8200"), ERR_INVALID},
        {VAULT("vault"), ERR_INVALID},
        {"{\"provider\":{\"azure\":{\"vaultUrl\":\"https://a.vault.azure.net\",\"tenantId\":\"t\"}}"
         ",\"auth\":{\"clientId\":\"c\"}}",
         0},
        {"{\"provider\":{\"azure\":{\"vaultUrl\":\"https://a.vault.azure.net.evil\",\"tenantId\":"
         "\"t\"}},\"auth\":{\"clientId\":\"c\"}}",
         ERR_FORBIDDEN},
        {"{\"provider\":{\"aws\":{\"region\":\"a.evil.com/\"}},\"auth\":{\"role\":\"r\"}}",
         ERR_INVALID},
        {"{\"provider\":{\"aws\":{\"region\":\"eu-west-1\"}},\"auth\":{\"role\":\"r\"}}",
         ERR_FORBIDDEN},
        {"{\"provider\":{\"alicloud\":{\"region\":\"x#\"}},\"auth\":{\"role\":\"r\"}}",
         ERR_INVALID},
        {"{\"provider\":{\"other\":{}}}", ERR_UNSUPPORTED},
        {PATHS("a/b", "c/d"), 0},
        {PATHS("a.b", "..."), 0},
        {PATHS("..", "c"), ERR_INVALID},
        {PATHS("a/../b", "c"), ERR_INVALID},
        {PATHS("a", "../../sys"), ERR_INVALID},
        {PATHS("/a", "c"), ERR_INVALID},
        {PATHS("a/", "c"), ERR_INVALID},
        {PATHS("a", "c//d"), ERR_INVALID},
    };
    struct made made;

    make(&made, hosts, ARRAY_SIZE(hosts));
    tokens = 0;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct secret_store *store = NULL;
        struct error error = {0};

        EXPECT_INT(open_store(&made, rows[i].settings, &store, &error), rows[i].code,
                   rows[i].settings);
        if (rows[i].code == ERR_FORBIDDEN)
            EXPECT(strstr(error.message, SECRET_STORE_FLAG), error.message);
        secret_store_free(store);
    }
    EXPECT_INT(tokens, 0, "no token is made");
    unmake(&made);
}

/* Spellings of inner addresses, and of hosts that look like the one that is named. */
static void no_spelling_of_a_server_gets_a_token(void)
{
    static const char *const hosts[] = {"vault.example:8200", "http://vault.example:8200"};
    static const char *const servers[] = {
        "http://127.0.0.1:8200",
        "http://2130706433:8200",
        "http://0x7f.1:8200",
        "http://127.1:8200",
        "http://0177.0.0.1:8200",
        "http://017700000001:8200",
        "http://0:8200",
        "http://0.0.0.0:8200",
        "http://localhost:8200",
        "http://localhost.:8200",
        "http://[::1]:8200",
        "http://[::]:8200",
        "http://[::ffff:127.0.0.1]:8200",
        "http://[::ffff:7f00:1]:8200",
        "http://[::127.0.0.1]:8200",
        "http://[64:ff9b::7f00:1]:8200",
        "http://[2002:7f00:1::]:8200",
        "http://[fe80::1%25lo]:8200",
        "http://user@127.0.0.1:8200",
        "http://vault.example:8200@127.0.0.1:8200",
        "http://127.0.0.1:8200#@vault.example:8200",
        "http://127.0.0.1:8200?@vault.example:8200",
        "http://127.0.0.1:8200\\\\@vault.example:8200",
        "http://127.0.0.1%00.vault.example:8200",
        "http://%31%32%37.0.0.1:8200",
        "http://vault%2eexample:8200",
        "http:\\\\\\\\127.0.0.1:8200",
        "http:127.0.0.1:8200",
        "http:///127.0.0.1:8200",
        "//127.0.0.1:8200",
        "http://vault.example:8200\\r\\nHost: 127.0.0.1",
        "http://vault.example: 8200",
        "http://vault.example.:8200",
        "http://vault.example.evil:8200",
        "http://vault.example:08200x",
        "http://evil.vault.example:8200",
        "http://\uff11\uff12\uff17.0.0.1:8200",
        "unix:///run/kms.sock",
        "file:///etc/passwd",
        "gopher://127.0.0.1:8200/_x",
        "dict://127.0.0.1:8200",
        "https://kubernetes.default.svc",
        "http://169.254.169.254/latest",
        "http://[fd00:ec2::254]/latest",
        "http://metadata.google.internal",
        "http://100.100.100.200",
        "",
    };
    struct made made;

    make(&made, hosts, ARRAY_SIZE(hosts));
    tokens = 0;
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        _cleanup_free_ char *settings = str_printf(VAULT("%s"), servers[i]);
        struct secret_store *store = NULL;
        int r = open_store(&made, settings, &store, NULL);

        EXPECT(r == ERR_FORBIDDEN || r == ERR_INVALID, settings);
        secret_store_free(store);
    }
    EXPECT_INT(tokens, 0, "no token is made");
    unmake(&made);
}

SUITE(secret_store,
#ifdef KUSION_TEST_RUNTIME
      TEST(takes_properties),
#endif
      TEST(asks_no_other_host), TEST(no_spelling_of_a_server_gets_a_token))

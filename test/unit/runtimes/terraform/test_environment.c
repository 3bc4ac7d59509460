/* What of a Spec's context a provider's process gets, and who shares one. */
#include "runtimes/terraform/environment.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/terraform/need.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static void variables_are_told_by_their_names(void)
{
    static const struct {
        const char *context, *environment; /* as "A=b;C=d;" */
    } rows[] = {
        {"{}", ""},
        {"{\"AWS_REGION\":\"eu-1\",\"_A1\":\"\"}", "AWS_REGION=eu-1;_A1=;"},
        {"{\"PGPORT\":5432,\"DEBUG\":true,\"QUIET\":false}", "PGPORT=5432;DEBUG=true;QUIET=false;"},
        {"{\"region\":\"eu\",\"aB\":1,\"A-B\":1,\"1A\":1,\"\":1,\"labels\":{}}", ""},
        {"{\"GOOGLE_CREDENTIALS\":\"a\"}", "GOOGLE_CREDENTIALS=a;"},
        {"{\"LDAP\":\"a\",\"TFE\":\"b\",\"PATHS\":\"c\"}", "LDAP=a;TFE=b;PATHS=c;"},
        {"{\"A\":\"a=b\\nc\"}", "A=a=b\nc;"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *context = parse(rows[i].context), *environment = NULL;
        _cleanup_(environment_strings_free_p) char **strings = NULL;
        _cleanup_buf_ struct buf text = BUF_INIT;
        struct error error = {0};

        EXPECT_INT(environment_read(context, &environment, &error),
                   rows[i].environment ? 0 : ERR_INVALID, rows[i].context);
        strings = environment_strings(environment);
        for (char **string = strings; *string; string++)
            buf_printf(&text, "%s;", *string);
        if (rows[i].environment)
            EXPECT_STR(text.data ? text.data : "", rows[i].environment, rows[i].context);
    }
}

static void what_is_wrong_is_named(void)
{
    static const struct {
        const char *context;
        int code;
        const char *place;
    } rows[] = {
        {"{\"LD_PRELOAD\":\"a.so\"}", ERR_INVALID, "context.LD_PRELOAD: "},
        {"{\"GODEBUG\":\"a\"}", ERR_INVALID, "context.GODEBUG: "},
        {"{\"TF_LOG\":\"trace\"}", ERR_INVALID, "context.TF_LOG: "},
        {"{\"PLUGIN_MIN_PORT\":1}", ERR_INVALID, "context.PLUGIN_MIN_PORT: "},
        {"{\"PATH\":\"/bin\"}", ERR_INVALID, "context.PATH: "},
        {"{\"TMPDIR\":\"/\"}", ERR_INVALID, "context.TMPDIR: "},
        {"{\"HOME\":\"/\"}", ERR_INVALID, "context.HOME: "},
        {"{\"HTTPS_PROXY\":\"a:1\"}", ERR_INVALID, "context.HTTPS_PROXY: "},
        {"{\"A\":{}}", ERR_INVALID, "context.A: "},
        {"{\"A\":null}", ERR_INVALID, "context.A: "},
        {"{\"A\":\"a\\u0000b\"}", ERR_INVALID, "context.A: "},
        {"{\"A\":\"ref://aws/key\"}", ERR_UNSUPPORTED, "context.A: "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *context = parse(rows[i].context), *environment = NULL;
        struct error error = {0};

        EXPECT_INT(environment_read(context, &environment, &error), rows[i].code, rows[i].context);
        EXPECT(str_has_prefix(error.message, rows[i].place), error.message);
        EXPECT(!environment, rows[i].context);
    }
}

static void there_is_a_bound(void)
{
    for (int n = ENVIRONMENT_VARIABLES; n <= ENVIRONMENT_VARIABLES + 1; n++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        _cleanup_value_ const struct value *context = NULL, *environment = NULL;

        for (int i = 0; i < n; i++)
            buf_printf(&text, "%s\"A%d\":1", i ? "," : "{", i);
        buf_printf(&text, "}");
        context = parse(text.data);
        EXPECT_INT(environment_read(context, &environment, NULL),
                   n > ENVIRONMENT_VARIABLES ? ERR_INVALID : 0, "bound");
    }
}

static struct need *need_of(const char *namespace_name, const char *account,
                            const char *environment, const char *configuration)
{
    struct source random = {.address = (char[]){"a/b/c"}};
    _cleanup_value_ const struct value *given = environment ? parse(environment) : NULL;
    _cleanup_value_ const struct value *secret = value_sensitive(given);
    _cleanup_value_ const struct value *config = configuration ? parse(configuration) : NULL;
    const struct need_owner owner = {
        .namespace_name = namespace_name, .account = account, .environment = secret};

    return need_new(&random, &owner, config);
}

static void a_process_is_shared_by_those_who_need_the_same(void)
{
    static const struct {
        const char *namespace_name, *account, *environment, *configuration;
        bool is_shared;
    } rows[] = {
        {"a", "b", "{\"K\":\"1\"}", "{\"x\":1}", true},
        {"other", "b", "{\"K\":\"1\"}", "{\"x\":1}", false},
        {"a", "other", "{\"K\":\"1\"}", "{\"x\":1}", false},
        {"a", "b", "{\"K\":\"2\"}", "{\"x\":1}", false},
        {"a", "b", NULL, "{\"x\":1}", false},
        {"a", "b", "{\"K\":\"1\"}", "{\"x\":2}", false},
        {"a", "b", "{\"x\":1}", "{\"K\":\"1\"}", false},
    };
    _cleanup_(need_free_p) struct need *ours = need_of("a", "b", "{\"K\":\"1\"}", "{\"x\":1}");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(need_free_p) struct need *need = need_of(
            rows[i].namespace_name, rows[i].account, rows[i].environment, rows[i].configuration);

        EXPECT(str_equal(need->key, ours->key) == rows[i].is_shared, "shared");
    }
}

static void what_a_provider_quotes_is_hidden(void)
{
    _cleanup_(need_free_p) struct need *need = need_of("a", "b", "{\"K\":\"correct-horse\"}", NULL);
    struct error error = {0};

    err_set(&error, ERR_INVALID, "ProviderError", "no access for correct-horse");
    need_redact(need, &error);
    EXPECT_STR(error.message, "no access for (sensitive value)", "message");
}

/* Who wrote its resources may see less than the Spec. */
static void a_preview_of_other_resources_has_a_process_of_its_own(void)
{
    struct source random = {.address = (char[]){"a/b/c"}};
    const struct need_owner spec = {.namespace_name = "a"},
                            preview = {.namespace_name = "a", .is_preview = true};
    _cleanup_(need_free_p) struct need *ours = need_new(&random, &spec, NULL);
    _cleanup_(need_free_p) struct need *theirs = need_new(&random, &preview, NULL);

    EXPECT(!str_equal(ours->key, theirs->key), "not shared");
}

SUITE(terraform_environment, TEST(a_preview_of_other_resources_has_a_process_of_its_own),
      TEST(variables_are_told_by_their_names), TEST(what_is_wrong_is_named), TEST(there_is_a_bound),
      TEST(a_process_is_shared_by_those_who_need_the_same), TEST(what_a_provider_quotes_is_hidden))

#include "controller/flags.h"

#include <stdio.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

#define MAX_ARGUMENTS 4

/* A command line of copies that end where they end: a read past one is seen. */
struct line {
    char *argv[MAX_ARGUMENTS + 2];
    int argc;
};

static int parse(struct line *line, const char *const arguments[MAX_ARGUMENTS], struct flags *ret,
                 struct error *error)
{
    *line = (struct line){.argv = {str_new("kusion-operator")}, .argc = 1};
    for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        line->argv[line->argc++] = str_new(arguments[i]);
    return flags_parse(line->argc, line->argv, ret, error);
}

static void line_done(struct line *line)
{
    for (int i = 0; i < line->argc; i++)
        free(line->argv[i]);
}

static const struct {
    const char *name;
    size_t offset;
    const char *fallback; /* NULL: none */
} strings[] = {
#define ROW(name, member, fallback)                         \
    {                                                       \
        "--" name, offsetof(struct flags, member), fallback \
    }
    ROW("kubeconfig", kubeconfig, NULL),
    ROW("context", context, NULL),
    ROW("state-namespace", state_namespace, NULL),
    ROW("state-backend", state_backend, "configmap"),
    ROW("state-key", state_key, NULL),
    ROW("state-encryption", state_encryption, NULL),
    ROW("accept-store", accept_store, NULL),
    ROW("watch-namespace", watch_namespace, NULL),
    ROW("watch-label-selector", watch_label_selector, NULL),
    ROW("default-service-account", default_service_account, "default"),
    ROW("lease-name", lease_name, "kusion-operator"),
    ROW("terraform-plugin-dir", terraform_plugin_dir, NULL),
    ROW("terraform-network-mirror", terraform_network_mirror, NULL),
    ROW("terraform-ca-file", terraform_ca_file, NULL),
    ROW("terraform-lock-file", terraform_lock_file, NULL),
    ROW("terraform-cache-dir", terraform_cache_dir, NULL),
    ROW("secret-store-ca-file", secret_store_ca_file, NULL),
    ROW("metrics-bind-address", metrics_bind_address, ":8080"),
    ROW("health-bind-address", health_bind_address, ":9440"),
    ROW("log-level", log_level, "info"),
    ROW("log-format", log_format, "json"),
};

static const struct {
    const char *name;
    size_t offset;
    int64_t fallback;
} counts[] = {
    ROW("concurrent", concurrent, 4),
    ROW("parallelism", parallelism, 10),
    ROW("preview-history-limit", preview_history_limit, 10),
};

static const struct {
    const char *name;
    size_t offset;
    int64_t fallback; /* bytes */
    const char *text; /* of that; NULL: the help has none */
} size_flags[] = {
    {"--operation-memory", offsetof(struct flags, operation_memory), 64 << 20, "64Mi"},
    {"--terraform-memory", offsetof(struct flags, terraform_memory), 0, NULL},
    {"--terraform-cache-size", offsetof(struct flags, terraform_cache_size), 4ll << 30, "4Gi"},
};

static const struct {
    const char *text;
    int64_t bytes;
} sizes[] = {
    {"1", 1}, {"64Mi", 64 << 20}, {"3Ki", 3 << 10}, {"2Gi", 2ll << 30}, {"2147483647", INT32_MAX},
};

static int64_t size_of(const struct flags *flags, size_t i)
{
    return *(const int64_t *)((const char *)flags + size_flags[i].offset);
}

static void takes_sizes(void)
{
    struct flags flags;
    struct line line;

    for (size_t k = 0; k < ARRAY_SIZE(size_flags); k++) {
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
            const char *const arguments[MAX_ARGUMENTS] = {size_flags[k].name, sizes[i].text};

            EXPECT_INT(parse(&line, arguments, &flags, NULL), 0, sizes[i].text);
            EXPECT_INT(size_of(&flags, k), sizes[i].bytes, sizes[i].text);
            line_done(&line);
        }
        EXPECT_INT(parse(&line, (const char *const[MAX_ARGUMENTS]){0}, &flags, NULL), 0, "nothing");
        EXPECT_INT(size_of(&flags, k), size_flags[k].fallback, "unless it is said");
        line_done(&line);
    }
}

static const struct {
    const char *name;
    size_t offset;
    int64_t fallback; /* ms */
    const char *text;
} durations[] = {
    {"--drain-timeout", offsetof(struct flags, drain_timeout), 25000, "25s"},
    {"--max-timeout", offsetof(struct flags, max_timeout), 86400000, "24h"},
    {"--min-interval", offsetof(struct flags, min_interval), 10000, "10s"},
    {"--min-retry-interval", offsetof(struct flags, min_retry_interval), 1000, "1s"},
    {"--verify-interval", offsetof(struct flags, verify_interval), 3600000, "1h"},
    {"--preview-ttl", offsetof(struct flags, preview_ttl), 86400000, "24h"},
    {"--blind-timeout", offsetof(struct flags, blind_timeout), 120000, "2m"},
    {"--stuck-timeout", offsetof(struct flags, stuck_timeout), 600000, "10m"},
    {"--api-request-timeout", offsetof(struct flags, api_request_timeout), 60000, "1m"},
};

static const struct {
    const char *name;
    size_t offset;
    bool fallback;
} booleans[] = {
    ROW("act-as-controller", act_as_controller, false),
    ROW("no-cross-namespace-refs", no_cross_namespace_refs, false),
    ROW("terraform-allow-unconfined", terraform_allow_unconfined, false),
    ROW("leader-elect", leader_elect, true),
    ROW("http1", http1, false),
    ROW("check", check, false),
    ROW("version", version, false),
    ROW("help", help, false),
#undef ROW
};

static const char *string_at(const struct flags *flags, size_t offset)
{
    return *(const char *const *)((const char *)flags + offset);
}

static int64_t count_at(const struct flags *flags, size_t offset)
{
    return *(const int64_t *)((const char *)flags + offset);
}

static bool boolean_at(const struct flags *flags, size_t offset)
{
    return *(const bool *)((const char *)flags + offset);
}

/* Whether all flags but the one at an offset are as they are by default. */
static void expect_defaults(const struct flags *flags, size_t but, const char *note)
{
    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        if (strings[i].offset != but)
            EXPECT_STR(string_at(flags, strings[i].offset), strings[i].fallback, note);
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        if (counts[i].offset != but)
            EXPECT_INT(count_at(flags, counts[i].offset), counts[i].fallback, note);
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
        if (durations[i].offset != but)
            EXPECT_INT(count_at(flags, durations[i].offset), durations[i].fallback, note);
    for (size_t i = 0; i < ARRAY_SIZE(booleans); i++)
        if (booleans[i].offset != but)
            EXPECT_INT(boolean_at(flags, booleans[i].offset), booleans[i].fallback, note);
}

static void has_defaults(void)
{
    struct flags flags;
    struct line line;

    EXPECT_INT(parse(&line, (const char *const[MAX_ARGUMENTS]){0}, &flags, NULL), 0, "nothing");
    expect_defaults(&flags, SIZE_MAX, "nothing");
    line_done(&line);
}

static void expect_string(size_t row, const char *const arguments[MAX_ARGUMENTS],
                          const char *expected)
{
    struct flags flags = {0};
    struct line line;

    EXPECT_INT(parse(&line, arguments, &flags, NULL), 0, arguments[0]);
    EXPECT_STR(string_at(&flags, strings[row].offset), expected, arguments[0]);
    expect_defaults(&flags, strings[row].offset, arguments[0]);
    line_done(&line);
}

static void takes_strings(void)
{
    static const char *const texts[] = {"x", "", "a=b,c!=d", "--x", "ä", " "};

    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        for (size_t t = 0; t < ARRAY_SIZE(texts); t++) {
            _cleanup_free_ char *joined = str_printf("%s=%s", strings[i].name, texts[t]);

            expect_string(i, (const char *const[MAX_ARGUMENTS]){joined}, texts[t]);
            expect_string(i, (const char *const[MAX_ARGUMENTS]){strings[i].name, texts[t]},
                          texts[t]);
        }
}

static void takes_counts(void)
{
    static const char *const texts[] = {"1", "100", "37"};

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        for (size_t t = 0; t < ARRAY_SIZE(texts); t++) {
            struct flags flags = {0};
            struct line line;

            EXPECT_INT(parse(&line, (const char *const[MAX_ARGUMENTS]){counts[i].name, texts[t]},
                             &flags, NULL),
                       0, counts[i].name);
            EXPECT_INT(count_at(&flags, counts[i].offset), strtoll(texts[t], NULL, 10), texts[t]);
            expect_defaults(&flags, counts[i].offset, counts[i].name);
            line_done(&line);
        }
}

static void takes_booleans(void)
{
    static const struct {
        const char *before, *after;
        bool expected;
    } forms[] = {
        {"--", "", true}, {"--", "=true", true}, {"--", "=false", false}, {"--no-", "", false}};

    for (size_t i = 0; i < ARRAY_SIZE(booleans); i++)
        for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
            _cleanup_free_ char *argument =
                str_printf("%s%s%s", forms[f].before, booleans[i].name + 2, forms[f].after);
            struct flags flags = {0};
            struct line line;

            EXPECT_INT(parse(&line, (const char *const[MAX_ARGUMENTS]){argument}, &flags, NULL), 0,
                       argument);
            EXPECT_INT(boolean_at(&flags, booleans[i].offset), forms[f].expected, argument);
            expect_defaults(&flags, booleans[i].offset, argument);
            line_done(&line);
        }
}

static void takes_several_and_the_last_counts(void)
{
    struct flags flags;
    struct line line;

    EXPECT_INT(parse(&line,
                     (const char *const[MAX_ARGUMENTS]){"--concurrent=2", "--no-leader-elect",
                                                        "--concurrent=3", "--log-level=debug"},
                     &flags, NULL),
               0, "several");
    EXPECT_INT(flags.concurrent, 3, "the last");
    EXPECT_INT(flags.leader_elect, false, "between");
    EXPECT_STR(flags.log_level, "debug", "after");
    line_done(&line);
}

static const struct {
    const char *arguments[MAX_ARGUMENTS];
    const char *message;
} refused[] = {
    {{"--nothing"}, "--nothing is not known; see --help"},
    {{"--nothing=1"}, "--nothing=1 is not known; see --help"},
    {{"--http"}, "--http is not known; see --help"},
    {{"--http11"}, "--http11 is not known; see --help"},
    {{"--HTTP1"}, "--HTTP1 is not known; see --help"},
    {{"--"}, "-- is not known; see --help"},
    {{"--=1"}, "--=1 is not known; see --help"},
    {{"--no-"}, "--no- is not known; see --help"},
    {{"--no-no-http1"}, "--no-no-http1 is not known; see --help"},
    {{"--no-http1=true"}, "--no-http1=true is not known; see --help"},
    {{"--no-concurrent"}, "--no-concurrent is not known; see --help"},
    {{"--no-concurrent", "5"}, "--no-concurrent is not known; see --help"},
    {{"--no-kubeconfig"}, "--no-kubeconfig is not known; see --help"},
    {{""}, "\"\" is not a flag; see --help"},
    {{"-"}, "\"-\" is not a flag; see --help"},
    {{"x"}, "\"x\" is not a flag; see --help"},
    {{"-help"}, "\"-help\" is not a flag; see --help"},
    {{"help"}, "\"help\" is not a flag; see --help"},
    {{"--http1", "true"}, "\"true\" is not a flag; see --help"},
    {{"--kubeconfig"}, "--kubeconfig wants a value"},
    {{"--http1", "--concurrent"}, "--concurrent wants a value"},
    {{"--concurrent="}, "--concurrent: \"\" is not a number from 1 to 100"},
    {{"--concurrent=0"}, "--concurrent: \"0\" is not a number from 1 to 100"},
    {{"--concurrent=101"}, "--concurrent: \"101\" is not a number from 1 to 100"},
    {{"--concurrent=-1"}, "--concurrent: \"-1\" is not a number from 1 to 100"},
    {{"--concurrent=1.5"}, "--concurrent: \"1.5\" is not a number from 1 to 100"},
    {{"--concurrent=0x4"}, "--concurrent: \"0x4\" is not a number from 1 to 100"},
    {{"--concurrent= 4"}, "--concurrent: \" 4\" is not a number from 1 to 100"},
    {{"--parallelism", "4 "}, "--parallelism: \"4 \" is not a number from 1 to 100"},
    {{"--parallelism", "four"}, "--parallelism: \"four\" is not a number from 1 to 100"},
    {{"--parallelism", "18446744073709551617"},
     "--parallelism: \"18446744073709551617\" is not a number from 1 to 100"},
    {{"--operation-memory=64M"}, "--operation-memory: \"64M\" is not a size as \"64Mi\" is"},
    {{"--operation-memory=0"}, "--operation-memory: \"0\" is not a size as \"64Mi\" is"},
    {{"--operation-memory="}, "--operation-memory: \"\" is not a size as \"64Mi\" is"},
    {{"--operation-memory=Mi"}, "--operation-memory: \"Mi\" is not a size as \"64Mi\" is"},
    {{"--operation-memory=-1Mi"}, "--operation-memory: \"-1Mi\" is not a size as \"64Mi\" is"},
    {{"--drain-timeout=5"}, "--drain-timeout: \"5\" is not a duration as \"1m30s\" is"},
    {{"--drain-timeout=-5s"}, "--drain-timeout: \"-5s\" is not a duration as \"1m30s\" is"},
    {{"--drain-timeout="}, "--drain-timeout: \"\" is not a duration as \"1m30s\" is"},
    {{"--http1="}, "--http1: \"\" is neither true nor false"},
    {{"--http1=yes"}, "--http1: \"yes\" is neither true nor false"},
    {{"--http1=True"}, "--http1: \"True\" is neither true nor false"},
    {{"--http1=truer"}, "--http1: \"truer\" is neither true nor false"},
};

static void refuses_and_says_what_is_wrong(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct flags flags = {.lease_name = "as it was"};
        struct error error = {0};
        struct line line;

        EXPECT_INT(parse(&line, refused[i].arguments, &flags, &error), ERR_INVALID,
                   refused[i].message);
        EXPECT_STR(error.message, refused[i].message, "message");
        EXPECT_STR(error.reason, "InvalidFlag", refused[i].message);
        EXPECT_STR(flags.lease_name, "as it was", refused[i].message);
        line_done(&line);
    }
}

/* What help prints; free() it. */
static char *help(void)
{
    FILE *file = tmpfile();
    int own = dup(STDOUT_FILENO);
    char *text = NULL;
    size_t size = 0;

    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    flags_print_help();
    fflush(stdout);
    dup2(own, STDOUT_FILENO);
    close(own);
    rewind(file);
    if (getdelim(&text, &size, '\0', file) < 0)
        abort();
    fclose(file);
    return text;
}

static void expect_help(const char *text, const char *name, const char *fallback)
{
    _cleanup_free_ char *start = str_printf("\n  %s ", name);
    _cleanup_free_ char *end = fallback ? str_printf(" (%s)\n", fallback) : NULL;
    const char *line = strstr(text, start);

    EXPECT(line, name);
    if (!line || !end)
        return;
    line = strchr(line + 1, '\n') + 1 - strlen(end);
    EXPECT(str_has_prefix(line, end), name);
}

static void help_names_each_with_its_default(void)
{
    _cleanup_free_ char *text = help();
    size_t n_flags = 0;

    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        expect_help(text, strings[i].name, strings[i].fallback);
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        _cleanup_free_ char *fallback = str_printf("%lld", (long long)counts[i].fallback);

        expect_help(text, counts[i].name, fallback);
    }
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
        expect_help(text, durations[i].name, durations[i].text);
    for (size_t i = 0; i < ARRAY_SIZE(size_flags); i++)
        expect_help(text, size_flags[i].name, size_flags[i].text);
    expect_help(text, "--terraform-provider", NULL);
    expect_help(text, "--allow-cluster-address", NULL);
    expect_help(text, "--terraform-download-from", NULL);
    expect_help(text, "--secret-store-host", NULL);
    expect_help(text, "--http-host", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(booleans); i++)
        expect_help(text, booleans[i].name, booleans[i].fallback ? "true" : "false");
    for (const char *at = text; (at = strstr(at, "\n  --")); at++)
        n_flags++;
    EXPECT_INT(n_flags,
               ARRAY_SIZE(strings) + ARRAY_SIZE(counts) + ARRAY_SIZE(size_flags) + 5 +
                   ARRAY_SIZE(durations) + ARRAY_SIZE(booleans),
               "flags that the tables of this file have");
}

static void takes_one_several_times(void)
{
    static const char *const arguments[MAX_ARGUMENTS] = {
        "--terraform-provider", "hashicorp/random", "--terraform-provider=hashicorp/tls@~> 4.0"};
    char *argv[FLAGS_VALUES + 2];
    struct error error = {0};
    struct flags flags;
    struct line line;

    EXPECT_INT(parse(&line, arguments, &flags, &error), 0, error.message);
    EXPECT_INT(flags.terraform_providers.count, 2, "both");
    EXPECT_STR(flags.terraform_providers.items[0], "hashicorp/random", "the first");
    EXPECT_STR(flags.terraform_providers.items[1], "hashicorp/tls@~> 4.0", "the second");
    line_done(&line);
    argv[0] = str_new("kusion-operator");
    for (size_t i = 0; i < FLAGS_VALUES + 1; i++)
        argv[i + 1] = str_new("--terraform-provider=a/b");
    EXPECT_INT(flags_parse(ARRAY_SIZE(argv), argv, &flags, &error), ERR_INVALID, "too many");
    EXPECT_STR(error.message, "--terraform-provider: given more than 64 times", "says so");
    for (size_t i = 0; i < ARRAY_SIZE(argv); i++)
        free(argv[i]);
}

static void takes_durations(void)
{
    static const struct {
        const char *text;
        int64_t expected;
    } rows[] = {{"0s", 0}, {"90s", 90000}, {"9m30s", 570000}, {"250ms", 250}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *const arguments[MAX_ARGUMENTS] = {"--drain-timeout", rows[i].text};
        struct flags flags;
        struct line line;

        EXPECT_INT(parse(&line, arguments, &flags, NULL), 0, rows[i].text);
        EXPECT_INT(flags.drain_timeout, rows[i].expected, rows[i].text);
        expect_defaults(&flags, durations[0].offset, rows[i].text);
        line_done(&line);
    }
}

static void takes_the_short_form_of_help(void)
{
    static const char *const arguments[MAX_ARGUMENTS] = {"-h"};
    struct flags flags;
    struct line line;

    EXPECT_INT(parse(&line, arguments, &flags, NULL), 0, "-h");
    EXPECT(flags.help, "-h");
    line_done(&line);
}

SUITE(flags, TEST(takes_the_short_form_of_help), TEST(has_defaults), TEST(takes_strings),
      TEST(takes_one_several_times), TEST(takes_counts), TEST(takes_durations),
      TEST(takes_booleans), TEST(takes_several_and_the_last_counts),
      TEST(refuses_and_says_what_is_wrong), TEST(help_names_each_with_its_default),
      TEST(takes_sizes))

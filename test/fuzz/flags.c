/*
 * Command lines, addresses and durations. The lines are the arguments. Flags that were taken keep
 * to their bounds, and the same flags written anew, as --name=value, are the same flags; an address
 * is one that the system has, and the same when it is written anew.
 */
#include "controller/flags.h"
#include "controller/serve/address.h"

#include <arpa/inet.h>

#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "test/fuzz/fuzz.h"

#define MOST_ARGUMENTS 40

static bool is_count(int64_t count)
{
    return count >= 1 && count <= 100;
}

static void check_bounds(const struct flags *flags)
{
    const int64_t durations[] = {flags->drain_timeout,      flags->max_timeout,
                                 flags->blind_timeout,      flags->min_interval,
                                 flags->min_retry_interval, flags->api_request_timeout,
                                 flags->stuck_timeout};

    must(is_count(flags->concurrent) && is_count(flags->parallelism));
    must(flags->operation_memory >= 1 && flags->operation_memory <= (int64_t)INT32_MAX << 30);
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
        must(durations[i] >= 0 && durations[i] <= INT64_MAX / 1000000 + 1);
    must(flags->state_backend && flags->lease_name && flags->log_level && flags->log_format);
    must(flags->metrics_bind_address && flags->health_bind_address);
}

static void add(char **argv, int *argc, char *argument)
{
    argv[(*argc)++] = argument;
}

static void check_again(const struct flags *flags)
{
    char *argv[MOST_ARGUMENTS] = {str_new("again")};
    int argc = 1;
    struct flags again = {0};
    struct error error = {0};

    add(argv, &argc, str_printf("--concurrent=%d", (int)flags->concurrent));
    add(argv, &argc, str_new("--operation-memory"));
    if (flags->operation_memory <= INT32_MAX)
        add(argv, &argc, str_printf("%d", (int)flags->operation_memory));
    else
        add(argv, &argc, str_printf("%lldKi", (long long)(flags->operation_memory >> 10)));
    add(argv, &argc, str_printf("--max-timeout=%lldms", (long long)flags->max_timeout));
    add(argv, &argc, str_new(flags->leader_elect ? "--leader-elect" : "--no-leader-elect"));
    add(argv, &argc, str_printf("--lease-name=%s", flags->lease_name));
    if (flags->operation_memory <= INT32_MAX || flags->operation_memory >> 10 <= INT32_MAX) {
        must(flags_parse(argc, argv, &again, &error) == 0);
        must(again.concurrent == flags->concurrent && again.leader_elect == flags->leader_elect);
        must(again.operation_memory == flags->operation_memory);
        must(again.max_timeout == flags->max_timeout);
        must(str_equal(again.lease_name, flags->lease_name));
    }
    for (int i = 0; i < argc; i++)
        free(argv[i]);
}

static void check_address(const char *text)
{
    struct address address = {0}, again = {0};
    struct error error = {0};
    _cleanup_free_ char *anew = NULL;
    char binary[16];
    int r = address_parse(text, &address, &error);

    must_agree(r, &error);
    if (r < 0)
        return;
    must(address.port >= 0 && address.port <= 65535);
    must(!*address.host ||
         inet_pton(address.is_v6 ? AF_INET6 : AF_INET, address.host, binary) == 1);
    anew = str_printf(address.is_v6 ? "[%s]:%d" : "%s:%d", address.host, address.port);
    must(address_parse(anew, &again, NULL) == 0);
    must(again.port == address.port && again.is_v6 == address.is_v6 &&
         strcmp(again.host, address.host) == 0);
}

static void check_duration(const char *text)
{
    int64_t ms = duration_parse(text);
    _cleanup_free_ char *anew = str_printf("%lldms", (long long)ms);

    must(ms >= -1);
    must(ms < 0 || ms > INT64_MAX / 1000000 || duration_parse(anew) == ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[MOST_ARGUMENTS + 1] = {str_new("kusion-operator")};
    int argc = 1;
    struct flags flags = {.lease_name = "untouched"};
    struct error error = {0};
    int r;

    while (size && argc < MOST_ARGUMENTS)
        argv[argc++] = take_line(&data, &size);
    r = flags_parse(argc, argv, &flags, &error);
    must_agree(r, &error);
    if (r == 0) {
        check_bounds(&flags);
        check_again(&flags);
    } else {
        must(r == ERR_INVALID && str_equal(flags.lease_name, "untouched"));
    }
    for (int i = 0; i < argc; i++) {
        check_address(argv[i]);
        check_duration(argv[i]);
        free(argv[i]);
    }
    return 0;
}

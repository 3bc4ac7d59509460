#include "runtimes/kubernetes/client/trust.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define CA(text) "-----BEGIN CERTIFICATE-----\n" text "\n-----END CERTIFICATE-----\n"

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
}

static void take(void *arg, const char *pem)
{
    char **taken = arg;

    free(*taken);
    *taken = str_new(pem);
}

static void reads_what_was_rotated(void)
{
    static const struct {
        const char *note;
        const char *text; /* NULL: there is no file */
        int64_t pass;     /* ms since the row before */
        bool now;
        const char *taken; /* NULL: none */
    } rows[] = {
        {"the same", CA("1"), 60000, false, NULL},
        {"another, not due", CA("2"), 59999, false, NULL},
        {"due", CA("2"), 1, false, CA("2")},
        {"once", CA("2"), 60000, false, NULL},
        {"another, in doubt", CA("3"), 0, true, CA("3")},
        {"two", CA("3") CA("4"), 0, true, CA("3") CA("4")},
        {"half written", CA("3") "-----BEGIN CERTIFICATE-----\n4", 0, true, NULL},
        {"empty", "", 0, true, NULL},
        {"gone", NULL, 0, true, NULL},
        {"back", CA("4"), 60000, false, CA("4")},
    };
    char path[] = "/tmp/kusion-trust-XXXXXX";
    struct kube_config config = {.ca_file = path, .ca_pem = (char[]){CA("1")}};
    struct fake_clock clock;
    struct kube_trust *trust;
    unsigned version = 0;

    close(mkstemp(path));
    fake_clock_init(&clock);
    trust = kube_trust_new(&config, &clock.source);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char *taken = NULL;

        if (rows[i].text)
            write_file(path, rows[i].text);
        else
            unlink(path);
        atomic_fetch_add(&clock.monotonic, rows[i].pass);
        kube_trust_look(trust, rows[i].now, take, &taken);
        version += rows[i].taken != NULL;
        EXPECT_STR(taken, rows[i].taken, rows[i].note);
        EXPECT_INT(kube_trust_version(trust), version, rows[i].note);
        free(taken);
    }
    kube_trust_free(trust);
    unlink(path);
}

static void what_is_in_no_file_does_not_change(void)
{
    struct kube_config config = {.ca_pem = (char[]){CA("1")}};
    struct kube_trust *trust = kube_trust_new(&config, &system_clock);
    char *taken = NULL;

    kube_trust_look(trust, true, take, &taken);
    EXPECT(!taken && !kube_trust_version(trust), "nothing to read");
    kube_trust_free(trust);
}

/* A server that cannot be verified: the file may have another CA by now. */
static void a_failure_is_a_reason_to_look(void)
{
    static const struct {
        const char *note, *text, *reason;
        unsigned version;
        bool is_another;
    } rows[] = {
        {"the same", CA("1"), "TLSVerification", 0, false},
        {"another failure", CA("2"), "ConnectionFailed", 0, false},
        {"another CA", CA("2"), "TLSVerification", 0, true},
        {"of another request, which looked first", CA("2"), "TLSVerification", 0, true},
        {"it did not help", CA("2"), "TLSVerification", 1, false},
    };
    char path[] = "/tmp/kusion-trust-XXXXXX";
    struct kube_config server = {.ca_file = path, .ca_pem = (char[]){CA("1")}};
    struct kube_client_config config = {.config = &server};
    struct harness harness;

    close(mkstemp(path));
    harness_start(&harness, NULL, 0, &config);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error failure = {0};

        write_file(path, rows[i].text);
        err_set(&failure, ERR_INVALID, rows[i].reason, "so it is");
        EXPECT_INT(kube_client_doubt_ca(harness.client, &failure, rows[i].version),
                   rows[i].is_another, rows[i].note);
    }
    harness_stop(&harness, true);
    unlink(path);
}

SUITE(kube_trust, TEST(reads_what_was_rotated), TEST(what_is_in_no_file_does_not_change),
      TEST(a_failure_is_a_reason_to_look))

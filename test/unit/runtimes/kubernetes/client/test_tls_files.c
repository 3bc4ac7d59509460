#include "runtimes/kubernetes/client/tls_files.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
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

static void take_ca(void *arg, const struct http_tls *tls)
{
    char **taken = arg;

    free(*taken);
    *taken = str_new(tls->ca_pem);
}

static void reads_a_ca_that_was_rotated(void)
{
    static const struct {
        const char *note;
        const char *text; /* NULL: there is no file */
        int64_t pass;     /* ms since the row before */
        bool now;
        const char *taken; /* NULL: none */
    } rows[] = {
        {"the same", CA("1"), 10000, false, NULL},
        {"another, not due", CA("2"), 9999, false, NULL},
        {"due", CA("2"), 1, false, CA("2")},
        {"once", CA("2"), 10000, false, NULL},
        {"another, in doubt", CA("3"), 0, true, CA("3")},
        {"two", CA("3") CA("4"), 0, true, CA("3") CA("4")},
        {"half written", CA("3") "-----BEGIN CERTIFICATE-----\n4", 0, true, NULL},
        {"empty", "", 0, true, NULL},
        {"gone", NULL, 0, true, NULL},
        {"back", CA("4"), 10000, false, CA("4")},
    };
    char path[] = "/tmp/kusion-ca-XXXXXX";
    struct kube_config config = {.ca_file = path, .ca_pem = (char[]){CA("1")}};
    struct fake_clock clock;
    struct kube_tls_files *files;
    unsigned version = 0;

    close(mkstemp(path));
    fake_clock_init(&clock);
    files = kube_tls_files_new(&config, &clock.source);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char *taken = NULL;

        if (rows[i].text)
            write_file(path, rows[i].text);
        else
            unlink(path);
        atomic_fetch_add(&clock.monotonic, rows[i].pass);
        kube_tls_files_look(files, rows[i].now, take_ca, &taken);
        version += rows[i].taken != NULL;
        EXPECT_STR(taken, rows[i].taken, rows[i].note);
        EXPECT_INT(kube_tls_files_version(files), version, rows[i].note);
        free(taken);
    }
    kube_tls_files_free(files);
    unlink(path);
}

/* ---- The client's certificate ---- */

struct pair {
    char *cert, *key; /* PEM */
};

static char *text_of(BIO *bio)
{
    char *bytes;
    long length = BIO_get_mem_data(bio, &bytes);
    char *text = str_new_n(bytes, (size_t)length);

    BIO_free(bio);
    return text;
}

static struct pair make_pair(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    BIO *cert_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());

    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    if (!X509_sign(cert, key, EVP_sha256()) || !PEM_write_bio_X509(cert_text, cert) ||
        !PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL))
        abort();
    X509_free(cert);
    EVP_PKEY_free(key);
    return (struct pair){text_of(cert_text), text_of(key_text)};
}

static void pair_done(struct pair *pair)
{
    free(pair->cert);
    free(pair->key);
}

static void take_pair(void *arg, const struct http_tls *tls)
{
    struct pair *taken = arg;

    pair_done(taken);
    *taken = (struct pair){str_new(tls->cert_pem), str_new(tls->key_pem)};
    EXPECT_STR(tls->ca_pem, CA("1"), "the CA as before");
}

/* The files are replaced one after the other: what does not belong together is not taken. */
static void reads_a_certificate_that_was_rotated(void)
{
    struct pair first = make_pair(), second = make_pair();
    const struct {
        const char *note;
        const char *cert, *key;
        const struct pair *taken; /* NULL: none */
    } rows[] = {
        {"the same", first.cert, first.key, NULL},
        {"the key comes first", first.cert, second.key, NULL},
        {"then the certificate", second.cert, second.key, &second},
        {"once", second.cert, second.key, NULL},
        {"half written", "-----BEGIN CERTIFICATE-----\n", second.key, NULL},
        {"empty", "", "", NULL},
        {"the certificate comes first", first.cert, second.key, NULL},
        {"then the key", first.cert, first.key, &first},
    };
    char cert_path[] = "/tmp/kusion-cert-XXXXXX", key_path[] = "/tmp/kusion-key-XXXXXX";
    struct kube_config config = {.ca_pem = (char[]){CA("1")},
                                 .cert_pem = first.cert,
                                 .key_pem = first.key,
                                 .cert_file = cert_path,
                                 .key_file = key_path};
    struct fake_clock clock;
    struct kube_tls_files *files;
    unsigned version = 0;

    close(mkstemp(cert_path));
    close(mkstemp(key_path));
    fake_clock_init(&clock);
    files = kube_tls_files_new(&config, &clock.source);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct pair taken = {0};

        write_file(cert_path, rows[i].cert);
        write_file(key_path, rows[i].key);
        atomic_fetch_add(&clock.monotonic, 10000);
        kube_tls_files_look(files, false, take_pair, &taken);
        version += rows[i].taken != NULL;
        EXPECT_STR(taken.cert, rows[i].taken ? rows[i].taken->cert : NULL, rows[i].note);
        EXPECT_STR(taken.key, rows[i].taken ? rows[i].taken->key : NULL, rows[i].note);
        EXPECT_INT(kube_tls_files_version(files), version, rows[i].note);
        pair_done(&taken);
    }
    kube_tls_files_free(files);
    unlink(cert_path);
    unlink(key_path);
    pair_done(&first);
    pair_done(&second);
}

static void what_is_in_no_file_does_not_change(void)
{
    struct kube_config config = {.ca_pem = (char[]){CA("1")}};
    struct kube_tls_files *files = kube_tls_files_new(&config, &system_clock);
    char *taken = NULL;

    kube_tls_files_look(files, true, take_ca, &taken);
    EXPECT(!taken && !kube_tls_files_version(files), "nothing to read");
    kube_tls_files_free(files);
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
        EXPECT_INT(kube_client_renew(harness.client, &failure, rows[i].version), rows[i].is_another,
                   rows[i].note);
    }
    harness_stop(&harness, true);
    unlink(path);
}

SUITE(kube_tls_files, TEST(reads_a_ca_that_was_rotated), TEST(reads_a_certificate_that_was_rotated),
      TEST(what_is_in_no_file_does_not_change), TEST(a_failure_is_a_reason_to_look))

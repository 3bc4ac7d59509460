#include "runtimes/kubernetes/client/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/file.h"

#define LOOK_INTERVAL 10000 /* ms */

struct kube_tls_files {
    const struct clock_source *clock;
    char *ca_file, *cert_file, *key_file; /* NULL: the text does not change */

    pthread_mutex_t lock; /* of all below */
    char *ca_pem, *cert_pem, *key_pem;
    unsigned version;
    int64_t looked_at; /* ms, monotonic */
    bool has_bad_pair; /* the log says so already */
};

struct kube_tls_files *kube_tls_files_new(const struct kube_config *config,
                                          const struct clock_source *clock)
{
    struct kube_tls_files *files = NEW(struct kube_tls_files);

    files->clock = clock;
    files->ca_file = str_new(config->ca_file);
    files->cert_file = str_new(config->cert_file);
    files->key_file = str_new(config->key_file);
    files->ca_pem = str_new(config->ca_pem);
    files->cert_pem = str_new(config->cert_pem);
    files->key_pem = str_new(config->key_pem);
    files->looked_at = clock->monotonic(clock);
    pthread_mutex_init(&files->lock, NULL);
    return files;
}

void kube_tls_files_free(struct kube_tls_files *files)
{
    if (!files)
        return;
    pthread_mutex_destroy(&files->lock);
    free(files->ca_file);
    free(files->cert_file);
    free(files->key_file);
    free(files->ca_pem);
    free(files->cert_pem);
    str_free_secret(files->key_pem);
    free(files);
}

unsigned kube_tls_files_version(struct kube_tls_files *files)
{
    LOCKED(&files->lock);

    return files->version;
}

/* The last certificate is whole, too. */
static bool is_pem(const char *text)
{
    const char *last = NULL;

    for (const char *at = text; (at = strstr(at, "-----BEGIN CERTIFICATE-----")); at++)
        last = at;
    return last && strstr(last, "-----END CERTIFICATE-----");
}

static bool look_at_ca(struct kube_tls_files *files)
{
    _cleanup_free_ char *pem = NULL;

    if (!files->ca_file || file_read_text(files->ca_file, &pem, NULL) < 0 || !is_pem(pem) ||
        str_equal(pem, files->ca_pem))
        return false;
    free(files->ca_pem);
    files->ca_pem = TAKE(pem);
    log_info("the API server's CA was rotated", "file", files->ca_file, NULL);
    return true;
}

static bool is_pair(const char *cert_pem, const char *key_pem)
{
    char no_passphrase[] = ""; /* otherwise an encrypted key would ask for one on the terminal */
    BIO *cert_text = BIO_new_mem_buf(cert_pem, -1), *key_text = BIO_new_mem_buf(key_pem, -1);
    X509 *cert = cert_text ? PEM_read_bio_X509(cert_text, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = key_text ? PEM_read_bio_PrivateKey(key_text, NULL, NULL, no_passphrase) : NULL;
    bool is_pair = cert && key && X509_check_private_key(cert, key) == 1;

    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_text);
    BIO_free(cert_text);
    ERR_clear_error(); /* TLS on this thread would take them for its own */
    return is_pair;
}

/* The text in the file, or the text that does not change. False: the file cannot be read. */
static bool read_text(const char *file, const char *pem, char **ret)
{
    if (file)
        return file_read_text(file, ret, NULL) >= 0;
    *ret = str_new(pem);
    return true;
}

static bool look_at_pair(struct kube_tls_files *files)
{
    _cleanup_free_ char *cert_pem = NULL;
    _cleanup_(str_free_secret_p) char *key_pem = NULL;

    if ((!files->cert_file && !files->key_file) ||
        !read_text(files->cert_file, files->cert_pem, &cert_pem) ||
        !read_text(files->key_file, files->key_pem, &key_pem) ||
        (str_equal(cert_pem, files->cert_pem) && str_equal(key_pem, files->key_pem)))
        return false;
    if (!is_pair(cert_pem, key_pem)) {
        if (!files->has_bad_pair)
            log_warn("the client certificate and its key in the files do not belong together; the "
                     "ones before are used",
                     "file", files->cert_file ? files->cert_file : files->key_file, NULL);
        files->has_bad_pair = true;
        return false;
    }
    files->has_bad_pair = false;
    free(files->cert_pem);
    str_free_secret(files->key_pem);
    files->cert_pem = TAKE(cert_pem);
    files->key_pem = TAKE(key_pem);
    log_info("the client certificate was rotated", "file",
             files->cert_file ? files->cert_file : files->key_file, NULL);
    return true;
}

void kube_tls_files_look(struct kube_tls_files *files, bool now,
                         void (*take)(void *arg, const struct http_tls *tls), void *arg)
{
    int64_t time = files->clock->monotonic(files->clock);
    bool is_changed;

    if (!files->ca_file && !files->cert_file && !files->key_file)
        return;
    LOCKED(&files->lock);
    if (now || time - files->looked_at >= LOOK_INTERVAL) {
        files->looked_at = time;
        is_changed = look_at_ca(files);
        is_changed = look_at_pair(files) || is_changed;
        if (is_changed) {
            files->version++;
            take(arg, &(struct http_tls){files->ca_pem, files->cert_pem, files->key_pem});
        }
    }
}

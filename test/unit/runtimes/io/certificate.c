#include "test/unit/runtimes/io/certificate.h"

#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"

void certificate_sign_again(const char *folder, long seconds)
{
    _cleanup_free_ char *path = str_printf("%s/server.crt", folder);
    _cleanup_free_ char *key_path = str_printf("%s/ca.key", folder);
    FILE *file = fopen(path, "r+"), *key_file = fopen(key_path, "r");
    X509 *certificate;
    EVP_PKEY *key;

    if (!file || !key_file)
        abort();
    certificate = PEM_read_X509(file, NULL, NULL, NULL);
    key = PEM_read_PrivateKey(key_file, NULL, NULL, NULL);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
    if (!X509_sign(certificate, key, EVP_sha256()))
        abort();
    rewind(file);
    if (ftruncate(fileno(file), 0) < 0)
        abort();
    PEM_write_X509(file, certificate);
    X509_free(certificate);
    EVP_PKEY_free(key);
    fclose(file);
    fclose(key_file);
}
